//! `hotloop`: the command line.

mod args;
mod demo;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use args::Command;

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

/// Exit code for input that cannot be worked with.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match args::parse(&arguments) {
        Ok(Command::Help) => write(&args::help()),
        Ok(Command::Version) => write(&format!("hotloop {}\n", env!("CARGO_PKG_VERSION"))),
        Ok(Command::Demo(options)) => write(&profile_demo(&options)),
        Err(error) => fail(&error),
    }
}

fn profile_demo(options: &args::Demo) -> String {
    let timeline = options.timeline.then_some(1 << 14);
    hotloop::Config::new().timeline(timeline).budget(options.budget).start();
    let characters = demo::generate(options.tokens);
    hotloop::stop();
    let report = hotloop::snapshot().report(options.top);
    format!(
        "Profiled the built-in demonstration: a toy decoder that generated {} tokens ({characters} characters).\n\
         Its mistakes are there on purpose; see what the report says of them.\n\n{report}",
        options.tokens
    )
}

/// Writes to standard output; a reader that has gone away is no error.
fn write(text: &str) -> ExitCode {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => fail(&format!("cannot write the report: {error}")),
        _ => ExitCode::SUCCESS,
    }
}

fn fail(error: &str) -> ExitCode {
    // Nothing is left to try where standard error cannot be written to.
    let _ = writeln!(std::io::stderr().lock(), "error: {error}\n\nhint: `hotloop --help` shows what can be asked for");
    ExitCode::from(BAD_INPUT)
}
