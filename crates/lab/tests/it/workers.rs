//! Workers that do what they should, and others.

use std::process::Command;
use std::time::{Duration, Instant};

use lab::duel::Launched;
use lab::duel::worker::Worker;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// Answers each request with what it was asked.
const HONEST: &str = r#"echo '{"ready":1}'; while read line; do
    case "$line" in
        *'"calls":7'*) echo '{"reading":{"values":{"wall_s":0.5},"output":"x"}}' ;;
        *) echo '{"error":"not so often"}' ;;
    esac
done"#;

#[test]
fn a_worker_answers_round_by_round() {
    let mut worker = Worker::spawn(&mut shell(HONEST)).expect("a worker");
    for _ in 0..3 {
        let reading = worker.round(7, false).expect("a reading");
        assert_eq!((reading.values["wall_s"], reading.output.as_deref()), (0.5, Some("x")));
    }
    assert_eq!(worker.round(8, false), Err("not so often".to_owned()));
    let process = worker.id();
    drop(worker);
    assert!(!std::path::Path::new(&format!("/proc/{process}/cwd")).exists(), "it has ended");
}

#[track_caller]
fn fails(script: &str, parts: &[&str]) {
    let begun = Instant::now();
    let patience = Duration::from_secs(20);
    let error = match Worker::spawn_within(&mut shell(script), patience) {
        Ok(mut worker) => worker.round(1, false).expect_err("no reading"),
        Err(error) => error,
    };
    assert!(begun.elapsed() < patience, "{script}: it was waited for in vain");
    assert!(parts.iter().all(|part| error.contains(part)), "{script}: {error}");
}

#[test]
fn the_last_words_of_a_worker_are_told() {
    fails("echo the weights are gone >&2; exit 3", &["exit status: 3", "before it answered", "the weights are gone"]);
    fails("echo '{\"ready\":1}'; read line; echo bad token >&2; exit 4", &["exit status: 4", "bad token"]);
    fails("echo '{\"ready\":1}'; kill -9 $$", &["signal: 9"]);
}

#[test]
fn a_worker_that_hangs_up_or_talks_rubbish_is_no_worker() {
    fails("echo hello; cat", &["invalid answer from the worker: `hello`"]);
    fails("echo '{\"ready\":1}'; read line; echo 12; sleep 30", &["invalid answer from the worker: `12`"]);
    fails("echo '{\"ready\":1}'; exec >&-; sleep 30", &["closed its output"]);
    fails("echo '{\"ready\":9}'; cat", &["version 9"]);
    fails("echo '{\"reading\":{}}'; cat", &["before it was asked"]);
    fails("head -c 100000 /dev/zero | tr '\\0' x; echo; cat", &["invalid answer from the worker: `xxx"]);
}

#[test]
fn who_says_nothing_is_given_up() {
    let error =
        Worker::spawn_within(&mut shell("echo loading >&2; sleep 60"), Duration::from_millis(300)).expect_err("none");
    assert!(error.contains("no answer from the worker") && error.contains("loading"), "{error}");
}

#[test]
fn what_is_not_there_is_named() {
    let error = Worker::spawn(&mut Command::new("/no/such/worker")).expect_err("none");
    assert!(error.contains("cannot start `/no/such/worker`"), "{error}");
}
