//! Files that a fuzzer makes, led by the paths they take through the readers.
//!
//! libFuzzer needs of the compiler only what stable has: marks at every branch and comparison. The readers are safe code, so
//! what a sanitizer would add is little; overflows and wrong assumptions panic in this build.

use std::path::Path;

use crate::steps::{Outcome, execute};

/// `--cfg fuzzing` is what the fuzzer's own crates look for; the rest marks branches and comparisons.
const FLAGS: (&str, &str) = (
    "RUSTFLAGS",
    "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares",
);

/// The targets, by the names of their programs.
const TARGETS: [&str; 8] = ["gguf", "safetensors", "llama2c", "template", "config", "checkpoint", "record", "import"];

/// How long to look, where to begin, and in which readers.
#[derive(Debug, PartialEq)]
pub struct Plan {
    /// Always the same in `test`, so that what fails there fails again.
    seed: u32,
    /// For each target.
    seconds: u32,
    targets: Vec<&'static str>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { seed: 1, seconds: 20, targets: TARGETS.to_vec() }
    }
}

impl Plan {
    /// Reads `[--seed N] [--seconds N] [TARGET…]`.
    pub fn parse(words: &[&str]) -> Result<Self, String> {
        let mut plan = Self::default();
        let mut targets = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
                value.parse().map_err(|_| format!("{word} takes a whole number, not `{value}`"))
            };
            match *word {
                "--seed" => plan.seed = number()?,
                "--seconds" => plan.seconds = number()?,
                name => targets.push(*TARGETS.iter().find(|target| **target == name).ok_or_else(|| {
                    format!("there is no fuzz target `{name}`; the targets are {}", TARGETS.join(", "))
                })?),
            }
        }
        if !targets.is_empty() {
            plan.targets = targets;
        }
        Ok(plan)
    }

    /// Within 1 GiB, no file longer than 64 KiB, none for longer than 10 seconds.
    fn command(&self, target: &str) -> String {
        let Self { seed, seconds, .. } = self;
        format!(
            "cargo run --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --release \
             --target x86_64-unknown-linux-gnu --bin {target} -- -seed={seed} -max_total_time={seconds} \
             -rss_limit_mb=1024 -max_len=65536 -timeout=10 -verbosity=0 -print_final_stats=1 \
             -artifact_prefix=fuzz/artifacts/ fuzz/corpus/{target}"
        )
    }
}

/// Every target for a short time, from the same seed.
pub fn check(root: &Path) -> Outcome {
    run(root, &Plan::default())
}

/// Runs the targets; what breaks one is kept in `fuzz/artifacts`.
pub fn run(root: &Path, plan: &Plan) -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return Outcome::Skipped("the fuzzer is set up for x86_64-unknown-linux-gnu alone".to_owned());
    }
    for target in &plan.targets {
        for folder in [format!("fuzz/corpus/{target}"), "fuzz/artifacts".to_owned()] {
            if let Err(error) = std::fs::create_dir_all(root.join(&folder)) {
                return Outcome::Failed(format!("{folder} cannot be made: {error}"));
            }
        }
        let outcome = execute(root, &[FLAGS], &plan.command(target));
        if outcome != Outcome::Passed {
            return outcome;
        }
    }
    Outcome::Passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_times_and_targets_are_chosen() {
        assert_eq!(Plan::parse(&[]), Ok(Plan::default()));
        let plan = Plan::parse(&["--seed", "7", "config", "--seconds", "60", "gguf"]);
        assert_eq!(plan, Ok(Plan { seed: 7, seconds: 60, targets: vec!["config", "gguf"] }));
        let command = plan.unwrap().command("gguf");
        assert!(command.contains("--bin gguf -- -seed=7 -max_total_time=60 "), "{command}");
        for wrong in [&["--seed"][..], &["--seed", "x"], &["--seeds"], &["zip"]] {
            assert!(Plan::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_program_of_the_fuzzer_is_a_target() {
        let manifest = include_str!("../../fuzz/Cargo.toml");
        let mut programs: Vec<&str> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
            .collect();
        let mut targets = TARGETS.to_vec();
        programs.sort_unstable();
        targets.sort_unstable();
        assert_eq!(programs, targets);
    }
}
