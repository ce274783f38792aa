//! Our engine beside the best of others, in turns, in one run. See `../README.md`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its tables and how far it is")]

mod arms;
mod launch;
mod limits;
mod llama2c;
mod models;
mod options;
mod ours;
mod rounds;
mod store;
mod table;

use std::process::ExitCode;

use arms::Arm;
use models::Row;
use options::Options;
use rounds::Contest;
use store::Store;

/// As a child, the program is our arm: `engines --arm ours ...`.
const CHILD: &str = "--arm";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == CHILD) {
        return child(&arguments);
    }
    let options = Options::from_arguments(arguments.into_iter());
    let folders = arms::folders();
    let arms: Vec<Arm> = arms::all(&folders).into_iter().filter(|arm| options.wants_arm(arm.name)).collect();
    println!("Cells are best / median; `*` marks the best of a row. Contenders:");
    for arm in &arms {
        println!("- {}", arm.note());
    }
    let arms: Vec<Arm> = arms.into_iter().filter(|arm| arm.program.is_ok()).collect();
    let store = Store::new(&folders, arms.iter().any(|arm| arm.name == arms::LLAMA2C));
    let contests: Vec<Contest> =
        wanted(&options).iter().filter_map(|row| measure(row, &arms, &store, &options)).collect();
    println!("\n{}", table::show(&contests, &arms));
    let ours_failed = contests.iter().any(Contest::ours_failed);
    if ours_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn child(arguments: &[String]) -> ExitCode {
    match ours::run(&arguments[1..]) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn wanted(options: &Options) -> Vec<Row> {
    let all = models::rows(options.quick).into_iter().filter(|row| options.wants(&row.name()));
    all.flat_map(|row| options.threads.iter().map(move |&threads| Row { threads, ..row })).collect()
}

/// Nothing where the model cannot be made, which is said.
fn measure(row: &Row, arms: &[Arm], store: &Store, options: &Options) -> Option<Contest> {
    match store.files(row) {
        Ok(files) => {
            let contest = rounds::run(row, &files, arms, options);
            eprintln!("{}", contest.progress());
            Some(contest)
        }
        Err(error) => {
            eprintln!("{}: left out: {error}", row.name());
            None
        }
    }
}
