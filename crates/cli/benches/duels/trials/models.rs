//! Model files with the same work in `hotloop models`: none of them is faster.

use std::fs;
use std::path::Path;

use record::Models;

use crate::bench::{self, Bench};
use crate::outcome::Outcome;
use crate::table::{Criterion, Wanted};

/// Of each of the two rows.
const RUNS: usize = 50;
/// The model that `hotloop` has inside.
const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/stories.gguf");
/// From the end of the file: a byte among the weights.
const CHANGED_BYTE: usize = 100;
/// The Pareto front calls one of the models beaten by another, which takes a higher speed.
const BEATEN: &str = "called faster";
const APART: &str = "ratio without 1";

/// Two copies of a file, and a file beside one with another bit.
pub fn models(bench: &mut Bench) -> Result<(), String> {
    let bytes = fs::read(Path::new(MODEL)).map_err(|error| format!("cannot read {MODEL}: {error}"))?;
    let mut changed = bytes.clone();
    let place = changed.len().checked_sub(CHANGED_BYTE).ok_or_else(|| format!("{MODEL} is too short"))?;
    changed[place] ^= 1;
    for (name, bytes) in [("a.gguf", &bytes), ("b.gguf", &bytes), ("c.gguf", &changed)] {
        let path = bench.programs.path(name)?;
        fs::write(&path, bytes).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let same = bench.row("models: identical files", RUNS, |bench, number| {
        run(bench, if number.is_multiple_of(2) { "a.gguf,b.gguf" } else { "b.gguf,a.gguf" })
    })?;
    let other = bench.row("models: one bit differs", RUNS, |bench, number| {
        run(bench, if number.is_multiple_of(2) { "a.gguf,c.gguf" } else { "c.gguf,a.gguf" })
    })?;
    let outcomes = || same.outcomes.iter().chain(&other.outcomes);
    bench.keep(vec![
        Criterion::share("models: called faster", outcomes(), |outcome| outcome.has(BEATEN), Wanted::None),
        Criterion::share(
            "models: intervals of the ratio without 1",
            outcomes(),
            |outcome| outcome.has(APART),
            Wanted::Anything,
        ),
    ])
}

fn run(bench: &mut Bench, files: &str) -> Result<Outcome, String> {
    let budget = if bench.options.is_smoke { "0.2" } else { "3" };
    let command = ["models", "--models", files, "--threads", "1", "--time-budget", budget, "--no-save", "--json"];
    let command = command.map(str::to_owned);
    let (output, seconds) = bench.run(&command)?;
    if let Some(failure) = bench::failure(&command, &output) {
        return Ok(Outcome::failed(failure, seconds));
    }
    Ok(match Models::from_json(&String::from_utf8_lossy(&output.stdout)) {
        Ok(models) if models.models.len() == 2 => Outcome { words: words(&models), seconds, ..Outcome::default() },
        Ok(models) => {
            Outcome::failed(format!("hotloop models reports {} models instead of 2", models.models.len()), seconds)
        }
        Err(error) => Outcome::failed(format!("hotloop models --json: {error}"), seconds),
    })
}

fn words(models: &Models) -> Vec<String> {
    let is_beaten = models.models.iter().any(|model| model.beaten_by.is_some() || model.pareto == Some(false));
    let speeds = models.trades.iter().filter_map(|trade| trade.speed);
    let is_apart =
        |speed: &record::Figure| speed.low.is_some_and(|low| low > 1.0) || speed.high.is_some_and(|high| high < 1.0);
    let mut words = Vec::new();
    words.extend(is_beaten.then(|| BEATEN.to_owned()));
    words.extend(speeds.filter(is_apart).map(|_| APART.to_owned()));
    words
}
