//! How long to measure, and what.

use std::io::Write;
use std::time::Duration;

const HELP: &str = "\
What Hotloop costs, beside its peers.

Usage: cargo bench -p benches -- [OPTIONS] [WORDS]

Measures the rows whose name contains one of the words, and the floors; all rows without a word.

Options:
  --quick     ten seconds, rough; or HOTLOOP_BENCH_QUICK=1
  --test      each row once, shortly: does it run
  -h, --help  print this
";

/// What the standard harness understands and `cargo test -- ...` may say to all targets alike: it means nothing here.
const HARNESS_FLAGS: &[&str] = &["--nocapture", "--no-capture", "--show-output", "--include-ignored", "--quiet", "-q"];
/// The same with a value, after `=` or as the next argument.
const HARNESS_OPTIONS: &[&str] = &["--test-threads", "--color", "--format"];

/// Exit code for arguments that cannot be worked with.
const BAD_INPUT: i32 = 2;

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// How thoroughly to measure.
    pub effort: Effort,
    /// Only rows whose name contains one of these; all rows when empty.
    pub filters: Vec<String>,
}

/// How thoroughly to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Each row once, shortly: does it run at all.
    Smoke,
    /// Seconds; the figures are rough.
    Quick,
    /// The figures that are published.
    Full,
}

/// What was asked for.
#[derive(Debug, PartialEq)]
enum Request {
    Help,
    Measure(Options),
}

impl Options {
    /// Reads the arguments and `HOTLOOP_BENCH_QUICK`. Ends the process when help was asked for, or when an argument
    /// is unknown.
    pub fn from_environment() -> Self {
        let quick = std::env::var_os("HOTLOOP_BENCH_QUICK").is_some_and(|value| value != "0");
        match Request::parse(std::env::args().skip(1), quick) {
            Ok(Request::Measure(options)) => options,
            // Where nothing can be written, nothing is left to try.
            Ok(Request::Help) => {
                let _ = std::io::stdout().write_all(HELP.as_bytes());
                std::process::exit(0)
            }
            Err(error) => {
                let hint = "`cargo bench -p benches -- --help` shows the options";
                let _ = writeln!(std::io::stderr(), "error: {error}\n\nhint: {hint}");
                std::process::exit(BAD_INPUT)
            }
        }
    }

    /// Whether the row of that name is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter.as_str()))
    }
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>, mut quick: bool) -> Result<Self, String> {
        let (mut bench, mut test) = (false, false);
        let mut filters = Vec::new();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-h" | "--help" => return Ok(Request::Help),
                "--bench" => bench = true,
                "--test" => test = true,
                "--quick" => quick = true,
                flag if HARNESS_FLAGS.contains(&flag) => {}
                option if HARNESS_OPTIONS.contains(&option) => drop(arguments.next()),
                option if option.split_once('=').is_some_and(|(name, _)| HARNESS_OPTIONS.contains(&name)) => {}
                unknown if unknown.starts_with('-') => return Err(format!("unknown argument `{unknown}`")),
                _ => filters.push(argument),
            }
        }
        // `cargo bench` passes `--bench`; `cargo test --benches` passes nothing.
        let effort = match (bench && !test, quick) {
            (false, _) => Effort::Smoke,
            (true, true) => Effort::Quick,
            (true, false) => Effort::Full,
        };
        Ok(Request::Measure(Options { effort, filters }))
    }
}

impl Effort {
    /// How often each row has its turn.
    pub fn rounds(self) -> u32 {
        match self {
            Effort::Smoke => 1,
            Effort::Quick => 24,
            Effort::Full => 160,
        }
    }

    /// When to stop although rounds are left: a busy machine must not make the run endless.
    pub fn limit(self) -> Duration {
        match self {
            Effort::Smoke | Effort::Quick => Duration::from_secs(8),
            Effort::Full => Duration::from_secs(70),
        }
    }

    /// Scopes of a batch, from what the row wants.
    pub fn scopes(self, wanted: u32) -> u32 {
        if self == Effort::Smoke { wanted.div_ceil(20) } else { wanted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str, quick: bool) -> Result<Request, String> {
        Request::parse(arguments.split_whitespace().map(String::from), quick)
    }

    #[track_caller]
    fn measured(arguments: &str, quick: bool) -> Options {
        match parse(arguments, quick) {
            Ok(Request::Measure(options)) => options,
            other => panic!("{arguments}: {other:?}"),
        }
    }

    #[track_caller]
    fn check(arguments: &str, quick: bool, effort: Effort) {
        assert_eq!(measured(arguments, quick).effort, effort, "{arguments}");
    }

    #[test]
    fn effort_follows_how_cargo_calls() {
        check("--bench", false, Effort::Full);
        check("--bench --quick", false, Effort::Quick);
        check("--bench", true, Effort::Quick);
        check("--bench --test", true, Effort::Smoke);
        check("--test", false, Effort::Smoke);
        check("", false, Effort::Smoke);
    }

    #[test]
    fn words_are_filters() {
        let options = measured("--bench hotloop tracy", false);
        assert!(options.wants("hotloop: tree") && options.wants("tracy") && !options.wants("puffin"));
    }

    #[test]
    fn flags_of_the_standard_harness_change_nothing() {
        let all =
            "--nocapture --show-output -q --quiet --test-threads 2 --test-threads=2 --color always --format=pretty";
        assert_eq!(measured(all, false), measured("", false));
    }

    #[test]
    fn help_is_given_and_unknown_flags_are_refused() {
        for arguments in ["--bench --help", "-h", "hotloop --help --bench"] {
            assert_eq!(parse(arguments, false), Ok(Request::Help), "{arguments}");
        }
        for (arguments, named) in [("--quik --bench", "`--quik`"), ("-x", "`-x`"), ("--bench=1", "`--bench=1`")] {
            let error = parse(arguments, false).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
