//! Files that a fuzzer makes, led by the paths they take through the readers.
//!
//! libFuzzer needs of the compiler only what stable has: marks at every branch and comparison. The readers are safe code, so
//! what a sanitizer would add is little; overflows and wrong assumptions panic in this build.

use std::path::Path;

use crate::steps::{CommandLine, Outcome};

/// `--cfg fuzzing` is what the fuzzer's own crates look for; the rest marks branches and comparisons.
const FLAGS: (&str, &str) = (
    "RUSTFLAGS",
    "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares",
);

/// Runs one target for 20 seconds; within 1 GiB, no file longer than 64 KiB, none for longer than 10 seconds. Always from the
/// same seed, so that what fails here fails again; who looks for more takes other seeds and more time.
macro_rules! target {
    ($name:literal) => {
        (
            concat!("fuzz/corpus/", $name),
            CommandLine {
                variables: &[FLAGS],
                words: concat!(
                    "cargo run --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --release ",
                    "--target x86_64-unknown-linux-gnu --bin ",
                    $name,
                    " -- -seed=1 -max_total_time=20 -rss_limit_mb=1024 -max_len=65536 -timeout=10 -verbosity=0 ",
                    "-print_final_stats=1 -artifact_prefix=fuzz/artifacts/ fuzz/corpus/",
                    $name
                ),
            },
        )
    };
}

const TARGETS: [(&str, CommandLine); 6] = [
    target!("gguf"),
    target!("safetensors"),
    target!("llama2c"),
    target!("template"),
    target!("record"),
    target!("import"),
];

/// Every target for a short time; what breaks one is kept in `fuzz/artifacts`.
pub fn check(root: &Path) -> Outcome {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")) {
        return Outcome::Skipped("the fuzzer is set up for x86_64-unknown-linux-gnu alone".to_owned());
    }
    for (corpus, command) in TARGETS {
        for folder in [corpus, "fuzz/artifacts"] {
            if let Err(error) = std::fs::create_dir_all(root.join(folder)) {
                return Outcome::Failed(format!("{folder} cannot be made: {error}"));
            }
        }
        let outcome = command.execute(root);
        if outcome != Outcome::Passed {
            return outcome;
        }
    }
    Outcome::Passed
}
