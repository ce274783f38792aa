//! The arguments of `hotloop report`.

use clap::Args;

use super::{Shown, StoreOptions};

/// Which run to show, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Show a run that was kept",
    after_help = "Examples:\n  \
        hotloop report                                        the latest run\n  \
        hotloop report 3f9a12 --format markdown > report.md\n  \
        hotloop report baseline --layout smallmind\n  \
        hotloop report enhanced-profile-report.md\n\n\
        RUN is an id or a unique beginning of it, @latest, @previous, a tag, or a file: a run, or what `hotloop import` reads."
)]
pub struct Report {
    /// The run.
    #[arg(
        value_name = "RUN",
        default_value = "@latest",
        hide_default_value = true,
        help = "an id, @latest (the default), @previous, a tag or a file"
    )]
    pub run: String,
    #[command(flatten)]
    pub shown: Shown,
    /// Whether to print for programs.
    #[arg(long, help = "print the run as JSON, as it was kept")]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}
