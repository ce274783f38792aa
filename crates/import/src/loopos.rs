//! The report that LoopOS prints at the end of its training, by itself or amid the lines of a log.

use record::{Row, Unread};

use crate::draft::{Draft, value};
use crate::format::ReadRuns;
use crate::lines::Lines;
use crate::numbers::{decimal, ms_as_ns, seconds, whole};
use crate::tree::{self, Callers, Method};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "=== Profiling Report ===";
/// The headings of its table, with whatever space between them.
const COLUMNS: &str = "Name Calls Total (ms) Avg (ms) Min (ms) Max (ms) % Time";
const SAID: &[&str] = &["Total profiled time:", "Total entries:", "Showing top "];

/// Scopes of LoopOS that lie within another one, as far as its source leaves no doubt. Others, such as `matmul`, are called
/// from many places and on several threads, and their names do not show where.
const CALLERS: &[(&str, &[&str])] = &[
    ("train_batch_optimized", &["train_epoch_streaming", "train_epoch"]),
    ("start_epoch", &["train_epoch_streaming"]),
    ("get_next_batch", &["train_epoch_streaming"]),
    ("read_next_batch", &["get_next_batch"]),
    ("prepare_batch", &["get_next_batch"]),
    ("forward_cached", &["train_batch_optimized"]),
    ("backward", &["train_batch_optimized"]),
];
/// Those at the top.
const ROOTS: &[&str] = &["train_epoch_streaming", "train_epoch", "tokenize_file"];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines.get(*at).contains(HEADING)).collect();
    let mut drafts = Vec::new();
    let mut others = lines.len() as u64;
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(lines.len());
        let mut draft = Draft::new("LoopOS", "loopos");
        if starts.len() > 1 {
            draft.part = Some((number + 1).to_string());
        }
        others = others.saturating_sub(read_report(&mut lines, &mut draft, *start..end));
        drafts.push(draft);
    }
    if others > 0 && !drafts.is_empty() {
        drafts[0].note(format!("{others} lines before or after the report are ignored."));
    }
    // Only rows of the tables can be missing: the log around them is not ours to read.
    let unread: Vec<Unread> = lines.finish(&["*"]);
    Ok(ReadRuns { drafts, unread })
}

/// One report; the number of its lines.
fn read_report(lines: &mut Lines<'_>, draft: &mut Draft, range: std::ops::Range<usize>) -> u64 {
    draft.single_shot = true;
    let mut methods: Vec<Method> = Vec::new();
    let mut negative: Vec<String> = Vec::new();
    let (mut rules, mut own) = (0, 0);
    for at in range {
        let line = lines.get(at);
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_rule = line.trim().len() > 20 && line.trim().bytes().all(|byte| byte == b'-');
        let is_head = line.contains(HEADING) || words.join(" ") == COLUMNS || line.trim().is_empty();
        rules += u32::from(is_rule);
        if rules == 2 {
            own += 1;
            break;
        }
        if is_rule || is_head || SAID.iter().any(|said| line.trim().starts_with(said)) {
            own += 1;
            say(draft, line.trim());
            continue;
        }
        if rules == 0 {
            continue;
        }
        match method(line, &mut negative) {
            Ok(method) if methods.iter().any(|known| known.name == method.name) => {
                lines.refuse(at, "a scope of that name is already listed above");
            }
            Ok(_) if methods.len() == tree::MOST_METHODS => lines.refuse(at, tree::TOO_MANY),
            Ok(method) => {
                own += 1;
                methods.push(method);
            }
            Err(why) => lines.refuse(at, why),
        }
    }
    add(draft, &methods, &negative);
    own
}

/// What the head of the report says beyond its table.
fn say(draft: &mut Draft, line: &str) {
    if let Some(total) = line.strip_prefix("Total profiled time:") {
        draft.note(format!("The report's total{total} counts nested scopes more than once."));
    }
    if let Some(entries) = line.strip_prefix("Total entries:") {
        draft.parameter("entries", entries.trim());
    }
}

fn method(line: &str, negative: &mut Vec<String>) -> std::result::Result<Method, &'static str> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let share = words.pop().and_then(|word| word.strip_suffix('%')).and_then(decimal);
    let (max, min, _, total, calls) = (words.pop(), words.pop(), words.pop(), words.pop(), words.pop());
    let name = words.join(" ");
    if share.is_none() || name.is_empty() {
        return Err("not a row of the table");
    }
    let time = |word: Option<&str>| word.and_then(decimal).and_then(ms_as_ns);
    let total_ns = time(total).ok_or("the time is not a number ≥ 0")?;
    let calls = calls.and_then(whole).ok_or("the number of calls is not a number")?;
    let is_negative = min.is_some_and(|word| word.starts_with('-'));
    if is_negative {
        negative.push(format!("`{name}`"));
    }
    let extremes_ns = time(min).zip(time(max)).filter(|(min, max)| !is_negative && min <= max);
    Ok(Method { name, calls, total_ns, extremes_ns, ..Method::default() })
}

fn add(draft: &mut Draft, methods: &[Method], negative: &[String]) {
    let entries = draft.run.workload.parameters.remove("entries").and_then(|entries| whole(&entries));
    if let Some(entries) = entries.filter(|entries| *entries > methods.len() as u64) {
        draft.note(format!("LoopOS timed {entries} scopes and printed {}.", methods.len()));
    }
    let mut callers = Callers::new();
    for method in methods {
        let row = Row { name: method.name.clone(), calls: method.calls, ..Row::default() };
        draft.row(row);
        draft.sample(&method.name, 0, [value("wall_s", seconds(method.total_ns))]);
        if let Some((_, known)) = CALLERS.iter().find(|(name, _)| *name == method.name) {
            callers.insert(method.name.clone(), known.iter().map(|caller| ((*caller).to_owned(), None)).collect());
        }
    }
    let mut tree = tree::build(methods, &callers);
    let roots = tree.profile.scopes.iter().filter(|scope| scope.parent.is_none());
    // Roots overlap where it is not known what they lie in; the longest holds the others.
    tree.profile.wall_ns = roots.clone().map(|scope| scope.total_ns).max().unwrap_or(0);
    let stray: Vec<String> =
        roots.filter(|scope| !ROOTS.contains(&&*scope.name)).map(|scope| format!("`{}`", scope.name)).collect();
    if !stray.is_empty() && stray.len() < methods.len() {
        draft.note(format!(
            "{} are nested in other scopes, but the report does not say where. They are roots of the tree, so all \
             roots together exceed the run's time. The wall time is taken from the longest one.",
            stray.join(", ")
        ));
    }
    if !negative.is_empty() {
        draft.note(format!(
            "{}: the shortest call is negative, because LoopOS has one timer per name, which threads overwrite. \
             Its calls and times are too low.",
            negative.join(", ")
        ));
    }
    draft.run.notes.append(&mut tree.notes);
    draft.profile(tree.profile);
}
