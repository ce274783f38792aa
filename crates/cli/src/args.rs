//! The arguments of the command line.

mod bench;
mod compare;
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
mod tokenize;
mod told;
mod train;
mod worker;

use std::error::Error as _;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, FromArgMatches as _, Parser, Subcommand};

pub use bench::{Bench, BenchFormat, Tests as BenchTests};
pub use compare::Compare;
pub use duel::Duel;
pub use duel_engine::DuelEngine;
pub use export::{Export, What as ExportWhat};
pub use gate::{Gate, OnUnresolved};
pub use generate::Generate;
pub use history::{Action as HistoryAction, History, List as HistoryList};
pub use import::Import;
pub use model::Named;
pub use models::{Layout as ModelsLayout, Models, Work as ModelsWork};
pub use profile::{Color, Format, Layout, Profile, Shown, What};
pub use quantize::Quantize;
pub use report::Report;
pub use run::Run;
pub use selftest::{SelfTest, SelfTestWorker, TriedMode};
pub use store::StoreOptions;
pub use tokenize::Tokenize;
pub use told::{Completions, Man};
pub use train::Train;
pub use worker::Worker;

/// What was asked for.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// To be told this: help or version.
    Text(String),
    /// Measure a model or kernels.
    Profile(Box<Profile>),
    /// Measure speeds as a table.
    Bench(Box<Bench>),
    /// Show a run.
    Report(Report),
    /// Lay one run beside another.
    Compare(Compare),
    /// Examine the machine.
    Doctor(Doctor),
    /// Measure sides in turns.
    Duel(Box<Duel>),
    /// Write a run for other programs.
    Export(Export),
    /// Decide whether a change may pass.
    Gate(Box<Gate>),
    /// Let a model go on from a text.
    Generate(Box<Generate>),
    /// List the runs that are kept, or change that.
    History(Box<History>),
    /// Read what other programs measured.
    Import(Import),
    /// Show models beside each other.
    Models(Box<Models>),
    /// Write a model in another format.
    Quantize(Quantize),
    /// Measure any program.
    Run(Box<Run>),
    /// Try the verdicts of this program.
    SelfTest(SelfTest),
    /// Do the work of that.
    SelfTestWorker(SelfTestWorker),
    /// Print the tokens of a text.
    Tokenize(Tokenize),
    /// Train a model.
    Train(Box<Train>),
    /// Be one side of a duel.
    Worker(Worker),
    /// Print what a shell completes by.
    Completions(Completions),
    /// Print a manual page.
    Man(Man),
}

/// How to examine the machine.
#[derive(Debug, PartialEq, Args)]
#[command(
    about = "What this machine is and can do, how quiet it is, and what to change to measure better",
    after_help = "Examples:\n  \
                  hotloop doctor\n  \
                  hotloop doctor --quick --json > machine.json\n\n\
                  Environment:\n  HOTLOOP_ISA=NAME   measure these instructions alone: scalar, avx2, avx512, neon\n  \
                  HOTLOOP_CLOCK=os   describe the profiler as timing by the operating system's clock"
)]
pub struct Doctor {
    /// Whether to hurry.
    #[arg(long, help = "in under 3 seconds instead of under 20; less exact, memory by 10 % and more")]
    pub quick: bool,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON: facts without advice; rates per second, shares from 0 to 1")]
    pub json: bool,
    /// Threads of the column beside that of one thread.
    #[arg(long, value_name = "N", help = "threads of the second column (default: as many as make sense here)",
        allow_hyphen_values = true, value_parser = whole_number("--threads", 1, MAX_THREADS))]
    pub threads: Option<usize>,
}

/// The whole line.
#[derive(Debug, Parser)]
#[command(
    name = "hotloop",
    version,
    about = "hotloop: where each token's time and memory go\n\n\
             Without a command, profiles the bundled model, prints where its time went and keeps the run: as \
             `hotloop profile standard` does, whose options it takes.",
    after_help = "Examples:\n  \
        hotloop                            profile the bundled model\n  \
        hotloop profile --model FILE       profile a model\n  \
        hotloop train CONFIG --profile     train a model, and see where the time of its steps goes\n  \
        hotloop history                    the runs that were kept\n  \
        hotloop report @latest             show the last one again\n  \
        hotloop compare @previous @latest  lay it beside the one before\n  \
        hotloop export @latest --to chrome --out trace.json\n\n\
        `hotloop COMMAND --help` tells more, with examples.",
    args_conflicts_with_subcommands = true,
    args_override_self = true
)]
struct Line {
    #[command(flatten)]
    what: What,
    #[command(subcommand)]
    command: Option<Sub>,
}

#[derive(Debug, Subcommand)]
enum Sub {
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
    #[command(name = "selftest-worker")]
    SelfTestWorker(SelfTestWorker),
    Completions(Completions),
    Man(Man),
    #[command(hide = true)]
    Worker(Worker),
}

/// More than any machine has CPUs.
pub const MAX_THREADS: usize = 4_096;

/// Reads the arguments after the program's name. The error says what is wrong with them.
pub fn parse(arguments: &[String]) -> Result<Command, String> {
    let words = std::iter::once("hotloop").chain(arguments.iter().map(String::as_str));
    match definition().try_get_matches_from(words).and_then(|matches| Line::from_arg_matches(&matches)) {
        Ok(Line { command: Some(Sub::Bench(bench)), .. }) => Ok(Command::Bench(bench)),
        Ok(Line { command: Some(Sub::Tokenize(tokenize)), .. }) => Ok(Command::Tokenize(tokenize)),
        Ok(Line { command: Some(Sub::Compare(compare)), .. }) => Ok(Command::Compare(compare)),
        Ok(Line { command: Some(Sub::Doctor(doctor)), .. }) => Ok(Command::Doctor(doctor)),
        Ok(Line { command: Some(Sub::Duel(duel)), .. }) => duel.check().map(|()| Command::Duel(duel)),
        Ok(Line { command: Some(Sub::Export(export)), .. }) => Ok(Command::Export(export)),
        Ok(Line { command: Some(Sub::Gate(gate)), .. }) => Ok(Command::Gate(gate)),
        Ok(Line { command: Some(Sub::Generate(generate)), .. }) => Ok(Command::Generate(generate)),
        Ok(Line { command: Some(Sub::History(history)), .. }) => history.check().map(|()| Command::History(history)),
        Ok(Line { command: Some(Sub::Import(import)), .. }) => Ok(Command::Import(import)),
        Ok(Line { command: Some(Sub::Models(models)), .. }) => models.check().map(|()| Command::Models(models)),
        Ok(Line { command: Some(Sub::Quantize(quantize)), .. }) => Ok(Command::Quantize(quantize)),
        Ok(Line { command: Some(Sub::Run(run)), .. }) => Ok(Command::Run(run)),
        Ok(Line { command: Some(Sub::SelfTest(selftest)), .. }) => Ok(Command::SelfTest(selftest)),
        Ok(Line { command: Some(Sub::SelfTestWorker(worker)), .. }) => Ok(Command::SelfTestWorker(worker)),
        Ok(Line { command: Some(Sub::Train(train)), .. }) => train.check().map(Command::Train),
        Ok(Line { command: Some(Sub::Worker(worker)), .. }) => Ok(Command::Worker(worker)),
        Ok(Line { command: Some(Sub::Completions(completions)), .. }) => Ok(Command::Completions(completions)),
        Ok(Line { command: Some(Sub::Man(man)), .. }) => Ok(Command::Man(man)),
        Ok(Line { command: Some(Sub::Profile(profile)), .. }) => Ok(Command::Profile(profile)),
        Ok(Line { command: Some(Sub::Report(report)), .. }) => Ok(Command::Report(report)),
        Ok(Line { command: None, what }) => {
            Ok(Command::Profile(Box::new(Profile { workload: lab::Workload::Standard, what })))
        }
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Ok(Command::Text(without_brackets(&error.render().to_string())))
        }
        Err(error) => Err(complaint(&error, arguments)),
    }
}

/// The whole command line.
pub fn definition() -> clap::Command {
    // Where runs are kept is nothing to those commands that keep and read none.
    <Line as clap::CommandFactory>::command().mut_arg("store", |store| store.global(false))
}

/// Whether a word is the name of a command.
pub fn is_command(word: &str) -> bool {
    definition().find_subcommand(word).is_some()
}

/// Help with values as we write them, `N` and not `<N>`; columns stay where they are.
fn without_brackets(help: &str) -> String {
    let lines = help.lines().map(|line| {
        let mut parts = line.split('<');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('>').unwrap_or((part, ""));
            text.push_str(&format!("{name}  {rest}"));
        }
        text.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// What is wrong, in a sentence of ours.
fn complaint(error: &clap::Error, arguments: &[String]) -> String {
    let context = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        Some(ContextValue::Strings(texts)) => texts.first().map_or("", String::as_str),
        _ => "",
    };
    let option = context(ContextKind::InvalidArg).split([' ', '=']).next().unwrap_or_default().trim_matches(['<', '>']);
    let typed = || {
        let is_it = |argument: &&String| argument.split('=').next() == Some(option);
        arguments.iter().find(is_it).map_or(option, String::as_str)
    };
    match error.kind() {
        ErrorKind::UnknownArgument => format!("unknown argument `{}`", typed()),
        ErrorKind::InvalidSubcommand => {
            let meant = context(ContextKind::SuggestedSubcommand);
            let hint = if meant.is_empty() { String::new() } else { format!("; `{meant}` is a command") };
            format!("unknown argument `{}`{hint}", context(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingRequiredArgument => format!("{} is missing", option.trim_matches(['<', '>', '.'])),
        ErrorKind::InvalidValue => match (context(ContextKind::InvalidValue), error.get(ContextKind::ValidValue)) {
            ("", _) | (_, None) => format!("{option} needs a value"),
            (value, Some(ContextValue::Strings(values))) => {
                format!("{option} takes one of {}, not `{value}`", values.join(", "))
            }
            (value, _) => format!("{option} does not take `{value}`"),
        },
        ErrorKind::TooManyValues => format!("{option} takes no value: `{}`", typed()),
        ErrorKind::ArgumentConflict if is_option(option) && is_option(context(ContextKind::PriorArg)) => {
            let other = context(ContextKind::PriorArg).split([' ', '=']).next().unwrap_or_default();
            format!("`{option}` and `{other}` do not go together")
        }
        ErrorKind::ArgumentConflict if arguments.first().is_some_and(|first| !first.starts_with('-')) => {
            let (one, other) = (option, context(ContextKind::PriorArg));
            let (named, words) = if is_option(one) { (one, other) } else { (other, one) };
            let named = named.split([' ', '=']).next().unwrap_or_default();
            format!("`{named}` and {} do not go together", words.trim_matches(['[', ']', '<', '>', '.']))
        }
        ErrorKind::ArgumentConflict => {
            // Which one it was is not told; options of `hotloop` alone stand before the command.
            let first = arguments.iter().find(|argument| argument.starts_with('-'));
            let option = first.and_then(|argument| argument.split('=').next()).unwrap_or_default();
            format!("`{option}` does not go with a command")
        }
        ErrorKind::ValueValidation => error.source().map_or_else(|| error.to_string(), ToString::to_string),
        _ => error.to_string().trim_start_matches("error: ").trim_end().to_owned(),
    }
}

fn is_option(word: &str) -> bool {
    word.starts_with('-')
}

fn whole_number(option: &'static str, least: usize, most: usize) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |value| {
        let wrong = || format!("{option} takes a whole number from {least} to {most}, not `{value}`");
        value.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_definition_is_whole() {
        <Line as clap::CommandFactory>::command().debug_assert();
    }

    fn profile(line: &str) -> Profile {
        match of(line) {
            Ok(Command::Profile(profile)) => *profile,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn options_are_read() {
        assert_eq!(profile(""), profile("profile standard"));
        assert_eq!(profile("--tokens 9 --seed 3"), profile("profile --seed=3 -n 9"));
        assert_eq!(profile("profile deep").workload, lab::Workload::Deep);
        let what = profile("--top=4 --top=3 --repeat 2 --warmup 0 --time-budget 1.5 --layout loopos").what;
        assert_eq!((what.output.shown.top, what.effort.repeat, what.effort.warmup), (Some(3), Some(2), 0));
        assert_eq!(what.effort.time_budget, Some(std::time::Duration::from_millis(1_500)));
        assert_eq!(what.output.shown.layout, Layout::Loopos);
        let expected = Doctor { quick: true, json: true, threads: Some(3) };
        assert_eq!(of("doctor --quick --json --threads 3"), Ok(Command::Doctor(expected)));
    }

    #[test]
    fn help_is_found_wherever_it_is_asked_for() {
        for (line, part) in [
            ("--tokens 5 --help", "Usage: hotloop"),
            ("-h", "--top N"),
            ("doctor --help", "Usage: hotloop doctor"),
            ("-V", env!("CARGO_PKG_VERSION")),
        ] {
            assert!(matches!(of(line), Ok(Command::Text(text)) if text.contains(part)), "{line}: {:?}", of(line));
        }
    }

    #[test]
    fn bad_ones_are_named() {
        for (line, part) in [
            ("--top", "--top needs a value"),
            ("--top x", "from 1 to 10000, not `x`"),
            ("--top=", "not ``"),
            ("--tokens 0", "not `0`"),
            ("--tokens --top", "--tokens takes a whole number from 1 to 16777216, not `--top`"),
            ("--tokens=16777217", "not `16777217`"),
            ("--time-budget 0", "from 0.1 to 86400, not `0`"),
            ("--time-budget -1", "not `-1`"),
            ("--time-budget nan", "not `nan`"),
            ("--trace=yes", "--trace takes no value: `--trace=yes`"),
            ("profile fast", "there is no workload `fast`; there are standard, deep, enhanced, memory"),
            ("profile --layout x", "--layout takes one of hotloop, smallmind, loopos, not `x`"),
            ("--no-save --tag x", "do not go together"),
            ("docter", "unknown argument `docter`; `doctor` is a command"),
            ("--top-n=3", "unknown argument `--top-n=3`"),
            ("doctor --top 3", "unknown argument `--top`"),
            ("doctor --threads", "--threads needs a value"),
            ("quantize", "--type is missing"),
            ("quantize --type q8_0 a", "OUT is missing"),
            ("quantize a b", "--type is missing"),
            ("quantize a b --type q9", "--type takes one of f32, f16, q4_0"),
            ("quantize a b c --type q8_0", "unknown argument `c`"),
            ("doctor --threads=0", "from 1 to 4096, not `0`"),
            ("--top 3 doctor", "`--top` does not go with a command"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
