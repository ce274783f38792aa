//! What the command line asks for.

use std::io::Write;
use std::time::Duration;

const HELP: &str = "\
Our kernels beside the best of others.

Usage: cargo bench -p hotloop-kernels --bench kernels -- [OPTIONS] [WORDS]

Measures the rows whose name contains one of the words, for instance `gemm`, `8x2048` or `gelu`; all rows without a word.

Options:
  --quick        some ten seconds, rough, without the large shapes; or HOTLOOP_BENCH_QUICK=1
  --threads N    with N threads alone; without it with 1 and with 2
  --peers A,B    beside these columns alone; `--peers none` for ours alone
  -h, --help     print this

Variables:
  HOTLOOP_PEERS   folders to search for libraries and for Python, as PATH has them
  HOTLOOP_ISA     the instruction set of our kernels
";

/// What the standard harness understands and `cargo test -- ...` may say to all targets alike: it means nothing here.
const HARNESS_FLAGS: &[&str] = &["--bench", "--nocapture", "--no-capture", "--show-output", "--quiet", "-q"];

/// Exit code for arguments that cannot be worked with.
const BAD_INPUT: i32 = 2;

/// What to measure, and how thoroughly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Seconds instead of minutes.
    pub quick: bool,
    /// Each row is measured with so many threads, one after another.
    pub threads: Vec<usize>,
    /// Only rows whose name contains one of these; all rows when empty.
    words: Vec<String>,
    /// Only columns whose name contains one of these, beside ours.
    peers: Option<Vec<String>>,
}

impl Options {
    /// Reads the arguments. Ends the process when help was asked for, or when an argument is unknown.
    pub fn from_environment() -> Self {
        match Self::parse(std::env::args().skip(1)) {
            Ok(Some(options)) => options,
            // Where nothing can be written, nothing is left to try.
            Ok(None) => {
                let _ = std::io::stdout().write_all(HELP.as_bytes());
                std::process::exit(0)
            }
            Err(error) => {
                let hint = "`cargo bench -p hotloop-kernels --bench kernels -- --help` shows the options";
                let _ = writeln!(std::io::stderr(), "error: {error}\n\nhint: {hint}");
                std::process::exit(BAD_INPUT)
            }
        }
    }

    /// `None` where help was asked for.
    fn parse(arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = arguments.peekable();
        let quick = std::env::var_os("HOTLOOP_BENCH_QUICK").is_some_and(|value| value != "0");
        let mut options = Self { quick, threads: Vec::new(), words: Vec::new(), peers: None };
        // `cargo bench` passes `--bench`; `cargo test --benches` does not, and wants to know whether it runs at all.
        let mut bench = false;
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-h" | "--help" => return Ok(None),
                "--quick" | "--test" => options.quick = true,
                "--threads" => options.threads.push(number(arguments.next())?),
                "--peers" => {
                    let names = arguments.next().ok_or("`--peers` wants names")?;
                    options.peers = Some(names.split(',').map(str::to_lowercase).collect());
                }
                flag if HARNESS_FLAGS.contains(&flag) => bench |= flag == "--bench",
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

    /// Whether the column of that name is wanted.
    pub fn wants_peer(&self, column: &str) -> bool {
        let column = column.to_lowercase();
        self.peers.as_ref().is_none_or(|peers| peers.iter().any(|peer| column.contains(peer.as_str())))
    }

    /// How long a row may take per contender, unless the least number of rounds takes longer.
    pub fn budget(&self) -> Duration {
        Duration::from_millis(if self.quick { 3 } else { 160 })
    }

    /// How long a batch of calls should take: long enough for the clock, short enough to be undisturbed at times.
    pub fn batch(&self) -> Duration {
        Duration::from_micros(if self.quick { 300 } else { 2_000 })
    }

    /// How long a limit is measured, before the contenders take their turns and after.
    pub fn limit(&self) -> Duration {
        Duration::from_millis(if self.quick { 10 } else { 60 })
    }

    /// How many turns everyone has, whatever that takes.
    pub fn least_rounds(&self) -> usize {
        if self.quick { 2 } else { 6 }
    }
}

fn number(argument: Option<String>) -> Result<usize, String> {
    let number = argument.as_deref().and_then(|number| number.parse().ok()).filter(|&number| number > 0);
    number.ok_or_else(|| "`--threads` wants a number above 0".to_owned())
}
