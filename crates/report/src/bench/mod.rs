//! A table of speeds as `hotloop bench` prints it: for the terminal, as Markdown and as CSV.

mod columns;
mod csv;
mod markdown;
mod terminal;

use record::{Bench, BenchRow, BenchSettings};

pub use csv::csv;
pub use markdown::markdown;
pub use terminal::text;

use crate::units::plural;

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
    let names = columns::names(bench);
    let sentence = |skip: &record::SkippedTest| {
        let model = names.get(skip.model.as_str()).copied().unwrap_or(&skip.model);
        let what = skip.test.as_ref().map_or_else(|| model.to_owned(), |test| format!("{test} of {model}"));
        format!("skipped {what}: {}", skip.reason)
    };
    bench.skipped.iter().map(sentence).collect()
}

#[cfg(test)]
mod tests;
