//! The command line as it is used: the built program, its output and its exit codes.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};

fn hotloop<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    hotloop(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

/// What a run wrote that has to succeed and complain of nothing.
#[track_caller]
fn stdout_of(arguments: &str) -> String {
    let output = run(arguments.split_whitespace());
    assert_eq!(text(&output.stderr), "", "{arguments}");
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    text(&output.stdout).to_owned()
}

#[test]
fn a_run_prints_every_section() {
    let report = stdout_of("--tokens 20");
    for section in [
        "HOTLOOP PROFILE",
        "HOT PATHS",
        "WORK",
        "TOP ALLOCATORS",
        "MOST CALLED",
        "CALL TREE",
        "BY INDEX",
        "THREADS",
        "INSIGHTS",
        "THE PROFILER",
    ] {
        let found = report.lines().any(|line| line.starts_with(section));
        assert!(found, "{section} is missing:\n{report}");
    }
    assert!(report.contains("generated 20 tokens (80 characters)"), "{report}");
}

#[test]
fn one_token_is_singular() {
    assert!(stdout_of("--tokens=1 --top=3").contains("generated 1 token (4 characters)"));
}

#[test]
fn threads_of_the_demonstration_end_before_the_report() {
    for _ in 0..20 {
        let report = stdout_of("--tokens 2");
        for thread in ["helper", "writer"] {
            let words = |line: &str| line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>();
            let found = report.lines().any(|line| words(line) == [thread, "ended"]);
            assert!(found, "{thread} has not ended:\n{report}");
        }
    }
}

#[test]
fn help_and_version_are_printed() {
    for flag in ["-h", "--help"] {
        let help = stdout_of(flag);
        for part in ["Usage: hotloop", "--top N", "--tokens N", "--budget SHARE", "--timeline", "--version"] {
            assert!(help.contains(part), "{part} is missing:\n{help}");
        }
    }
    for flag in ["-V", "--version"] {
        assert_eq!(stdout_of(flag), format!("hotloop {}\n", env!("CARGO_PKG_VERSION")));
    }
}

/// Checks that a run is refused with a hint, and that it says why.
#[track_caller]
fn check_refused<A: AsRef<OsStr>>(arguments: &[A], reason: &str) {
    let output = run(arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(text(&output.stdout), "");
    assert!(stderr.starts_with("error: ") && stderr.contains(reason), "{reason} is not in:\n{stderr}");
    assert!(stderr.contains("\n\nhint: `hotloop --help`"), "{stderr}");
}

#[test]
fn bad_arguments_are_named() {
    check_refused(&["--tpo", "3"], "`--tpo`");
    check_refused(&["model.gguf"], "`model.gguf`");
    check_refused(&["--top"], "--top needs a value");
    check_refused(&["--tokens", "many"], "--tokens takes a whole number");
    check_refused(&["--tokens=5001"], "`5001`");
    check_refused(&["--budget=-1"], "--budget takes a number of percent");
    check_refused(&["--timeline=on"], "`--timeline=on`");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_unicode_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    check_refused(&[OsStr::from_bytes(b"--t\xffp")], "`--t\u{fffd}p`");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child =
        hotloop(["--tokens", "20"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    // Long before the report is written, there is nobody to read it.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for arguments in [&["--tokens", "1"][..], &["--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
        let output = hotloop(arguments).stdout(full).output().expect("the program starts");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
        assert!(!stderr.contains("--help"), "{stderr}");
    }
}
