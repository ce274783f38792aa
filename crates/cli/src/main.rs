//! `hotloop`: the command line.

mod args;
mod commands;
mod subject;
mod suggest;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use commands::{CommandOutput, interrupt, terminal};

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

fn main() -> ExitCode {
    let arguments = match args::parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => return ExitCode::from(answer(&error)),
    };
    terminal::configure(arguments.terminal);
    let code = match commands::run(arguments.command) {
        Ok(output) => output.print(),
        Err(error) => {
            error.print();
            if interrupt::is_requested() { interrupt::EXIT_CODE } else { error.code }
        }
    };
    ExitCode::from(code)
}

/// Prints help, the version, or what is wrong with the arguments; gives the exit code.
fn answer(error: &clap::Error) -> u8 {
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return CommandOutput::paged(text).print();
    }
    // Nothing is left to try if standard error cannot be written.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
    commands::BAD_INPUT
}
