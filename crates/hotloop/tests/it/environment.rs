//! Programs that call nothing to be measured, and are: `examples/spin.rs` and `examples/attributed.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use record::{Profile, Scope};

/// The folder of the examples, built once: Cargo tells a test where its programs are, but not its examples.
fn examples() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder is above its tmp");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--release", "--features", "enabled", "--example", "spin"]);
        cargo.args(["--example", "attributed", "--target-dir"]).arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
        let build = cargo.output().expect("cargo runs");
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        target.join("release/examples")
    })
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("environment").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn program(name: &str, folder: &Path) -> Command {
    let mut program = Command::new(examples().join(name));
    program.env("HOTLOOP_SNAPSHOT_DIR", folder).stderr(Stdio::null());
    program
}

fn finish(program: &mut Command) -> (u32, ExitStatus) {
    let mut child: Child = program.spawn().expect("the program runs");
    (child.id(), child.wait().expect("the program ends"))
}

fn files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a file").file_name());
    names.map(|name| name.into_string().expect("a plain name")).collect()
}

/// What a program wrote, and what it ended with.
fn profile(program: &mut Command, folder: &Path) -> (Profile, Option<i32>) {
    let (process, status) = finish(program);
    assert_eq!(files(folder), [format!("{process}.json")]);
    let json = fs::read_to_string(folder.join(format!("{process}.json"))).expect("the file");
    (Profile::from_json(&json).unwrap_or_else(|error| panic!("{error}\n{json}")), status.code())
}

/// What `spin` wrote when it was to end so.
fn spin(ending: &str) -> (Profile, Option<i32>) {
    let folder = folder(&ending.replace(' ', "-"));
    profile(program("spin", &folder).arg(ending), &folder)
}

#[track_caller]
fn scope<'a>(profile: &'a Profile, name: &str) -> &'a Scope {
    let found = profile.scopes.iter().find(|scope| scope.name == name);
    found.unwrap_or_else(|| panic!("no scope {name} in {:#?}", profile.scopes))
}

#[track_caller]
fn three_spins(profile: &Profile) {
    let spin = scope(profile, "spin::spin");
    assert_eq!((spin.calls, spin.timed_calls), (3, 3));
    // It spins by the clock, also while it waits for a CPU and while the profiler finds that out.
    let beside = profile.waiting_ns.unwrap_or(0) + profile.own_cost.total_ns;
    assert!(spin.total_ns + beside >= 150_000_000 && spin.min_ns + beside >= 50_000_000, "{spin:?}");
    let allocs = spin.allocs.expect("allocations are counted");
    assert_eq!((allocs.allocs, allocs.alloc_bytes, allocs.frees), (3, 3000, 3));
    assert!(profile.wall_ns >= spin.total_ns);
}

#[test]
fn a_program_writes_what_it_did() {
    let (profile, code) = spin("return");
    assert_eq!(code, Some(0));
    three_spins(&profile);
    assert_eq!(profile.threads.len(), 1);
    let main = &profile.threads[0];
    assert_eq!((main.name.as_deref(), main.calls, main.count), (Some("main"), 4, 1));
    assert!(
        main.wall_ns <= profile.wall_ns
            && main.in_scopes_ns + main.waiting_ns.unwrap_or(0) + main.own_cost_ns >= 150_000_000
    );
    assert!(profile.timeline.is_empty() && profile.own_cost.budget == Some(0.02));
    assert_eq!(profile.lost, record::Losses::default());
}

#[test]
fn attributes_alone_are_enough() {
    let folder = folder("attributed");
    let (profile, _) = profile(&mut program("attributed", &folder), &folder);
    assert_eq!(scope(&profile, "attributed::double").calls, 7);
    assert!(profile.outside_allocs.is_none(), "it has no allocator that counts");
}

#[test]
fn exit_is_an_end_too() {
    let (profile, code) = spin("exit");
    assert_eq!(code, Some(3));
    three_spins(&profile);
    assert_eq!(scope(&profile, "spin::end").calls, 1, "it was open");
    let (profile, code) = spin("exit from a thread");
    assert_eq!(code, Some(4));
    three_spins(&profile);
}

#[test]
fn a_panic_that_unwinds_from_main_is_an_end_too() {
    let (profile, code) = spin("panic");
    assert_eq!(code, Some(101));
    three_spins(&profile);
}

#[test]
fn threads_may_go_on() {
    let (profile, _) = spin("threads");
    let spins: Vec<u64> = profile.scopes.iter().filter(|scope| scope.name == "spin::spin").map(|s| s.calls).collect();
    assert_eq!(spins.iter().sum::<u64>(), 4, "three on one thread and one on another: {spins:?}");
    let alive: Vec<_> = profile.threads.iter().map(|thread| (thread.name.as_deref(), thread.is_alive)).collect();
    assert!(alive.contains(&(Some("main"), false)) && alive.contains(&(Some("detached"), true)), "{alive:?}");
    assert!(scope(&profile, "spin::for ever").calls > 0);
}

#[test]
fn what_the_program_starts_stops_and_forgets_stays_so() {
    three_spins(&spin("stop").0);
    let (forgotten, _) = spin("reset");
    assert!(forgotten.scopes.iter().any(|scope| scope.name == "spin::spin" && scope.calls == 1), "{forgotten:?}");
    let (restarted, _) = spin("restart");
    three_spins(&restarted);
    assert!(!restarted.timeline.is_empty());
}

#[test]
fn the_folder_is_that_of_the_start() {
    let folder = folder("elsewhere");
    let mut program = program("spin", Path::new("elsewhere"));
    program.current_dir(folder.parent().expect("one above it")).arg("elsewhere");
    three_spins(&profile(&mut program, &folder).0);
}

#[test]
fn timeline_and_budget_can_be_asked_for() {
    let folder = folder("timeline");
    let mut program = program("spin", &folder);
    program.env("HOTLOOP_TIMELINE", "100").env("HOTLOOP_BUDGET", "0");
    let (profile, _) = profile(&mut program, &folder);
    three_spins(&profile);
    assert_eq!(profile.own_cost.budget, None);
    let calls: Vec<usize> = profile.timeline.iter().map(|thread| thread.scopes.len()).collect();
    assert_eq!(calls, [4], "all of them");
}

#[test]
fn no_file_where_none_is_asked_for_or_none_can_be() {
    let folder = folder("none");
    let mut unasked = program("spin", &folder);
    assert_eq!(finish(unasked.env_remove("HOTLOOP_SNAPSHOT_DIR").current_dir(&folder)).1.code(), Some(0));
    let mut aborted = program("spin", &folder);
    assert!(!finish(aborted.arg("abort")).1.success());
    assert_eq!(files(&folder), [""; 0]);
    let output = program("spin", &folder.join("not there")).stderr(Stdio::piped()).output().expect("it runs");
    assert_eq!((output.status.code(), output.stdout, output.stderr), (Some(0), Vec::new(), Vec::new()));
}
