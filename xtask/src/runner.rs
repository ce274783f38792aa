//! Runs steps in order, tells what happens, and sums up.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::packages;
use crate::steps::{Action, Outcome, Step};

/// Runs the steps until one fails. The last line it prints counts them. True: none failed.
pub fn run_all(root: &Path, steps: &[&Step]) -> bool {
    let mut results = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        println!("\n== {} ({} of {}): {}", step.name, at + 1, steps.len(), step.about);
        let started = Instant::now();
        let outcome = run_one(root, step);
        announce(step, &outcome);
        let failed = matches!(outcome, Outcome::Failed(_));
        results.push((outcome, started.elapsed()));
        if failed {
            break;
        }
    }
    let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    print!("\n{}", summary(&names, &results));
    !results.iter().any(|(outcome, _)| matches!(outcome, Outcome::Failed(_)))
}

fn run_one(root: &Path, step: &Step) -> Outcome {
    if step.needs_cpp
        && let Err(message) = packages::ensure(packages::CPP)
    {
        return Outcome::Failed(message);
    }
    match step.action {
        Action::Check(check) => check(root),
        Action::Commands(commands) => commands
            .iter()
            .map(|command| command.execute(root))
            .find(|outcome| *outcome != Outcome::Passed)
            .unwrap_or(Outcome::Passed),
    }
}

fn announce(step: &Step, outcome: &Outcome) {
    match outcome {
        Outcome::Passed => {}
        Outcome::Skipped(reason) => println!("skipped: {reason}"),
        Outcome::Failed(message) => {
            println!("\nerror: step `{0}` failed: {message}\nrepeat it alone: cargo xtask test {0}", step.name)
        }
    }
}

/// The table of times, then the line that counts. Steps after a failure have no result.
fn summary(names: &[&str], results: &[(Outcome, Duration)]) -> String {
    let mut text = format!("{:<10}{:<10}{:>8}\n", "step", "result", "seconds");
    let (mut passed, mut failed) = (0, 0);
    for (at, name) in names.iter().enumerate() {
        let Some((outcome, time)) = results.get(at) else {
            text.push_str(&format!("{name:<10}not run\n"));
            continue;
        };
        let result = match outcome {
            Outcome::Passed => "passed",
            Outcome::Skipped(_) => "skipped",
            Outcome::Failed(_) => "FAILED",
        };
        passed += usize::from(*outcome == Outcome::Passed);
        failed += usize::from(matches!(outcome, Outcome::Failed(_)));
        let seconds = time.as_secs_f64();
        text.push_str(&format!("{name:<10}{result:<10}{seconds:>8.1}\n"));
    }
    text.push_str(&format!("\nxtask: {passed} passed, {failed} failed\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(outcome: Outcome, seconds: u64) -> (Outcome, Duration) {
        (outcome, Duration::from_secs(seconds))
    }

    #[test]
    fn a_green_run_counts_what_ran() {
        let results = [seconds(Outcome::Passed, 2), seconds(Outcome::Skipped("no tool".to_owned()), 0)];
        assert_eq!(
            summary(&["fmt", "deny"], &results),
            "step      result     seconds\n\
             fmt       passed         2.0\n\
             deny      skipped        0.0\n\
             \n\
             xtask: 1 passed, 0 failed\n"
        );
    }

    #[test]
    fn a_red_run_shows_what_did_not_run() {
        let results = [seconds(Outcome::Passed, 1), seconds(Outcome::Failed("broken".to_owned()), 3)];
        assert_eq!(
            summary(&["fmt", "tidy", "doc"], &results),
            "step      result     seconds\n\
             fmt       passed         1.0\n\
             tidy      FAILED         3.0\n\
             doc       not run\n\
             \n\
             xtask: 1 passed, 1 failed\n"
        );
    }

    #[test]
    fn a_failure_stops_the_run() {
        const FAILS: Step = Step {
            name: "fails",
            about: "",
            needs_cpp: false,
            action: Action::Check(|_| Outcome::Failed("on purpose".to_owned())),
        };
        const NEVER: Step = Step {
            name: "never",
            about: "",
            needs_cpp: false,
            action: Action::Check(|_| panic!("ran after a failure")),
        };
        assert!(!run_all(Path::new("."), &[&FAILS, &NEVER]));
    }
}
