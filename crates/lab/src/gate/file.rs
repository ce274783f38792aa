//! From the text of the file to what is asked for.

use std::collections::BTreeMap;

use compare::rules::DuelMode;
use record::Acceptance;
use serde::Deserialize;
use toml::{Spanned, Value};

use super::metrics::{self, BudgetTable, MetricTable};
use super::sides::{PlacedError, SideKeys};
use super::{BuildConfig, CellConfig, CellEffort, GateConfig, GateConfigError};

/// Names become names of files.
const LONGEST_NAME: usize = 64;
/// More are a mistake.
const MOST_LAUNCHES: u64 = 1_000;
const LONGEST_ROUND_S: f64 = 600.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    mode: Option<Spanned<String>>,
    launches: Option<Spanned<u64>>,
    rounds: Option<Spanned<u64>>,
    round_s: Option<Spanned<f64>>,
    seed: Option<u64>,
    on_unresolved: Option<Spanned<String>>,
    build: Option<BuildTable>,
    #[serde(default)]
    cell: Vec<Spanned<CellTable>>,
    #[serde(default)]
    accept: Vec<Spanned<AcceptTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuildTable {
    package: Option<String>,
    bin: Option<String>,
    #[serde(default)]
    features: Vec<String>,
    profile: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CellTable {
    name: Spanned<String>,
    mode: Option<Spanned<String>>,
    launches: Option<Spanned<u64>>,
    rounds: Option<Spanned<u64>>,
    round_s: Option<Spanned<f64>>,
    #[serde(default)]
    advisory: bool,
    command: Option<Spanned<Value>>,
    a: Option<Spanned<Value>>,
    b: Option<Spanned<Value>>,
    model: Option<Spanned<String>>,
    synthetic: Option<Spanned<String>>,
    output: Option<Spanned<String>>,
    #[serde(default)]
    exact: bool,
    metrics: Option<BTreeMap<String, Spanned<MetricTable>>>,
    #[serde(default)]
    budgets: Vec<Spanned<BudgetTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptTable {
    cell: Spanned<String>,
    metric: Spanned<String>,
    commit: Option<Spanned<String>>,
    reason: Option<Spanned<String>>,
    until: Option<Spanned<Value>>,
}

pub(super) fn read(text: &str) -> Result<GateConfig, GateConfigError> {
    let fault = |(place, message): PlacedError| GateConfigError { line: line(text, place.unwrap_or(0)), message };
    let tables: Tables = toml::from_str(text).map_err(|error| {
        let place = error.span().map(|span| span.start);
        fault((place, error.message().replace("unknown field", "unknown key").replace("missing field", "missing key")))
    })?;
    config(&tables).map_err(fault)
}

/// The line of an offset, counted from 1.
fn line(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

fn config(tables: &Tables) -> Result<GateConfig, PlacedError> {
    let whole = effort(
        CellEffort { mode: DuelMode::STANDARD, launches: None, rounds: None, round_s: None },
        (&tables.mode, &tables.launches, &tables.rounds, &tables.round_s),
    )?;
    let fail_on_unresolved = match &tables.on_unresolved {
        None => false,
        Some(word) => match word.get_ref().as_str() {
            "pass" => false,
            "fail" => true,
            other => return at(word, format!("`on_unresolved` must be \"pass\" or \"fail\", not \"{other}\"")),
        },
    };
    if tables.cell.is_empty() {
        return Err((None, "no `[[cell]]`: nothing to compare".to_owned()));
    }
    let mut cells: Vec<CellConfig> = Vec::new();
    for table in &tables.cell {
        let cell = cell(table, whole)?;
        if cells.iter().any(|other| other.name == cell.name) {
            return at(&table.get_ref().name, format!("two cells are named `{}`", cell.name));
        }
        cells.push(cell);
    }
    let accepted = tables.accept.iter().map(|table| acceptance(table, &cells)).collect::<Result<_, _>>()?;
    let build = tables.build.as_ref().map_or_else(BuildConfig::default, |table| BuildConfig {
        package: table.package.clone(),
        bin: table.bin.clone(),
        features: table.features.clone(),
        profile: table.profile.clone(),
    });
    let config = GateConfig { seed: tables.seed.unwrap_or(0), fail_on_unresolved, build, cells, accepted };
    match (config.cannot_pass(), &tables.on_unresolved) {
        (Some(cell), Some(word)) => {
            at(word, format!("cell `{}` uses quick mode, which decides nothing, so it could only fail", cell.name))
        }
        _ => Ok(config),
    }
}

fn at<T, V>(place: &Spanned<V>, message: String) -> Result<T, PlacedError> {
    Err((Some(place.span().start), message))
}

/// The keys of an effort, as the whole file and each cell have them.
type EffortKeys<'a> =
    (&'a Option<Spanned<String>>, &'a Option<Spanned<u64>>, &'a Option<Spanned<u64>>, &'a Option<Spanned<f64>>);

/// What is said here, and where nothing is, what was said before.
fn effort(before: CellEffort, (mode, launches, rounds, round_s): EffortKeys<'_>) -> Result<CellEffort, PlacedError> {
    let mode = match mode {
        None => before.mode,
        Some(word) => match DuelMode::named(word.get_ref()) {
            Some(mode) => mode,
            None => {
                return at(
                    word,
                    format!("`mode` must be \"quick\", \"standard\" or \"thorough\", not \"{}\"", word.get_ref()),
                );
            }
        },
    };
    for (name, count) in [("launches", launches), ("rounds", rounds)] {
        if let Some(count) = count.as_ref().filter(|count| !(1..=MOST_LAUNCHES).contains(count.get_ref())) {
            return at(count, format!("`{name}` must be from 1 to {MOST_LAUNCHES}, not {}", count.get_ref()));
        }
    }
    if let Some(seconds) = round_s.as_ref().filter(|seconds| !(0.001..=LONGEST_ROUND_S).contains(seconds.get_ref())) {
        return at(
            seconds,
            format!("`round_s` must be from 0.001 to {LONGEST_ROUND_S} seconds, not {}", seconds.get_ref()),
        );
    }
    Ok(CellEffort {
        mode,
        launches: launches.as_ref().map(|count| *count.get_ref()).or(before.launches),
        rounds: rounds.as_ref().map(|count| *count.get_ref()).or(before.rounds),
        round_s: round_s.as_ref().map(|seconds| *seconds.get_ref()).or(before.round_s),
    })
}

fn cell(table: &Spanned<CellTable>, whole: CellEffort) -> Result<CellConfig, PlacedError> {
    let start = table.span().start;
    let keys = table.get_ref();
    let name = keys.name.get_ref();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.is_empty() || name.len() > LONGEST_NAME || name.starts_with('.') || !name.chars().all(is_plain) {
        let message = format!(
            "a cell's name has up to {LONGEST_NAME} letters, digits, `.`, `_` and `-`; invalid: \
                               `{name}`"
        );
        return at(&keys.name, message);
    }
    let named = SideKeys {
        command: keys.command.as_ref(),
        a: keys.a.as_ref(),
        b: keys.b.as_ref(),
        model: keys.model.as_ref(),
        synthetic: keys.synthetic.as_ref(),
    };
    let here = |(place, message): PlacedError| (Some(place.unwrap_or(start)), format!("cell `{name}`: {message}"));
    let budgets = keys.budgets.iter().map(metrics::budget).collect::<Result<Vec<_>, _>>().map_err(here)?;
    let gates = match &keys.metrics {
        Some(tables) if !tables.is_empty() || !budgets.is_empty() => metrics::gates(tables).map_err(here)?,
        _ if budgets.is_empty() => {
            return Err(here((None, "no `metrics` and no `budgets`: nothing could fail".to_owned())));
        }
        _ => Vec::new(),
    };
    let same_output = match &keys.output {
        None => None,
        Some(word) => match word.get_ref().as_str() {
            "same" => Some(true),
            "any" => Some(false),
            other => return at(word, format!("`output` must be \"same\" or \"any\", not \"{other}\"")),
        },
    };
    Ok(CellConfig {
        name: name.clone(),
        advisory: keys.advisory,
        effort: effort(whole, (&keys.mode, &keys.launches, &keys.rounds, &keys.round_s)).map_err(here)?,
        sides: named.sides().map_err(here)?,
        same_output,
        exact: keys.exact,
        gates,
        budgets,
    })
}

fn acceptance(table: &Spanned<AcceptTable>, cells: &[CellConfig]) -> Result<Acceptance, PlacedError> {
    let AcceptTable { cell, metric, commit, reason, until } = table.get_ref();
    let Some(meant) = cells.iter().find(|known| known.name == *cell.get_ref()) else {
        return at(cell, format!("no cell `{}`", cell.get_ref()));
    };
    if !meant.gates.iter().any(|gate| gate.metric == *metric.get_ref()) {
        return at(metric, format!("cell `{}` has no metric `{}`", meant.name, metric.get_ref()));
    }
    let Some(reason) = reason.as_ref() else {
        return at(table, "an acceptance needs a `reason`".to_owned());
    };
    if reason.get_ref().trim().is_empty() {
        return at(reason, "the `reason` of an acceptance is empty".to_owned());
    }
    let Some(until) = until.as_ref() else {
        return at(table, "an acceptance needs a last day, such as `until = 2026-12-31`".to_owned());
    };
    let Some(day) = day(until.get_ref()) else {
        return at(until, "`until` must be a day such as 2026-12-31".to_owned());
    };
    let is_commit =
        |digits: &str| (4..=40).contains(&digits.len()) && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    if let Some(commit) = commit.as_ref().filter(|commit| !is_commit(commit.get_ref())) {
        return at(commit, format!("`commit` must be 4 to 40 digits of a commit, not `{}`", commit.get_ref()));
    }
    Ok(Acceptance {
        cell: cell.get_ref().clone(),
        metric: metric.get_ref().clone(),
        commit: commit.as_ref().map(|commit| commit.get_ref().to_ascii_lowercase()),
        reason: reason.get_ref().clone(),
        until: day,
        ..Acceptance::default()
    })
}

/// A day without a time, written as TOML has it or as a text.
fn day(value: &Value) -> Option<String> {
    let date = match value {
        Value::Datetime(date) => *date,
        Value::String(text) => text.parse().ok()?,
        _ => return None,
    };
    (date.time.is_none() && date.offset.is_none()).then(|| date.date.map(|day| day.to_string()))?
}
