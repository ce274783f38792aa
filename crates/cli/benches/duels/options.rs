//! What is asked for on the command line.

use std::path::PathBuf;

use crate::trials;

/// Every option.
pub const USAGE: &str = "\
Options, after `--`:
  --only NAME      only this trial; may be given again: same, position, sticky, planted, quick, links, gate, models
  --repeats N      so many duels in each row, instead of the row's own number
  --round-ms MS    rounds of so many milliseconds in all duels, instead of the trial's own
  --seed N         seed of the orders of links and of the duels that are not measured by default settings (default 1)
  --hogs N         spinning threads beside the duels (default 2, with --smoke none)
  --idle           none
  --hotloop FILE   the program under trial, instead of the one that Cargo built for this benchmark
  --json FILE      write all rows to this file, after each row
  --smoke          one short duel for each row: does everything run
  --help           these lines";

/// How much is measured, and beside what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Trials to run; all where it is empty.
    only: Vec<String>,
    pub repeats: Option<usize>,
    pub round_ms: Option<f64>,
    pub seed: u64,
    hogs: Option<usize>,
    pub hotloop: PathBuf,
    pub json: Option<PathBuf>,
    /// Whether it is only asked whether everything runs; then nothing is judged.
    pub is_smoke: bool,
}

impl Options {
    /// From the arguments behind the program's name. The error says what is wrong and which options there are.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let asked = std::env::var_os("HOTLOOP_BENCH_QUICK").is_some_and(|value| value != "0");
        let mut options = Self {
            only: Vec::new(),
            repeats: None,
            round_ms: None,
            seed: 1,
            hogs: None,
            hotloop: PathBuf::from(env!("CARGO_BIN_EXE_hotloop")),
            json: None,
            // `cargo bench` passes `--bench`; `cargo test --benches` passes nothing.
            is_smoke: true,
        };
        let mut is_smoke = asked;
        let mut arguments = arguments;
        while let Some(option) = arguments.next() {
            match option.as_str() {
                "--bench" => options.is_smoke = false,
                "--smoke" | "--quick" | "--test" => is_smoke = true,
                "--idle" => options.hogs = Some(0),
                _ => {
                    let value = arguments.next().ok_or_else(|| wrong(&option, "has no value or is unknown"))?;
                    options.set(&option, value)?;
                }
            }
        }
        options.is_smoke |= is_smoke;
        Ok(options)
    }

    fn set(&mut self, option: &str, value: String) -> Result<(), String> {
        let whole = || value.parse::<u64>().map_err(|_| wrong(option, &format!("needs a whole number, not `{value}`")));
        match option {
            "--only" if trials::ALL.iter().any(|(name, _)| *name == value) => self.only.push(value),
            "--only" => return Err(wrong(option, &format!("knows no trial `{value}`"))),
            "--repeats" => self.repeats = Some(whole()?.max(1) as usize),
            "--seed" => self.seed = whole()?,
            "--hogs" => self.hogs = Some(whole()? as usize),
            "--hotloop" => {
                self.hotloop = std::path::absolute(&value).map_err(|error| wrong(option, &error.to_string()))?
            }
            "--json" => self.json = Some(value.into()),
            "--round-ms" => {
                let ms: Option<f64> = value.parse().ok().filter(|ms: &f64| ms.is_finite() && *ms > 0.0);
                self.round_ms =
                    Some(ms.ok_or_else(|| wrong(option, &format!("needs a positive number, not `{value}`")))?);
            }
            _ => return Err(wrong(option, "is unknown")),
        }
        Ok(())
    }

    /// Whether the trial was asked for.
    pub fn has(&self, trial: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == trial)
    }

    /// Spinning threads beside the duels.
    pub fn hogs(&self) -> usize {
        self.hogs.unwrap_or(if self.is_smoke { 0 } else { 2 })
    }

    /// How often a row is measured that takes so many duels by default.
    pub fn repeats(&self, usual: usize) -> usize {
        self.repeats.unwrap_or(if self.is_smoke { 1 } else { usual })
    }
}

fn wrong(option: &str, what: &str) -> String {
    format!("error: {option} {what}\n\n{USAGE}")
}
