//! Commands of all kinds: with the library in them and without, that fail, that are killed, that are not there.
#![cfg(all(unix, not(miri)))]

use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;

use lab::command::{
    Command, CommandMeasurement, CommandObserver, CommandSettings, CompletedCommand, ProfilerOptions, RepeatCounts,
    StartError, StartErrorKind, measure,
};
use lab::machine::KernelChoice;
use record::{Phase, Profile, Run, Tool};

/// `examples/spin.rs` of the library: three times 50 ms in the scope `spin`, with one allocation each.
fn spin() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder is above its tmp");
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hotloop");
        let mut cargo = process::Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--release", "--features", "enabled", "--example", "spin"]);
        let build = cargo
            .args(["--example", "attributed", "--target-dir"])
            .arg(target)
            .current_dir(library)
            .output()
            .expect("cargo runs");
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        target.join("release/examples/spin")
    })
}

fn command(words: &[&str]) -> Command {
    Command::new(words.iter().map(Into::into)).expect("a name")
}

fn with(asked: ProfilerOptions, words: &[&str]) -> CompletedCommand {
    command(words).run(&asked, |_| {}).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn run(words: &[&str]) -> CompletedCommand {
    with(ProfilerOptions::default(), words)
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("a UTF-8 path")
}

#[track_caller]
fn three_spins(profile: Option<&Profile>) {
    let profile = profile.expect("a profile");
    let spin = profile.scopes.iter().find(|scope| scope.name == "spin::spin").expect("the scope");
    assert_eq!((spin.calls, spin.allocs.map(|allocs| allocs.allocs)), (3, Some(3)));
    // It spins by the clock, also while it waits for a CPU and while the profiler finds that out.
    let beside = profile.waiting_ns.unwrap_or(0) + profile.own_cost.total_ns;
    assert!(spin.total_ns + beside >= 150_000_000, "{spin:?}");
}

#[test]
fn a_program_with_the_library_gives_its_profile() {
    let ended = run(&[shown(spin())]);
    three_spins(ended.profile.as_ref());
    assert!(ended.usage.wall_s >= 0.15 && ended.usage.user_s.is_some_and(|s| s > 0.0), "{:?}", ended.usage);
    assert!(ended.usage.minor_faults.is_some_and(|faults| faults > 0), "{:?}", ended.usage);
    assert!(ended.usage.voluntary_switches.is_some() && ended.usage.involuntary_switches.is_some());
    assert_eq!((ended.usage.exit_code, ended.usage.signal), (Some(0), None));
    let profile = ended.profile.expect("a profile");
    assert!(profile.wall_ns as f64 <= ended.usage.wall_s * 1e9, "the part is no longer than the whole");
}

#[test]
fn timeline_and_budget_are_passed_on() {
    let ended = with(ProfilerOptions { timeline: Some(100), budget_percent: Some(0.0) }, &[shown(spin())]);
    let profile = ended.profile.expect("a profile");
    assert!(!profile.timeline.is_empty() && profile.own_cost.budget.is_none());
    let ended = with(ProfilerOptions { timeline: None, budget_percent: Some(2.5) }, &[shown(spin())]);
    let profile = ended.profile.expect("a profile");
    assert!(profile.timeline.is_empty() && profile.own_cost.budget == Some(0.025));
}

#[test]
fn a_program_without_the_library_gives_the_outer_figures() {
    let ended = run(&["sleep", "0.2"]);
    assert!(ended.usage.wall_s >= 0.2, "{:?}", ended.usage);
    assert!(ended.usage.user_s.is_some_and(|s| s < 0.1), "it slept: {:?}", ended.usage);
    assert!(ended.profile.is_none());
    assert!(ended.notes.iter().any(|note| note.contains("does not use hotloop")), "{:?}", ended.notes);
}

/// The peak of a shell that holds so many megabytes at a time.
fn shell_with(megabytes: u32) -> u64 {
    let script = format!("x=$(head -c {megabytes}000000 /dev/zero | tr '\\0' x); : \"$x\"");
    run(&["sh", "-c", &script]).usage.peak_rss_bytes.expect("it is measured")
}

#[test]
fn peaks_are_those_of_the_program_itself() {
    // A later, smaller one must not have the peak of an earlier, larger one.
    let (large, small) = (shell_with(60), shell_with(30));
    assert!(large >= 60_000_000, "{large}");
    assert!((30_000_000..large).contains(&small), "{small} after {large}");
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_a_small_program_is_not_ours() {
    // Much more than that program has; a child that is started directly begins with it.
    let held = std::hint::black_box(vec![1_u8; 32 << 20]);
    let own = lab::peak_rss().expect("Linux tells it");
    let peaks: Vec<u64> = (0..20).filter_map(|_| run(&["true"]).usage.peak_rss_bytes).collect();
    drop(held);
    assert!(own > 32 << 20 && peaks.len() == 20, "{peaks:?}");
    assert!(peaks.iter().all(|peak| (1..8 << 20).contains(peak)), "{peaks:?}, ours {own}");
}

/// A static program of one page that does nothing, where a C compiler can make it.
#[cfg(target_os = "linux")]
fn one_page() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("one-page.s"), folder.join("one-page"));
    let text = match std::env::consts::ARCH {
        "x86_64" => ".globl _start\n_start: mov $60, %eax\n xor %edi, %edi\n syscall\n",
        "aarch64" => ".globl _start\n_start: mov x8, #93\n mov x0, #0\n svc #0\n",
        _ => return None,
    };
    std::fs::write(&source, text).expect("a source");
    let mut compiler = process::Command::new("cc");
    compiler.args(["-nostdlib", "-static", "-o"]).arg(&program).arg(&source);
    compiler.status().is_ok_and(|status| status.success()).then_some(program)
}

#[test]
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr, reason = "says what was not tested")]
fn the_peak_of_a_program_of_one_page_is_near_that() {
    let Some(program) = one_page() else { return eprintln!("not tested: there is no C compiler") };
    let ended = run(&[shown(&program)]);
    // No program with the C library has less than twice as much. So few pages may be none for the kernel.
    match ended.usage.peak_rss_bytes {
        Some(peak) => assert!(peak < 512 << 10, "{peak}"),
        None => assert!(ended.notes.iter().any(|note| note.contains("too few pages")), "{:?}", ended.notes),
    }
    assert_eq!(ended.usage.major_faults, Some(0));
    assert!(ended.usage.minor_faults.is_some_and(|faults| faults < 50), "no faults of the launcher: {:?}", ended.usage);
}

#[test]
fn failures_are_told_as_they_were() {
    let ended = run(&["sh", "-c", "exit 7"]);
    assert_eq!((ended.usage.exit_code, ended.usage.signal), (Some(7), None));
    let ended = run(&["sh", "-c", "kill -9 $$"]);
    assert_eq!((ended.usage.exit_code, ended.usage.signal), (None, Some(9)));
    assert!(ended.notes.iter().any(|note| note.contains("terminated by signal 9")), "{:?}", ended.notes);
    let ended = run(&[shown(spin()), "exit"]);
    assert_eq!(ended.usage.exit_code, Some(3));
    three_spins(ended.profile.as_ref());
    let ended = run(&["sh", "-c", "exec \"$0\" abort 2>/dev/null", shown(spin())]);
    assert!(ended.profile.is_none() && ended.usage.signal.is_some());
}

#[test]
fn a_script_gives_the_profile_of_what_it_starts() {
    let script = format!("'{0}' && true", shown(spin()));
    let ended = run(&["sh", "-c", &script]);
    three_spins(ended.profile.as_ref());
    assert!(ended.notes.iter().any(|note| note.contains("which the command started")), "{:?}", ended.notes);
    // The other has little to do.
    let script = format!("'{}'; '{}'; true", shown(spin()), shown(&spin().with_file_name("attributed")));
    let ended = run(&["sh", "-c", &script]);
    three_spins(ended.profile.as_ref());
    assert!(
        ended.notes.iter().any(|note| note.contains("1 profile is of shorter processes left out")),
        "{:?}",
        ended.notes
    );
}

#[test]
fn what_cannot_be_started_is_told() {
    let refused = |name: &str| command(&[name]).run(&ProfilerOptions::default(), |_| {}).expect_err(name);
    for name in ["no-such-program-anywhere", "./no/such/program"] {
        assert_eq!(refused(name), StartError { program: name.to_owned(), why: StartErrorKind::NotFound });
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let refusal = refused(shown(&file));
    assert!(matches!(&refusal.why, StartErrorKind::NotExecutable(why) if why.contains("denied")), "{refusal}");
    let script = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-interpreter");
    std::fs::write(&script, "#!/no/such/interpreter\n").expect("a script");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).expect("its rights");
    let refusal = refused(shown(&script));
    assert!(matches!(&refusal.why, StartErrorKind::NotExecutable(why) if why.contains("interpreter")), "{refusal}");
}

/// Asks for an end when so many runs have begun.
struct Until(u32);

impl CommandObserver for Until {
    fn started(&mut self, _process: u32) {
        self.0 -= 1;
    }

    fn ended(&mut self) {}

    fn is_stopped(&self) -> bool {
        self.0 == 0
    }

    fn tell(&mut self, _step: lab::ExamineStep<'_>) {}
}

fn repeat(timed: u64, warmup: u64, words: &[&str]) -> CommandMeasurement {
    let repeats = RepeatCounts { timed, warmup, hide_output: false };
    command(words).repeat(repeats, &ProfilerOptions::default(), &mut Until(1000)).expect("it runs")
}

#[test]
fn repeats_are_samples() {
    let measured = repeat(3, 2, &["sleep", "0.01"]);
    let phases: Vec<Phase> = measured.samples.iter().map(|sample| sample.phase).collect();
    assert_eq!(phases, [Phase::Warmup, Phase::Warmup, Phase::Timed, Phase::Timed, Phase::Timed]);
    assert_eq!(measured.samples.iter().map(|sample| sample.launch).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(measured.samples.is_sorted_by(|a, b| a.start_ns < b.start_ns));
    for sample in &measured.samples {
        assert!(sample.row == "command" && sample.values["wall_s"] >= 0.01, "{sample:?}");
        assert!(sample.values.keys().all(|name| measured.metrics.contains_key(name)));
        assert!(sample.values.contains_key("peak_rss_bytes"), "{sample:?}");
    }
    assert_eq!(measured.rows.len(), 1);
    assert!(measured.failures.is_empty() && !measured.interrupted);
}

/// Keeps what it is told.
#[derive(Default)]
struct Listener {
    runs: Vec<(u64, u64)>,
    printed: Vec<[String; 2]>,
}

impl CommandObserver for Listener {
    fn started(&mut self, _process: u32) {}

    fn ended(&mut self) {}

    fn is_stopped(&self) -> bool {
        false
    }

    fn tell(&mut self, _step: lab::ExamineStep<'_>) {}

    fn run(&mut self, done: u64, of: u64) {
        self.runs.push((done, of));
    }

    fn printed(&mut self, output: &[u8], complaints: &[u8]) {
        self.printed.push([output, complaints].map(|text| String::from_utf8_lossy(text).into_owned()));
    }
}

#[test]
fn hidden_output_is_shown_of_the_run_that_fails() {
    let repeats = RepeatCounts { timed: 3, warmup: 1, hide_output: true };
    let hear = |script: &str| {
        let mut listener = Listener::default();
        let measured = command(&["sh", "-c", script]).repeat(repeats, &ProfilerOptions::default(), &mut listener);
        (listener, measured.expect("it runs"))
    };
    let (heard, measured) = hear("echo done; echo well >&2");
    assert_eq!((heard.runs, measured.samples.len()), (vec![(0, 4), (1, 4), (2, 4), (3, 4)], 4));
    assert!(heard.printed.is_empty(), "{:?}", heard.printed);
    let (heard, measured) = hear("echo \"run $$\"; echo bad >&2; exit 3");
    assert_eq!((measured.samples.len(), heard.printed.len()), (4, 1));
    let [output, complaints] = &heard.printed[0];
    assert!(output.starts_with("run ") && output.lines().count() == 1, "of one run: {output}");
    assert_eq!(complaints, "bad\n");
}

#[test]
fn a_run_that_ends_otherwise_than_the_first_is_no_sample_and_the_last() {
    let flag = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ran-{}", process::id()));
    let _ = std::fs::remove_file(&flag);
    let measured = repeat(5, 0, &["sh", "-c", "test -e \"$0\" && exit 4; touch \"$0\"", shown(&flag)]);
    std::fs::remove_file(&flag).expect("it was there");
    assert_eq!(measured.samples.len(), 1);
    assert_eq!(measured.process.exit_code, Some(4));
    assert_eq!(measured.failures, ["run 2 of 5: the program ended with exit code 4, in the first run with 0"]);
}

#[test]
fn a_program_that_always_ends_alike_is_repeated() {
    let measured = repeat(3, 0, &["sh", "-c", "exit 1"]);
    assert_eq!(measured.samples.len(), 3);
    assert_eq!(measured.failures, ["the program ended with exit code 1"]);
}

#[test]
fn an_interruption_ends_the_repeats() {
    let repeats = RepeatCounts { timed: 100, warmup: 0, hide_output: false };
    let measured = command(&["true"]).repeat(repeats, &ProfilerOptions::default(), &mut Until(2)).expect("it runs");
    // The second may have been ended by it.
    assert_eq!((measured.samples.len(), measured.interrupted), (1, true));
    let measured = command(&["true"]).repeat(repeats, &ProfilerOptions::default(), &mut Until(1)).expect("it runs");
    assert_eq!(
        (measured.samples.len(), measured.interrupted),
        (1, true),
        "one alone may be a server, which ends only so"
    );
}

fn settings() -> CommandSettings {
    CommandSettings {
        command: command(&["/bin/sh", "-c", "exit 0"]),
        asked: ProfilerOptions { timeline: None, budget_percent: Some(0.5) },
        repeats: RepeatCounts { timed: 2, warmup: 1, hide_output: false },
        limits: false,
        chosen: KernelChoice::from_environment().expect("a CPU"),
        tool: Tool { name: "test".to_owned(), version: "1".to_owned() },
    }
}

#[test]
fn the_record_says_what_was_run_and_how() {
    let run = measure(&settings(), &mut Until(1000)).expect("it runs");
    assert_eq!((run.subject.name.as_str(), run.subject.command.join(" ").as_str()), ("sh", "/bin/sh -c exit 0"));
    assert_eq!((run.workload.name.as_str(), run.workload.repeat, run.workload.warmup), ("command", Some(2), Some(1)));
    assert_eq!(run.workload.parameters["arguments"], "-c exit 0");
    assert_eq!(run.workload.parameters["budget_percent"], "0.5");
    assert_eq!((run.samples.len(), run.process.as_ref().and_then(|process| process.exit_code)), (3, Some(0)));
    assert!(run.environment.limits.is_none() && run.environment.noise.is_some() && run.environment.machine.cpus > 0);
    let build = run.subject.build.as_ref().expect("its file tells something");
    assert_eq!(build.binary_blake3, lab::blake3_of(Path::new("/bin/sh")));
    assert!(build.binary_blake3.is_some() && build.profile.is_none() && build.debug_assertions.is_none(), "{build:?}");
    assert_eq!(Run::from_json(&run.to_json()), Ok(run));
}

#[cfg(unix)]
#[test]
fn a_program_that_changes_while_it_runs_is_not_known() {
    let script = std::env::temp_dir().join(format!("hotloop-lab-changes-{}", std::process::id()));
    std::fs::write(&script, "#!/bin/sh\necho : >> \"$0\"\n").expect("there is room for it");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, executable).expect("it is ours");
    let settings = CommandSettings { command: command(&[shown(&script)]), ..settings() };
    let run = measure(&settings, &mut Until(1000)).expect("it runs");
    std::fs::remove_file(&script).expect("it is ours");
    assert_eq!(run.subject.build, None);
    assert!(run.notes.iter().any(|note| note.contains("changed while it was measured")), "{:?}", run.notes);
}
