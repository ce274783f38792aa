//! The command line as it is used: the built program, its output and its exit codes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn hotloop<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A run that takes a moment and leaves nothing behind.
const SHORT: &str = "--tokens 4 --repeat 2 --warmup 0 --no-limits --no-save";

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
    let report = stdout_of(&format!("{SHORT} --full"));
    for section in [
        "HOTLOOP RUN",
        "SUMMARY",
        "SYSTEM AND BUILD",
        "FIGURES",
        "ROWS",
        "HOT PATHS",
        "RATES",
        "TOP ALLOCATORS",
        "MOST CALLED",
        "CALL TREE",
        "BY INDEX",
        "THREADS",
        "THE PROFILER",
        "MEMORY",
        "PROCESS",
        "INSIGHTS",
    ] {
        let found = report.lines().any(|line| line.starts_with(section));
        assert!(found, "{section} is missing:\n{report}");
    }
}

#[test]
fn help_and_version_are_printed() {
    for flag in ["-h", "--help"] {
        let help = stdout_of(flag);
        for part in ["Usage: hotloop", "--top <N>", "--tokens <N>", "--repeat <N>", "--trace", "--version", "Examples:"]
        {
            assert!(help.contains(part), "{part} is missing:\n{help}");
        }
    }
    for flag in ["-V", "--version"] {
        assert_eq!(stdout_of(flag), format!("hotloop {}\n", env!("CARGO_PKG_VERSION")));
    }
}

/// Checks that a run is refused with some hint, and that it says why.
#[track_caller]
fn check_refused_with(arguments: &[&str], reason: &str) {
    let output = run(arguments);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{stderr}");
    assert!(stderr.contains(reason) && stderr.contains("\n\nhint: "), "{stderr}");
}

/// Checks that arguments are refused, with the reason and the way to help.
#[track_caller]
fn check_refused<A: AsRef<OsStr>>(arguments: &[A], reason: &str) {
    let output = run(arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(text(&output.stdout), "");
    assert!(stderr.starts_with("error: ") && stderr.contains(reason), "{reason} is not in:\n{stderr}");
    assert!(stderr.ends_with("\n\nFor more information, try '--help'.\n"), "{stderr}");
}

#[test]
fn bad_arguments_are_named() {
    check_refused(
        &["--tokns", "3"],
        "unexpected argument '--tokns' found\n\n  tip: a similar argument exists: '--tokens'",
    );
    check_refused(&["model.gguf"], "to profile a model file, use 'hotloop profile model.gguf'");
    check_refused(&["--top"], "a value is required for '--top <N>'");
    check_refused(&["--tokens", "many"], "invalid value 'many' for '--tokens <N>'");
    check_refused(&["--time-budget=-1"], "not a number from 0.1 to 86400 (seconds)");
    check_refused(&["--trace=on"], "unexpected value 'on' for '--trace'");
    check_refused(&["doctor", "--slow"], "unexpected argument '--slow'");
    check_refused(&["doctor", "--threads", "0"], "0 is not in 1..=4096");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_not_unicode_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    check_refused(&[OsStr::from_bytes(b"--t\xffp")], "'--t\u{fffd}p'");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = hotloop(SHORT.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Long before the report is written, there is nobody to read it.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for arguments in [SHORT, "--help"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
        let output = hotloop(arguments.split_whitespace()).stdout(full).output().expect("the program starts");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
        assert!(!stderr.contains("--help"), "{stderr}");
    }
}

/// Examines the machine in a hurry; the figures themselves are compared elsewhere.
fn examine(arguments: &str) -> record::Doctor {
    let start = std::time::Instant::now();
    let doctor = record::Doctor::from_json(&stdout_of(arguments)).expect("it is the document");
    assert!(doctor.quick && doctor.duration_s <= start.elapsed().as_secs_f64());
    doctor
}

#[test]
fn doctor_tells_programs_what_the_machine_can_do() {
    let doctor = examine("doctor --quick --json");
    assert_eq!(doctor.tool.version, env!("CARGO_PKG_VERSION"));
    let limits = &doctor.limits;
    assert_eq!(limits.threads, doctor.machine.threads);
    for compute in [&limits.f32, &limits.int8] {
        let compute = compute.as_ref().expect("arithmetic is always measured");
        for rate in [&compute.one, &compute.all] {
            let rate = rate.as_ref().expect("of one thread and of all");
            assert!(rate.best > 1e6 && rate.best >= rate.median && rate.windows > 0, "{rate:?}");
        }
    }
}

/// Nearer levels are faster. On a busy machine a measurement may find no quiet moment, so only a reversal by more than half
/// counts as wrong, and only where it stays.
#[test]
fn doctor_finds_nearer_levels_faster() {
    let mut seen = Vec::new();
    for _ in 0..5 {
        let limits = examine("doctor --quick --json --threads 1").limits;
        let best = |name: &&str| {
            let level = limits.read.iter().find(|level| level.name == *name && level.huge_pages)?;
            level.one.as_ref().map(|rate| rate.best)
        };
        let known: Vec<f64> = ["L1", "L2", "L3", "DRAM"].iter().filter_map(best).collect();
        assert!(!known.is_empty() && known.iter().all(|rate| *rate > 1e6), "{limits:?}");
        if known.windows(2).all(|pair| pair[0] > 0.5 * pair[1]) {
            return;
        }
        seen.push(known);
    }
    panic!("{seen:?}");
}

#[test]
fn doctor_keeps_to_the_instructions_and_threads_asked_for() {
    let output = hotloop(["doctor", "--quick", "--json", "--threads", "1"]).env("HOTLOOP_ISA", "scalar").output();
    let output = output.expect("the program starts");
    let doctor = record::Doctor::from_json(text(&output.stdout)).expect("it is the document");
    assert_eq!((doctor.machine.isa.chosen.as_str(), doctor.machine.isa.forced), ("scalar", true));
    let one = doctor.limits.f32.and_then(|compute| compute.one).expect("it is measured");
    assert_eq!((doctor.limits.threads, one.isa.as_str()), (1, "scalar"));
}

#[test]
fn doctor_refuses_instructions_that_are_not_there() {
    let output = hotloop(["doctor", "--quick"]).env("HOTLOOP_ISA", "sse9").output().expect("the program starts");
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{stderr}");
    assert!(stderr.starts_with("error: HOTLOOP_ISA: `sse9`") && stderr.contains("\n\nhint: "), "{stderr}");
}

#[test]
fn doctor_refuses_more_threads_than_can_run() {
    let output = run(["doctor", "--quick", "--threads", "4096"]);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{stderr}");
    assert!(stderr.starts_with("error: cannot run 4096 threads at once") && stderr.contains("\n\nhint: "), "{stderr}");
}

#[test]
fn doctor_tells_people_in_lines_that_fit() {
    let report = stdout_of("doctor --quick");
    for section in ["HOTLOOP DOCTOR", "MACHINE", "LIMITS", "NOISE", "RECOMMENDATIONS"] {
        assert!(report.lines().any(|line| line.starts_with(section)), "{section} is missing:\n{report}");
    }
    let narrow = hotloop(["doctor", "--quick"]).env("COLUMNS", "80").output().expect("the program starts");
    for (report, columns) in [(report.as_str(), 120), (text(&narrow.stdout), 80)] {
        let longest = report.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(columns), "{longest:?} of {columns}:\n{report}");
    }
}

/// A small checkpoint of llama2.c, which takes no program to write: dimension 32, hidden 64, a layer, 2 heads, 8 tokens.
fn checkpoint(folder: &Folder) -> PathBuf {
    let mut bytes: Vec<u8> = [32, 64, 1, 2, 1, 8, 16].iter().flat_map(|size: &i32| size.to_le_bytes()).collect();
    let floats = 8 * 32 + 32 + 2 * 32 * 32 + 2 * 32 * 16 + 32 + 3 * 32 * 64 + 32 + 16 * 16;
    bytes.extend((0..floats).flat_map(|i| ((i as f32 * 0.37).sin() * 0.1).to_le_bytes()));
    let path = folder.0.join("model.bin");
    std::fs::write(&path, bytes).expect("a file can be written");
    path
}

/// Removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotloop-cli-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn quantize(source: &Path, target: &Path, more: &[&str]) -> Output {
    let paths = [OsStr::new("quantize"), source.as_os_str(), target.as_os_str()];
    run(paths.into_iter().chain(more.iter().map(OsStr::new)))
}

#[test]
fn quantize_writes_a_model_that_can_be_read() {
    let folder = Folder::new("quantize");
    let (source, target) = (checkpoint(&folder), folder.0.join("model.gguf"));
    let output = quantize(&source, &target, &["--type", "q4_k", "--threads", "2"]);
    let stdout = text(&output.stdout);
    assert_eq!((text(&output.stderr), output.status.code()), ("", Some(0)));
    for part in ["written", "model.gguf", "7 q5_0", "1 q8_0", "fallbacks", "rows of 32", "on 2 threads"] {
        assert!(stdout.contains(part), "{part} is missing:\n{stdout}");
    }
    // What was written can be converted again.
    let again = folder.0.join("again.gguf");
    let output = quantize(&target, &again, &["--type=F16", "--json"]);
    let document = record::Quantisation::from_json(text(&output.stdout)).expect("it is the document");
    assert_eq!((document.format.as_str(), document.tensors.len()), ("f16", 11));
    assert_eq!(std::fs::metadata(&again).map(|about| about.len()).ok(), Some(document.file_bytes));
    let query = document.tensors.iter().find(|tensor| tensor.name == "blk.0.attn_q.weight").expect("it is there");
    assert_eq!((query.from.as_str(), query.to.as_str(), query.shape.as_slice()), ("q5_0", "f16", [32, 32].as_slice()));
}

#[test]
fn quantize_says_what_cannot_be_done() {
    let folder = Folder::new("refused");
    let (source, target) = (checkpoint(&folder), folder.0.join("model.gguf"));
    let refused = |source: &Path, target: &Path, reason: &str, hint: &str| {
        let output = quantize(source, target, &["--type", "q8_0"]);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(reason), "{reason} is not in:\n{stderr}");
        let has_hint = hint.is_empty() || stderr.contains(&format!("\n\nhint: {hint}"));
        assert!(has_hint, "{hint} is not in:\n{stderr}");
    };
    refused(&folder.0.join("none"), &target, "none: No such file", "check the path");
    refused(&folder.0, &target, "this is a folder", "");
    std::fs::write(folder.0.join("page"), "<html>").expect("a file can be written");
    refused(&folder.0.join("page"), &target, "a web page", "convert the model");
    std::fs::write(&target, "precious").expect("a file can be written");
    refused(&source, &target, "the file exists", "give another name, or --force");
    assert_eq!(std::fs::read(&target).ok().as_deref(), Some(b"precious".as_slice()));
    let output = quantize(&source, &target, &["--type", "q8_0", "--force"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(std::fs::read(&target).is_ok_and(|bytes| bytes.starts_with(b"GGUF")));
    let mut unknown = hotloop(["quantize", "--type=q8_0", "--force"]);
    let output = unknown.arg(&source).arg(&target).env("HOTLOOP_ISA", "sse9").output().expect("the program starts");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: HOTLOOP_ISA: `sse9`") && stderr.contains("\n\nhint: "), "{stderr}");
    let left = std::fs::read_dir(&folder.0).expect("it is there").count();
    assert_eq!(left, 3, "nothing half written is left");
}

#[test]
fn every_command_has_an_example() {
    let help = stdout_of("--help");
    let commands =
        help.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("there are commands");
    let names: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names.iter().filter(|name| **name != "help") {
        let help = stdout_of(&format!("{name} --help"));
        assert!(help.contains("Examples:\n  hotloop"), "{name}:\n{help}");
    }
}

#[test]
fn shells_and_man_are_told() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout_of(&format!("completions {shell}"));
        assert!(script.contains("history") && script.contains("time-budget"), "{shell}:\n{script}");
    }
    let page = stdout_of("man");
    assert!(page.starts_with(".ie") && page.contains(".TH hotloop") && page.contains("doctor"), "{page}");
    // `whatis` and `apropos` read one line.
    let name = page.split(".SH NAME\n").nth(1).and_then(|rest| rest.split("\n.SH").next()).expect("there is a name");
    assert_eq!(name, "hotloop \\- Find where each token\\*(Aqs time and memory go");
    assert!(stdout_of("man profile").contains("time\\-budget"));
    check_refused_with(&["man", "nothing"], "there is no command `nothing`");
    check_refused_with(&["man", "profiel"], "did you mean `profile`?");
}
