//! The arguments of `hotloop run`.

use clap::Args;

use super::{StoreOptions, whole_number};

/// What to run, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Run any program and measure it: time, CPU, memory; and its profile, where it has hotloop in it",
    after_help = "Examples:\n  \
        hotloop run -- ./train --steps 100                 a program in Rust, C or C++ that has scopes: its call tree too\n  \
        hotloop run --repeat 10 --warmup 2 -- ./my-engine  any program, ten times: mean, spread and range of all runs\n  \
        hotloop run --budget 0 --timeline -- ./my-engine   every call timed, the last ones in their order\n  \
        hotloop run --json --no-save -- make test          for programs; behind what the command itself prints\n\n\
        The program keeps its input, its output and its environment; the report goes to standard error. When it runs more than\n\
        once, its output is hidden, unless a run fails or --show-output is given.\n\n\
        A program that is linked with hotloop (in Rust with the feature `enabled`) needs no call for it: it finds\n\
        HOTLOOP_SNAPSHOT_DIR in its environment, records from before `main` on, and leaves its profile when it returns from\n\
        `main` or calls `exit`. Of a script, the profile is that of the program that recorded for longest.\n\n\
        Ctrl-C reaches the program as ever; what was measured until it ends is reported.\n\n\
        Exit code: that of the program, 128 and the signal's number where one ended it; 126: it cannot be executed, 127: it is\n\
        not there."
)]
pub struct Run {
    /// Timed runs.
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--repeat", 1, 1_000_000), help = "number of timed runs (default 1); the profile is from the last one")]
    pub repeat: usize,
    /// Untimed runs before them.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--warmup", 0, 1_000_000), help = "number of untimed runs before them (default 0)")]
    pub warmup: usize,
    /// Whether what the program prints is shown of every run.
    #[arg(long, help = "print the output of every run (default: of a single run, or of one that fails)")]
    pub show_output: bool,
    /// Whether to keep a timeline.
    #[arg(long, help = "let the program keep the last calls of each thread too")]
    pub timeline: bool,
    /// The profiler's share.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = percent,
        help = "share of CPU time its profiler may take, in percent; 0 times every call (default 2)")]
    pub budget: Option<f64>,
    /// Whether to measure the machine.
    #[arg(long, help = "measure what the machine can do too, in 2 seconds: rates then have their share of it")]
    pub limits: bool,
    /// Whether to print for programs.
    #[arg(long, help = "print the run as JSON to standard output, instead of the report")]
    pub json: bool,
    /// Rows of each ranking.
    #[arg(long, value_name = "N", default_value_t = 12, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--top", 1, 10_000), help = "rows of each ranking (default 12)")]
    pub top: usize,
    /// Whether to forget it.
    #[arg(long, help = "do not keep the run")]
    pub no_save: bool,
    /// A name for it.
    #[arg(long, value_name = "NAME", conflicts_with = "no_save", help = "a name for the run, to find it again")]
    pub tag: Option<String>,
    #[command(flatten)]
    pub store: StoreOptions,
    /// The command.
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        help = "the program, and its arguments behind it"
    )]
    pub command: Vec<String>,
}

fn percent(value: &str) -> Result<f64, String> {
    let wrong = || format!("--budget takes a number of percent from 0 to 100, not `{value}`");
    value.parse().ok().filter(|percent| (0.0..=100.0).contains(percent)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn of(line: &str) -> Result<Run, String> {
        match parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())? {
            Command::Run(run) => Ok(*run),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_stands_behind_the_program_is_its_own() {
        for line in ["run --repeat 3 -- prog --repeat 4 -- x", "run --repeat=3 prog --repeat 4 -- x"] {
            let run = of(line).unwrap();
            assert_eq!((run.repeat, run.command.join(" ").as_str()), (3, "prog --repeat 4 -- x"), "{line}");
        }
        assert_eq!(of("run -- -strange-name").unwrap().command, ["-strange-name"]);
        assert!(!of("run --repeat 2 -- prog --show-output").unwrap().show_output);
        assert!(of("run --repeat 2 --show-output -- prog").unwrap().show_output);
        let run = of("run --budget 0 --timeline --warmup 2 --tag a --store b prog").unwrap();
        assert_eq!((run.budget, run.timeline, run.warmup), (Some(0.0), true, 2));
        assert_eq!((run.tag.as_deref(), run.store.store.as_deref()), (Some("a"), Some("b".as_ref())));
    }

    #[test]
    fn bad_ones_are_named() {
        for (line, part) in [
            ("run", "COMMAND is missing"),
            ("run --", "COMMAND is missing"),
            ("run --repeat 0 -- x", "--repeat takes a whole number from 1 to 1000000, not `0`"),
            ("run --budget 200 -- x", "--budget takes a number of percent from 0 to 100, not `200`"),
            ("run --budget nan -- x", "not `nan`"),
            ("run --no-save --tag a -- x", "do not go together"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
