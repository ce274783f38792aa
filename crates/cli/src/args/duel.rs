//! The arguments of `hotloop duel`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::TypedValueParser;
use compare::rules::{DuelMode, MOST_GATES};

use super::values::{count, number, one_of, seconds};
use super::{DuelEngine, OnUndecided, TextFormat};

/// Compare the speed of commands, revisions, models or settings
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Sides take turns in balanced random order, never two at a time, in fresh
processes. The first side is the base. It runs twice, the second time as a
placebo: what it differs from itself by is noise. A change counts if it is above
the threshold and the noise, in two separate measurements.

The metric that decides is chosen before the duel starts: CPU time (threshold
2 %) if every side is CPU-bound on one thread, instructions (0.5 %) with --exact,
otherwise wall time (3 %). --metric names others.

A program may print figures of its own and its result:
  HOTLOOP tokens_per_s=123 unit=1/s better=higher
  HOTLOOP output=TEXT

Engine settings, separated by commas or spaces:
  kv=on|off           KV cache
  pool=on|off         keep scratch memory between passes
  threads=N           isa=scalar|avx2|avx512|neon
  cache=f32|f16|q8_0  format of the KV cache
  in_place=on|off     use the weights as they are in the file
  exact=on|off        convert quantised weights to f32
  type=TYPE           weight format: f32, f16, q8_0, q4_0, ...
  batch=N             sequences computed together
  sequences=N, tokens=N, prompt=N, seed=N, model=FILE, synthetic=SIZES
Different tokens are wrong output, unless type, cache, exact, isa or the model
differ: then the report shows how far they agree.

A duel ends early when the verdict is clear. The first line of the report is the
answer; the last line is for programs: VERDICT and a word.

Exit codes: 0 improved, same or undecided; 1 measurement or writing failed; 2 bad
input; 10 regressed; 11 undecided (with --on-unresolved fail); 12 not comparable;
13 unstable machine; 14 wrong output; 130 interrupted.

Environment:
  HOTLOOP_CACHE=DIR   folder for built revisions

Examples:
  hotloop duel ./old ./new                               two programs
  hotloop duel './sort --radix big.txt' './sort big.txt' two commands
  hotloop duel 'sh -c \"a | b\"' 'sh -c \"a | c\"'         two pipes
  hotloop duel rev:main rev:HEAD --bin train -- {} --steps 100
                                                         two revisions
  hotloop duel --a kv=off --b kv=on --synthetic medium   two engine settings
  hotloop duel big.gguf small.gguf --with threads=2      two models
  hotloop duel ./a ./b --time-budget 30                  at most 30 seconds
  hotloop duel ./a ./b ./c --thorough --metric wall_s=2% -o duel.json
  hotloop duel ./old ./new --check-output --exact        count instructions")]
pub struct Duel {
    /// Command in quotes, program, rev:REVISION, or model (file, small, medium,
    /// sizes); the first side is the base
    #[arg(value_name = "SIDE")]
    pub sides: Vec<String>,
    #[command(flatten)]
    pub engine: DuelEngine,
    #[command(flatten)]
    pub effort: DuelEffort,
    #[command(flatten)]
    pub judged: DuelMetrics,
    #[command(flatten)]
    pub built: DuelBuild,
    #[command(flatten)]
    pub output: DuelOutput,
    /// After `--`: the command to run, with {} for each side
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Measurement")]
pub struct DuelEffort {
    /// Few launches and rounds: for large differences
    #[arg(long, conflicts_with_all = ["standard", "thorough", "mode"])]
    pub quick: bool,
    /// Balance time and certainty (default)
    #[arg(long, conflicts_with_all = ["thorough", "mode"])]
    pub standard: bool,
    /// More launches and rounds: for small differences
    #[arg(long, conflicts_with = "mode")]
    pub thorough: bool,
    /// The same by name
    #[arg(long, value_name = "NAME", value_parser = mode())]
    pub mode: Option<DuelMode>,
    /// Maximum number of launches
    #[arg(long, value_name = "N", value_parser = count(1..=10_000))]
    pub launches: Option<usize>,
    /// Rounds per launch
    #[arg(long, value_name = "N", value_parser = count(1..=100_000))]
    pub rounds: Option<usize>,
    /// Minimum duration of a round of the slowest side, in milliseconds
    #[arg(long, value_name = "MS", value_parser = count(1..=3_600_000))]
    pub round_ms: Option<usize>,
    /// Maximum duration; fewer and shorter rounds are measured if needed
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time_budget: Option<Duration>,
    /// RNG seed of orders and memory offsets [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Do not confirm changes by a second measurement
    #[arg(long)]
    pub no_confirm: bool,
}

/// What decides.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Verdict")]
pub struct DuelMetrics {
    /// Metric that decides, and its threshold; up to five [default: CPU time or
    /// wall time, see below]
    #[arg(long = "metric", value_name = "NAME[=PERCENT%]", value_parser = gate)]
    pub metrics: Vec<Gate>,
    /// Require equal output of all sides
    #[arg(long)]
    pub check_output: bool,
    /// Count instructions with Valgrind, once per launch: slow, almost noise-free
    #[arg(long)]
    pub exact: bool,
    /// Exit code of an undecided duel: that of success or of failure
    #[arg(long, value_name = "WHAT", value_enum, default_value = "pass")]
    pub on_unresolved: OnUndecided,
}

/// What of a project is built.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Revisions")]
pub struct DuelBuild {
    /// Binary to build, if there are several
    #[arg(long, value_name = "NAME")]
    pub bin: Option<String>,
    /// Package to build, if there are several
    #[arg(long, value_name = "NAME")]
    pub package: Option<String>,
    /// Features to build with
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Cargo profile [default: release]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
}

/// What is printed and written.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct DuelOutput {
    /// Name of the comparison
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// Write the duel with all samples to this file, as JSON
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print JSON instead of the report; VERDICT goes to standard error
    #[arg(long)]
    pub json: bool,
    /// Format of the report
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "terminal", conflicts_with = "json")]
    pub format: TextFormat,
    /// Rows of the table of causes
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = count(1..=10_000))]
    pub top: usize,
}

/// A metric, and the change that matters as a share.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub metric: String,
    pub threshold: Option<f64>,
}

impl Duel {
    /// Two sides or more, and each metric once.
    pub fn check(&mut self) -> Result<(), String> {
        self.engine.check(&self.sides)?;
        if self.engine.sides().is_empty() && self.sides.len() < 2 {
            return Err("a duel needs two sides or more".to_owned());
        }
        if self.judged.metrics.len() > MOST_GATES {
            return Err(format!(
                "'--metric' may be given at most {MOST_GATES} times: each metric makes the others less certain"
            ));
        }
        let metrics = &self.judged.metrics;
        let twice = metrics
            .iter()
            .enumerate()
            .find(|(at, gate)| metrics[..*at].iter().any(|first| first.metric == gate.metric));
        twice.map_or(Ok(()), |(_, gate)| Err(format!("'--metric {}' is given twice", gate.metric)))
    }

    /// How much is measured.
    pub fn mode(&self) -> DuelMode {
        let DuelEffort { quick, thorough, mode, .. } = &self.effort;
        match (quick, thorough) {
            (true, _) => DuelMode::QUICK,
            (_, true) => DuelMode::THOROUGH,
            _ => mode.unwrap_or(DuelMode::STANDARD),
        }
    }

    /// What a round should take, where that was said.
    pub fn round(&self) -> Option<Duration> {
        self.effort.round_ms.map(|milliseconds| Duration::from_millis(milliseconds as u64))
    }
}

fn mode() -> impl TypedValueParser<Value = DuelMode> {
    one_of([DuelMode::QUICK, DuelMode::STANDARD, DuelMode::THOROUGH].map(|mode| mode.name), DuelMode::named)
}

/// `wall_s`, `wall_s=5%`.
fn gate(value: &str) -> Result<Gate, String> {
    let (metric, threshold) = value.split_once('=').map_or((value, None), |(metric, change)| (metric, Some(change)));
    if metric.is_empty() || metric.contains(char::is_whitespace) {
        return Err("not the name of a metric, or NAME=PERCENT%".to_owned());
    }
    let percent = |text: &str| number(0.0..=1000.0)(text.trim_end_matches('%').trim()).map(|percent| percent / 100.0);
    let threshold = threshold.map(percent).transpose().map_err(|error| format!("the threshold is {error}"))?;
    Ok(Gate { metric: metric.to_owned(), threshold })
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::tests::{assert_refused, command};
    use super::*;

    fn of(line: &str) -> Result<Duel, String> {
        command(line).map(|command| match command {
            Command::Duel(duel) => *duel,
            other => panic!("{line}: {other:?}"),
        })
    }

    #[test]
    fn sides_and_what_they_are_put_into_are_told_apart() {
        let duel = of("duel rev:main rev:HEAD --bin x --features a,b -- {} --quick 3").unwrap();
        assert_eq!(
            (duel.sides.join(" ").as_str(), duel.command.join(" ").as_str()),
            ("rev:main rev:HEAD", "{} --quick 3")
        );
        assert_eq!((duel.built.features.len(), duel.mode().name), (2, "standard"));
        assert_eq!(
            (of("duel a b --quick").unwrap().mode().name, of("duel a b --mode thorough").unwrap().mode().name),
            ("quick", "thorough")
        );
        let gates = of("duel a b --metric wall_s=2.5% --metric rss --metric t=4").unwrap().judged.metrics;
        let gates: Vec<_> = gates.iter().map(|gate| (gate.metric.as_str(), gate.threshold)).collect();
        assert_eq!(gates, [("wall_s", Some(0.025)), ("rss", None), ("t", Some(0.04))]);
    }

    #[test]
    fn bad_ones_are_named() {
        assert_refused(&[
            ("duel", &["two sides or more"]),
            ("duel a", &["two sides or more"]),
            ("duel a b --quick --thorough", &["cannot be used with"]),
            ("duel a b --mode slow", &["[possible values: quick, standard, thorough]"]),
            ("duel a b --metric =3%", &["not the name of a metric"]),
            ("duel a b --metric x=fast", &["the threshold is not a number from 0 to 1000"]),
            ("duel a b --metric x=-1", &["the threshold is not a number"]),
            ("duel a b --metric x --metric x", &["'--metric x' is given twice"]),
            ("duel a b --metric a --metric b --metric c --metric d --metric e --metric f", &["at most 5 times"]),
            ("duel a b --time-budget soon", &["not a number from 0.1 to 86400"]),
            ("duel a b --launches 0", &["0 is not in 1..=10000"]),
            ("duel a b --json --format markdown", &["cannot be used with"]),
            ("duel --a kv=on --c kv=off", &["without a gap"]),
            ("duel x --a kv=on --b kv=off", &["'x' cannot be used with '--a' and '--b'"]),
        ]);
    }
}
