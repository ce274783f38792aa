//! `hotloop duel` as it is used. Figures that decide are printed by the commands themselves wherever the machine could disturb.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use record::{Duel, Phase, Verdict};

/// Short: three launches are the fewest that decide anything here.
const SHORT: &[&str] = &["--launches", "3", "--rounds", "4", "--round-ms", "1"];

fn tmp() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// An empty folder of one test.
fn folder(name: &str) -> PathBuf {
    let folder = tmp().join(format!("duel-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn hotloop(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.arg("duel").args(arguments).stdin(Stdio::null());
    command
}

fn output(arguments: &[&str]) -> Output {
    hotloop(arguments).output().expect("the program starts")
}

fn short(arguments: &[&str]) -> Output {
    output(&[arguments, SHORT].concat())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

/// The last line, for programs.
#[track_caller]
fn ends(output: &Output, code: i32, line: &str) {
    let last = text(&output.stdout).lines().last().unwrap_or_default();
    assert!(last.starts_with(line) && output.status.code() == Some(code), "{line}: {output:?}");
}

/// A command that says what it took.
fn steps(count: u64) -> String {
    format!("sh -c 'echo HOTLOOP steps={count} exact=yes'")
}

#[test]
fn the_same_command_twice_never_moves() {
    let output = short(&["sleep 0.01", "sleep 0.01"]);
    let said = text(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 13)), "{output:?}");
    assert!(said.contains("Both sides are the same program") && said.contains("REPEAT"), "{said}");
    let last = said.lines().last().expect("a line");
    assert!(
        ["same", "unresolved", "unstable"].iter().any(|word| last.starts_with(&format!("VERDICT {word}"))),
        "{said}"
    );
}

#[test]
fn one_that_sleeps_much_longer_regressed() {
    // One time in twenty the placebo moves, and nothing is said.
    for _ in 0..5 {
        let output = short(&["sleep 0.03", "sleep 0.2"]);
        let last = text(&output.stdout).lines().last().unwrap_or_default().to_owned();
        assert!(!last.starts_with("VERDICT improved") && !last.starts_with("VERDICT same"), "{output:?}");
        if last.starts_with("VERDICT regressed wall_s +") {
            let first = text(&output.stdout).lines().next().unwrap_or_default();
            assert!(
                first.starts_with("sleep 0.2 is ") && first.contains("× slower than sleep 0.03 (95 % CI "),
                "{first}"
            );
            assert_eq!(output.status.code(), Some(10));
            assert!(last.contains("% floor ") || last.contains("] floor "), "{last}");
            assert!(text(&output.stdout).contains("SECOND MEASUREMENT"), "{output:?}");
            return;
        }
    }
    panic!("six times as long was not seen in five duels");
}

#[test]
fn what_is_bound_by_the_cpu_is_judged_by_its_time() {
    let work = |count: u64| format!("sh -c 'i=0; while [ $i -lt {count} ]; do i=$((i+1)); done'");
    let (less, more) = (work(40_000), work(80_000));
    // A host that takes the CPUs away for longer than the work takes looks like a side that waits.
    for _ in 0..3 {
        let output = output(&[&less, &more, "--round-ms", "40", "--launches", "3", "--rounds", "3", "--no-confirm"]);
        let said = text(&output.stdout);
        let first = said.lines().next().unwrap_or_default();
        if said.contains("cpu_s (threshold 2.0 %): every side is CPU-bound on one thread") {
            // Whatever the machine lets it say, it says by what.
            assert!(first.contains("by CPU time, ") && !first.contains("faster than"), "{said}");
            return;
        }
        assert!(first.contains("by wall time, ") && said.contains("of its run time"), "{said}");
    }
    panic!("work that never waits was taken for work that does, three times");
}

#[test]
fn a_time_budget_bounds_a_duel_of_a_slow_and_a_fast_side() {
    let begun = Instant::now();
    let output = output(&["sleep 0.001", "sleep 0.15", "--time-budget", "6", "--json"]);
    let took = begun.elapsed().as_secs_f64();
    let duel = Duel::from_json(text(&output.stdout)).expect("a duel");
    assert!(took < 9.0 && duel.design.time_budget_s.is_some_and(|budget| budget < 6.0), "{took}: {:?}", duel.design);
    assert_eq!(duel.design.gates[0].metric, "wall_s", "{:?}", duel.design);
    let judged = &duel.findings[0].judgements[0];
    let estimate = judged.change.map(|change| change.estimate).or(judged.estimate);
    assert!(estimate.is_some_and(|estimate| estimate > 5.0), "{:?}", duel.findings);
}

#[test]
fn what_does_more_regressed_and_what_does_less_improved() {
    let (few, many) = (steps(100), steps(200));
    ends(&short(&[&few, &many, "--metric", "steps"]), 10, "VERDICT regressed steps +100.0% [100.0,100.0]");
    ends(&short(&[&many, &few, "--metric", "steps"]), 0, "VERDICT improved steps -50.0%");
    ends(&short(&[&many, &many, "--metric", "steps"]), 0, "VERDICT same steps +0.0%");
    let markdown = short(&[&few, &many, "--metric", "steps", "--no-confirm", "--format", "markdown"]);
    assert!(text(&markdown.stdout).starts_with("# Hotloop duel: "), "{markdown:?}");
    assert!(!text(&markdown.stdout).contains("Second measurement"), "{markdown:?}");
    assert_eq!(markdown.status.code(), Some(10));
}

#[test]
fn quick_decides_large_changes_alone() {
    let figure = |value: u64| format!("sh -c 'echo HOTLOOP steps={value}'");
    let (few, many, most) = (figure(100), figure(110), figure(200));
    let quick = ["--quick", "--round-ms", "1", "--metric", "steps"];
    let output = self::output(&[&[few.as_str(), &most][..], &quick].concat());
    ends(&output, 10, "VERDICT regressed steps +100.0%");
    let output = self::output(&[&[few.as_str(), &many][..], &quick].concat());
    ends(&output, 0, "VERDICT leaning-worse steps +10.0%");
    assert!(text(&output.stderr).contains("warning: no certain verdict"), "{output:?}");
    let failing = self::output(&[&[few.as_str(), &many, "--on-unresolved", "fail"][..], &quick].concat());
    ends(&failing, 11, "VERDICT leaning-worse");
}

#[test]
fn other_output_is_wrong_however_fast() {
    let output = short(&["sh -c 'sleep 0.05; echo one two'", "sh -c 'echo one too'", "--check-output"]);
    ends(&output, 14, "VERDICT wrong-output output");
    assert!(text(&output.stdout).contains("it is a different computation"), "{output:?}");
    ends(&short(&["echo HOTLOOP output=1", "echo HOTLOOP output=2"]), 14, "VERDICT wrong-output");
    let unchecked = short(&["echo one two", "echo one too"]);
    assert!(text(&unchecked.stdout).contains("Output: not compared"), "{unchecked:?}");
}

/// A Cargo project with one program.
fn project(folder: &Path, main: &str) {
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let manifest = "[package]\nname = \"said\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).expect("it can be written");
    fs::write(folder.join("src/main.rs"), main).expect("it can be written");
}

fn run(folder: &Path, program: &str, words: &[&str]) {
    let ended = Command::new(program).args(words).current_dir(folder).output().expect("it starts");
    assert!(ended.status.success(), "{program} {words:?}: {ended:?}");
}

#[test]
fn debug_and_release_cannot_be_compared() {
    let folder = folder("builds");
    project(&folder, "fn main() {}");
    let cargo = env!("CARGO");
    run(&folder, cargo, &["build", "--offline", "--target-dir", "target"]);
    run(&folder, cargo, &["build", "--offline", "--release", "--target-dir", "target"]);
    let begun = Instant::now();
    let output =
        hotloop(&["target/release/said", "target/debug/said"]).current_dir(&folder).output().expect("it starts");
    ends(&output, 12, "VERDICT incomparable build profile");
    assert!(begun.elapsed() < Duration::from_secs(60), "it is said at once");
    let said = text(&output.stdout);
    assert!(said.contains("release") && said.contains("debug") && said.contains("nothing was measured"), "{said}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn revisions_are_built_and_compared() {
    let folder = folder("revisions");
    let said = |count: u64| format!("fn main() {{ println!(\"HOTLOOP steps={count} exact=yes\"); }}");
    let commit = |count: u64, tag: &str| {
        project(&folder, &said(count));
        run(&folder, "git", &["add", "Cargo.toml", "src"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        run(&folder, "git", &[&who[..], &["commit", "--quiet", "-m", tag]].concat());
        run(&folder, "git", &["tag", tag]);
    };
    run(&folder, "git", &["init", "--quiet"]);
    commit(10, "old");
    commit(12, "new");
    let duel = |arguments: &[&str]| {
        let mut command = hotloop(&[SHORT, &["--metric", "steps"], arguments].concat());
        command.current_dir(&folder).env("HOTLOOP_CACHE", folder.join("cache")).output().expect("it starts")
    };
    ends(&duel(&["rev:old", "rev:new", "--", "{}", "ignored"]), 10, "VERDICT regressed steps +20.0%");
    ends(&duel(&["rev:new", "rev:HEAD"]), 0, "VERDICT same steps");
    let missing = duel(&["rev:old", "rev:never"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("no revision `never`"), "{missing:?}");
    project(&folder, "fn main() { let x: u32 = \"text\"; }");
    run(&folder, "git", &["add", "src"]);
    run(&folder, "git", &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "broken"]);
    let broken = duel(&["rev:old", "rev:HEAD"]);
    assert!(broken.status.code() == Some(1) && text(&broken.stderr).contains("mismatched types"), "{broken:?}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_fails_or_is_not_there_is_named() {
    let failing = short(&["true", "sh -c 'echo out of ideas >&2; exit 3'"]);
    let said = text(&failing.stderr);
    assert_eq!(failing.status.code(), Some(1), "{failing:?}");
    assert!(said.contains("B (`sh -c") && said.contains("exit code 3: out of ideas"), "{said}");
    let missing = short(&["true", "./no-such-program --fast"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(text(&missing.stderr).contains("no program `./no-such-program`"), "{missing:?}");
    let piped = short(&["true | cat", "true"]);
    assert!(piped.status.code() == Some(2) && text(&piped.stderr).contains("sh -c"), "{piped:?}");
    let unknown = short(&["true", "true", "--metric", "speed"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(
        text(&unknown.stderr).contains("cannot judge by `speed`: true does not report it; it reports cpu_s"),
        "{unknown:?}"
    );
}

/// Three times 50 ms in the scope `spin`.
fn spin() -> &'static str {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let path = BUILT.get_or_init(|| {
        let target = tmp().parent().expect("the target folder is above its tmp");
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../hotloop");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--release", "--features", "enabled", "--example", "spin"]);
        let build = cargo.arg("--target-dir").arg(target).current_dir(library).output().expect("cargo runs");
        assert!(build.status.success(), "{}", text(&build.stderr));
        target.join("release/examples/spin")
    });
    path.to_str().expect("a UTF-8 path")
}

#[test]
fn programs_that_have_profiles_show_where_a_change_comes_from() {
    let folder = folder("profiles");
    let out = folder.join("duel.json");
    let file = out.to_str().expect("UTF-8");
    let arguments =
        [spin(), spin(), "--launches", "2", "--rounds", "2", "--seed", "9", "--name", "spins", "--out", file];
    let output = output(&[&arguments[..], &["--json"]].concat());
    let duel = Duel::from_json(text(&output.stdout)).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(Duel::from_json(&fs::read_to_string(&out).expect("a file")), Ok(duel.clone()));
    assert!(text(&output.stderr).starts_with("VERDICT "), "{output:?}");
    assert_eq!((duel.design.seed, duel.name.as_deref(), duel.design.calls), (9, Some("spins"), 2));
    let count = |phase| duel.samples.iter().filter(|sample| sample.phase == phase).count();
    assert_eq!((count(Phase::Warmup), count(Phase::Timed)), (2 * 3, 2 * 2 * 3));
    assert_eq!(duel.profiles.len(), 2 * 3);
    let profiled = &duel.profiles[0];
    let spins = profiled.paths.iter().find(|path| path.path == ["spin::spin"]).expect("its scope");
    assert!(spins.calls == 3 * duel.design.calls && spins.self_ns <= profiled.wall_ns, "{profiled:?}");
    assert!(duel.findings[0].why.is_some() && duel.verdict != Verdict::Regressed, "{:?}", duel.findings);
    let unwritten = short(&["true", "true", "--out", "/no/such/folder/duel.json"]);
    assert_eq!(unwritten.status.code(), Some(1));
    let said = text(&unwritten.stderr);
    assert!(said.contains("cannot write /no/such/folder/duel.json") && unwritten.stdout.is_empty(), "{unwritten:?}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn what_was_measured_before_ctrl_c_is_told() {
    let folder = folder("interrupted");
    let seen = folder.join("seen");
    let command = format!("sh -c 'echo x >> {}; sleep 0.01'", seen.display());
    let arguments = [&command, "sleep 0.01", "--round-ms", "1", "--launches", "2000"];
    let child = hotloop(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let until = Instant::now() + Duration::from_secs(120);
    // Beyond the calls that size rounds, warm up and make the first rounds.
    while fs::read(&seen).map_or(0, |text| text.len()) < 60 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    run(&folder, "kill", &["-INT", &child.id().to_string()]);
    let output = child.wait_with_output().expect("it ends");
    assert!(text(&output.stderr).contains("press Ctrl-C again"), "it is acknowledged: {output:?}");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(text(&output.stdout).contains("The duel was interrupted"), "{output:?}");
    let _ = fs::remove_dir_all(&folder);
}
