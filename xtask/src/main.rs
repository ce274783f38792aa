//! The project's own commands: `cargo xtask --help` lists them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command for developers: its output is the terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use steps::Step;

mod runner;
mod steps;

mod default_model;
mod files;
mod fuzz;
mod kernels;
mod layers;
mod metadata;
mod packages;
mod publish;
mod recommendations;
mod schema;
mod source;
mod tidy;
mod toolchain;
mod viewers;

/// The arguments make no sense, as opposed to a check that failed (1).
const EXIT_USAGE: u8 = 2;
const HINT: &str = "`cargo xtask --help` lists them";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match parse(&words) {
        Ok(Request::Help) => {
            print!("{}", help());
            ExitCode::SUCCESS
        }
        Ok(Request::Test(steps)) => test(&steps),
        Ok(Request::Fuzz(plan)) => fuzz(&plan),
        Ok(Request::Schema) => write(schema::write),
        Ok(Request::Recommendations) => write(recommendations::write),
        Ok(Request::DefaultModel(part)) => write(part),
        Err(message) => misused(&message),
    }
}

/// What was asked for.
enum Request {
    Help,
    Test(Vec<&'static Step>),
    Fuzz(fuzz::Plan),
    Schema,
    Recommendations,
    DefaultModel(fn(&Path) -> Result<(), String>),
}

fn parse(words: &[&str]) -> Result<Request, String> {
    match words {
        [] => Err(format!("a command is missing; {HINT}")),
        ["help", ..] => Ok(Request::Help),
        _ if words.iter().any(|word| matches!(*word, "--help" | "-h")) => Ok(Request::Help),
        ["test"] => Ok(Request::Test(steps::STEPS.iter().collect())),
        ["test", names @ ..] => names.iter().map(|name| step(name)).collect::<Result<_, _>>().map(Request::Test),
        ["tidy"] => parse(&["test", "tidy"]),
        ["fuzz", words @ ..] => fuzz::Plan::parse(words).map(Request::Fuzz),
        ["schema"] => Ok(Request::Schema),
        ["recommendations"] => Ok(Request::Recommendations),
        ["default-model"] => Ok(Request::DefaultModel(default_model::make)),
        ["default-model", "corpus"] => Ok(Request::DefaultModel(default_model::write_corpus)),
        ["default-model", "read"] => Ok(Request::DefaultModel(default_model::read)),
        _ => Err(format!("unknown command `{}`; {HINT}", words.join(" "))),
    }
}

fn step(name: &str) -> Result<&'static Step, String> {
    let names = || steps::STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join(", ");
    steps::find(name).ok_or_else(|| format!("no step is called `{name}`; the steps are {}", names()))
}

fn test(steps: &[&Step]) -> ExitCode {
    let Some(root) = workspace_root() else {
        return misused("this is not a folder of the workspace");
    };
    if runner::run_all(&root, steps) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fuzz(plan: &fuzz::Plan) -> ExitCode {
    let Some(root) = workspace_root() else {
        return misused("this is not a folder of the workspace");
    };
    match fuzz::run(&root, plan) {
        steps::Outcome::Passed => ExitCode::SUCCESS,
        steps::Outcome::Skipped(reason) => {
            println!("skipped: {reason}");
            ExitCode::SUCCESS
        }
        steps::Outcome::Failed(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn write(page: fn(&Path) -> Result<(), String>) -> ExitCode {
    let Some(root) = workspace_root() else {
        return misused("this is not a folder of the workspace");
    };
    match page(&root) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn misused(message: &str) -> ExitCode {
    eprintln!("error: {message}");
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
           test           run every step below in this order, stop at the first failure\n  \
           test <step>..  run these steps, in the order given\n  \
           tidy           the same as `test tidy`\n  \
           fuzz           look for more than `test fuzz` does: [--seed N] [--seconds N] [TARGET…]\n  \
           schema         write the JSON Schema of runs to docs/schema\n  \
           recommendations  fight the duels of docs/recommendations.md and write it, in a quarter of an hour\n  \
           default-model  write a corpus of stories, train the bundled model with it and look at what that writes;\n                 \
                          `default-model corpus` and `default-model read` do the first and the last alone\n  \
           help           print this, as do --help and -h\n\n\
         Steps:\n",
    );
    for step in steps::STEPS {
        text.push_str(&format!("  {:<13}  {}\n", step.name, step.about));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps that a command line runs; `None`: it asks for help.
    fn asked(line: &str) -> Result<Option<Vec<&'static str>>, String> {
        match parse(&line.split_whitespace().collect::<Vec<_>>())? {
            Request::Help => Ok(None),
            Request::Test(steps) => Ok(Some(steps.iter().map(|step| step.name).collect())),
            Request::Fuzz(_) | Request::Schema | Request::Recommendations | Request::DefaultModel(_) => {
                Ok(Some(vec![]))
            }
        }
    }

    #[test]
    fn steps_run_in_the_order_given() {
        assert_eq!(asked("test tidy fmt"), Ok(Some(vec!["tidy", "fmt"])));
        assert_eq!(asked("tidy"), Ok(Some(vec!["tidy"])));
        assert_eq!(asked("fuzz --seed 3 gguf"), Ok(Some(vec![])));
        assert_eq!(asked("schema"), Ok(Some(vec![])));
        assert_eq!(asked("recommendations"), Ok(Some(vec![])));
        assert_eq!(asked("default-model"), Ok(Some(vec![])));
        assert_eq!(asked("default-model corpus"), Ok(Some(vec![])));
        assert_eq!(asked("test schema"), Ok(Some(vec!["schema"])));
        assert_eq!(asked("test"), Ok(Some(steps::STEPS.iter().map(|step| step.name).collect())));
    }

    #[test]
    fn help_is_found_wherever_it_is_asked_for() {
        for line in ["help", "--help", "-h", "test --help", "test fmt -h", "tidy --help"] {
            assert_eq!(asked(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn what_is_unknown_is_named() {
        let error = asked("test fmt no-such-step").unwrap_err();
        assert!(error.starts_with("no step is called `no-such-step`; the steps are fmt, tidy,"), "{error}");
        assert!(asked("tests").unwrap_err().contains("`tests`"));
        assert!(asked("").is_err());
    }
}
