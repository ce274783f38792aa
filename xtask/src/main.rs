//! The project's own commands: `cargo xtask --help` lists them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command for developers: its output is the terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

mod runner;
mod steps;

mod files;
mod layers;
mod metadata;
mod packages;
mod source;
mod tidy;

/// The arguments make no sense, as opposed to a check that failed (1).
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["help" | "--help" | "-h"] => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        ["test"] => test(&steps::STEPS.iter().collect::<Vec<_>>()),
        ["test", name] => match steps::find(name) {
            Some(step) => test(&[step]),
            None => misused(&format!("no step is called `{name}`")),
        },
        ["tidy"] => test(&[steps::find("tidy").expect("tidy is in the table of steps")]),
        [] => misused("a command is missing"),
        _ => misused(&format!("unknown command `{}`", words.join(" "))),
    }
}

fn test(steps: &[&steps::Step]) -> ExitCode {
    let Some(root) = workspace_root() else {
        return misused("this is not a folder of the workspace");
    };
    if runner::run_all(&root, steps) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn misused(message: &str) -> ExitCode {
    eprint!("error: {message}\n\n{}", help());
    ExitCode::from(EXIT_USAGE)
}

/// Looked up when running, not compiled in: a cached binary may find its workspace somewhere else.
fn workspace_root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file()).map(PathBuf::from)
}

fn help() -> String {
    let mut text = String::from(
        "Usage: cargo xtask <command>\n\n\
         Commands:\n  \
           test          run every step below in this order, stop at the first failure\n  \
           test <step>   run one step\n  \
           tidy          the same as `test tidy`\n  \
           help          print this\n\n\
         Steps:\n",
    );
    for step in steps::STEPS {
        text.push_str(&format!("  {:<12}  {}\n", step.name, step.about));
    }
    text
}
