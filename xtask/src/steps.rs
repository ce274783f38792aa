//! The table of steps, cheapest first: what CI runs and what `cargo xtask test` runs.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{fuzz, kernels, layers, publish, schema, tidy, viewers};

/// One gate. It can fail, and it can be run alone by its name.
pub struct Step {
    /// What it is called on the command line.
    pub name: &'static str,
    /// One line for `--help` and for the announcement.
    pub about: &'static str,
    /// Whether it compiles or links C or C++, so that system packages have to be there.
    pub needs_cpp: bool,
    /// What it does.
    pub action: Action,
}

/// What a step does.
pub enum Action {
    /// Commands, one after another, until one fails.
    Commands(&'static [CommandLine]),
    /// A check written here.
    Check(fn(&Path) -> Outcome),
}

/// How a step ended.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// It ran and found nothing.
    Passed,
    /// It could not run here, and why that is no failure.
    Skipped(String),
    /// What is wrong.
    Failed(String),
}

/// A command as one would type it.
pub struct CommandLine {
    /// Variables set for this command alone.
    pub variables: &'static [(&'static str, &'static str)],
    /// Program and arguments; none of them contains a space.
    pub words: &'static str,
}

const fn run(words: &'static str) -> CommandLine {
    CommandLine { variables: &[], words }
}

const fn rustdoc(words: &'static str) -> CommandLine {
    CommandLine { variables: &[("RUSTDOCFLAGS", "-D warnings")], words }
}

/// Every step, in the order of a whole run.
pub static STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        needs_cpp: false,
        action: Action::Commands(&[run("cargo fmt --all --check")]),
    },
    Step {
        name: "tidy",
        about: "sizes, names, leftovers, places of unsafe code",
        needs_cpp: false,
        action: Action::Check(tidy::check),
    },
    Step {
        name: "layers",
        about: "dependencies between the crates point down only",
        needs_cpp: false,
        action: Action::Check(layers::check),
    },
    Step {
        name: "package",
        about: "every published crate has its metadata, its licences and a README, and can be packaged",
        needs_cpp: false,
        action: Action::Check(publish::check),
    },
    Step {
        name: "clippy",
        about: "no warning in any crate, nor in hotloop with all and with no features",
        needs_cpp: true,
        action: Action::Commands(&[
            run("cargo clippy --workspace --all-targets -- -D warnings"),
            run("cargo clippy -p hotloop --all-targets --all-features -- -D warnings"),
            run("cargo clippy -p hotloop --all-targets --no-default-features -- -D warnings"),
        ]),
    },
    Step {
        name: "doc",
        about: "the documentation builds without a warning, private items too",
        needs_cpp: true,
        action: Action::Commands(&[
            rustdoc("cargo doc --workspace --no-deps --document-private-items"),
            rustdoc("cargo doc -p hotloop --all-features --no-deps --document-private-items"),
        ]),
    },
    Step {
        name: "off",
        about: "hotloop builds and passes its tests when switched off",
        needs_cpp: false,
        action: Action::Commands(&[
            run("cargo build -p hotloop --release --no-default-features"),
            run("cargo test -p hotloop --release --no-default-features --all-targets"),
        ]),
    },
    Step {
        name: "tests",
        about: "unit, integration and documentation tests, hotloop's with all features",
        needs_cpp: true,
        // hotloop goes alone because features are chosen per package; hotloop-capi and benches have their own steps.
        action: Action::Commands(&[
            run("cargo test -p hotloop --release --all-features"),
            run("cargo test --workspace --release --exclude hotloop --exclude hotloop-capi --exclude benches"),
        ]),
    },
    Step {
        name: "schema",
        about: "docs/schema is the JSON Schema of the run record as it is",
        needs_cpp: false,
        action: Action::Check(schema::check),
    },
    Step {
        name: "capi",
        about: "the C and C++ faces, with a C++ compiler and CMake",
        needs_cpp: true,
        action: Action::Commands(&[run("cargo test -p hotloop-capi --release")]),
    },
    Step {
        name: "benches",
        about: "the benchmarks build as they are measured, each row runs once, their own tests pass",
        needs_cpp: true,
        action: Action::Commands(&[
            run("cargo test -p benches --profile bench --all-targets"),
            run("cargo test -p hotloop-cli --release --bench loaded --bench duels"),
            run("cargo bench -p hotloop-kernels -- --quick"),
            run("cargo bench -p hotloop-engine -- --quick"),
        ]),
    },
    Step {
        name: "viewers",
        about: "the programs that exports are for open them: Perfetto, speedscope, the Firefox Profiler (needs Python)",
        needs_cpp: false,
        action: Action::Check(viewers::check),
    },
    Step {
        name: "fuzz",
        about: "files made by a fuzzer, 20 seconds for each reader of models, templates, configs, checkpoints and runs",
        needs_cpp: true,
        action: Action::Check(fuzz::check),
    },
    Step {
        name: "isas",
        about: "the kernels' tests with each instruction set forced that the CPU would not choose",
        needs_cpp: false,
        action: Action::Check(kernels::isas),
    },
    Step {
        name: "miri",
        about: "tests of the kernels (scalar and AVX2) and of the profiler's tree in Miri (needs a nightly toolchain)",
        needs_cpp: false,
        action: Action::Check(kernels::miri),
    },
    Step {
        name: "memory",
        about: "the kernels' tests under AddressSanitizer, or Valgrind where no nightly toolchain is available",
        needs_cpp: false,
        action: Action::Check(kernels::memory),
    },
    Step {
        name: "neon",
        about: "the kernels' tests on an emulated aarch64 CPU (needs qemu-user and a cross linker)",
        needs_cpp: false,
        action: Action::Check(kernels::neon),
    },
    Step {
        name: "deny",
        about: "licences and sources of the dependencies; advisories as warnings (needs cargo-deny)",
        needs_cpp: false,
        action: Action::Check(deny),
    },
];

/// The step of that name.
pub fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

fn deny(root: &Path) -> Outcome {
    let installed = Command::new(cargo())
        .args(["deny", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        return Outcome::Skipped("cargo-deny is not installed (cargo install cargo-deny)".to_owned());
    }
    let outcome = run("cargo deny check licenses bans sources").execute(root);
    if outcome == Outcome::Passed
        && let Outcome::Failed(message) = run("cargo deny check advisories").execute(root)
    {
        println!("warning: {message}: see above; no failure, because advisories change without a change here");
    }
    outcome
}

impl CommandLine {
    /// Runs it in the root of the workspace; its output goes straight to the terminal.
    pub fn execute(&self, root: &Path) -> Outcome {
        execute(root, self.variables, self.words)
    }
}

/// Runs a command with these variables in the root of the workspace; its output goes straight to the terminal.
pub fn execute(root: &Path, variables: &[(&str, &str)], words: &str) -> Outcome {
    let shown = shown(variables, words);
    println!("$ {shown}");
    let mut words = words.split_whitespace();
    let mut command = match words.next() {
        Some("cargo") | None => Command::new(cargo()),
        Some(program) => Command::new(program),
    };
    match command.args(words).current_dir(root).envs(variables.iter().copied()).status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) => Outcome::Failed(format!("`{shown}` ended with {status}")),
        Err(error) => Outcome::Failed(format!("`{shown}` did not start: {error}")),
    }
}

/// A command as one would type it.
fn shown(variables: &[(&str, &str)], words: &str) -> String {
    let variables = variables.iter().map(|(name, value)| format!("{name}=\"{value}\" "));
    variables.collect::<String>() + words
}

/// The very cargo that runs us, so that all steps use one toolchain.
pub fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for step in STEPS {
            let found = find(step.name).expect("a step is found by its name");
            assert!(std::ptr::eq(found, step), "`{}` is taken twice", step.name);
        }
        assert!(find("no-such-step").is_none());
    }

    #[test]
    fn a_command_is_shown_as_one_types_it() {
        let command = rustdoc("cargo doc --no-deps");
        assert_eq!(shown(command.variables, command.words), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps");
    }

    #[test]
    fn a_failing_command_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(run("true").execute(root), Outcome::Passed);
        let Outcome::Failed(message) = run("false").execute(root) else {
            panic!("`false` passed");
        };
        assert!(message.contains("`false`"), "{message}");
        let missing = run("no-such-program-here").execute(root);
        assert!(matches!(missing, Outcome::Failed(_)));
    }
}
