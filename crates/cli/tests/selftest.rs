//! `hotloop selftest` as it is used.

use std::process::{Command, Output, Stdio};

use record::SelfTest;

fn hotloop(words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.args(words.split_whitespace()).stdin(Stdio::null()).output().expect("the program starts")
}

#[test]
fn a_small_one_counts_what_was_said() {
    let output = hotloop("selftest --duels 2 --slowed 1 --round 1 --json");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((error.as_ref(), output.status.code()), ("", Some(0)));
    let tried = SelfTest::from_json(&String::from_utf8_lossy(&output.stdout)).expect("it is the document");
    let seen: Vec<_> = tried.trials.iter().map(|trial| (&*trial.metric, trial.more, trial.duels)).collect();
    let of = |metric: &'static str| [(metric, 0.0, 2), (metric, 0.02, 1), (metric, 0.05, 1), (metric, 0.10, 1)];
    assert_eq!(seen, [of("cpu_s"), of("wall_s")].concat());
    assert!(!tried.interrupted && tried.environment.machine.cpus > 0 && tried.design.mode == "standard");
    assert!(tried.trials.iter().all(|trial| trial.called <= trial.duels && trial.low <= trial.high), "{tried:?}");
}

#[test]
fn bad_ones_are_refused() {
    for (words, part) in [
        ("selftest --duels 0", "0 is not in 1..=100000"),
        ("selftest --mode quick", "[possible values: standard, thorough]"),
        ("selftest --time-budget 0", "from 0.1 to 86400"),
    ] {
        let output = hotloop(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {error}");
        assert!(error.starts_with("error: ") && error.contains(part), "{words}: {error}");
    }
    let help = hotloop("--help");
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(help.contains("selftest") && !help.contains("selftest-worker"), "{help}");
}
