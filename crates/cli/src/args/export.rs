//! The arguments of `hotloop export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use report::ExportFormat;

use super::StoreOptions;
use super::values::one_of;

/// Export a run: trace viewers, flame graphs, spreadsheets
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = help())]
pub struct Export {
    /// Run to export: an id, @latest, @previous, a tag or a file
    #[arg(value_name = "RUN", default_value = "@latest")]
    pub run: String,
    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = one_of(names(), ExportFormat::named))]
    pub to: ExportFormat,
    /// File to write, replaced if it exists; `-` is standard output (the default)
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What a csv has lines for [default: scopes]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub what: Option<CsvTable>,
    #[command(flatten)]
    pub store: StoreOptions,
}

/// What a table has lines for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CsvTable {
    Scopes,
    Samples,
}

fn names() -> impl Iterator<Item = &'static str> {
    ExportFormat::ALL.iter().map(|format| format.name)
}

/// The formats come from the report's own list, so that the help has all of them.
fn help() -> String {
    let line = |format: &ExportFormat| format!("  {:<11}  {}\n", format.name, format.about);
    let formats: String = ExportFormat::ALL.iter().map(line).collect();
    format!(
        "\
RUN is an id or its first four or more digits, @latest, @previous, a tag, or a
file: a run, or anything that `hotloop import` reads.

Formats:
{formats}
Trace viewers show the timeline of a run that has one (`profile --trace`), else
its merged call tree.

Environment:
  HOTLOOP_STORE=DIR   folder of the runs

Examples:
  hotloop export --to perfetto -o decode.pftrace        the latest run
  hotloop export baseline --to svg -o flame.svg
  hotloop export 3f2a --to folded | inferno-flamegraph > flame.svg
  hotloop export --to csv --what samples -o samples.csv"
    )
}
