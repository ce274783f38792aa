//! The arguments of `hotloop report`.

use clap::Args;

use super::{ReportOptions, StoreOptions};

/// Show a saved run in full
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
RUN is an id or its first four or more digits, @latest, @previous, a tag, or a
file: a run, or anything that `hotloop import` reads.

Examples:
  hotloop report                                        the latest run
  hotloop report 3f9a12 --format markdown > report.md
  hotloop report baseline --layout smallmind
  hotloop report enhanced-profile-report.md             a report of SmallMind")]
pub struct Report {
    /// Run to show: an id, @latest, @previous, a tag or a file
    #[arg(value_name = "RUN", default_value = "@latest")]
    pub run: String,
    #[command(flatten)]
    pub shown: ReportOptions,
    /// Print the run as JSON, as it was saved
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreOptions,
}
