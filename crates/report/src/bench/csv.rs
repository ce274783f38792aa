//! The rows for spreadsheets, by RFC 4180.

use record::{Bench, BenchRow};

use crate::export::csv_line;

/// The names of the columns.
const HEAD: [&str; 22] = [
    "created",
    "hotloop_version",
    "commit",
    "cpu",
    "isa",
    "cache",
    "in_place",
    "exact",
    "warmup",
    "model",
    "architecture",
    "format",
    "parameters",
    "model_bytes",
    "threads",
    "test",
    "prompt_tokens",
    "generated_tokens",
    "depth",
    "repeats",
    "tokens_per_s",
    "tokens_per_s_stddev",
];

/// A line for each row, with the settings in each of them. What is not known is an empty cell.
pub fn csv(bench: &Bench) -> String {
    let lines = bench.rows.iter().map(|row| csv_line(cells(bench, row).into_iter()));
    csv_line(HEAD.map(str::to_owned).into_iter()) + &lines.collect::<String>()
}

fn cells(bench: &Bench, row: &BenchRow) -> [String; HEAD.len()] {
    let settings = &bench.settings;
    [
        settings.created.clone(),
        settings.tool.version.clone(),
        settings.commit.clone().unwrap_or_default(),
        settings.cpu.clone().unwrap_or_default(),
        settings.isa.clone(),
        settings.cache.clone(),
        settings.in_place.to_string(),
        settings.exact.to_string(),
        settings.warmup.to_string(),
        row.model.clone(),
        row.architecture.clone(),
        row.format.clone(),
        row.parameters.to_string(),
        row.model_bytes.to_string(),
        row.threads.to_string(),
        row.test.clone(),
        row.prompt_tokens.to_string(),
        row.generated_tokens.to_string(),
        row.depth.to_string(),
        row.samples_s.len().to_string(),
        row.tokens_per_s.to_string(),
        row.tokens_per_s_stddev.map_or_else(String::new, |stddev| stddev.to_string()),
    ]
}
