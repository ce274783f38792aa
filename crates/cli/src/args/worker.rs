//! The arguments of `hotloop worker`, which duels start.

use clap::Args;

/// What to generate, again and again.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(about = "Generate when asked to on standard input, one side of a duel", hide = true)]
pub struct Worker {
    /// How.
    #[arg(value_name = "SETTING", help = "settings of the engine, such as kv=off; `hotloop duel --help` lists them")]
    pub settings: Vec<String>,
}
