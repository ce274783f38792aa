//! The arguments of `hotloop export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use report::ExportFormat;

use super::StoreOptions;
use super::values::one_of;

/// Export a run: trace viewers, flame graphs, spreadsheets
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
RUN is an id or its first four or more digits, @latest, @previous, a tag, or a
file: a run, or anything that `hotloop import` reads.

Formats:
  chrome       Trace Event JSON, for ui.perfetto.dev and chrome://tracing
  perfetto     native Perfetto trace: smaller, binary
  speedscope   for speedscope.app
  folded       collapsed stacks, `a;b;c nanoseconds`, for flame graph tools
  firefox      for profiler.firefox.com
  svg          flame graph
  csv          one line per scope path, or per sample with --what samples
  json         the run as it is stored

Trace viewers show the timeline of a run that has one (`profile --trace`), else
its merged call tree.

Environment:
  HOTLOOP_STORE=DIR   folder of the runs

Examples:
  hotloop export --to perfetto -o decode.pftrace        the latest run
  hotloop export baseline --to svg -o flame.svg
  hotloop export 3f2a --to folded | inferno-flamegraph > flame.svg
  hotloop export --to csv --what samples -o samples.csv")]
pub struct Export {
    /// Run to export: an id, @latest, @previous, a tag or a file
    #[arg(value_name = "RUN", default_value = "@latest")]
    pub run: String,
    /// Format to write
    #[arg(long, value_name = "FORMAT", value_parser = one_of(FORMATS.map(|(name, _)| name), format))]
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

const FORMATS: [(&str, ExportFormat); 8] = [
    ("chrome", ExportFormat::Chrome),
    ("perfetto", ExportFormat::Perfetto),
    ("speedscope", ExportFormat::Speedscope),
    ("folded", ExportFormat::Folded),
    ("firefox", ExportFormat::Firefox),
    ("svg", ExportFormat::Svg),
    ("csv", ExportFormat::Csv),
    ("json", ExportFormat::Json),
];

fn format(value: &str) -> Option<ExportFormat> {
    FORMATS.iter().find(|(name, _)| *name == value).map(|(_, format)| *format)
}
