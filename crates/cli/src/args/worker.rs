//! The arguments of `hotloop worker`, which duels start.

use clap::Args;

/// Generate text when asked to on standard input: one side of a duel
#[derive(Debug, Clone, PartialEq, Args)]
pub struct Worker {
    /// Engine settings such as kv=off; `hotloop duel --help` lists them
    #[arg(value_name = "SETTING")]
    pub settings: Vec<String>,
}
