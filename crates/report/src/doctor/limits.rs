//! What the machine can do.

use record::{Limits, Rate};

use crate::document::{Block, Section, Table, not_measured};
use crate::units::{bytes, digits, plural, rate, whole_percent};

/// One line of the table.
struct Row<'a> {
    what: String,
    unit: &'a str,
    one: Option<&'a Rate>,
    all: Option<&'a Rate>,
    /// Whether the instruction set has to be named, because `how` does not show it.
    shows_isa: bool,
}

pub(super) fn section(limits: &Limits) -> Section {
    let threads = u64::from(limits.threads);
    let has_all = threads > 1;
    let all = plural(threads, "thread");
    let headings = match has_all {
        true => vec!["limit", "1 thread", "median", &all, "median", "speedup", "method"],
        false => vec!["limit", "1 thread", "median", "method"],
    };
    let mut table = Table::new(&headings).with_words_last().least_important(&["method"]);
    rows(limits).iter().for_each(|row| table.row(cells(row, has_all)));
    let sizes = sizes(limits).map(|sizes| ("memory read".to_owned(), sizes));
    let notes = limits.notes.iter().map(|note| ("note".to_owned(), note.clone()));
    let facts: Vec<(String, String)> = sizes.into_iter().chain(notes).collect();
    let section =
        Section::new("LIMITS", "best of many short windows; median: share of the best").with(Block::Table(table));
    if facts.is_empty() { section } else { section.with(Block::Facts(facts)) }
}

fn rows(limits: &Limits) -> Vec<Row<'_>> {
    let compute = [("f32 arithmetic", "FLOP/s", &limits.f32), ("int8 dot product", "OP/s", &limits.int8)];
    let mut rows: Vec<Row<'_>> = compute
        .into_iter()
        .map(|(what, unit, found)| Row {
            what: what.to_owned(),
            unit,
            one: found.as_ref().and_then(|found| found.one.as_ref()),
            all: found.as_ref().and_then(|found| found.all.as_ref()),
            shows_isa: false,
        })
        .collect();
    rows.extend(limits.read.iter().map(|level| {
        let pages = if level.huge_pages { "" } else { ", small pages" };
        let what = format!("{} read{pages}", level.name);
        Row { what, unit: "B/s", one: level.one.as_ref(), all: level.all.as_ref(), shows_isa: true }
    }));
    rows
}

fn cells(row: &Row<'_>, has_all: bool) -> Vec<String> {
    let best = |found: Option<&Rate>| found.map_or_else(not_measured, |found| rate(found.best, row.unit));
    let median = |found: Option<&Rate>| found.map_or(String::new(), |found| whole_percent(found.median / found.best));
    let mut cells = vec![row.what.clone(), best(row.one), median(row.one)];
    if has_all {
        let speedup = row.one.zip(row.all).map_or(String::new(), |(one, all)| digits(all.best / one.best) + "×");
        cells.extend([best(row.all), median(row.all), speedup]);
    }
    let by = |found: &Rate| if row.shows_isa { format!("{}, {}", found.isa, found.how) } else { found.how.clone() };
    cells.push(row.all.or(row.one).map_or(String::new(), by));
    cells
}

/// How much memory one thread read at each level.
fn sizes(limits: &Limits) -> Option<String> {
    let levels = limits.read.iter().filter(|level| level.huge_pages && level.one.is_some());
    let sizes: Vec<String> = levels.map(|level| format!("{} ({})", bytes(level.bytes_one), level.name)).collect();
    (!sizes.is_empty()).then(|| format!("by one thread: {}", sizes.join(", ")))
}
