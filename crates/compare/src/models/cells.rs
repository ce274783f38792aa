//! What a run measured of each model, cell by cell: so many threads, a prompt of such a length.

use std::collections::{BTreeMap, HashMap};

use record::{Model, Phase, Row, Run, Sample};

use super::Observed;
use crate::{Bounds, Work, sorted};

/// One model of a run.
pub(super) struct Entry<'a> {
    pub(super) run: &'a Run,
    pub(super) id: Option<&'a str>,
    pub(super) model: &'a Model,
    pub(super) bounds: Option<Bounds<'a>>,
    /// The first is the one that the model's figures are of.
    pub(super) cells: Vec<Cell<'a>>,
}

/// Generations of one kind.
#[derive(Default)]
pub(super) struct Cell<'a> {
    pub(super) generation: Option<&'a Row>,
    pub(super) prefill: Option<&'a Row>,
    pub(super) decode: Option<&'a Row>,
    pub(super) threads: Option<u64>,
    /// Tokens of the prompt.
    pub(super) prompt: Option<u64>,
    /// Tokens behind it.
    pub(super) tokens: Option<u64>,
    /// Seconds of a token, by launch and round.
    pub(super) decode_s: BTreeMap<(u64, u64), f64>,
    /// Seconds of the prompt, from the smallest on.
    pub(super) prefill_s: Vec<f64>,
    /// Seconds to the first token, from the smallest on.
    pub(super) first_s: Vec<f64>,
    /// Seconds of all tokens after the first, from the smallest on.
    pub(super) token_s: Vec<f64>,
    /// Allocations of a generation, and their bytes.
    pub(super) allocated: Option<(f64, f64)>,
}

/// What a row is of.
#[derive(Clone, Copy)]
enum Role {
    Generation,
    Prefill,
    Decode,
}

const ROLES: [(&str, Role); 3] =
    [("inference", Role::Generation), ("prefill", Role::Prefill), ("decode", Role::Decode)];

/// The models of a run.
pub(super) fn entries<'a>(observed: &Observed<'a>) -> Vec<Entry<'a>> {
    let run = observed.run;
    let mut samples: HashMap<&str, Vec<&Sample>> = HashMap::new();
    for sample in run.samples.iter().filter(|sample| sample.phase == Phase::Timed) {
        samples.entry(&sample.row).or_default().push(sample);
    }
    let bounds = Bounds::of(run);
    let of = |model: &'a Model| Entry { run, id: observed.id, model, bounds, cells: cells(run, model, &samples) };
    run.models.iter().map(of).collect()
}

fn cells<'a>(run: &'a Run, model: &Model, samples: &HashMap<&str, Vec<&'a Sample>>) -> Vec<Cell<'a>> {
    let is_alone = run.models.len() == 1;
    let mut cells: Vec<(String, Cell<'a>)> = Vec::new();
    for row in run.rows.iter().filter(|row| row.model.as_ref().map_or(is_alone, |name| *name == model.name)) {
        let name = row.name.to_lowercase();
        let found = ROLES.iter().find_map(|(end, role)| Some((name.strip_suffix(end)?, *role)));
        let Some((place, role)) = found else { continue };
        let at = cells.iter().position(|(known, _)| known == place).unwrap_or_else(|| {
            cells.push((place.to_owned(), Cell::default()));
            cells.len() - 1
        });
        let cell = &mut cells[at].1;
        match role {
            Role::Generation => cell.generation = Some(row),
            Role::Prefill => cell.prefill = Some(row),
            Role::Decode => cell.decode = Some(row),
        }
    }
    cells.into_iter().map(|(_, cell)| cell.filled(run, samples)).collect()
}

/// A value that a time or a count can be.
fn is_sound(value: &f64) -> bool {
    value.is_finite() && *value > 0.0
}

impl<'a> Cell<'a> {
    /// With its samples.
    fn filled(mut self, run: &'a Run, samples: &HashMap<&str, Vec<&'a Sample>>) -> Self {
        let of = |row: Option<&Row>| row.and_then(|row| samples.get(row.name.as_str())).map_or(&[][..], Vec::as_slice);
        let parameter = |name: &str| run.workload.parameters.get(name)?.parse().ok();
        let whole = |number: f64| number as u64;
        let any = self.generation.or(self.decode).or(self.prefill);
        self.threads = any.and_then(|row| row.threads).or_else(|| parameter("threads"));
        self.prompt = self.prefill.and_then(|row| row.tokens).map(whole).or_else(|| parameter("prompt_tokens"));
        self.tokens = self.generation.and_then(|row| row.tokens).map(whole).or_else(|| parameter("tokens"));
        let generations = of(self.generation);
        let first = generations.iter().filter_map(|sample| sample.values.get("ttft_s").copied());
        self.first_s = sorted(&first.filter(is_sound).collect::<Vec<_>>());
        let all = generations.iter().filter_map(|sample| sample.series.get("token_s")).flatten().copied();
        self.token_s = sorted(&all.filter(is_sound).collect::<Vec<_>>());
        let prompts = of(self.prefill).iter().filter_map(|sample| sample.values.get("wall_s").copied());
        self.prefill_s = sorted(&prompts.filter(is_sound).collect::<Vec<_>>());
        self.decode_s = decode_times(of(self.decode), self.decode, generations);
        let middle = |name: &str| {
            let all = generations.iter().filter_map(|sample| sample.values.get(name).copied());
            crate::median(&all.filter(|value| value.is_finite()).collect::<Vec<_>>())
        };
        self.allocated = middle("allocs").zip(middle("alloc_bytes"));
        self
    }

    /// The middle time of a token.
    pub(super) fn token_time(&self) -> Option<f64> {
        crate::median(&self.decode_s.values().copied().collect::<Vec<_>>())
    }

    /// Positions that a token has before it, on average.
    pub(super) fn positions(&self) -> Option<f64> {
        Some(self.prompt? as f64 + self.tokens? as f64 / 2.0)
    }

    /// What times of another cell were of those of this one, turn by turn.
    pub(super) fn ratios(&self, other: &Cell<'_>) -> Vec<f64> {
        let ratio = |(turn, own): (&(u64, u64), &f64)| Some(other.decode_s.get(turn)? / own);
        self.decode_s.iter().filter_map(ratio).collect()
    }

    /// Operations and bytes of one token that is generated: as declared; or multiplying with and reading all weights once.
    pub(super) fn decode_work(&self, model: &Model) -> Work {
        let declared = self.decode.filter(|row| row.flops.is_some() || row.bytes.is_some());
        let tokens = self.decode.and_then(|row| row.tokens).filter(is_sound).unwrap_or(1.0);
        let (flops, bytes) = match declared {
            Some(row) => (row.flops.map(|flops| flops / tokens), row.bytes.map(|bytes| bytes / tokens)),
            None => (Some(2.0 * model.active_parameters as f64), Some(model.weight_bytes as f64)),
        };
        self.work(model, flops, bytes)
    }

    /// The same of one token of the prompt.
    pub(super) fn prefill_work(&self, model: &Model) -> Option<Work> {
        let tokens = self.prompt.filter(|tokens| *tokens > 0)? as f64;
        let declared = self.prefill.filter(|row| row.flops.is_some());
        let (flops, bytes) = match declared {
            Some(row) => (row.flops.map(|flops| flops / tokens), row.bytes.map(|bytes| bytes / tokens)),
            None => (Some(2.0 * model.active_parameters as f64), None),
        };
        Some(self.work(model, flops, bytes))
    }

    fn work(&self, model: &Model, flops: Option<f64>, bytes: Option<f64>) -> Work {
        let (working_set, threads) = (model.weight_bytes as f64, self.threads);
        let arithmetic = crate::arithmetic(Some(model));
        Work { flops, bytes, working_set, arithmetic, threads }
    }
}

/// The seconds of a token in each turn: of the row of tokens, or by the times of single tokens.
fn decode_times(tokens: &[&Sample], row: Option<&Row>, generations: &[&Sample]) -> BTreeMap<(u64, u64), f64> {
    let calls = row.map_or(1.0, |row| row.calls.max(1) as f64 * row.tokens.filter(is_sound).unwrap_or(1.0));
    let by_row = tokens.iter().filter_map(|sample| Some((sample, sample.values.get("wall_s")? / calls)));
    let by_token = generations.iter().filter_map(|sample| {
        let times = sample.series.get("token_s").filter(|times| !times.is_empty())?;
        Some((sample, times.iter().sum::<f64>() / times.len() as f64))
    });
    let found: Vec<(&&Sample, f64)> = if tokens.is_empty() { by_token.collect() } else { by_row.collect() };
    let kept = found.into_iter().filter(|(_, seconds)| is_sound(seconds));
    kept.map(|(sample, seconds)| ((sample.launch, sample.round), seconds)).collect()
}
