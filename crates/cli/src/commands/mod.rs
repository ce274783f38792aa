//! What each command does, from its options to its output.

mod bench;
mod build_cache;
mod compare;
mod completions;
mod doctor;
mod documents;
mod duel;
mod error;
mod export;
mod gate;
mod generate;
mod history;
mod import;
pub mod interrupt;
mod load;
mod models;
mod output;
mod pager;
mod profile;
mod quantize;
mod report;
mod run;
mod run_report;
mod save;
mod selftest;
pub mod terminal;
mod tokenize;
mod train;
mod worker;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use error::{BAD_INPUT, CommandError};
pub use output::CommandOutput;

use crate::args::Command;

/// Runs a command.
///
/// # Errors
/// If it could not do what was asked.
pub fn run(command: Command) -> Result<CommandOutput, CommandError> {
    match command {
        Command::Profile(options) => profile::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Compare(options) => compare::run(&options),
        Command::Generate(options) => generate::run(&options, &mut std::io::stdout()),
        Command::Bench(options) => bench::run(&options),
        Command::Train(options) => train::run(&options),
        Command::Models(options) => models::run(&options),
        Command::Tokenize(options) => tokenize::run(&options),
        Command::Quantize(options) => quantize::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Duel(options) => duel::run(&options),
        Command::History(options) => history::run(&options),
        Command::Import(options) => import::run(&options),
        Command::Export(options) => export::run(&options),
        Command::Gate(options) => gate::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::SelfTest(options) => selftest::run(&options),
        Command::SelfTestWorker(options) => selftest::work(&options),
        Command::Completions(options) => Ok(completions::completions(&options)),
        Command::Man(options) => completions::man(&options),
        Command::Worker(options) => worker::run(&options),
    }
}

/// A bar on standard error, if that is a terminal. It is drawn only when told to: no thread of its own, no colour.
/// `figure` follows the bar, in the template language of `indicatif`.
pub fn progress(figure: &str, message: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template(&format!("{{bar:24}} {figure}  {{msg}}"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ");
    let target = if terminal::shows_progress() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(Some(0), target).with_style(style).with_message(message)
}

/// The program that writes documents.
pub fn tool() -> record::Tool {
    record::Tool { name: "hotloop".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// The figure of work that is counted in bytes.
pub const PERCENT: &str = "{percent:>3} %";

/// Calls of each thread in a timeline.
pub const TIMELINE: usize = 1 << 16;
