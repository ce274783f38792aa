//! `hotloop import` as it is used, and files of other programs in the place of runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is gone behind the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("hotloop-import-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        Self(folder)
    }

    fn hotloop(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
        command.args(words).env("HOTLOOP_STORE", self.0.join("store")).stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("it can be written");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name).display().to_string()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_was_read_is_kept_and_told() {
    let folder = Folder::new("kept");
    let output = folder.hotloop(&["import", &fixture("smallmind-enhanced.md"), "--tag", "before"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let text = told(&output);
    for part in ["smallmind-enhanced, 1 run", "7 rows, 7 samples, 8 scopes, measured once", "Nothing was skipped."] {
        assert!(text.contains(part), "{text}");
    }
    let report = folder.hotloop(&["report", "before"]);
    for part in ["each value measured once", "1.19 GFLOP/s", "build    unknown", "total of 3125.27 ms"] {
        assert!(told(&report).contains(part), "{part}: {}", told(&report));
    }
    assert!(told(&folder.hotloop(&["history"])).contains("smallmind-enhanced"));
    // A second time it is the same run.
    folder.hotloop(&["import", &fixture("smallmind-enhanced.md")]);
    assert!(told(&folder.hotloop(&["history", "--json"])).contains("\"matching\": 1"));
}

#[test]
fn a_copy_of_a_file_is_no_second_run() {
    let folder = Folder::new("copy");
    let text = std::fs::read_to_string(fixture("smallmind-enhanced.md")).expect("it is there");
    let (first, copy) = (folder.file("first.md", &text), folder.file("copy.md", &text));
    folder.hotloop(&["import", &first]);
    let output = folder.hotloop(&["import", &copy, "--tag", "again"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let words: Vec<String> = told(&output).split_whitespace().map(str::to_owned).collect();
    assert!(words.join(" ").contains("already saved from first.md, which has the same content"), "{words:?}");
    assert!(told(&folder.hotloop(&["history", "--json"])).contains("\"matching\": 1"));
    assert!(told(&folder.hotloop(&["report", "again"])).contains("1.19 GFLOP/s"), "the tag names the first run");
    // Two files at once are one run too; other content is another run.
    let other = folder.file("other.md", &text.replace("| 905.90 | 1 | 905.900 |", "| 805.90 | 1 | 805.900 |"));
    let other_copy = folder.file("other-copy.md", &std::fs::read_to_string(&other).expect("it is there"));
    folder.hotloop(&["import", &other, &other_copy]);
    assert!(told(&folder.hotloop(&["history", "--json"])).contains("\"matching\": 2"));
}

#[test]
fn files_of_other_programs_stand_for_runs() {
    let folder = Folder::new("files");
    let report = folder.hotloop(&["report", &fixture("loopos.txt")]);
    assert_eq!(report.status.code(), Some(0), "{}", said(&report));
    assert!(told(&report).contains("train_batch_optimized"));
    let export = folder.hotloop(&["export", &fixture("torch-trace.json"), "--to", "folded"]);
    assert!(told(&export).contains("step;linear;addmm 50000"), "{}{}", told(&export), said(&export));
    // A folder of Criterion, of which one measurement has to be named.
    let several = folder.hotloop(&["report", &fixture("criterion")]);
    assert_eq!(several.status.code(), Some(2));
    assert!(said(&several).contains("criterion#new"), "{}", said(&several));
    let new = folder.hotloop(&["report", &format!("{}#new", fixture("criterion"))]);
    assert!(told(&new).contains("gemm/512"), "{}", said(&new));
    assert!(!folder.0.join("store").exists(), "nothing was kept");
}

#[test]
fn models_of_files() {
    let folder = Folder::new("models");
    let one = fixture("llama-bench.json");
    let text = std::fs::read_to_string(&one).expect("it is there");
    // A second file, of which one of two runs has to be named.
    let other = text.replace("\"n_threads\": 2", "\"n_threads\": 1").replace("stories15M-q8_0", "other-q8_0");
    let both = format!("{},{}", text.trim_end().trim_end_matches(']'), other.trim_start().trim_start_matches('['));
    let both = folder.file("both.json", &both);
    let output = folder.hotloop(&["models", &one, &format!("{both}#2")]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    for part in ["stories15M-q8_0.gguf", "other-q8_0.gguf", "tok/s"] {
        assert!(told(&output).contains(part), "{part}: {}", told(&output));
    }
    let several = folder.hotloop(&["models", &both]);
    assert_eq!(several.status.code(), Some(2));
    assert!(said(&several).contains("both.json#1"), "{}", said(&several));
    let none = folder.hotloop(&["models", &fixture("torch-trace.json")]);
    assert_eq!(none.status.code(), Some(2));
    assert!(said(&none).contains("has no model"), "{}", said(&none));
}

#[test]
fn a_trace_that_was_cut_is_not_all_read() {
    let folder = Folder::new("cut");
    let output = folder.hotloop(&["import", &fixture("chrome-cut.json")]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(!told(&output).contains("Nothing was skipped."), "{}", told(&output));
    assert!(told(&output).contains("the file is truncated within this event"), "{}", told(&output));
    let strict = folder.hotloop(&["import", "--strict", "--no-save", &fixture("chrome-cut.json")]);
    assert_eq!(strict.status.code(), Some(2), "{}", told(&strict));
}

#[test]
fn what_was_not_read_is_named() {
    let folder = Folder::new("unread");
    let text = std::fs::read_to_string(fixture("smallmind-enhanced.md")).expect("it is there");
    let odd = folder.file("odd.md", &text.replace("| 905.90 | 1 | 905.900 |", "| NaN | 1 | NaN |"));
    let output = folder.hotloop(&["import", &odd]);
    assert_eq!(output.status.code(), Some(0));
    assert!(told(&output).contains("line 15: | 1 | `MatMul_512x512` | NaN"), "{}", told(&output));
    let strict = folder.hotloop(&["import", "--strict", "--no-save", &odd, &fixture("loopos.txt")]);
    assert_eq!(strict.status.code(), Some(2));
    assert!(said(&strict).contains("1 part of it could not be read"), "{}", said(&strict));
    assert!(told(&strict).contains("loopos, 1 run"), "the other file is read: {}", told(&strict));
    let json = folder.hotloop(&["import", "--json", "--no-save", &odd]);
    for part in ["\"schema\": \"hotloop-import\"", "\"why\": \"the time is not a number\"", "\"hotloop-run\""] {
        assert!(told(&json).contains(part), "{}", told(&json));
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    let folder = Folder::new("refused");
    let wrong = folder.file("wrong.md", "# A letter\n\nDear reader,\n");
    let broken = folder.file("broken.json", "{\"results\": [{\"command\": \"x\", \"mean\": 1,\n}");
    for (words, part) in [
        (vec!["import", &wrong], "wrong.md: unknown format"),
        (vec!["import", "--no-save", &broken], "broken.json: line 2: invalid JSON"),
        (vec!["import", "gone.md"], "cannot read gone.md: "),
        (vec!["import", "--format", "loopos", &wrong], "no run in it"),
        (vec!["import", "--format", "sql", &wrong], "invalid value 'sql' for '--format <NAME>'"),
        (vec!["import", &fixture("criterion/gemm/512/change/estimates.json")], "hint: import new/estimates.json"),
        (vec!["import"], "<FILE>..."),
        (vec!["report", &wrong], "unknown format"),
    ] {
        let output = folder.hotloop(&words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(said(&output).contains(part), "{words:?}: {}", said(&output));
        let helps = said(&output).contains("hint: ") || said(&output).ends_with("try '--help'.\n");
        assert!(helps, "{words:?}: {}", said(&output));
    }
    let two = folder.hotloop(&["import", "--tag", "x", &fixture("smallmind-comparison.md")]);
    assert_eq!(two.status.code(), Some(2));
    assert!(said(&two).contains("--tag names one run, and there are 2"), "{}", said(&two));
}
