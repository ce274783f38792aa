//! Runs `hotloop` on the programs and keeps what came out.

use std::fs;
use std::io::IsTerminal as _;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use record::Duel;

use crate::options::Options;
use crate::outcome::Outcome;
use crate::programs::Programs;
use crate::random::Random;
use crate::table::{self, Criterion, Row};

/// Exit codes of a measurement that has a verdict, whichever it is. Behind 2 nothing was measured, behind 1 something went wrong.
const WITH_VERDICT: [i32; 6] = [0, 10, 11, 12, 13, 14];

/// Rounds of a launch where it is only asked whether everything runs.
pub const SMOKE_ROUNDS: &str = "2";

/// A duel to be measured.
#[derive(Debug, Default)]
pub struct Request {
    /// The sides, as words of the command line.
    pub sides: Vec<String>,
    /// Milliseconds of a round; the default of `hotloop duel` where there are none.
    pub round_ms: Option<f64>,
    /// `--metric`; the default where there is none.
    pub metric: Option<&'static str>,
    /// Whether it is `--quick`.
    pub is_quick: bool,
    /// Whether the orders follow from the seed of the benchmark; otherwise each duel has orders of its own, as by default.
    pub is_seeded: bool,
}

impl Request {
    /// Of two commands, by default settings.
    pub fn new(base: String, candidate: String) -> Self {
        Self { sides: vec![base, candidate], ..Self::default() }
    }
}

/// What all trials share.
pub struct Bench {
    pub options: Options,
    pub programs: Programs,
    pub random: Random,
    rows: Vec<Row>,
    criteria: Vec<Criterion>,
    failures: Vec<String>,
}

impl Bench {
    pub fn new(options: Options) -> Result<Self, String> {
        let (programs, random) = (Programs::new()?, Random::new(options.seed));
        Ok(Self { options, programs, random, rows: Vec::new(), criteria: Vec::new(), failures: Vec::new() })
    }

    /// Measures a row of duels: asks for each of them in turn.
    pub fn duels(
        &mut self,
        name: &str,
        usual: usize,
        mut request: impl FnMut(&mut Self, usize) -> Result<Request, String>,
    ) -> Result<Row, String> {
        self.row(name, usual, |bench, number| {
            let request = request(bench, number)?;
            bench.duel(&request)
        })
    }

    /// Measures a row of anything and prints it.
    pub fn row(
        &mut self,
        name: &str,
        usual: usize,
        mut measure: impl FnMut(&mut Self, usize) -> Result<Outcome, String>,
    ) -> Result<Row, String> {
        let repeats = self.options.repeats(usual);
        let is_watched = std::io::stderr().is_terminal();
        let mut outcomes = Vec::new();
        for number in 0..repeats {
            if is_watched {
                eprint!("\r{name}: {} of {repeats} ", number + 1);
            }
            let outcome = measure(self, number)?;
            if let Some(failure) = &outcome.failure {
                eprintln!("\n{name}: {failure}");
                self.fail(format!("{name}: {}", failure.lines().next().unwrap_or_default()));
            }
            outcomes.push(outcome);
        }
        if is_watched {
            eprint!("\r{:60}\r", "");
        }
        let row = Row { name: name.to_owned(), outcomes };
        println!("{}", row.line());
        self.rows.push(row.clone());
        self.save()?;
        Ok(row)
    }

    /// Adds something for which the benchmark fails.
    pub fn fail(&mut self, why: String) {
        self.failures.push(why);
    }

    /// Keeps what the rows of a trial have to show.
    pub fn keep(&mut self, criteria: Vec<Criterion>) -> Result<(), String> {
        self.criteria.extend(criteria);
        self.save()
    }

    fn save(&self) -> Result<(), String> {
        let Some(file) = &self.options.json else { return Ok(()) };
        let text = format!("{:#}\n", table::to_json(&self.rows, &self.criteria));
        fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Prints the criteria; the errors are what failed.
    pub fn finish(self) -> Vec<String> {
        println!("\n{}", table::criteria_table(&self.criteria, !self.options.is_smoke));
        let mut failures = self.failures;
        if self.options.is_smoke {
            println!("\nsmoke mode: one short duel for each row; nothing is judged");
        } else {
            let unmet = self.criteria.iter().filter(|criterion| criterion.is_met() == Some(false));
            failures.extend(unmet.map(|criterion| format!("not met: {}", criterion.name())));
        }
        failures
    }

    fn duel(&mut self, request: &Request) -> Result<Outcome, String> {
        let mut words = vec!["duel".to_owned()];
        words.extend(request.sides.iter().cloned());
        if request.is_quick || self.options.is_smoke {
            words.push("--quick".to_owned());
        }
        if self.options.is_smoke {
            words.extend(["--rounds", SMOKE_ROUNDS].map(str::to_owned));
        }
        let smoke_ms = self.options.is_smoke.then_some(2.0);
        if let Some(ms) = self.options.round_ms.or(smoke_ms).or(request.round_ms) {
            words.extend(["--round-ms".to_owned(), ms.to_string()]);
        }
        if let Some(metric) = request.metric {
            words.extend(["--metric".to_owned(), metric.to_owned()]);
        }
        if request.is_seeded {
            words.extend(["--seed".to_owned(), self.random.below(1 << 32).to_string()]);
        }
        // A record of an earlier duel must not be taken for that of one that wrote none.
        let record = self.programs.path("duel.json")?;
        let _ = fs::remove_file(&record);
        words.extend(["--out".to_owned(), "duel.json".to_owned()]);
        let (output, seconds) = self.run(&words)?;
        if let Some(failure) = failure(&words, &output) {
            return Ok(Outcome::failed(failure, seconds));
        }
        let read = fs::read_to_string(&record).map_err(|error| error.to_string());
        let duel = read.and_then(|text| Duel::from_json(&text).map_err(|error| error.to_string()));
        Ok(match duel {
            Ok(duel) => Outcome::of_duel(&duel, seconds),
            Err(error) => Outcome::failed(format!("{}: {error}", record.display()), seconds),
        })
    }

    /// Runs the program under trial in the folder of the programs; how long it took.
    pub fn run(&self, words: &[String]) -> Result<(Output, f64), String> {
        let hotloop = &self.options.hotloop;
        let folder = self.programs.folder();
        let mut command = Command::new(hotloop);
        command.args(words).current_dir(folder).stdin(Stdio::null());
        // What it keeps and what it builds does not get among the user's own.
        command.env("HOTLOOP_STORE", folder.join("store")).env("HOTLOOP_CACHE", folder.join("cache"));
        let start = Instant::now();
        let output = command.output().map_err(|error| format!("cannot run {}: {error}", hotloop.display()))?;
        Ok((output, start.elapsed().as_secs_f64()))
    }
}

/// Why there is no verdict.
pub fn failure(words: &[String], output: &Output) -> Option<String> {
    let is_measured = output.status.code().is_some_and(|code| WITH_VERDICT.contains(&code));
    let message = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let quoted = |word: &String| if word.contains(' ') { format!("\"{word}\"") } else { word.clone() };
    let command = || words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    (!is_measured).then(|| format!("`hotloop {}` ended with {}: {}", command(), output.status, message()))
}
