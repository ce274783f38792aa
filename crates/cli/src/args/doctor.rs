//! The arguments of `hotloop doctor`.

use clap::Args;

use super::values::threads;

/// Examine the machine: hardware, limits, noise, and what to change
#[derive(Debug, PartialEq, Args)]
#[command(after_help = "\
Environment:
  HOTLOOP_ISA=NAME   measure only these instructions: scalar, avx2, avx512, neon
  HOTLOOP_CLOCK=os   describe the profiler with the operating system's clock

Examples:
  hotloop doctor
  hotloop doctor --quick --json > machine.json")]
pub struct Doctor {
    /// Take 3 seconds instead of 20; memory figures are off by 10 % and more
    #[arg(long)]
    pub quick: bool,
    /// Print JSON: facts without advice, rates per second, shares from 0 to 1
    #[arg(long)]
    pub json: bool,
    /// Threads of the second column [default: what the machine can use]
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<usize>,
}
