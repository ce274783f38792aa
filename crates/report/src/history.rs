//! The runs of a store.

use record::{History, StoredRun, WorkloadKind};

use crate::document::{Block, Document, Section, Table, not_measured, printable};
use crate::units::{plural, tokens_per_s};

const HEADINGS: [&str; 9] = ["run", "began (UTC)", "workload", "model", "threads", "decode", "commit", "tags", "state"];
/// What can be done without on a narrow page.
const LEAST_IMPORTANT: [&str; 4] = ["commit", "threads", "workload", "state"];
/// Longer cells are cut; `show` has all of them.
const WIDEST_CELL: usize = 28;
/// Digits of ids and commits.
const ID_DIGITS: usize = 12;
/// Faults that are shown one by one.
const MOST_FAULTS: usize = 10;
const UNKNOWN: &str = "unknown";

/// A line for each run, newest first.
#[must_use]
pub fn document(history: &History) -> Document {
    let section = Section::new("", "");
    if history.runs.is_empty() {
        let what = if history.matching == 0 { "no runs" } else { "no runs shown" };
        return Document::untitled(vec![section.with(Block::Text(format!("{what} in {}", history.store)))]);
    }
    let mut table = Table::of_words(&HEADINGS).least_important(&LEAST_IMPORTANT);
    history.runs.iter().for_each(|run| table.row(row(run)));
    let mut section = section.with(Block::Table(table));
    let shown = history.runs.len() as u64;
    if shown < history.matching {
        section.text(format!("newest {shown} of {}; --limit N shows more", plural(history.matching, "run")));
    }
    Document::untitled(vec![section])
}

fn row(run: &StoredRun) -> [String; 9] {
    let cells = [
        beginning(&run.id),
        began(&run.created),
        run.workload.clone(),
        models(run),
        run.threads.map_or_else(|| UNKNOWN.to_owned(), |threads| threads.to_string()),
        decode(run),
        commit(run, beginning),
        run.tags.join(", "),
        state(run),
    ];
    cells.map(|cell| cut(&cell))
}

/// All that is known of a run without reading it.
#[must_use]
pub fn stored_run(run: &StoredRun) -> Document {
    let version = run.subject_version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let profile = run.profile.as_ref().map_or_else(|| UNKNOWN.to_owned(), String::clone);
    let threads = run.threads.map(|threads| format!(" on {}", plural(threads, "thread"))).unwrap_or_default();
    let listed = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let facts = Section::of_facts([
        ("run", Some(run.id.clone())),
        ("began", Some(run.created.clone())),
        ("program", Some(format!("{}{version}, build profile {profile}", run.subject))),
        ("commit", Some(commit(run, str::to_owned))),
        ("workload", Some(format!("{}{threads}", run.workload))),
        ("model", Some(listed(&run.models))),
        ("decode", Some(decode(run))),
        ("machine", Some(run.machine_key.clone())),
        ("state", Some(state(run))),
        ("tags", Some(listed(&run.tags))),
    ]);
    let file = Block::Copied(vec![("file".to_owned(), run.path.clone())]);
    Document::untitled(vec![facts.with(file)])
}

/// What is wrong with files of a store, a line for each of the first.
pub fn faults_text(history: &History) -> String {
    let lines = history.faults.iter().take(MOST_FAULTS);
    let text: String =
        lines.map(|fault| printable(&format!("warning: {}: {}", fault.path, fault.message)) + "\n").collect();
    match history.faults.len().saturating_sub(MOST_FAULTS) {
        0 => text,
        more => text + &format!("warning: {} more; --json lists all\n", plural(more as u64, "file")),
    }
}

fn beginning(id: &str) -> String {
    id.chars().take(ID_DIGITS).collect()
}

/// To the second; as it stands where it is not in UTC.
fn began(created: &str) -> String {
    match (created.get(..10), created.get(11..19)) {
        (Some(date), Some(time)) if created.ends_with('Z') => format!("{date} {time}"),
        _ => created.to_owned(),
    }
}

/// The file of a path.
fn base(path: &str) -> &str {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(path)
}

/// Its models; of a program that was run as it is, the program.
fn models(run: &StoredRun) -> String {
    let mut names: Vec<&str> = run.models.iter().map(|name| base(name)).collect();
    if names.is_empty() && compare::kind_of_name(&run.workload) == WorkloadKind::Command {
        names.push(base(&run.subject));
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn decode(run: &StoredRun) -> String {
    run.decode_tokens_per_s.map_or_else(not_measured, tokens_per_s)
}

/// With a mark where files differed from it.
fn commit(run: &StoredRun, shown: fn(&str) -> String) -> String {
    let Some(commit) = &run.commit else { return UNKNOWN.to_owned() };
    let mark = if run.dirty == Some(true) { "+dirty" } else { "" };
    format!("{}{mark}", shown(commit))
}

fn state(run: &StoredRun) -> String {
    match (run.interrupted, run.failures) {
        (false, 0) => "complete".to_owned(),
        (true, 0) => "interrupted".to_owned(),
        (false, count) => plural(count, "failure"),
        (true, count) => format!("interrupted, {}", plural(count, "failure")),
    }
}

fn cut(cell: &str) -> String {
    if cell.chars().count() <= WIDEST_CELL {
        return cell.to_owned();
    }
    cell.chars().take(WIDEST_CELL - 1).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use record::StoreFault;

    use super::*;
    use crate::document::Page;

    fn history() -> History {
        let whole = StoredRun {
            id: "0123456789abcdef".repeat(4),
            created: "2026-03-01T12:34:56.789Z".to_owned(),
            subject: "hotloop".to_owned(),
            subject_version: Some("0.1.0".to_owned()),
            commit: Some("fedcba9876543210".to_owned()),
            dirty: Some(true),
            profile: Some("release".to_owned()),
            machine_key: "m-1".to_owned(),
            workload: "deep".to_owned(),
            models: vec!["Tiny.gguf".to_owned()],
            threads: Some(2),
            decode_tokens_per_s: Some(123.4),
            tags: vec!["base".to_owned(), "v1".to_owned()],
            path: "s/runs/01/x".to_owned(),
            ..StoredRun::default()
        };
        let bare = StoredRun {
            id: "f".repeat(64),
            created: "2026-02-01T00:00:00+01:00".to_owned(),
            workload: "\u{1b}[31mred".to_owned(),
            models: vec!["x".repeat(40)],
            interrupted: true,
            failures: 1,
            ..StoredRun::default()
        };
        History { store: "s".to_owned(), matching: 9, runs: vec![whole, bare], ..History::default() }
    }

    #[test]
    fn a_line_for_each_run() {
        let expected = "\
run           began (UTC)                model                         decode        tags      state
0123456789ab  2026-03-01 12:34:56        Tiny.gguf                     123 tok/s     base, v1  complete
ffffffffffff  2026-02-01T00:00:00+01:00  xxxxxxxxxxxxxxxxxxxxxxxxxxx…  not measured            interrupted, 1 failure
(not shown at this width: commit, threads, workload)

newest 2 of 9 runs; --limit N shows more
";
        assert_eq!(document(&history()).terminal(Page::default()), expected);
        let wide = document(&history()).terminal(Page { color: false, width: 160 });
        assert!(wide.contains("  ?[31mred  ") && wide.contains("  fedcba987654+dirty  "), "{wide}");
        let narrow = document(&history()).terminal(Page { color: false, width: 80 });
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(document(&history()).markdown().contains("| 0123456789ab | 2026-03-01 12:34:56 | deep |"));
    }

    #[test]
    fn models_are_named_by_their_file_and_commands_by_theirs() {
        let of = |workload: &str, models: &[&str]| {
            let models = models.iter().map(|name| (*name).to_owned()).collect();
            let (workload, subject) = (workload.to_owned(), "/usr/bin/python3".to_owned());
            super::models(&StoredRun { workload, models, subject, ..StoredRun::default() })
        };
        assert_eq!(of("standard", &["../shared/a/Tiny.gguf", "synthetic small"]), "Tiny.gguf, synthetic small");
        assert_eq!([of("command", &[]), of("standard", &[])], ["python3", "none"]);
    }

    #[test]
    fn an_empty_store_is_one_line() {
        let empty = History { store: "here".to_owned(), ..History::default() };
        assert_eq!(document(&empty).terminal(Page::default()), "no runs in here\n");
    }

    #[test]
    fn one_run_with_all_that_is_known() {
        let run = &history().runs[0];
        let text = stored_run(run).terminal(Page::default());
        for part in [
            &run.id,
            "hotloop 0.1.0, build profile release",
            "fedcba9876543210+dirty",
            "deep on 2 threads",
            "123 tok/s",
            "base, v1",
            &run.path,
        ] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
    }

    #[test]
    fn faults_are_named() {
        let fault = StoreFault { path: "s/runs/01/y".to_owned(), message: "no run".to_owned() };
        let history = History { faults: vec![fault], ..History::default() };
        assert_eq!(faults_text(&history), "warning: s/runs/01/y: no run\n");
        let many = History { faults: vec![history.faults[0].clone(); 12], ..history };
        assert_eq!(faults_text(&many).lines().count(), 11);
        assert!(faults_text(&many).ends_with("warning: 2 files more; --json lists all\n"));
    }
}
