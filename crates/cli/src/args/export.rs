//! The arguments of `hotloop export`.

use std::path::PathBuf;

use clap::Args;
use report::ExportFormat;

use super::StoreOptions;

/// The formats come from the report's own list, so that the help has all of them.
fn help() -> String {
    let line = |format: &ExportFormat| format!("  {:<11}  {}\n", format.name, format.about);
    let formats: String = ExportFormat::ALL.iter().map(line).collect();
    format!(
        "RUN is an id, four or more of its first digits, @latest, @previous, a tag, or a file: a\n\
         run, or what `hotloop import` reads.\n\n\
         Formats:\n{formats}\n\
         Trace viewers show the timeline of a run that has one (`profile --trace`), else its\n\
         merged call tree.\n\n\
         Examples:\n  \
           hotloop export @latest --to perfetto --out decode.pftrace\n  \
           hotloop export baseline --to svg --out flame.svg\n  \
           hotloop export 3f2a --to folded | inferno-flamegraph > flame.svg\n  \
           hotloop export @latest --to csv --what samples --out samples.csv\n\n\
         Environment:\n  HOTLOOP_STORE=DIR   the folder of the runs"
    )
}

/// What to write of which run, and where.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Write a run for other programs: trace viewers, flame graphs, spreadsheets",
    after_help = help()
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

fn format(value: &str) -> Result<ExportFormat, String> {
    ExportFormat::named(value).ok_or_else(|| {
        let names: Vec<&str> = ExportFormat::ALL.iter().map(|format| format.name).collect();
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
