//! Variants of the same work side by side: rows whose names differ only after a slash.

use std::collections::HashMap;

use record::Row;

use super::view::View;
use crate::document::{Block, Section, Table, quoted};
use crate::units::{fine_digits, mean_bytes, mean_count, seconds};

/// How a value is written.
type Written = fn(f64) -> String;

/// What is set side by side: the metric and how it is written.
const METRICS: [(&str, Written); 4] =
    [("allocs", mean_count), ("alloc_bytes", mean_bytes), ("peak_live_bytes", mean_bytes), ("wall_s", seconds)];

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let headings = ["variant", "allocs", "ratio", "bytes", "ratio", "peak live", "ratio", "time", "ratio"];
    let mut table = Table::new(&headings);
    for (group, variants) in groups(&view.run.rows) {
        table.row([group.to_owned()]);
        let first = values(view, variants[0]);
        for variant in &variants {
            let name = variant.name[group.len() + 1..].to_owned();
            table.row_at(1, [name].into_iter().chain(cells(&first, &values(view, variant))));
        }
    }
    let explanation = "per call, medians; ratio: to the first variant";
    let section = || Section::new("VARIANTS", explanation).with(Block::Table(table)).with(Block::Facts(what(view)));
    (!groups(&view.run.rows).is_empty()).then(section)
}

/// The two variants of the same work with the largest ratio of times.
pub(super) fn furthest_apart(view: &View<'_>) -> Option<String> {
    let pairs = groups(&view.run.rows).into_iter().flat_map(|(_, rows)| {
        let first = rows[0];
        rows.into_iter().skip(1).map(move |row| (first, row))
    });
    let ratios = pairs.filter_map(|(first, row)| {
        let time = |row: &Row| compare::quantile(&view.per_call(row, "wall_s"), 0.5).filter(|time| *time > 0.0);
        Some((time(row)? / time(first)?, first, row))
    });
    let (ratio, first, row) = ratios.max_by(|a, b| a.0.ln().abs().total_cmp(&b.0.ln().abs()))?;
    Some({
        let (fast, slow, times) = if ratio < 1.0 { (row, first, 1.0 / ratio) } else { (first, row, ratio) };
        format!("{} is {}× faster than {}", quoted(&fast.name), fine_digits(times), quoted(&slow.name))
    })
}

/// What the known variants are.
const VARIANTS: [(&str, &str); 8] = [
    ("fresh", "new memory for every result"),
    ("pooled", "memory reused from a pool"),
    ("allocating", "result in new memory"),
    ("in_place", "result overwrites an operand"),
    ("separate", "one pass over the values per operation"),
    ("fused", "one pass over the values for all operations"),
    ("recomputed", "keys and values of all tokens recomputed for each token"),
    ("kept", "keys and values of earlier tokens cached"),
];

/// What the work is, then what the variants are.
fn what(view: &View<'_>) -> Vec<(String, String)> {
    let groups = groups(&view.run.rows);
    let work = groups.iter().map(|(name, variants)| ((*name).to_owned(), variants[0].what.clone()));
    let is_measured = |way: &str| {
        let mut rows =
            groups.iter().flat_map(|(name, variants)| variants.iter().map(|row| &row.name[name.len() + 1..]));
        rows.any(|row| row == way)
    };
    let ways =
        VARIANTS.iter().filter(|(way, _)| is_measured(way)).map(|(way, what)| ((*way).to_owned(), (*what).to_owned()));
    work.chain(ways).filter(|(_, what)| !what.is_empty()).collect()
}

/// Names before the slash that have several behind it.
fn groups(rows: &[Row]) -> Vec<(&str, Vec<&Row>)> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some((group, _)) = row.name.split_once('/') else { continue };
        let place = *places.entry(group).or_insert(groups.len());
        if place == groups.len() {
            groups.push((group, Vec::new()));
        }
        groups[place].1.push(row);
    }
    groups.retain(|(_, variants)| variants.len() > 1);
    groups
}

fn values(view: &View<'_>, row: &Row) -> [Option<f64>; 4] {
    METRICS.map(|(metric, _)| {
        // The most that was live does not grow with the number of calls.
        let is_peak = metric == "peak_live_bytes";
        let values =
            if is_peak { compare::sorted(&view.values(&row.name, metric)) } else { view.per_call(row, metric) };
        compare::quantile(&values, 0.5)
    })
}

fn cells(first: &[Option<f64>; 4], values: &[Option<f64>; 4]) -> Vec<String> {
    let mut cells = Vec::new();
    for (((_, written), first), value) in METRICS.iter().zip(first).zip(values) {
        cells.push(value.map_or_else(crate::document::not_measured, written));
        let ratio = first.zip(*value).filter(|(first, _)| *first > 0.0).map(|(first, value)| value / first);
        cells.push(ratio.map_or_else(|| "-".to_owned(), fine_digits));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_before_the_slash_belong_together() {
        let row = |name: &str| Row { name: name.into(), ..Row::default() };
        let rows = ["a/x", "b", "c/x", "a/y", "a/z/z"].map(row);
        let found: Vec<(&str, usize)> = groups(&rows).iter().map(|(name, variants)| (*name, variants.len())).collect();
        assert_eq!(found, [("a", 3)]);
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let none = [None, Some(0.0), Some(2.0), Some(1.0)];
        let cells = cells(&none, &[Some(1.0), Some(3.0), Some(1.0), None]);
        assert_eq!(cells, ["1", "-", "3 B", "-", "1 B", "0.50", "not measured", "-"]);
    }
}
