//! `hotloop`: the command line.

mod args;
mod commands;
mod subject;

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use args::Command;
use commands::export::{Exported, Failure};

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

/// Exit code for output that cannot be written.
const NOT_WRITTEN: u8 = 1;
/// Exit code for input that cannot be worked with.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    // Arguments that are not Unicode are as unknown as others, and have to be shown.
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match args::parse(&arguments) {
        Ok(Command::Text(text)) => write(&text),
        Ok(Command::Profile(options)) => measured(commands::profile::run(&options)),
        Ok(Command::Models(options)) => measured(commands::models::run(&options)),
        Ok(Command::Report(options)) => match commands::report::run(&options) {
            Ok(text) => write(&text),
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Ok(Command::Compare(options)) => compare(&options),
        Ok(Command::Doctor(options)) => match commands::doctor::run(&options) {
            Ok(text) => write(&text),
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Ok(Command::Duel(options)) => duel(&options),
        Ok(Command::Export(options)) => export(&options),
        Ok(Command::Gate(options)) => gate(&options),
        Ok(Command::Generate(options)) => generate(&options),
        Ok(Command::History(options)) => match commands::history::run(&options) {
            Ok(output) => {
                // What was found is worth more than complaints that nobody can be shown.
                let _ = std::io::stderr().lock().write_all(output.warnings.as_bytes());
                write(&output.text)
            }
            Err(error) => failed(&error),
        },
        Ok(Command::Import(options)) => import(&options),
        Ok(Command::Quantize(options)) => match commands::quantize::run(&options) {
            Ok(quantisation) if options.json => write(quantisation.to_json()),
            Ok(quantisation) => write(report::quantisation_text(&quantisation)),
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Ok(Command::Run(options)) => run(&options),
        Ok(Command::SelfTest(options)) => selftest(&options),
        Ok(Command::SelfTestWorker(options)) => match commands::selftest::work(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Ok(Command::Bench(options)) => bench(&options),
        Ok(Command::Tokenize(options)) => match commands::tokenize::run(&options) {
            Ok(text) => write(&text),
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Ok(Command::Train(options)) => train(&options),
        Ok(Command::Worker(options)) => match commands::worker::run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Ok(Command::Completions(options)) => write(commands::told::completions(&options)),
        Ok(Command::Man(options)) => match commands::told::man(&options) {
            Ok(page) => write(page),
            Err(refusal) => refuse(&refusal.error, refusal.hint),
        },
        Err(error) => refuse(&error, &hint(&arguments)),
    }
}

/// Where help on what was meant is found.
fn hint(arguments: &[String]) -> String {
    let command = arguments.first().filter(|first| args::is_command(first));
    format!(
        "`hotloop {}--help` shows what can be asked for",
        command.map_or_else(String::new, |name| format!("{name} "))
    )
}

/// What was measured is shown even where it cannot be kept, or where somebody ended it.
fn measured(printed: Result<commands::profile::Printed, commands::Refusal>) -> ExitCode {
    let printed = match printed {
        Ok(printed) => printed,
        Err(refusal) => {
            let refused = refuse(&refusal.error, refusal.hint);
            let interrupted = commands::interrupt::asked();
            return if interrupted { ExitCode::from(commands::interrupt::EXIT_CODE) } else { refused };
        }
    };
    let written = write(&printed.text);
    match printed.not_kept {
        Some(error) => failed(&error),
        None if printed.interrupted => ExitCode::from(commands::interrupt::EXIT_CODE),
        None => written,
    }
}

/// The table is printed even where a model failed, or where somebody ended the measurement.
fn bench(options: &args::Bench) -> ExitCode {
    let printed = match commands::bench::run(options) {
        Ok(printed) => printed,
        Err(refusal) => return refuse(&refusal.error, refusal.hint),
    };
    let written = write(&printed.text);
    if let Some(error) = &printed.not_written {
        complain(error);
    }
    let failed = printed.failed.map(|refusal| refuse(&refusal.error, refusal.hint));
    match failed {
        _ if printed.interrupted => ExitCode::from(commands::interrupt::EXIT_CODE),
        _ if printed.not_written.is_some() => ExitCode::from(NOT_WRITTEN),
        Some(code) => code,
        None => written,
    }
}

fn duel(options: &args::Duel) -> ExitCode {
    match commands::duel::run(options) {
        Ok(outcome) => judged(&outcome),
        Err(failure) => {
            let refused = refuse(&failure.refusal.error, failure.refusal.hint);
            failure.code.map_or(refused, ExitCode::from)
        }
    }
}

fn gate(options: &args::Gate) -> ExitCode {
    match commands::gate::run(options) {
        Ok(outcome) => judged(&outcome),
        Err(refusal) => refuse(&refusal.error, refusal.hint),
    }
}

/// Ends with the code of the verdict. What was measured is shown even where it cannot be written to a file, which is a fault where
/// nothing else is.
fn judged(outcome: &commands::Outcome) -> ExitCode {
    let written = write(&outcome.text);
    // The same is in the text and in the exit code.
    let _ = std::io::stderr().lock().write_all(outcome.said.as_bytes());
    if let Some(error) = &outcome.not_written {
        complain(error);
    }
    match outcome.code {
        0 if outcome.not_written.is_some() => ExitCode::from(NOT_WRITTEN),
        0 => written,
        code => ExitCode::from(code),
    }
}

/// The text goes to standard output while it comes, the figures to standard error behind it.
fn generate(options: &args::Generate) -> ExitCode {
    let mut stdout = std::io::stdout();
    match commands::generate::run(options, &mut stdout) {
        Ok(generation) if options.json => write(generation.to_json()),
        Ok(generation) => {
            // Figures that nobody can be shown are no failure of the text.
            let _ = write!(std::io::stderr().lock(), "\n{}", report::generation_text(&generation));
            let interrupted = generation.sequences.iter().any(|sequence| sequence.ended == "interrupted");
            if interrupted { ExitCode::from(commands::interrupt::EXIT_CODE) } else { ExitCode::SUCCESS }
        }
        Err(refusal) => refuse(&refusal.error, refusal.hint),
    }
}

/// What was trained is told even where something could not be written, or where somebody ended it.
fn train(options: &args::Train) -> ExitCode {
    let trained = match commands::train::run(options) {
        Ok(trained) => trained,
        Err(failure) => {
            let refused = refuse(&failure.refusal.error, failure.refusal.hint);
            return match (commands::interrupt::asked(), failure.is_input) {
                (true, _) => ExitCode::from(commands::interrupt::EXIT_CODE),
                (false, true) => refused,
                (false, false) => ExitCode::from(NOT_WRITTEN),
            };
        }
    };
    let written = write(&trained.text);
    if let Some(error) = &trained.not_written {
        complain(error);
    }
    match trained.not_kept {
        Some(error) => failed(&error),
        None if trained.not_written.is_some() => ExitCode::from(NOT_WRITTEN),
        None if trained.interrupted => ExitCode::from(commands::interrupt::EXIT_CODE),
        None => written,
    }
}

/// Ends with the code of the program that was run.
fn run(options: &args::Run) -> ExitCode {
    match commands::run::run(options) {
        Ok(outcome) => {
            let written = outcome.json.map_or(ExitCode::SUCCESS, write);
            let kept = outcome.not_kept.map_or(ExitCode::SUCCESS, |error| failed(&error));
            let codes = [outcome.code, written, kept];
            codes.into_iter().find(|code| *code != ExitCode::SUCCESS).unwrap_or(ExitCode::SUCCESS)
        }
        Err(failure) => {
            let refused = refuse(&failure.refusal.error, failure.refusal.hint);
            failure.code.map_or(refused, ExitCode::from)
        }
    }
}

/// Ends with a code for the verdict, so that a script can ask.
fn compare(options: &args::Compare) -> ExitCode {
    match commands::compare::run(options) {
        Ok(compared) => {
            let written = write(&compared.text);
            // The same is in the text and in the exit code.
            let _ = std::io::stderr().lock().write_all(compared.said.as_bytes());
            if written == ExitCode::SUCCESS { ExitCode::from(compared.code) } else { written }
        }
        Err(refusal) => refuse(&refusal.error, refusal.hint),
    }
}

/// What could be read is told, and what could not.
fn import(options: &args::Import) -> ExitCode {
    match commands::import::run(options) {
        Ok(outcome) => {
            let written = write(&outcome.text);
            let refused = outcome.complaints.iter().fold(None, |_, refusal| Some(refuse(&refusal.error, refusal.hint)));
            let kept = outcome.not_kept.map(|error| failed(&error));
            kept.or(refused).unwrap_or(written)
        }
        Err(refusal) => refuse(&refusal.error, refusal.hint),
    }
}

/// Whatever it finds out about itself, it has done what it was asked.
fn selftest(options: &args::SelfTest) -> ExitCode {
    match commands::selftest::run(options) {
        Ok(tried) => {
            let written = write(&tried.text);
            if tried.interrupted { ExitCode::from(commands::interrupt::EXIT_CODE) } else { written }
        }
        Err(refusal) => {
            complain(&format!("{}\n\nhint: {}", refusal.error, refusal.hint));
            ExitCode::from(NOT_WRITTEN)
        }
    }
}

/// Says what cannot be worked with, and what could be done instead.
fn refuse(error: &str, hint: &str) -> ExitCode {
    complain(&format!("{error}\n\nhint: {hint}"));
    ExitCode::from(BAD_INPUT)
}

/// Says why the store could not do it; what cannot be written is not the fault of the arguments.
fn failed(error: &store::Error) -> ExitCode {
    let code = refuse(&error.to_string(), error.hint());
    let is_input =
        !matches!(error.kind(), store::ErrorKind::ReadOnly | store::ErrorKind::NoSpace | store::ErrorKind::Io);
    if is_input { code } else { ExitCode::from(NOT_WRITTEN) }
}

/// What is exported goes to standard output or to a file, of which standard error tells.
fn export(options: &args::Export) -> ExitCode {
    match commands::export::run(options, std::io::stdout().is_terminal()) {
        Ok(Exported::Output(bytes)) => write(bytes),
        Ok(Exported::File(said)) => {
            // The file is there, whether or not it can be told.
            let _ = std::io::stderr().lock().write_all(said.as_bytes());
            ExitCode::SUCCESS
        }
        Err(Failure::Store(error)) => failed(&error),
        Err(Failure::Refused(refusal)) => refuse(&refusal.error, refusal.hint),
        Err(Failure::NotWritten(error)) => {
            complain(&error);
            ExitCode::from(NOT_WRITTEN)
        }
    }
}

/// Writes to standard output; a reader that has gone away is no error.
fn write(text: impl AsRef<[u8]>) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format!("cannot write to standard output: {error}"));
            ExitCode::from(NOT_WRITTEN)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn complain(error: &str) {
    // Nothing is left to try where standard error cannot be written to.
    let _ = writeln!(std::io::stderr().lock(), "error: {error}");
}
