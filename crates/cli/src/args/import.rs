//! The arguments of `hotloop import`.

use std::path::PathBuf;

use clap::Args;

use super::StoreOptions;
use super::values::one_of;

/// Import measurements of other tools as runs
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = help())]
pub struct Import {
    /// Files to read, or folders of Criterion
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Format of the files [default: recognised by their content]
    #[arg(long, value_name = "NAME", value_parser = one_of(names(), import::Format::named), hide_possible_values = true)]
    pub format: Option<import::Format>,
    /// Tag for the run, if there is only one
    #[arg(long, value_name = "NAME", conflicts_with = "no_save")]
    pub tag: Option<String>,
    /// Print JSON: the runs, and what could not be read
    #[arg(long)]
    pub json: bool,
    /// Read the files, but save no run
    #[arg(long)]
    pub no_save: bool,
    /// Save nothing from a file that could not be read completely
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

fn names() -> impl Iterator<Item = &'static str> {
    import::Format::all().iter().map(import::Format::name)
}

fn help() -> String {
    let lines = import::Format::all().iter().map(|format| format!("  {:<22} {}\n", format.name(), format.what()));
    format!(
        "\
Formats:
{}
What a report does not say, such as how the program was built, stays unknown in
the run. `report`, `compare`, `models` and `export` read such files directly. In
a file with several runs, FILE#PART names one.

Environment:
  HOTLOOP_STORE=DIR   folder of the runs

Examples:
  hotloop import enhanced-profile-report.md
  hotloop import target/criterion --tag before
  llama-bench -m model.gguf -o json > bench.json; hotloop import bench.json
  hotloop import --no-save --json trace.json.gz",
        lines.collect::<String>()
    )
}
