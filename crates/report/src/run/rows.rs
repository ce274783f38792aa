//! What was repeated: how long a call takes, and how near that is to what the machine can do.

use std::collections::{HashMap, HashSet};

use record::Row;

use super::limits::{InWords as _, RooflineLimit, operations};
use super::view::{Timing, View, is_command};
use crate::document::{Block, Section, Table};
use crate::units::{count, mean_bytes, mean_count, rate, seconds, tokens_per_s, whole_percent};

/// One row and what was found about it.
pub(super) struct Measured<'a> {
    pub(super) row: &'a Row,
    pub(super) time: Timing,
    pub(super) roof: Option<RooflineLimit>,
}

impl Measured<'_> {
    /// The part of the machine's limit that the median call reaches.
    pub(super) fn share(&self) -> Option<f64> {
        let roof = self.roof.as_ref().filter(|_| self.time.median > 0.0)?;
        Some(roof.seconds / self.time.median)
    }
}

impl<'a> View<'a> {
    /// A row with its times; nothing where it has none.
    pub(super) fn measured(&self, row: &'a Row) -> Option<Measured<'a>> {
        let time = Timing::of(&self.per_call(row, "wall_s"))?;
        Some(Measured { row, time, roof: self.row_roof(row) })
    }

    fn row_roof(&self, row: &Row) -> Option<RooflineLimit> {
        self.roof(&compare::row_work(row, self.model(row), self.threads(Some(row)))?)
    }
}

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    if view.run.rows.is_empty() {
        return None;
    }
    let headings = ["row", "calls", "n", "median", "95 % CI", "fastest", "rate", "limit", "by", "allocs", "bytes"];
    let mut table = Table::new(&headings).least_important(&["fastest", "calls", "bytes", "allocs"]);
    for (depth, row) in in_order(&view.run.rows) {
        table.row_at(depth, cells(view, row));
    }
    let shares = view.run.rows.iter().filter_map(|row| view.measured(row)?.share());
    let explanation = format!("per call; n: samples{}; allocs, bytes: allocated per call", view.legend(shares));
    let section = Section::new("ROWS", &explanation).with(Block::Table(table));
    let descriptions = descriptions(view);
    Some(if descriptions.is_empty() { section } else { section.with(Block::Facts(descriptions)) })
}

/// What the rows are. Variants are explained side by side, and a program that is run as it is by the heading.
fn descriptions(view: &View<'_>) -> Vec<(String, String)> {
    let is_command = is_command(view.run);
    let is_described = |row: &&Row| !is_command && !row.what.is_empty() && !row.name.contains('/');
    let described = view.run.rows.iter().filter(is_described);
    described.map(|row| (row.name.clone(), row.what.clone())).collect()
}

/// Rows with their depth: parts follow their whole.
pub(crate) fn in_order(rows: &[Row]) -> Vec<(usize, &Row)> {
    let names: HashSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let mut parts: HashMap<&str, Vec<&Row>> = HashMap::new();
    let mut roots: Vec<&Row> = Vec::new();
    for row in rows {
        match row.part_of.as_deref().filter(|whole| names.contains(whole)) {
            Some(whole) => parts.entry(whole).or_default().push(row),
            None => roots.push(row),
        }
    }
    let mut order = Vec::new();
    let mut placed: HashSet<&str> = HashSet::new();
    // All rows once more behind the roots: those that are parts of each other in a circle are reached by no root.
    for root in roots.into_iter().chain(rows) {
        let mut pending: Vec<(usize, &Row)> = vec![(0, root)];
        while let Some((depth, row)) = pending.pop() {
            if placed.insert(&row.name) {
                order.push((depth, row));
                let below = parts.get(row.name.as_str()).into_iter().flatten().rev();
                pending.extend(below.map(|part| (depth + 1, *part)));
            }
        }
    }
    order
}

fn cells(view: &View<'_>, row: &Row) -> Vec<String> {
    let calls = count(row.calls);
    let Some(measured) = view.measured(row) else {
        return vec![row.name.clone(), calls, "0".to_owned(), crate::document::not_measured()];
    };
    let time = &measured.time;
    let per_call = |metric: &str| compare::quantile(&view.per_call(row, metric), 0.5);
    vec![
        row.name.clone(),
        calls,
        count(time.samples as u64),
        seconds(time.median),
        interval(time),
        seconds(time.fastest),
        rate_of(row, time.median).unwrap_or_default(),
        measured.share().map_or_else(String::new, whole_percent),
        measured.roof.as_ref().map_or_else(String::new, |roof| roof.cell()),
        per_call("allocs").map_or_else(String::new, mean_count),
        per_call("alloc_bytes").map_or_else(String::new, mean_bytes),
    ]
}

/// `1.20-1.31 ms`; with too few samples there is none.
pub(super) fn interval(time: &Timing) -> String {
    let Some(interval) = time.interval else { return "too few".to_owned() };
    between(&seconds(interval.low), &seconds(interval.high))
}

/// Two values with their unit once, where it is the same.
pub(crate) fn between(low: &str, high: &str) -> String {
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}-{high}"),
        _ => format!("{low}-{high}"),
    }
}

/// What a call does per second: by what it is limited, else by what is declared.
fn rate_of(row: &Row, seconds: f64) -> Option<String> {
    let per_second =
        |amount: Option<f64>| Some(amount.filter(|amount| *amount > 0.0)? / seconds).filter(|rate| rate.is_finite());
    let unit = operations(row.limited_by.as_deref().unwrap_or(""));
    let flops = || per_second(row.flops).map(|value| rate(value, unit));
    let bytes = || per_second(row.bytes).map(|value| rate(value, "B/s"));
    let tokens = || per_second(row.tokens).map(tokens_per_s);
    match row.limited_by.as_deref() {
        _ if row.tokens.is_some() => tokens(),
        Some("read") => bytes().or_else(flops),
        _ => flops().or_else(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, part_of: Option<&str>) -> Row {
        Row { name: name.into(), part_of: part_of.map(str::to_owned), calls: 1, ..Row::default() }
    }

    #[test]
    fn parts_follow_their_whole() {
        let rows =
            [row("c", Some("b")), row("a", None), row("b", Some("a")), row("d", Some("gone")), row("e", Some("e"))];
        let order: Vec<(usize, &str)> =
            in_order(&rows).iter().map(|(depth, row)| (*depth, row.name.as_str())).collect();
        assert_eq!(order, [(0, "a"), (1, "b"), (2, "c"), (0, "d"), (0, "e")]);
    }

    #[test]
    fn units_stand_once() {
        assert_eq!(between("1.20 ms", "1.31 ms"), "1.20-1.31 ms");
        assert_eq!(between("999 us", "1.31 ms"), "999 us-1.31 ms");
    }

    #[test]
    fn rates_are_of_what_limits() {
        let work = Row { flops: Some(2e9), bytes: Some(4e9), ..row("a", None) };
        let read = Row { limited_by: Some("read".into()), ..work.clone() };
        assert_eq!(rate_of(&work, 2.0).as_deref(), Some("1.00 GFLOP/s"));
        assert_eq!(rate_of(&read, 2.0).as_deref(), Some("2.00 GB/s"));
        assert_eq!(rate_of(&Row { tokens: Some(10.0), ..work }, 2.0).as_deref(), Some("5.00 tok/s"));
        let whole_numbers = Row { limited_by: Some("int8".into()), ..row("a", None) };
        assert_eq!(rate_of(&Row { flops: Some(2e9), ..whole_numbers }, 2.0).as_deref(), Some("1.00 GOP/s"));
        assert_eq!(rate_of(&row("a", None), 2.0), None);
        assert_eq!(rate_of(&read, 0.0), None);
    }
}
