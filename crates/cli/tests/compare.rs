//! `hotloop compare` as it is used.
#![allow(clippy::print_stdout, reason = "tests may print: it is shown only when they fail")]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use record::{Build, Comparison, Presence, Run, Verdict};

/// A folder for one test, with a store in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hotloop-compare-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&path).ok();
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn hotloop(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
        command.args(arguments).env("HOTLOOP_STORE", self.0.join("store")).stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// A run that was measured just now.
    fn measured(&self) -> Run {
        let line = "profile --tokens 4 --repeat 6 --warmup 1 --no-limits --json";
        let output = self.hotloop(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        Run::from_json(&text(output.stdout)).expect("it is a run")
    }

    fn written(&self, name: &str, run: &Run) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, run.to_json()).expect("a file can be written");
        path.to_string_lossy().into_owned()
    }

    /// What is printed, after checking the exit code and the word that it stands for.
    #[track_caller]
    fn compared(&self, arguments: &[&str], code: i32, word: &str) -> String {
        let output = self.hotloop(&[&["compare"], arguments].concat());
        assert_eq!(text(output.stderr), "");
        let text = text(output.stdout);
        assert_eq!(output.status.code(), Some(code), "{text}");
        let last = text.lines().last().unwrap_or_default();
        assert!(last.starts_with(&format!("VERDICT {word}")), "{last}");
        text
    }

    fn document(&self, arguments: &[&str]) -> Comparison {
        let output = self.hotloop(&[&["compare", "--json"], arguments].concat());
        let comparison = Comparison::from_json(&text(output.stdout)).expect("it is a comparison");
        // For people who look on while a program reads the document.
        let (said, line) = (text(output.stderr), report::comparison_verdict_line(&comparison));
        assert!(said == format!("{line}\n") && said.starts_with("VERDICT "), "{said}");
        comparison
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it writes UTF-8")
}

#[test]
fn runs_that_were_just_measured() {
    let folder = Folder::new("measured");
    let (base, _) = (folder.measured(), folder.measured());
    let same = folder.compared(&["@previous", "@latest"], 0, "unresolved");
    assert!(same.contains("Same program, same settings"), "{same}");
    let found = folder.document(&["@previous", "@latest"]);
    assert!(found.same_subject && found.same_output == Some(true) && found.differences.is_empty());
    assert!(found.scopes.iter().all(|scope| scope.presence == Presence::Kept), "both did the same");
    let why = found.why.expect("both have trees");
    let sum: f64 = why.parts.iter().map(|part| part.change.estimate).sum();
    assert!((sum - why.total.estimate).abs() < 1e-6 * why.base_s, "the parts sum to the whole");

    // The same revision, built for debugging.
    let mut debug = base.clone();
    debug.subject.build = debug.subject.build.map(|build| Build {
        profile: Some("debug".to_owned()),
        opt_level: Some("0".to_owned()),
        debug_assertions: Some(true),
        binary_blake3: Some("0".repeat(64)),
        ..build
    });
    let file = folder.written("debug.json", &debug);
    let refused = folder.compared(&["@latest", &file], 12, "incomparable build profile, optimisation level, debug");
    assert!(refused.contains("build profile (release before, debug after)"), "{refused}");

    // One token differs.
    let mut wrong = base;
    wrong.subject.build.as_mut().expect("it has one").binary_blake3 = Some("1".repeat(64));
    wrong.correctness.as_mut().expect("it has some").tokens_blake3 = Some("2".repeat(64));
    for sample in &mut wrong.samples {
        sample.values.insert("wall_s".to_owned(), 1e-9);
    }
    let file = folder.written("wrong.json", &wrong);
    let markdown = folder.compared(&["@latest", &file, "--format", "markdown"], 14, "wrong-output");
    assert!(markdown.starts_with("# Hotloop comparison: @latest before, "), "{markdown}");
}

#[test]
fn what_cannot_be_compared_at_all_is_refused() {
    let folder = Folder::new("refused");
    for (arguments, said) in [
        (["compare", "@latest", "nothing"].as_slice(), "hint: "),
        (&["compare"], "hint: "),
        (&["compare", "a", "b", "--threshold", "x"], "not a number from 0 to 1000 (percent)"),
        (&["compare", "a", "b", "--layout", "loopos"], "LoopOS had no report of comparisons"),
    ] {
        let output = folder.hotloop(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(output.stderr).contains(said), "{arguments:?}");
    }
}

/// SmallMind's reports, where they are at hand.
fn smallmind(name: &str) -> Option<String> {
    testing::shared(&format!("smallmind/enhanced/{name}")).map(|file| file.to_string_lossy().into_owned())
}

#[test]
fn single_shots_of_unknown_builds_get_no_verdict() {
    let (Some(base), Some(candidate)) = (smallmind("20260204-011958.md"), smallmind("20260204-020213.md")) else {
        return;
    };
    let folder = Folder::new("smallmind");
    let shown = folder.compared(&[&base, &candidate], 12, "incomparable build profile");
    assert!(shown.contains("1 sample; nothing can be concluded"), "{shown}");
    assert!(!shown.contains("regressed") && !shown.contains("REGRESSIONS"), "{shown}");
    let found = folder.document(&[&base, &candidate]);
    assert_eq!(found.verdict, Verdict::Incomparable);
    let totals = found.totals.expect("both have times");
    let total = totals.candidate.expect("it has");
    assert!((total.seconds - 3.657).abs() < 0.002, "roots, not what is nested: {}", total.seconds);
    assert!((total.nested_s - 9.237).abs() < 0.1, "what SmallMind printed: {}", total.nested_s);
    let kernel = |name: &str| found.kernels.iter().find(|kernel| kernel.name == name).expect("it declares its work");
    let rate = kernel("MatMul_512x512").candidate.as_ref().expect("it was measured").per_second;
    // Four products of 512 in 905.9 ms; SmallMind divided the work of one by that and printed 0.30.
    assert!((rate - 4.0 * 2.0 * 512f64.powi(3) / 0.9059).abs() < 1e6, "{rate}");
    let layout = folder.hotloop(&["compare", &base, &candidate, "--layout", "smallmind"]);
    let layout = text(layout.stdout);
    assert!(layout.starts_with("# Profile Comparison Report") && layout.contains("**incomparable**"), "{layout}");
}
