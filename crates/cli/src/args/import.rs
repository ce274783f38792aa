//! The arguments of `hotloop import`.

use std::path::PathBuf;

use clap::Args;

use super::StoreOptions;

/// Which files to read, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Read what other programs measured, and keep it as runs",
    after_help = help()
)]
pub struct Import {
    /// The files.
    #[arg(value_name = "FILE", required = true, help = "files, or folders of Criterion")]
    pub files: Vec<PathBuf>,
    /// What they are.
    #[arg(long, value_name = "NAME", value_parser = format, help = "what the files are, if that is not to be seen from them")]
    pub format: Option<import::Format>,
    /// A name for the run.
    #[arg(long, value_name = "NAME", help = "a name for the run, if there is one", conflicts_with = "no_save")]
    pub tag: Option<String>,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON: the runs, and what was not read")]
    pub json: bool,
    /// Whether to keep nothing.
    #[arg(long, help = "read and tell, but keep no run")]
    pub no_save: bool,
    /// Whether all has to be read.
    #[arg(long, help = "keep nothing of a file of which something was not read")]
    pub strict: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}

fn format(value: &str) -> Result<import::Format, String> {
    import::Format::named(value).ok_or_else(|| {
        let names: Vec<&str> = import::Format::all().iter().map(import::Format::name).collect();
        format!("--format takes one of {}, not `{value}`", names.join(", "))
    })
}

fn help() -> String {
    let lines = import::Format::all().iter().map(|format| format!("  {:<22} {}\n", format.name(), format.what()));
    format!(
        "Formats:\n{}\n\
         What a report does not say is not known of the run: how the program was built, where it ran. `report`, `compare`,\n\
         `models` and `export` take such files as they are; of a file with several runs one is named by FILE#PART.\n\n\
         Examples:\n  \
           hotloop import enhanced-profile-report.md\n  \
           hotloop import target/criterion --tag before\n  \
           llama-bench -m model.gguf -o json > bench.json; hotloop import bench.json\n  \
           hotloop import --no-save --json trace.json.gz\n\n\
         Environment:\n  HOTLOOP_STORE=DIR   the folder of the runs",
        lines.collect::<String>()
    )
}
