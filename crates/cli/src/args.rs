//! The arguments of the command line.
//!
//! The documentation of each field is its help. What the parser cannot check, the `check` of a command does.

mod bench;
mod compare;
mod completions;
mod doctor;
#[cfg(test)]
mod documented;
mod duel;
mod duel_engine;
mod export;
mod gate;
mod generate;
mod history;
mod import;
mod model;
mod models;
mod profile;
mod quantize;
mod report;
mod run;
mod selftest;
mod store;
mod terminal;
mod tokenize;
mod train;
mod values;
mod worker;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use bench::{Bench, BenchFormat, BenchTests};
pub use compare::Compare;
pub use completions::{Completions, Man};
pub use doctor::Doctor;
pub use duel::Duel;
pub use duel_engine::DuelEngine;
pub use export::{CsvTable, Export};
pub use gate::{Gate, OnUndecided};
pub use generate::Generate;
pub use history::{History, HistoryAction, HistoryList};
pub use import::Import;
pub use model::{ModelOptions, is_model_path};
pub use models::{Models, ModelsLayout, ModelsWork};
pub use profile::{Profile, ProfileOptions, ReportLayout, ReportOptions, TextFormat};
pub use quantize::Quantize;
pub use report::Report;
pub use run::Run;
pub use selftest::{SelfTest, SelfTestMode, SelfTestWorker};
pub use store::StoreOptions;
pub use terminal::{ColorChoice, TerminalOptions};
pub use tokenize::Tokenize;
pub use train::Train;
pub use values::MAX_THREADS;
pub use worker::Worker;

/// The columns that help never exceeds, however wide the terminal is.
const HELP_WIDTH: usize = 80;

/// A command line that was read.
#[derive(Debug, PartialEq)]
pub struct Invocation {
    pub command: Command,
    pub terminal: TerminalOptions,
}

/// Find where each token's time and memory go
#[derive(Debug, Parser)]
#[command(
    name = "hotloop",
    version,
    max_term_width = HELP_WIDTH,
    args_conflicts_with_subcommands = true,
    args_override_self = true,
    after_help = "\
Without a command, hotloop profiles the bundled model, prints where its time
went and saves the run: the same as `hotloop profile`.

`hotloop COMMAND --help` shows the options of a command.

Examples:
  hotloop                          profile the bundled model
  hotloop profile model.gguf       profile a model file
  hotloop train tiny.json -p       train a model and profile its steps
  hotloop history                  list the saved runs
  hotloop report                   show the latest run in full
  hotloop compare                  compare the latest run with the one before
  hotloop export --to chrome -o trace.json"
)]
struct Cli {
    #[command(flatten)]
    profile: ProfileOptions,
    #[command(flatten)]
    terminal: TerminalOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What to do.
#[derive(Debug, PartialEq, Subcommand)]
pub enum Command {
    Profile(Box<Profile>),
    Report(Report),
    Compare(Compare),
    Generate(Box<Generate>),
    Bench(Box<Bench>),
    Train(Box<Train>),
    Models(Box<Models>),
    Tokenize(Tokenize),
    Quantize(Quantize),
    Run(Box<Run>),
    Duel(Box<Duel>),
    History(Box<History>),
    Import(Import),
    Export(Export),
    Gate(Box<Gate>),
    Doctor(Doctor),
    #[command(name = "selftest")]
    SelfTest(SelfTest),
    #[command(name = "selftest-worker", hide = true)]
    SelfTestWorker(SelfTestWorker),
    Completions(Completions),
    Man(Man),
    #[command(hide = true)]
    Worker(Worker),
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// If they are wrong, or ask for help or the version.
pub fn parse<Word: Into<OsString>>(arguments: impl IntoIterator<Item = Word>) -> Result<Invocation, clap::Error> {
    let words = std::iter::once(OsString::from("hotloop")).chain(arguments.into_iter().map(Into::into));
    let matches = definition().try_get_matches_from(words).map_err(with_model_tip)?;
    let Cli { profile, terminal, command } = Cli::from_arg_matches(&matches)?;
    let mut command = command.unwrap_or_else(|| Command::Profile(Box::new(Profile::without_words(profile))));
    let checked = match &mut command {
        Command::Profile(profile) => profile.check(),
        Command::Generate(generate) => generate.check(),
        Command::Duel(duel) => duel.check(),
        Command::History(history) => history.check(),
        Command::Models(models) => models.check(),
        Command::Train(train) => train.check(),
        _ => Ok(()),
    };
    checked.map_err(|message| error_in(matches.subcommand_name(), message))?;
    Ok(Invocation { command, terminal })
}

/// The whole command line.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// An error of the arguments of a command, as the parser would write it.
fn error_in(command: Option<&str>, message: String) -> clap::Error {
    let mut whole = definition();
    whole.build();
    let found = command.and_then(|name| whole.find_subcommand(name)).cloned();
    found.unwrap_or(whole).error(ErrorKind::ValueValidation, message)
}

/// A model file in the place of a command gets a tip.
fn with_model_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && is_model_path(word)
    {
        let tip = format!("to profile a model file, use 'hotloop profile {word}'");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

#[cfg(test)]
mod tests;
