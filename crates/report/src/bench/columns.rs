//! The columns of the table, the same for the terminal and for Markdown.

use std::collections::BTreeMap;
use std::path::Path;

use record::{Bench, BenchRow};

use super::repeats;
use crate::units::{bytes, count, digits};

/// A column of the table.
pub(super) struct Column {
    pub(super) heading: &'static str,
    /// Whether it is left out where the terminal is too narrow; the largest number first.
    pub(super) rank: u8,
    pub(super) cells: Vec<String>,
}

/// The column of the models, which is the only one that is aligned to the left and can be shortened.
pub(super) const MODEL: &str = "model";

/// All columns.
pub(super) fn columns(bench: &Bench) -> Vec<Column> {
    let names = names(bench);
    let column = |heading, rank, cell: &dyn Fn(&BenchRow) -> String| Column {
        heading,
        rank,
        cells: bench.rows.iter().map(cell).collect(),
    };
    let mut columns = vec![
        column(MODEL, 0, &|row| names[row.model.as_str()].to_owned()),
        column("size", 2, &|row| bytes(row.model_bytes)),
        column("params", 3, &|row| parameters(row.parameters)),
        column("quant", 1, &|row| row.format.clone()),
        column("threads", 0, &|row| row.threads.to_string()),
        column("test", 0, &|row| row.test.clone()),
        Column { heading: "tok/s", rank: 0, cells: speeds(&bench.rows) },
    ];
    // Where all rows have as many, a line below the table says how many.
    if repeats(&bench.rows).is_none() {
        columns.push(column("repeats", 0, &|row| row.samples_s.len().to_string()));
    }
    columns
}

/// Models as the table calls them: files without their folder, unless two have the same name.
pub(super) fn names(bench: &Bench) -> BTreeMap<&str, &str> {
    let models = bench.rows.iter().map(|row| &row.model).chain(bench.skipped.iter().map(|skip| &skip.model));
    let mut short: BTreeMap<&str, &str> = models.map(|model| (model.as_str(), file_name(model))).collect();
    let all: Vec<&str> = short.values().copied().collect();
    for (model, name) in &mut short {
        if all.iter().filter(|other| *other == name).count() > 1 {
            *name = model;
        }
    }
    short
}

fn file_name(model: &str) -> &str {
    Path::new(model).file_name().and_then(|name| name.to_str()).unwrap_or(model)
}

/// A number of weights, as models are named by it: `15.2 M`.
fn parameters(number: u64) -> String {
    let number = number as f64;
    match number {
        ..1e3 => format!("{number}"),
        ..1e6 => format!("{} K", digits(number / 1e3)),
        ..1e9 => format!("{} M", digits(number / 1e6)),
        ..1e12 => format!("{} B", digits(number / 1e9)),
        _ => format!("{} T", digits(number / 1e12)),
    }
}

/// `18,788 ± 320`, with the deviations below each other.
fn speeds(rows: &[BenchRow]) -> Vec<String> {
    let spread = |row: &BenchRow| {
        row.tokens_per_s_stddev.map(|stddev| format!("± {}", number(stddev, decimals(row.tokens_per_s))))
    };
    let spreads: Vec<Option<String>> = rows.iter().map(spread).collect();
    let width = spreads.iter().flatten().map(|spread| spread.chars().count()).max().unwrap_or(0);
    let cell = |(row, spread): (&BenchRow, &Option<String>)| {
        let mean = number(row.tokens_per_s, decimals(row.tokens_per_s));
        match width {
            0 => mean,
            _ => format!("{mean} {:<width$}", spread.as_deref().unwrap_or_default()),
        }
    };
    rows.iter().zip(&spreads).map(cell).collect()
}

/// Decimals that make three digits of a number.
fn decimals(value: f64) -> usize {
    match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    }
}

fn number(value: f64, decimals: usize) -> String {
    let is_whole = decimals == 0 && (0.0..1e15).contains(&value);
    if is_whole { count(value.round() as u64) } else { format!("{value:.decimals$}") }
}
