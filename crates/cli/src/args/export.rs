//! The arguments of `hotloop export`.

use std::path::PathBuf;

use clap::Args;
use report::ExportFormat;

use super::StoreOptions;

/// What to write of which run, and where.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Write a run for other programs: trace viewers, flame graphs, spreadsheets",
    after_help = "RUN is an id, four or more of its first digits, @latest, @previous, a tag, or a file: a\n\
        run, or what `hotloop import` reads.\n\n\
        Formats:\n  \
          chrome       Trace Event JSON, for ui.perfetto.dev and chrome://tracing\n  \
          perfetto     Perfetto's own traces, smaller; binary\n  \
          speedscope   for speedscope.app\n  \
          folded       collapsed stacks, `a;b;c nanoseconds`, for flame graph tools\n  \
          firefox      for profiler.firefox.com\n  \
          svg          a flame graph, drawn\n  \
          csv          a line for each scope path; with --what samples one for each measured value\n  \
          json         the record as it is stored\n\n\
        With a timeline the trace viewers show the calls at their times, else the merged call tree.\n\n\
        Examples:\n  \
          hotloop export @latest --to perfetto --out decode.pftrace\n  \
          hotloop export baseline --to svg --out flame.svg\n  \
          hotloop export 3f2a --to folded | inferno-flamegraph > flame.svg\n  \
          hotloop export @latest --to csv --what samples --out samples.csv\n\n\
        Environment:\n  HOTLOOP_STORE=DIR   the folder of the runs"
)]
pub struct Export {
    #[command(flatten)]
    pub store: StoreOptions,
    /// The run.
    #[arg(
        value_name = "RUN",
        default_value = "@latest",
        hide_default_value = true,
        help = "the run (default @latest)"
    )]
    pub run: String,
    /// The format.
    #[arg(long, value_name = "FORMAT", value_parser = format, help = "what to write, see below")]
    pub to: ExportFormat,
    /// The file.
    #[arg(
        short,
        long,
        value_name = "FILE",
        help = "the file to write, replaced where it is there; - is standard output (the default)"
    )]
    pub out: Option<PathBuf>,
    /// What a table is of.
    #[arg(long, value_name = "WHAT", value_parser = what, help = "what a csv has lines for: scopes (the default) or samples")]
    pub what: Option<What>,
}

/// What a table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The scope paths.
    Scopes,
    /// The measured values.
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

fn format(value: &str) -> Result<ExportFormat, String> {
    let found = FORMATS.iter().find(|(name, _)| *name == value);
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names = FORMATS.map(|(name, _)| name);
        format!("--to takes one of {}, not `{value}`", names.join(", "))
    })
}

fn what(value: &str) -> Result<What, String> {
    match value {
        "scopes" => Ok(What::Scopes),
        "samples" => Ok(What::Samples),
        _ => Err(format!("--what takes scopes or samples, not `{value}`")),
    }
}
