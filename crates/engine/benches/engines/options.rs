//! What the command line asks for.

use std::io::Write;
use std::time::Duration;

use crate::models::Row;

const HELP: &str = "\
Our engine beside the best of others: tokens per second, start, memory.

Usage: cargo bench -p hotloop-engine --bench engines -- [OPTIONS] [WORDS]

Measures the rows whose name contains one of the words, for instance `15M`, `q4_0` or `'110M f32'`; all rows without a word.

Options:
  --quick        a minute, rough, without the large models; or HOTLOOP_BENCH_QUICK=1
  --threads N    with N threads alone; without it with 1 and with 2
  --rounds N     so many launches of everyone; 5 without it, 3 for models of a billion parameters
  --peers A,B    beside these columns alone; `--peers none` for ours alone
  -h, --help     print this

Variables:
  HOTLOOP_PEERS   folders with the peers, as PATH has them; benches/README.md says what is searched there. The models are
                  made in `models` of the first of them, 13 GiB all together; those of a quick run 0.2
  HOTLOOP_ISA     the instruction set of our kernels
";

/// What the standard harness understands and `cargo test -- ...` may say to all targets alike: it means nothing here.
const HARNESS_FLAGS: &[&str] = &["--nocapture", "--no-capture", "--show-output", "--quiet", "-q"];

/// Exit code for arguments that cannot be worked with.
const BAD_INPUT: i32 = 2;

/// What to measure, and how thoroughly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// A minute instead of many.
    pub quick: bool,
    /// Each model is measured with so many threads, one after another.
    pub threads: Vec<usize>,
    rounds: Option<usize>,
    words: Vec<String>,
    peers: Option<Vec<String>>,
}

impl Options {
    /// Reads the arguments. Ends the process when help was asked for, or when an argument is unknown.
    pub fn from_arguments(arguments: impl Iterator<Item = String>) -> Self {
        match Self::parse(arguments) {
            Ok(Some(options)) => options,
            // Where nothing can be written, nothing is left to try.
            Ok(None) => {
                let _ = std::io::stdout().write_all(HELP.as_bytes());
                std::process::exit(0)
            }
            Err(error) => {
                let hint = "`cargo bench -p hotloop-engine --bench engines -- --help` shows the options";
                let _ = writeln!(std::io::stderr(), "error: {error}\n\nhint: {hint}");
                std::process::exit(BAD_INPUT)
            }
        }
    }

    /// `None` where help was asked for.
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let quick = std::env::var_os("HOTLOOP_BENCH_QUICK").is_some_and(|value| value != "0");
        let mut options = Self { quick, threads: Vec::new(), rounds: None, words: Vec::new(), peers: None };
        // `cargo bench` passes `--bench`; `cargo test --benches` does not, and wants to know whether it runs at all.
        let mut bench = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-h" | "--help" => return Ok(None),
                "--bench" => bench = true,
                "--quick" | "--test" => options.quick = true,
                "--threads" => options.threads.push(number(&argument, arguments.next())?),
                "--rounds" => options.rounds = Some(number(&argument, arguments.next())?),
                "--peers" => {
                    let names = arguments.next().ok_or("`--peers` wants names")?;
                    options.peers = Some(names.split(',').map(str::to_lowercase).collect());
                }
                flag if HARNESS_FLAGS.contains(&flag) => {}
                unknown if unknown.starts_with('-') => return Err(format!("unknown argument `{unknown}`")),
                _ => options.words.push(argument),
            }
        }
        options.quick |= !bench;
        if options.threads.is_empty() {
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
            options.threads = (1..=cores.min(2)).collect();
        }
        Ok(Some(options))
    }

    /// Whether the row of that name is wanted.
    pub fn wants(&self, row: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| row.contains(word.as_str()))
    }

    /// Whether the contender of that name is wanted; ours always is.
    pub fn wants_arm(&self, name: &str) -> bool {
        let named = |peers: &Vec<String>| peers.iter().any(|peer| name.to_lowercase().contains(peer.as_str()));
        name == crate::arms::OURS || self.peers.as_ref().is_none_or(named)
    }

    /// How often everyone is launched.
    pub fn rounds(&self, row: &Row) -> usize {
        self.rounds.unwrap_or(match (self.quick, row.shape.is_large()) {
            (true, _) => 2,
            (false, true) => 3,
            (false, false) => 5,
        })
    }

    /// How long a launch should measure, beside what it takes to begin.
    pub fn launch_seconds(&self) -> f64 {
        if self.quick { 0.05 } else { 0.3 }
    }

    /// How long a limit is measured, before the contenders take their turns and after.
    pub fn limit(&self) -> Duration {
        Duration::from_millis(if self.quick { 20 } else { 100 })
    }
}

fn number(option: &str, argument: Option<String>) -> Result<usize, String> {
    let number = argument.as_deref().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
    number.ok_or_else(|| format!("`{option}` wants a number above 0"))
}
