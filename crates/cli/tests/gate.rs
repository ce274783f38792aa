//! `hotloop gate` as it is used: cells whose truth is known, and what it ends with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{AcceptanceState, BudgetState, Gate, Verdict};

/// Short, and still two launches and more than one round: what is exact needs no more.
const SHORT: &str = "launches = 2\nrounds = 2\nround_s = 0.001\n";

/// A folder of one test, removed behind it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotloop-gate-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program in this folder, without what a workflow around the tests would set.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
        command.arg("gate").args(words).current_dir(&self.0).stdin(Stdio::null());
        for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_BASE_REF"] {
            command.env_remove(name);
        }
        command.env("HOTLOOP_CACHE", self.0.join("cache"));
        command
    }

    #[track_caller]
    fn gate(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the program starts")
    }

    /// Measures a file with the outputs in `out`, and gives what `verdict.json` says.
    #[track_caller]
    fn ends_with(&self, config: &str, code: i32) -> Gate {
        self.write("hotloop.toml", config);
        let output = self.gate(&["--out", "out"]);
        let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{text}\n{error}");
        let gate = Gate::from_json(&self.read("out/verdict.json")).expect("it is the document");
        assert_eq!((i32::from(gate.exit_code), gate.passed), (code, code == 0));
        assert!(text.lines().last().is_some_and(|line| line.starts_with("VERDICT ")), "{text}");
        assert!(visible_lines(&self.read("out/comment.md")) <= 10, "{}", self.read("out/comment.md"));
        self.check_junit(&gate);
        gate
    }

    #[track_caller]
    fn check_junit(&self, gate: &Gate) {
        let text = self.read("out/junit.xml");
        let document = roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let has = |tag: &str| document.descendants().any(|node| node.has_tag_name(tag));
        assert_eq!(has("failure") || has("error"), !gate.passed, "{text}");
        assert!(has("testcase"), "{text}");
        roxmltree::Document::parse(&self.read("out/badge.svg")).expect("the badge is XML");
    }

    /// What it complains of.
    #[track_caller]
    fn refused(&self, words: &[&str], part: &str) {
        let output = self.gate(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let helps = error.contains("\n\nhint: ") || error.ends_with("try '--help'.\n");
        assert!(error.starts_with("error: ") && helps && error.contains(part), "{error}");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Lines of a comment that are seen before anything is opened; what opens the rest is one of them.
fn visible_lines(comment: &str) -> usize {
    let before = comment.split("</summary>").next().unwrap_or_default();
    let is_seen = |line: &&str| !line.trim().is_empty() && !line.starts_with("<!--") && *line != "<details>";
    before.lines().filter(is_seen).count()
}

/// A program that says how much it worked; what it says of that is no output.
fn says(work: u32) -> String {
    format!("sh -c 'echo HOTLOOP work={work} unit=steps exact=yes; echo done'")
}

fn cell(name: &str, a: &str, b: &str) -> String {
    format!("[[cell]]\nname = \"{name}\"\na = \"{a}\"\nb = \"{b}\"\nmetrics = {{ work = 1 }}\n")
}

#[test]
fn what_is_the_same_passes() {
    let folder = Folder::new("same");
    let config = format!("{SHORT}{}{}", cell("one", &says(100), &says(100)), cell("two", &says(100), &says(90)));
    let gate = folder.ends_with(&config, 0);
    let words: Vec<Option<Verdict>> = gate.cells.iter().map(|cell| cell.verdict).collect();
    assert_eq!(words, [Some(Verdict::Same), Some(Verdict::Improved)]);
    assert_eq!(gate.verdict, Some(Verdict::Improved));
    let duel = record::Duel::from_json(&folder.read("out/duel-one.json")).expect("the samples are kept");
    assert_eq!((duel.name.as_deref(), duel.samples.is_empty()), (Some("one"), false));
    let comment = folder.read("out/comment.md");
    assert!(
        comment.contains("Performance gate passed: improved") && comment.contains("`two` `work` **improved**"),
        "{comment}"
    );
}

/// With the metrics that the example has. What it says of two equal programs is not certain on a busy machine; that it can
/// be said is.
#[test]
#[cfg(target_os = "linux")]
fn a_small_program_is_judged_by_its_memory() {
    let folder = Folder::new("small");
    let metrics = "metrics = { cpu_s = 900, peak_rss_bytes = 900, wall_s = { threshold = 5, advisory = true } }";
    let gate =
        folder.ends_with(&format!("{SHORT}[[cell]]\nname = \"small\"\na = \"true\"\nb = \"true\"\n{metrics}\n"), 0);
    let judged: Vec<&str> = gate.cells[0].gates.iter().map(|gate| gate.metric.as_str()).collect();
    assert_eq!((judged, gate.not_measured.len()), (vec!["cpu_s", "peak_rss_bytes", "wall_s"], 0));
    let memory = gate.cells[0].findings[0].judgements.iter().find(|found| found.metric == "peak_rss_bytes");
    assert!(memory.and_then(|found| found.base).is_some_and(|bytes| bytes < 3e6), "{memory:?}");
}

#[test]
fn what_is_worse_fails_unless_it_is_accepted_or_advisory() {
    let folder = Folder::new("worse");
    let worse = format!("{SHORT}{}", cell("one", &says(100), &says(110)));
    let gate = folder.ends_with(&worse, 10);
    assert_eq!(gate.cells[0].findings[0].confirmed, Some(true), "it was measured twice");
    assert!(
        folder.read("out/comment.md").contains("`one` `work` **regressed** +10.0 %"),
        "{}",
        folder.read("out/comment.md")
    );
    let accept =
        |until: &str| format!("[[accept]]\ncell = \"one\"\nmetric = \"work\"\nreason = \"safer\"\nuntil = {until}\n");
    let gate = folder.ends_with(&format!("{worse}{}", accept("9999-12-31")), 0);
    assert_eq!((gate.accepted[0].state, gate.verdict), (AcceptanceState::Used, None));
    let gate = folder.ends_with(&format!("{worse}{}", accept("2020-01-01")), 10);
    assert_eq!((gate.accepted[0].state, gate.reasons.len()), (AcceptanceState::Expired, 2));
    let gate = folder.ends_with(&format!("{worse}advisory = true\n"), 0);
    assert_eq!((gate.warnings.len(), gate.cells[0].findings[0].confirmed), (1, None));
    folder.ends_with(&format!("{worse}\n{}", cell("two", &says(100), &says(90))), 10);
}

#[test]
fn another_output_fails_whatever_the_speed() {
    let folder = Folder::new("output");
    let other = |extra: &str| {
        let both = cell("one", &says(100), &says(50).replace("done", "other"));
        format!("{SHORT}{both}{extra}\n")
    };
    let gate = folder.ends_with(&other(""), 14);
    assert_eq!(gate.cells[0].verdict, Some(Verdict::WrongOutput));
    folder.ends_with(&other("advisory = true"), 14);
    folder.ends_with(&other("output = \"any\""), 0);
}

#[cfg(unix)]
#[test]
fn builds_that_differ_are_not_compared() {
    let folder = Folder::new("builds");
    // Two copies of one program, where Cargo would have put them.
    let shell = ["/bin/sh", "/usr/bin/sh"].iter().find(|path| Path::new(path).exists()).expect("there is a shell");
    for profile in ["debug", "release"] {
        folder.write(&format!("target/{profile}/.fingerprint/x"), "");
        fs::copy(fs::canonicalize(shell).expect("it is a file"), folder.0.join(format!("target/{profile}/tool")))
            .expect("it can be copied");
    }
    let side = |profile: &str| says(100).replacen("sh", &format!("target/{profile}/tool"), 1);
    let gate = folder.ends_with(&format!("{SHORT}{}", cell("one", &side("release"), &side("debug"))), 12);
    let differences = &gate.cells[0].findings[0].differences;
    assert!(differences.iter().any(|difference| difference.field.contains("profile")), "{differences:?}");
    assert!(folder.read("out/comment.md").contains("profile"), "{}", folder.read("out/comment.md"));
}

#[test]
fn budgets_hold_whatever_the_base_does() {
    let folder = Folder::new("budget");
    let budget = |bound: &str| {
        format!(
            "launches = 3\n{}{}budgets = [{{ metric = \"work\", {bound} }}]\n",
            &SHORT[13..],
            cell("one", &says(100), &says(100))
        )
    };
    let gate = folder.ends_with(&budget("at_most = 99"), 10);
    assert_eq!(gate.cells[0].budgets[0].state, BudgetState::Broken);
    assert_eq!(folder.ends_with(&budget("at_least = 100"), 0).cells[0].budgets[0].state, BudgetState::Kept);
}

/// Every fifth call takes 300 ms, the others 5 ms: the mean of the calls is above the limit of the median and below that of p95.
#[cfg(unix)]
#[test]
fn budgets_are_judged_by_single_calls() {
    let folder = Folder::new("tail");
    folder.write(
        "tail.sh",
        "read n < count; echo $((n + 1)) > count\nif [ $((n % 5)) -eq 4 ]; then sleep 0.3; else sleep 0.005; fi\n",
    );
    folder.write("usual.sh", "sleep 0.005\n");
    folder.write("count", "0\n");
    let budget = |quantile: f64, at_most: f64| {
        format!("[[cell.budgets]]\nmetric = \"wall_s\"\nquantile = {quantile}\nat_most = {at_most}\n")
    };
    let gate = folder.ends_with(
        &format!(
            "mode = \"quick\"\nlaunches = 2\nrounds = 6\nround_s = 0.04\n[[cell]]\nname = \"tail\"\na = \"sh usual.sh\"\n\
             b = \"sh tail.sh\"\nmetrics = {{ wall_s = {{ threshold = 50, advisory = true }} }}\n{}{}",
            budget(0.95, 0.2),
            budget(0.5, 0.05)
        ),
        10,
    );
    let [p95, median] = &gate.cells[0].budgets[..] else { panic!("there are two budgets: {:?}", gate.cells[0]) };
    assert_eq!((p95.state, median.state), (BudgetState::Broken, BudgetState::Kept), "{:?}", gate.cells[0].budgets);
    let duel = record::Duel::from_json(&folder.read("out/duel-tail.json")).expect("the samples are kept");
    assert_eq!(p95.values, 12 * duel.design.calls, "each call counts");
    let reasons: Vec<record::ReasonSubject> = gate.reasons.iter().map(|reason| reason.about).collect();
    assert_eq!(reasons, [record::ReasonSubject::Budget]);
}

#[test]
fn what_all_cells_have_in_common_is_a_regression_and_warned_of() {
    let folder = Folder::new("alike");
    let said = |work: u32| format!("sh -c 'echo HOTLOOP work={work} unit=steps'");
    let cells: String = (0..5).map(|at| cell(&format!("c{at}"), &said(1000 + at), &said(1100 + at))).collect();
    let gate = folder.ends_with(&format!("launches = 3\nrounds = 4\nround_s = 0.001\n{cells}"), 10);
    assert!(gate.cells.iter().all(|cell| cell.verdict == Some(Verdict::Regressed)), "{:?}", gate.cells);
    assert!(gate.cells.iter().all(|cell| cell.findings[0].confirmed == Some(true)), "each was seen twice");
    let warning =
        gate.warnings.iter().find(|warning| warning.about == record::ReasonSubject::All).expect("it is warned of");
    assert!(warning.sentence.contains("5 of 5 cells changed in the same way"), "{warning:?}");
    assert!(
        folder.read("out/comment.md").contains("5 of 5 cells changed in the same way"),
        "{}",
        folder.read("out/comment.md")
    );
}

#[test]
fn what_cannot_be_told_fails_only_where_that_is_asked_for() {
    let folder = Folder::new("unresolved");
    let once = format!("launches = 1\nrounds = 1\nround_s = 0.001\n{}", cell("one", &says(100), &says(100)));
    let gate = folder.ends_with(&once, 0);
    assert_eq!((gate.verdict, gate.warnings.len()), (Some(Verdict::Unresolved), 1));
    folder.ends_with(&format!("on_unresolved = \"fail\"\n{once}"), 11);
    assert_eq!(folder.gate(&["--on-unresolved", "pass"]).status.code(), Some(0));
}

#[test]
fn settings_of_the_engine_are_compared() {
    let folder = Folder::new("settings");
    let cell = |metrics: &str, b: &str| {
        let sides = format!("synthetic = \"small\"\na = {{ threads = 1, tokens = 4 }}\nb = {b}");
        format!("{SHORT}[[cell]]\nname = \"engine\"\n{sides}\nmetrics = {{ {metrics} }}\n")
    };
    // What is allocated is exact, and the same without noise; how fast it is does not matter here.
    let gate = folder.ends_with(&cell("allocs = 1", "{ threads = 1, tokens = 4 }"), 0);
    assert!(gate.cells[0].failure.is_none() && gate.cells[0].base.contains("threads=1"), "{:?}", gate.cells[0]);
    let gate = folder.ends_with(&cell("allocs = 1", "{ thread = 2 }"), 1);
    assert!(gate.reasons[0].sentence.contains("there is no setting `thread`"), "{:?}", gate.reasons);
}

#[test]
fn a_program_that_fails_is_a_fault_and_the_rest_is_measured() {
    let folder = Folder::new("fault");
    let fails = "sh -c 'echo it is broken >&2; exit 3'";
    let config = format!("{SHORT}{}{}", cell("one", fails, fails), cell("two", &says(100), &says(100)));
    let gate = folder.ends_with(&config, 1);
    assert!(
        gate.cells[0].failure.as_ref().is_some_and(|failure| failure.contains("it is broken")),
        "{:?}",
        gate.cells[0]
    );
    assert_eq!(gate.cells[1].verdict, Some(Verdict::Same));
    let missing = cell("one", "no-such-program-anywhere", "sh");
    folder.ends_with(&format!("{SHORT}{missing}"), 1);
    let unknown = cell("one", &says(1), &says(1)).replace("work = 1 ", "speed = 1 ");
    let gate = folder.ends_with(&format!("{SHORT}{unknown}"), 1);
    assert!(gate.reasons[0].sentence.contains("`speed`"), "{:?}", gate.reasons);
}

#[test]
fn workflows_are_told() {
    let folder = Folder::new("workflow");
    folder.write(
        "hotloop.toml",
        &format!("{SHORT}{}{}", cell("one", &says(100), &says(110)), cell("two", &says(1), &says(1))),
    );
    let summary = folder.write("summary.md", "before\n");
    let mut command = folder.command(&["--json", "--cell", "one"]);
    let output = command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", summary).output().expect("it starts");
    assert_eq!(output.status.code(), Some(10));
    let gate = Gate::from_json(&String::from_utf8_lossy(&output.stdout)).expect("it is the document alone");
    assert_eq!(gate.cells.len(), 1);
    assert!(gate.not_measured.iter().any(|what| what.contains("`two`")), "{:?}", gate.not_measured);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("::error title=Hotloop gate::one/work: ") && error.contains("VERDICT regressed one/work"),
        "{error}"
    );
    let summary = folder.read("summary.md");
    assert!(summary.starts_with("before\n<!-- hotloop-gate -->\n") && summary.contains("Not measured: "), "{summary}");
}

#[test]
fn bad_files_and_options_are_refused() {
    let folder = Folder::new("refused");
    folder.refused(&[], "cannot read hotloop.toml");
    folder.write("hotloop.toml", "mode = \"standard\"\nmodus = 1\n");
    folder.refused(&[], "hotloop.toml, line 2: unknown key `modus`");
    let good = format!("{SHORT}{}", cell("one", &says(1), &says(1)));
    folder.write("hotloop.toml", &format!("{good}[[accept]]\ncell = \"one\"\nmetric = \"work\"\nuntil = 2026-12-31\n"));
    folder.refused(&[], "hotloop.toml, line 9: an acceptance needs a `reason`");
    folder.write("hotloop.toml", &good);
    folder.refused(&["--cell", "three"], "there is no cell `three`; known cells: one");
    folder.refused(&["--config", "other.toml"], "cannot read other.toml");
    folder.refused(&["--on-unresolved", "maybe"], "[possible values: pass, fail]");
    folder.write("file", "");
    folder.refused(&["--out", "file"], "cannot write to file");
    folder.refused(&["main"], "no selected cell compares revisions");
    folder.refused(&["--init", "--json"], "cannot be used with");
    folder.write("hotloop.toml", &format!("mode = \"quick\"\n{good}"));
    folder.refused(&["--on-unresolved", "fail"], "always fails");
    folder.write("hotloop.toml", "[[cell]]\nname = \"one\"\ncommand = \"{bin}\"\nmetrics = { wall_s = 3 }\n");
    folder.refused(&["--dry-run"], "");
}

#[test]
fn an_example_is_written_once_and_can_be_used() {
    let folder = Folder::new("init");
    let output = folder.gate(&["--init"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.read("hotloop.toml").contains("[[cell]]"));
    folder.write("hotloop.toml", &format!("{SHORT}{}", cell("one", &says(1), &says(2))));
    folder.refused(&["--init"], "never overwritten");
    let output = folder.gate(&["--dry-run"]);
    let plan = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{plan}");
    assert!(
        plan.contains("one (standard: 2 launches of 2 rounds)") && plan.contains("judged by work at 1 %"),
        "{plan}"
    );
    assert!(!folder.0.join("out").exists(), "nothing was measured");
}

/// A git repository with a program that has no dependencies.
fn git(folder: &Folder, words: &[&str]) -> String {
    let mut command = Command::new("git");
    let fixed = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"];
    command.args(fixed).args(words).current_dir(&folder.0).stdin(Stdio::null());
    let output = command.output().expect("git is there");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn revisions_of_a_project_are_built_and_compared() {
    let folder = Folder::new("project");
    folder.write("Cargo.toml", "[package]\nname = \"counted\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n");
    let main = |steps: u32| {
        format!(
            "fn main() {{ println!(\"HOTLOOP steps={{}} exact=yes\", (0..{steps}).count()); println!(\"done\"); }}\n"
        )
    };
    let metrics = "metrics = { steps = 1 }\n";
    folder.write("hotloop.toml", &format!("{SHORT}[[cell]]\nname = \"steps\"\ncommand = \"{{bin}}\"\n{metrics}"));
    folder.write(".gitignore", "target\ncache\nout\n");
    folder.write("src/main.rs", &main(100));
    git(&folder, &["init", "--quiet", "--initial-branch", "main"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "--quiet", "-m", "first"]);
    let base = git(&folder, &["rev-parse", "HEAD"]);
    git(&folder, &["checkout", "--quiet", "-b", "change"]);
    folder.write("src/main.rs", &main(120));
    git(&folder, &["commit", "--quiet", "-a", "-m", "second"]);
    let head = git(&folder, &["rev-parse", "HEAD"]);
    let config = folder.read("hotloop.toml");
    let gate = folder.ends_with(&config, 10);
    let commits = (gate.base.map(|base| base.commit), gate.head.map(|head| head.commit), gate.commits);
    assert_eq!(commits, (Some(base.clone()), Some(head.clone()), vec![head.clone()]));
    let plan = folder.gate(&["--dry-run"]);
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    assert!(plan.contains(" 1 commit between them\n"), "{plan}");
    let accept = "[[accept]]\ncell = \"steps\"\nmetric = \"steps\"\nreason = \"more work\"\nuntil = 9999-12-31\n";
    let gate = folder.ends_with(&format!("{config}{accept}commit = \"{}\"\n", &head[..8]), 0);
    assert_eq!(gate.accepted[0].state, AcceptanceState::Used);
    folder.ends_with(&format!("{config}{accept}commit = \"{}\"\n", &base[..8]), 10);
    // What is not committed is not measured, and the other way round it is faster.
    folder.write("src/main.rs", "not Rust");
    folder.write("hotloop.toml", &config);
    let output = folder.gate(&["change", "main", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let gate = Gate::from_json(&String::from_utf8_lossy(&output.stdout)).expect("it is the document");
    assert_eq!(gate.verdict, Some(Verdict::Improved));
    folder.refused(&["no-such-revision"], "unknown revision `no-such-revision`");
}
