//! `hotloop run` as it is used: programs of every kind, their streams, their ends.
#![cfg(unix)]

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use record::{Phase, Profile, Run};

fn tmp() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Where Cargo builds; what is built here shares it, so that little is built twice.
fn target() -> &'static Path {
    tmp().parent().expect("the target folder is above its tmp")
}

fn build(folder: &str, arguments: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--release"]).args(arguments).arg("--target-dir").arg(target());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let build = cargo.current_dir(folder).output().expect("cargo runs");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
}

/// Three times 50 ms in the scope `spin`, without a call that starts the profiler.
fn spin() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        build("hotloop", &["--features", "enabled", "--example", "spin"]);
        target().join("release/examples/spin")
    });
    path.to_str().expect("a UTF-8 path")
}

fn hotloop(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.arg("run").args(arguments).stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> Output {
    hotloop(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

/// The record of a command that prints nothing itself, and the code.
#[track_caller]
fn record(options: &[&str], command: &[&str]) -> (Run, Option<i32>) {
    let arguments = [&["--json", "--no-save"], options, &["--"], command].concat();
    let output = output(&arguments);
    let run = Run::from_json(text(&output.stdout));
    (run.unwrap_or_else(|error| panic!("{error}\n{output:?}")), output.status.code())
}

#[track_caller]
fn three_spins(profile: Option<&Profile>, name: &str) {
    let profile = profile.expect("a profile");
    let spin = profile.scopes.iter().find(|scope| scope.name == name).expect("the scope");
    // It spins by the clock, also while it waits for a CPU and while the profiler finds that out.
    let beside = profile.waiting_ns.unwrap_or(0) + profile.own_cost.total_ns;
    assert!(spin.calls == 3 && spin.total_ns + beside >= 150_000_000, "{spin:?}");
}

#[test]
fn a_rust_program_is_reported_with_its_profile() {
    let output = output(&["--no-save", "--", spin()]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), ""), "standard output is the program's");
    let report = text(&output.stderr);
    for part in ["HOTLOOP RUN  ", "PROCESS", "code 0", "CALL TREE", "THREADS"] {
        assert!(report.contains(part), "{part} is missing:\n{report}");
    }
    let (run, _) = record(&["--timeline", "--budget", "0"], &[spin()]);
    three_spins(run.profile.as_ref(), "spin::spin");
    let profile = run.profile.expect("a profile");
    assert!(!profile.timeline.is_empty() && profile.own_cost.budget.is_none());
    assert_eq!((run.workload.name.as_str(), run.subject.name.as_str()), ("command", "spin"));
    let build = run.subject.build.expect("its file tells something");
    assert_eq!(build.binary_blake3, lab::blake3_of(Path::new(spin())), "two programs can be told apart");
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn a_cpp_program_gives_its_profile() {
    if Command::new("g++").arg("--version").output().is_err() {
        return eprintln!("not tested: g++ is not installed");
    }
    build("hotloop-capi", &[]);
    let (source, program) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../hotloop-capi"), tmp().join("run-asked"));
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++11", "-O2", "-pthread", "-I"]).arg(source.join("include"));
    compiler.arg(source.join("tests/programs/asked.cpp")).arg(target().join("release/libhotloop.a"));
    let built = compiler.args(["-ldl", "-lm", "-o"]).arg(&program).output().expect("it runs");
    assert!(built.status.success(), "{}", text(&built.stderr));
    let (run, code) = record(&[], &[program.to_str().expect("a UTF-8 path")]);
    assert_eq!(code, Some(0));
    three_spins(run.profile.as_ref(), "spin");
}

#[test]
fn streams_and_arguments_are_the_programs_own() {
    // Not Unicode: no word of it may change on its way.
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9 --json");
    let mut command = hotloop(&["--no-save", "--", "sh", "-c", "cat; printf '%s|' \"$@\"; echo told >&2", "sh"]);
    let child = command.arg(odd).arg("--").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().expect("the program starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"read ").expect("it is read");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, b"read caf\xe9 --json|--|");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("told\n\nHOTLOOP RUN"));
}

#[test]
fn ends_are_those_of_the_program() {
    assert_eq!(output(&["--no-save", "true"]).status.code(), Some(0));
    assert_eq!(output(&["--no-save", "sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(output(&["--no-save", "sh", "-c", "kill -9 $$"]).status.code(), Some(137));
    let (run, code) = record(&[], &["sh", "-c", "kill -9 $$"]);
    assert_eq!((code, run.process.and_then(|process| process.signal)), (Some(137), Some(9)));
    assert_eq!(run.failures, ["the program was terminated by signal 9"]);
    assert!(run.samples.is_empty() && run.notes.iter().any(|note| note.contains("no profile")));
}

#[test]
fn what_cannot_be_run_is_said() {
    for (name, code, part) in [
        ("no-such-program-anywhere", 127, "error: no program `no-such-program-anywhere`"),
        (concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), 126, "Cargo.toml`: Permission denied"),
    ] {
        let output = output(&["--", name]);
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(code), ""), "{error}");
        assert!(error.contains(part) && error.contains("\nhint: "), "{error}");
    }
    assert_eq!(output(&[]).status.code(), Some(2));
}

#[test]
fn repeats_of_a_script_are_samples_and_its_program_gives_the_profile() {
    let script = format!("'{}' && true", spin());
    let (run, _) = record(&["--repeat", "3", "--warmup", "1"], &["sh", "-c", &script]);
    let timed = run.samples.iter().filter(|sample| sample.phase == Phase::Timed);
    assert_eq!((run.samples.len(), timed.clone().count()), (4, 3));
    assert!(timed.clone().all(|sample| sample.values["wall_s"] >= 0.15));
    three_spins(run.profile.as_ref(), "spin::spin");
    assert!(run.notes.iter().any(|note| note.contains("which the command started")), "{:?}", run.notes);
}

#[test]
fn repeats_are_summarised_and_print_nothing() {
    let script = "echo shown; echo told >&2; sleep 0.02";
    let run = output(&["--no-save", "--repeat", "4", "--warmup", "1", "--", "sh", "-c", script]);
    let report = text(&run.stderr);
    assert_eq!((run.status.code(), text(&run.stdout)), (Some(0), ""), "{report}");
    for part in ["4 runs after 1 warm-up run: mean ± standard deviation", "code 0 in all runs", "user CPU", " … "] {
        assert!(report.contains(part), "{part} is missing:\n{report}");
    }
    // Neither the output, nor sections that say nothing of a program without scopes.
    for part in ["\ntold\n", "ROWS", "DEFINITIONS", "INSIGHTS", "\n  kernels "] {
        assert!(!report.contains(part), "{part} should not be there:\n{report}");
    }
    let asked = ["--no-save", "--repeat", "2", "--warmup", "1", "--show-output", "--", "sh", "-c", script];
    assert_eq!(text(&output(&asked).stdout), "shown\n".repeat(3));
}

#[test]
fn what_a_repeat_printed_is_shown_where_it_fails() {
    let run = output(&["--no-save", "--repeat", "3", "--", "sh", "-c", "echo a; echo b >&2; exit 5"]);
    let report = text(&run.stderr);
    assert_eq!((run.status.code(), text(&run.stdout)), (Some(5), ""), "{report}");
    let expected = "standard output of the run that failed:\na\nstandard error of the run that failed:\nb\n";
    assert!(report.starts_with(expected) && report.contains("code 5 in all runs"), "{report}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_is_that_of_the_program() {
    let peaks = |words: &[&str]| -> Vec<f64> {
        let (run, _) = record(&["--repeat", "5"], words);
        run.samples.iter().map(|sample| sample.values["peak_rss_bytes"]).collect()
    };
    // Hotloop itself has more than 4 MiB; `true` 1 MiB on this system, with some C library perhaps 2.
    let small = peaks(&["true"]);
    assert!(small.iter().all(|peak| (100e3..3e6).contains(peak)), "{small:?}");
    let large = peaks(&["sh", "-c", "x=$(head -c 40000000 /dev/zero | tr '\\0' x); : \"$x\""]);
    assert!(large.iter().all(|peak| (40e6..200e6).contains(peak)), "{large:?}");
}

/// A pipe in the place of a profile would be waited for without end.
#[test]
fn a_pipe_where_a_profile_should_be_is_reported() {
    let (run, code) = record(&[], &["sh", "-c", "mkfifo $HOTLOOP_SNAPSHOT_DIR/$$.json"]);
    assert_eq!(code, Some(0));
    assert!(run.profile.is_none());
    let is_said = |note: &String| {
        note.starts_with("cannot read the profile of process ") && note.ends_with(": it is not a regular file")
    };
    assert!(run.notes.iter().any(is_said), "{:?}", run.notes);
}

#[test]
fn runs_are_kept_under_their_name() {
    let store = tmp().join("run-store");
    let _ = std::fs::remove_dir_all(&store);
    let folder = store.to_str().expect("a UTF-8 path");
    assert_eq!(output(&["--store", folder, "--tag", "first", "--", "true"]).status.code(), Some(0));
    let mut report = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    let report = report.args(["report", "first", "--store", folder]).output().expect("the program starts");
    assert!(text(&report.stdout).contains("HOTLOOP RUN  true"), "{report:?}");
}

/// A run of `sleep` in a group of its own, once the program has begun.
fn sleeping(options: &[&str]) -> Child {
    let mut command = hotloop(&[options, &["--", "sh", "-c", "echo begun; exec sleep 60"]].concat());
    let mut child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut begun = [0; 6];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut begun).expect("it begins");
    child
}

fn signal(name: &str, process: String) {
    assert!(Command::new("kill").args([name, "--", &process]).status().expect("it runs").success());
}

/// As Ctrl-C does: everybody in the group gets it.
#[test]
fn an_interrupted_program_is_still_reported() {
    let child = sleeping(&["--no-save", "--repeat", "5", "--show-output"]);
    signal("-INT", format!("-{}", child.id()));
    let output = child.wait_with_output().expect("it ends");
    let report = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(130 | 143)), "{:?}\n{report}", output.status);
    assert!(report.contains("HOTLOOP RUN  sh") && report.contains("killed by signal"), "{report}");
}

#[test]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn without_a_terminal_a_request_to_end_is_passed_on() {
    if std::fs::File::open("/dev/tty").is_ok() {
        return eprintln!("not tested: there is a terminal");
    }
    let child = sleeping(&["--no-save"]);
    signal("-TERM", child.id().to_string());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
}
