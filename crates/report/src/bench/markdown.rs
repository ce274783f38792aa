//! The table as Markdown, to be pasted into a pull request. `hotloop import` reads it.

use record::Bench;

use super::columns::{Column, MODEL, columns};
use super::{conditions, skipped, statistic};
use crate::run::escaped;

/// The table; below it the build, the machine and what the figures are of.
pub fn markdown(bench: &Bench) -> String {
    let columns = columns(bench);
    let rows = bench.rows.len();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    if rows > 0 {
        text += &line(columns.iter().map(|column| column.heading.to_owned()).collect());
        text += &line(columns.iter().map(rule).collect());
    }
    for row in 0..rows {
        text += &line(columns.iter().map(|column| cell(&column.cells[row])).collect());
    }
    text += &format!("\n{}\n", escaped(&build(bench)));
    for sentence in skipped(bench) {
        text += &format!("\n{}\n", escaped(&sentence));
    }
    if bench.interrupted {
        text += "\ninterrupted: the table has what was measured until then\n";
    }
    text
}

fn rule(column: &Column) -> String {
    if column.heading == MODEL { "---" } else { "---:" }.to_owned()
}

/// In a table a bar ends the cell.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escaped(&words.join(" ")).replace('|', "\\|")
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
