//! A table of speeds as `hotloop bench` prints it.

mod csv;

use std::collections::BTreeMap;
use std::path::Path;

use record::{Bench, BenchRow, BenchSettings, SkippedTest};

use crate::document::{Block, Document, Section, Table};
use crate::units::{bytes, count, digits, plural};

pub use csv::csv;

/// The table; below it the build, the machine and what the figures are of. `hotloop import` reads it
/// as Markdown.
pub fn document(bench: &Bench) -> Document {
    let mut section = Section::new("", "");
    if bench.rows.is_empty() {
        section.text("nothing was measured".to_owned());
    } else {
        section = section.with(Block::Table(table(bench)));
        section.text(build(bench));
    }
    skipped(bench).into_iter().for_each(|sentence| section.text(sentence));
    if bench.interrupted {
        section.text("interrupted: the table has what was measured until then".to_owned());
    }
    Document::untitled(vec![section])
}

fn table(bench: &Bench) -> Table {
    let names = names(bench);
    // If all rows have the same number of repeats, the line below the table has it.
    let has_repeats = repeats(&bench.rows).is_none();
    let headings = ["model", "size", "params", "quant", "threads", "test", "tok/s", "repeats"];
    let headings = &headings[..headings.len() - usize::from(!has_repeats)];
    let mut table = Table::new(headings).least_important(&["params", "size", "quant"]);
    for (row, speed) in bench.rows.iter().zip(speeds(&bench.rows)) {
        table.row([
            names[row.model.as_str()].to_owned(),
            bytes(row.model_bytes),
            parameters(row.parameters),
            row.format.clone(),
            row.threads.to_string(),
            row.test.clone(),
            speed,
            row.samples_s.len().to_string(),
        ]);
    }
    table
}

/// As llama-bench ends its table.
fn build(bench: &Bench) -> String {
    let settings = &bench.settings;
    let tool = &settings.tool;
    let commit = settings.commit.as_ref().map_or_else(String::new, |commit| {
        let short: String = commit.chars().take(7).collect();
        format!(" ({short})")
    });
    format!("build: {} {}{commit}; {}; {}", tool.name, tool.version, conditions(settings), statistic(bench))
}

/// Where it was measured, and with what.
fn conditions(settings: &BenchSettings) -> String {
    let yes = |on: bool, what: &str| on.then(|| what.to_owned());
    let parts = [
        settings.cpu.clone(),
        Some(settings.isa.clone()),
        Some(format!("KV cache {}", settings.cache)),
        yes(settings.in_place, "weights in place"),
        yes(settings.exact, "weights expanded to f32"),
        yes(settings.debug_build, "debug build: speeds mean nothing"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What the figures are of: the repeats, where all rows have as many.
fn statistic(bench: &Bench) -> String {
    match repeats(&bench.rows) {
        Some(1) => "one measurement each".to_owned(),
        Some(repeats) => format!("mean ± standard deviation of {}", plural(repeats as u64, "repeat")),
        None => "mean ± standard deviation".to_owned(),
    }
}

/// The number of repeats that all rows have.
fn repeats(rows: &[BenchRow]) -> Option<usize> {
    let first = rows.first()?.samples_s.len();
    rows.iter().all(|row| row.samples_s.len() == first).then_some(first)
}

/// What was not measured, a sentence each.
fn skipped(bench: &Bench) -> Vec<String> {
    let names = names(bench);
    let sentence = |skip: &SkippedTest| {
        let model = names.get(skip.model.as_str()).copied().unwrap_or(&skip.model);
        let what = skip.test.as_ref().map_or_else(|| model.to_owned(), |test| format!("{test} of {model}"));
        format!("skipped {what}: {}", skip.reason)
    };
    bench.skipped.iter().map(sentence).collect()
}

/// Models as the table calls them: files without their folder, unless two have the same name.
fn names(bench: &Bench) -> BTreeMap<&str, &str> {
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

#[cfg(test)]
mod tests;
