//! The arguments of `hotloop duel`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use compare::rules::{DuelMode, MOST_GATES};

use super::{DuelEngine, Format, OnUnresolved, whole_number};

/// What is measured in turns, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Compare the speed of two or more sides: commands, programs, Git revisions, models, engine settings",
    after_help = "Examples:\n  \
        hotloop duel ./old ./new                                   two programs\n  \
        hotloop duel './sort --radix big.txt' './sort big.txt'     two commands; for a pipe use `sh -c '...'`\n  \
        hotloop duel rev:main rev:HEAD --bin train -- {} --steps 100\n                                                             \
        two revisions of the Cargo project in this folder\n  \
        hotloop duel --a kv=off --b kv=on --synthetic medium       two engine settings\n  \
        hotloop duel big.gguf small.gguf --with threads=2          two models\n  \
        hotloop duel ./a ./b --time-budget 30                      at most 30 seconds\n  \
        hotloop duel ./a ./b ./c --thorough --metric wall_s=2% --metric peak_rss_bytes --out duel.json\n  \
        hotloop duel ./old ./new --check-output --exact            compare output; count instructions with Valgrind\n\n\
        Sides take turns in balanced random order, never two at a time, in fresh processes. The first side is the base. It runs\n\
        twice, the second time as placebo: what it differs by from itself is noise. A change counts if it is above the threshold\n\
        and the noise, in two separate measurements.\n\n\
        The metric that decides is chosen before the duel starts: CPU time (threshold 2 %) if every side is CPU-bound on one\n\
        thread, instructions (0.5 %) with --exact, otherwise wall time (3 %). --metric names others.\n\n\
        A program may print figures of its own and its result:\n  \
        HOTLOOP tokens_per_s=123 unit=1/s better=higher\n  \
        HOTLOOP output=TEXT\n\n\
        Engine settings, separated by commas or spaces: kv=on|off (keep keys and values), pool=on|off (keep scratch memory),\n\
        threads=N, isa=scalar|avx2|avx512|neon, cache=f32|f16|q8_0, in_place=on|off, exact=on|off, type=f32|f16|q8_0|q4_0|...\n\
        (weight format), batch=N (sequences computed together), sequences=N, tokens=N, prompt=N, seed=N, model=FILE,\n\
        synthetic=SIZES. Different tokens are wrong output, unless type, cache, exact, isa or the model differ: then the report\n\
        shows how far they agree.\n\n\
        A duel ends early when the verdict is clear. The first line of the report is the answer, the last line is for programs:\n\
        VERDICT and a word.\n\n\
        Exit codes: 0 improved, same or undecided; 1 measurement or writing failed; 2 bad input; 10 regressed; 11 undecided (with\n\
        --on-unresolved fail); 12 not comparable; 13 unstable machine; 14 wrong output; 130 interrupted.\n\n\
        Environment:\n  HOTLOOP_CACHE=DIR  folder for built revisions"
)]
pub struct Duel {
    /// What is measured.
    #[arg(
        value_name = "SIDE",
        help = "command in quotes, program, rev:REVISION, or model (file, small, medium, sizes); the first side is the base"
    )]
    pub sides: Vec<String>,
    #[command(flatten)]
    pub engine: DuelEngine,
    #[command(flatten)]
    pub effort: Effort,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub built: Built,
    #[command(flatten)]
    pub output: Output,
    /// What sides are put into.
    #[arg(last = true, value_name = "COMMAND", help = "after `--`: the command to run, with {} for each side")]
    pub command: Vec<String>,
}

/// How much is measured.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Measuring")]
pub struct Effort {
    /// Little.
    #[arg(long, conflicts_with_all = ["standard", "thorough", "mode"], help = "few launches and rounds: for large differences")]
    pub quick: bool,
    /// As usual.
    #[arg(long, conflicts_with_all = ["thorough", "mode"], help = "default: a compromise of time and certainty")]
    pub standard: bool,
    /// Much.
    #[arg(long, conflicts_with = "mode", help = "more launches and rounds: for small differences")]
    pub thorough: bool,
    /// By name.
    #[arg(long, value_name = "NAME", value_parser = mode, help = "quick, standard or thorough")]
    pub mode: Option<DuelMode>,
    /// Launches.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--launches", 1, 10_000),
        help = "maximum number of launches")]
    pub launches: Option<usize>,
    /// Rounds.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--rounds", 1, 100_000),
        help = "rounds per launch")]
    pub rounds: Option<usize>,
    /// The length of a round.
    #[arg(long, value_name = "MS", allow_hyphen_values = true, value_parser = whole_number("--round-ms", 1, 3_600_000),
        help = "minimum duration of a round of the slowest side, in milliseconds")]
    pub round_ms: Option<usize>,
    /// What it may take.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true, value_parser = super::profile::seconds,
        help = "maximum duration; fewer and shorter rounds are measured if needed")]
    pub time_budget: Option<Duration>,
    /// What orders follow from.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = seed,
        help = "RNG seed of orders and memory offsets (default: random)")]
    pub seed: Option<u64>,
    /// Whether to believe the first measurement.
    #[arg(long, help = "do not confirm changes by a second measurement")]
    pub no_confirm: bool,
}

/// What is judged.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Judging")]
pub struct Judged {
    /// Gates.
    #[arg(long = "metric", value_name = "NAME[=PERCENT%]", value_parser = gate,
        help = "metric that decides, and its threshold; up to five (default: CPU time or wall time, see below)")]
    pub metrics: Vec<Gate>,
    /// Whether what is printed has to be the same.
    #[arg(long, help = "require equal output of all sides")]
    pub check_output: bool,
    /// Whether to count instructions.
    #[arg(long, help = "count instructions with Valgrind, once per launch: slow, almost free of noise")]
    pub exact: bool,
    /// What becomes of what cannot be told.
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value = "pass",
        hide_default_value = true,
        help = "exit code of an undecided duel: pass or fail (default pass)"
    )]
    pub on_unresolved: OnUnresolved,
}

/// What of a project is built.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Revisions")]
pub struct Built {
    /// The program.
    #[arg(long, value_name = "NAME", help = "binary to build, if there are several")]
    pub bin: Option<String>,
    /// The package.
    #[arg(long, value_name = "NAME", help = "package to build, if there are several")]
    pub package: Option<String>,
    /// Features.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help = "features to build with")]
    pub features: Vec<String>,
    /// The profile.
    #[arg(long, value_name = "NAME", help = "Cargo profile (default release)")]
    pub profile: Option<String>,
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// A name for it.
    #[arg(long, value_name = "TEXT", help = "name of the comparison")]
    pub name: Option<String>,
    /// Where it goes.
    #[arg(long, value_name = "FILE", help = "write the duel with all samples to this file, as JSON")]
    pub out: Option<PathBuf>,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON instead of the report; the VERDICT line goes to standard error")]
    pub json: bool,
    /// The form of the report.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        default_value = "terminal",
        hide_default_value = true,
        conflicts_with = "json",
        help = "terminal or markdown (default terminal)"
    )]
    pub format: Format,
    /// Rows of each ranking.
    #[arg(long, value_name = "N", default_value_t = 12, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--top", 1, 10_000), help = "number of rows of the cause table (default 12)")]
    pub top: usize,
}

/// A metric, and the change that matters as a share.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    pub metric: String,
    pub threshold: Option<f64>,
}

impl Duel {
    /// What the parser cannot see.
    pub fn check(&self) -> Result<(), String> {
        self.engine.check(&self.sides)?;
        if self.engine.sides().is_empty() && self.sides.len() < 2 {
            return Err("a duel needs two SIDEs or more".to_owned());
        }
        if self.judged.metrics.len() > MOST_GATES {
            return Err(format!(
                "--metric may be given {MOST_GATES} times at most: each one costs the others certainty"
            ));
        }
        let metrics = &self.judged.metrics;
        let twice = metrics
            .iter()
            .enumerate()
            .find(|(at, gate)| metrics[..*at].iter().any(|first| first.metric == gate.metric));
        twice.map_or(Ok(()), |(_, gate)| Err(format!("--metric {} is given twice", gate.metric)))
    }

    /// How much is measured.
    pub fn mode(&self) -> DuelMode {
        let Effort { quick, thorough, mode, .. } = &self.effort;
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

fn mode(value: &str) -> Result<DuelMode, String> {
    DuelMode::named(value).ok_or_else(|| format!("--mode takes one of quick, standard, thorough, not `{value}`"))
}

fn seed(value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("--seed takes a whole number from 0 to {}, not `{value}`", u64::MAX))
}

/// `wall_s`, `wall_s=5%`.
fn gate(value: &str) -> Result<Gate, String> {
    let wrong = || format!("--metric takes a name, and behind `=` a change from 0 to 1000 %, not `{value}`");
    let (metric, threshold) = value.split_once('=').map_or((value, None), |(metric, change)| (metric, Some(change)));
    if metric.is_empty() || metric.contains(char::is_whitespace) {
        return Err(wrong());
    }
    let share = |text: &str| text.trim_end_matches('%').trim().parse::<f64>().ok().map(|percent| percent / 100.0);
    let threshold = match threshold {
        None => None,
        Some(text) => Some(share(text).filter(|share| (0.0..=10.0).contains(share)).ok_or_else(wrong)?),
    };
    Ok(Gate { metric: metric.to_owned(), threshold })
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn of(line: &str) -> Result<Duel, String> {
        match parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())? {
            Command::Duel(duel) => Ok(*duel),
            other => panic!("{line}: {other:?}"),
        }
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
        for (line, part) in [
            ("duel", "two SIDEs or more"),
            ("duel a", "two SIDEs or more"),
            ("duel a b --quick --thorough", "do not go together"),
            ("duel a b --mode slow", "--mode takes one of quick, standard, thorough, not `slow`"),
            ("duel a b --metric =3%", "--metric takes a name"),
            ("duel a b --metric x=fast", "not `x=fast`"),
            ("duel a b --metric x=-1", "not `x=-1`"),
            ("duel a b --metric x --metric x", "given twice"),
            ("duel a b --metric a --metric b --metric c --metric d --metric e --metric f", "5 times at most"),
            ("duel a b --time-budget soon", "--time-budget takes a number of seconds from 0.1 to 86400, not `soon`"),
            ("duel a b --launches 0", "from 1 to 10000, not `0`"),
            ("duel a b --on-unresolved maybe", "--on-unresolved takes one of pass, fail, not `maybe`"),
            ("duel a b --json --format markdown", "do not go together"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
