//! `hotloop export` as it is used: files, standard output, exit codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{Profile, RUN_SCHEMA, RUN_VERSION, Run, Scope};

/// A folder that is gone behind the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("hotloop-export-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("it can be made");
        Self(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A run of one scope, or one that nobody profiled.
    fn run_file(&self, name: &str, is_profiled: bool) -> PathBuf {
        let scope = Scope { name: "demo::step".to_owned(), calls: 2, total_ns: 50, self_ns: 50, ..Scope::default() };
        let profile = is_profiled.then(|| Profile { scopes: vec![scope], ..Profile::default() });
        let run = Run { schema: RUN_SCHEMA.to_owned(), version: RUN_VERSION, profile, ..Run::default() };
        let path = self.path(name);
        std::fs::write(&path, run.to_json()).expect("it can be written");
        path
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("it can be read").flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn export(run: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.arg("export").arg(run).args(words).stdin(Stdio::null()).output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_format_goes_to_a_pipe() {
    let folder = Folder::new("pipe");
    let run = folder.run_file("run.json", true);
    for format in report::ExportFormat::ALL {
        let output = export(&run, &["--to", format.name]);
        assert_eq!(output.status.code(), Some(0), "{format:?}: {}", said(&output));
        assert!(!output.stdout.is_empty(), "{format:?}");
        assert_eq!(said(&output), "", "{format:?}");
        let dash = export(&run, &["--to", format.name, "--out", "-"]);
        assert_eq!(dash.stdout, output.stdout, "{format:?}");
    }
    assert!(export(&run, &["--to", "folded"]).stdout.starts_with(b"step 50\n"));
    let samples = export(&run, &["--to", "csv", "--what", "samples"]).stdout;
    assert_eq!(samples, export(&run, &["--to", "csv-samples"]).stdout);
    assert_eq!(export(&run, &["--to", "json"]).stdout, std::fs::read(&run).expect("it is there"));
}

#[test]
fn a_file_is_replaced_whole_and_told_of() {
    let folder = Folder::new("file");
    let run = folder.run_file("run.json", true);
    let target = folder.path("flame.svg");
    std::fs::write(&target, "what was there").expect("it can be written");
    let output = export(&run, &["--to", "svg", "--out", target.to_str().expect("it is Unicode")]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{}", said(&output));
    assert!(said(&output).starts_with("wrote ") && said(&output).contains("in a web browser"), "{}", said(&output));
    assert_eq!(said(&output).lines().count(), 1);
    assert!(std::fs::read_to_string(&target).expect("it is there").ends_with("</svg>\n"));
    assert_eq!(folder.files(), ["flame.svg", "run.json"], "nothing else is left");
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let folder = Folder::new("refused");
    let (run, bare) = (folder.run_file("run.json", true), folder.run_file("bare.json", false));
    let target = folder.path("out");
    let name = target.to_str().expect("it is Unicode");
    let output = export(&bare, &["--to", "chrome", "--out", name]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("this run has no profile: ") && said(&output).contains("hint: "),
        "{}",
        said(&output)
    );
    for (run, words, code, part) in [
        (&run, ["--to", "chrome", "--what", "samples"], 2, "--what needs --to csv"),
        (&run, ["--to", "csv", "--what", "calls"], 2, "[possible values: scopes, samples]"),
        (&run, ["--to", "pdf", "--out", name], 2, "[possible values: chrome, perfetto"),
        (&run, ["--to", "svg", "--out", "/"], 2, "is a folder"),
        (&folder.path("none.json"), ["--to", "svg", "--out", name], 2, "none.json"),
        (&run, ["--to", "svg", "--out", &format!("{name}/in/no/folder")], 1, "cannot write"),
    ] {
        let output = export(run, &words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{words:?}: {}", said(&output));
    }
    assert!(!target.exists());
    let samples = export(&bare, &["--to", "csv", "--what", "samples"]);
    assert!(samples.stdout.starts_with(b"row,phase,"), "{}", said(&samples));
}
