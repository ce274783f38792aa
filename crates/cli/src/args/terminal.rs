//! The options that say how text is shown, for every command.

use clap::{Args, ValueEnum};

/// How text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Display")]
pub struct TerminalOptions {
    /// When to use colour; `auto` honours NO_COLOR and TERM=dumb
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub color: ColorChoice,
    /// Print long text at once instead of through $PAGER
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Show no progress and no notes
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// When text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}
