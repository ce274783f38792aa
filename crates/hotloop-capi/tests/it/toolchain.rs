//! Building the libraries, compiling programs against them, running what came out.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// No program works for longer than a few seconds: one that does hangs.
const TIME_LIMIT: Duration = Duration::from_secs(180);

pub(crate) fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where Cargo builds; the nested build shares it, so that little is built twice.
pub(crate) fn target_dir() -> &'static Path {
    tmp().parent().expect("the target folder is above its tmp")
}

pub(crate) fn tmp() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// The folder of `libhotloop.so` and `libhotloop.a`, built once. Cargo hands an integration test no C libraries.
pub(crate) fn library_dir() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--release", "--package", "hotloop-capi", "--manifest-path"]);
        cargo.arg(crate_dir().join("Cargo.toml")).arg("--target-dir").arg(target_dir());
        succeed(&mut cargo);
        target_dir().join("release")
    })
}

/// How a program gets the library.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Linkage {
    Static,
    Shared,
    /// Not at all: built with `HOTLOOP_OFF`.
    Off,
}

/// A program of `tests/programs`, and how to build and run it.
pub(crate) struct Program<'a> {
    pub(crate) file: &'a str,
    pub(crate) flags: &'a [&'a str],
    /// With `hotloop_malloc.c` in it.
    pub(crate) counts_malloc: bool,
    pub(crate) environment: &'a [(&'a str, &'a str)],
}

impl Program<'_> {
    pub(crate) const fn new(file: &str) -> Program<'_> {
        Program { file, flags: &[], counts_malloc: false, environment: &[] }
    }

    /// Builds and runs it with each linkage; what it printed with the last.
    #[track_caller]
    pub(crate) fn check(&self, linkages: &[Linkage]) -> String {
        let mut printed = String::new();
        for &linkage in linkages {
            let mut run = Command::new(self.build(linkage));
            run.envs(self.environment.iter().copied());
            printed = succeed(&mut run);
        }
        printed
    }

    #[track_caller]
    pub(crate) fn build(&self, linkage: Linkage) -> PathBuf {
        let variant: String = self.environment.iter().map(|(_, value)| *value).collect();
        let malloc = if self.counts_malloc { "-malloc" } else { "" };
        let binary = tmp().join(format!("{}-{linkage:?}{malloc}{variant}", self.file));
        let mut compiler = self.compiler(&binary);
        if self.counts_malloc {
            compiler.arg(malloc_object());
        }
        match linkage {
            Linkage::Static => _ = compiler.arg(library_dir().join("libhotloop.a")).args(["-ldl", "-lm"]),
            Linkage::Shared => link_shared(&mut compiler),
            Linkage::Off => _ = compiler.arg("-DHOTLOOP_OFF"),
        }
        succeed(compiler.arg("-pthread"));
        binary
    }

    /// Builds it as a library that a program loads.
    #[track_caller]
    pub(crate) fn build_plugin(&self) -> PathBuf {
        let library = tmp().join(format!("{}.so", self.file));
        let mut compiler = self.compiler(&library);
        compiler.args(["-shared", "-fPIC"]);
        link_shared(&mut compiler);
        succeed(&mut compiler);
        library
    }

    /// The compiler with all that does not depend on the linkage.
    fn compiler(&self, output: &Path) -> Command {
        let source = crate_dir().join("tests/programs").join(self.file);
        let mut compiler = if self.file.ends_with(".c") { compiler("CC", "gcc") } else { compiler("CXX", "g++") };
        compiler.arg(if self.file.ends_with(".c") { "-std=c99" } else { "-std=c++11" });
        compiler.args(["-O2", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]).args(self.flags);
        compiler.arg("-I").arg(crate_dir().join("include")).arg("-o").arg(output).arg(source);
        compiler
    }
}

fn link_shared(compiler: &mut Command) {
    compiler.arg(format!("-Wl,-rpath,{}", library_dir().display()));
    compiler.args([format!("-L{}", library_dir().display()), "-lhotloop".to_owned()]);
}

/// `hotloop_malloc.c`, compiled.
fn malloc_object() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let object = tmp().join("hotloop_malloc.o");
        let mut compiler = compiler("CC", "gcc");
        compiler.args(["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "-I"]);
        compiler.arg(crate_dir().join("include")).arg(crate_dir().join("src/c/hotloop_malloc.c"));
        succeed(compiler.arg("-o").arg(&object));
        object
    })
}

fn compiler(variable: &str, usual: &str) -> Command {
    Command::new(std::env::var(variable).unwrap_or_else(|_| usual.to_owned()))
}

/// Whether a tool that a test needs is there.
pub(crate) fn exists(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

/// Runs a command that has to succeed in time, and gives what it printed.
#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = output_in_time(command);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout
}

#[track_caller]
fn output_in_time(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (id, started) = (child.id(), Instant::now());
    let waiter = thread::spawn(move || child.wait_with_output());
    while !waiter.is_finished() {
        if started.elapsed() > TIME_LIMIT {
            // The waiter owns the child, so that its pipes are read; a signal by number ends it all the same.
            let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
            panic!("{command:?}: still running after {TIME_LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(2));
    }
    waiter.join().expect("does not panic").unwrap_or_else(|error| panic!("{command:?}: {error}"))
}
