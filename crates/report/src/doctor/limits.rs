//! What the machine can do.

use record::{Limits, Rate};

use crate::layout::{labelled, table};
use crate::units::{bytes, digits, plural, rate, whole_percent};

/// One line of the table.
struct Row<'a> {
    what: String,
    unit: &'a str,
    one: Option<&'a Rate>,
    all: Option<&'a Rate>,
    /// Whether the instruction set has to be told, because `how` does not show it.
    shows_isa: bool,
}

pub(super) fn section(limits: &Limits) -> String {
    let mut text = "\nLIMITS  the best of many short windows; beside it the median, as a part of the best\n".to_owned();
    let threads = u64::from(limits.threads);
    let mut heading = vec!["".to_owned(), "1 thread".to_owned(), "median".to_owned()];
    if threads > 1 {
        heading.extend([plural(threads, "thread"), "median".to_owned(), "ratio".to_owned()]);
    }
    heading.push("by".to_owned());
    let rows = rows(limits);
    let mut lines = vec![heading];
    lines.extend(rows.iter().map(|row| cells(row, threads > 1)));
    text.push_str(&table(&lines));
    text.extend(sizes(limits).map(|sizes| labelled("size", 4, &sizes)));
    text.extend(limits.notes.iter().map(|note| labelled("note", 4, note)));
    text
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
        let what = format!("read {}{pages}", level.name);
        Row { what, unit: "B/s", one: level.one.as_ref(), all: level.all.as_ref(), shows_isa: true }
    }));
    rows
}

fn cells(row: &Row<'_>, has_all: bool) -> Vec<String> {
    let best = |found: Option<&Rate>| found.map_or("not measured".to_owned(), |found| rate(found.best, row.unit));
    let median = |found: Option<&Rate>| found.map_or(String::new(), |found| whole_percent(found.median / found.best));
    let mut cells = vec![row.what.clone(), best(row.one), median(row.one)];
    if has_all {
        let ratio = row.one.zip(row.all).map_or(String::new(), |(one, all)| digits(all.best / one.best));
        cells.extend([best(row.all), median(row.all), ratio]);
    }
    let by = |found: &Rate| if row.shows_isa { format!("{}, {}", found.isa, found.how) } else { found.how.clone() };
    cells.push(row.all.or(row.one).map_or(String::new(), by));
    cells
}

/// How much memory one thread alone read, level by level.
fn sizes(limits: &Limits) -> Option<String> {
    let levels = limits.read.iter().filter(|level| level.huge_pages && level.one.is_some());
    let sizes: Vec<String> = levels.map(|level| format!("{} of {}", bytes(level.bytes_one), level.name)).collect();
    (!sizes.is_empty()).then(|| format!("one thread read {}", sizes.join(", ")))
}
