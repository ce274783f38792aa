//! `hotloop`: the command line.

mod args;
mod demo;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use args::Command;

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
        Ok(Command::Help) => write(&args::help()),
        Ok(Command::Version) => write(&format!("hotloop {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Demo(options)) => write(&profile_demo(&options)),
        Err(error) => {
            complain(&format!("{error}\n\nhint: `hotloop --help` shows what can be asked for"));
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn profile_demo(options: &args::Demo) -> String {
    let timeline = options.timeline.then_some(1 << 14);
    hotloop::Config::new().timeline(timeline).budget(options.budget).start();
    let characters = demo::generate(options.tokens);
    hotloop::stop();
    let report = hotloop::snapshot().report(options.top);
    format!(
        "Profiled the built-in demonstration: a toy decoder that generated {} ({}).\n\
         Its mistakes are there on purpose; see what the report says of them.\n\n{report}",
        counted(options.tokens, "token"),
        counted(characters, "character"),
    )
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Writes to standard output; a reader that has gone away is no error.
fn write(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
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
