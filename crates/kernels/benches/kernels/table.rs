//! A subject's rows as a table, and in which of them we are first.

use std::fmt::Write;

use crate::contest::{Cell, Row, Speed};

/// Columns of our own kernels begin with this.
pub const OURS: &str = "ours";

/// Columns with weights that were packed beforehand end with this.
const PACKED: &str = "packed";

/// Less than this is never called a difference: the best batches of one contender, run twice, differ as much.
const LEAST_NOISE: f64 = 0.03;

/// What one table is about.
pub struct Subject {
    /// The first cell of the head: what is measured, and in which unit.
    pub title: String,
    /// What the limit is called.
    pub limit: &'static str,
    /// Whether it is the same for all rows.
    pub one_limit: bool,
    /// All columns there can be, in their order; those without a figure are left out.
    pub columns: &'static [&'static str],
}

impl Subject {
    /// The table, what was wrong, and the summary.
    pub fn show(&self, rows: &[Row]) -> String {
        let mut text = self.table(rows);
        for row in rows {
            for (column, wrong) in row.cells.iter().filter_map(|cell| Some((cell.column, cell.speed.as_ref().err()?))) {
                let _ = writeln!(text, "wrong result of {column} in {}: {wrong}", row.name);
            }
        }
        text + "\n" + &summary(rows)
    }

    fn table(&self, rows: &[Row]) -> String {
        let has = |column: &&&str| rows.iter().any(|row| find(row, column).is_some());
        let columns: Vec<&str> = self.columns.iter().filter(has).copied().collect();
        let mut head = vec![self.title.clone()];
        head.extend(columns.iter().map(|column| (*column).to_owned()));
        head.extend([self.limit.to_owned(), "our share".to_owned()]);
        let mut lines = vec![head];
        for row in rows {
            let leader = leader(row).map(|(column, _)| column);
            let mut line = vec![row.name.clone()];
            line.extend(columns.iter().map(|column| cell(find(row, column), leader == Some(column))));
            let limit = if self.one_limit { highest(rows) } else { row.limit };
            let shown = |limit: Speed| if self.one_limit { figure(limit.best) } else { spread(limit) };
            line.push(limit.map_or("–".to_owned(), shown));
            let share = ours(row).zip(limit).map(|((_, ours), limit)| format!("{:.0} %", 100.0 * ours / limit.best));
            line.push(share.unwrap_or_else(|| "–".to_owned()));
            lines.push(line);
        }
        markdown(&lines)
    }
}

/// The highest limit of all rows: what a quiet moment showed.
fn highest(rows: &[Row]) -> Option<Speed> {
    rows.iter().filter_map(|row| row.limit).max_by(|a, b| a.best.total_cmp(&b.best))
}

fn find<'r>(row: &'r Row, column: &str) -> Option<&'r Cell> {
    row.cells.iter().find(|cell| cell.column == column)
}

fn cell(cell: Option<&Cell>, leads: bool) -> String {
    let mark = if leads { "*" } else { "" };
    match cell.map(|cell| &cell.speed) {
        None => "–".to_owned(),
        Some(Ok(speed)) => format!("{mark}{}", spread(*speed)),
        Some(Err(_)) => "wrong".to_owned(),
    }
}

fn spread(speed: Speed) -> String {
    format!("{} / {}", figure(speed.best), figure(speed.median))
}

/// Three digits are more than the noise leaves.
fn figure(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The fastest at best, among those that `belongs` lets through.
fn fastest(row: &Row, belongs: impl Fn(&str) -> bool) -> Option<(&'static str, f64)> {
    let speeds = row.cells.iter().filter_map(|cell| Some((cell.column, cell.speed.as_ref().ok()?.best)));
    speeds.filter(|(column, _)| belongs(column)).max_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn leader(row: &Row) -> Option<(&'static str, f64)> {
    fastest(row, |_| true)
}

fn ours(row: &Row) -> Option<(&'static str, f64)> {
    fastest(row, |column| column.starts_with(OURS))
}

/// A line that says where we lose; where weights can be packed beforehand, one for those and one for those as they lie.
fn summary(rows: &[Row]) -> String {
    let is_packed = |column: &str| column.ends_with(PACKED);
    if !rows.iter().flat_map(|row| &row.cells).any(|cell| is_packed(cell.column) && cell.column.starts_with(OURS)) {
        return standing(OURS, rows, |_| true);
    }
    standing("ours, plain,", rows, |column| !is_packed(column)) + &standing("ours, packed or not,", rows, |_| true)
}

/// How we stand among the columns that `belongs` lets through.
fn standing(who: &str, rows: &[Row], belongs: impl Fn(&str) -> bool) -> String {
    let (mut contested, mut first, mut behind) = (0, 0, Vec::new());
    let noise = middle(rows.iter().map(|row| row.noise).collect()).max(LEAST_NOISE);
    for row in rows {
        let ours = fastest(row, |column| belongs(column) && column.starts_with(OURS));
        let peer = fastest(row, |column| belongs(column) && !column.starts_with(OURS));
        let (Some((_, ours)), Some((peer, theirs))) = (ours, peer) else {
            continue;
        };
        contested += 1;
        if ours >= theirs * (1.0 - noise) {
            first += 1;
        } else {
            behind.push(format!("{} ({:.2} × {peer})", row.name, ours / theirs));
        }
    }
    if contested == 0 {
        return format!("{who} beside a peer: no row\n");
    }
    let behind = if behind.is_empty() { "none".to_owned() } else { behind.join(", ") };
    let noise = 100.0 * noise;
    format!("{who} first or within noise ({noise:.0} %) of first: {first} of {contested} rows; behind: {behind}\n")
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Aligned so that it reads well unrendered; the first column is text.
fn markdown(lines: &[Vec<String>]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0).max(3);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            let _ = if column == 0 { write!(text, "| {cell}{padding} ") } else { write!(text, "| {padding}{cell} ") };
        }
        text.push_str("|\n");
        if number == 0 {
            for (column, &width) in widths.iter().enumerate() {
                let end = if column == 0 { '-' } else { ':' };
                let _ = write!(text, "|{}{end}", "-".repeat(width + 1));
            }
            text.push_str("|\n");
        }
    }
    text
}
