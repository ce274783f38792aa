//! What a run measured of each model, cell by cell: so many threads, a prompt of such a length.

use std::collections::HashMap;

use record::{Model, Phase, Row, Run, Sample};

use super::ModelRun;
use super::launches::RoundTimes;
use crate::{MachineLimits, RowWork, sorted};

/// One model of a run.
pub(super) struct ModelEntry<'a> {
    pub(super) run: &'a Run,
    pub(super) id: Option<&'a str>,
    pub(super) model: &'a Model,
    pub(super) bounds: Option<MachineLimits<'a>>,
    /// The first is the one that the model's figures are of.
    pub(super) cells: Vec<Cell<'a>>,
    /// The first of them once more, in a second copy of the model.
    pub(super) placebo: Option<Cell<'a>>,
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
    /// Seconds of a token.
    pub(super) decode_s: RoundTimes,
    /// CPU seconds of a token.
    pub(super) decode_cpu_s: RoundTimes,
    /// Seconds of the prompt.
    pub(super) prefill_s: RoundTimes,
    /// Seconds to the first token.
    pub(super) first_s: RoundTimes,
    /// Seconds of all tokens after the first, from the smallest on.
    pub(super) token_s: Vec<f64>,
    /// Allocations of a generation, and their bytes.
    pub(super) allocated: Option<(f64, f64)>,
}

/// What the names of rows of a second copy begin with.
const PLACEBO: &str = "placebo/";

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
pub(super) fn entries<'a>(observed: &ModelRun<'a>) -> Vec<ModelEntry<'a>> {
    let run = observed.run;
    let mut samples: HashMap<&str, Vec<&Sample>> = HashMap::new();
    for sample in run.samples.iter().filter(|sample| sample.phase == Phase::Timed) {
        samples.entry(&sample.row).or_default().push(sample);
    }
    let bounds = MachineLimits::of(run);
    let of = |model: &'a Model| {
        let (placebos, cells): (Vec<_>, Vec<_>) =
            cells(run, model, &samples).into_iter().partition(|(place, _)| place == PLACEBO);
        let cells = cells.into_iter().map(|(_, cell)| cell).collect();
        let placebo = placebos.into_iter().map(|(_, cell)| cell).next();
        ModelEntry { run, id: observed.id, model, bounds, cells, placebo }
    };
    run.models.iter().map(of).collect()
}

/// The cells, and what the names of their rows begin with.
fn cells<'a>(run: &'a Run, model: &Model, samples: &HashMap<&str, Vec<&'a Sample>>) -> Vec<(String, Cell<'a>)> {
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
    cells.into_iter().map(|(place, cell)| (place, cell.filled(run, samples))).collect()
}

impl ModelEntry<'_> {
    /// Whether CPU time is all the time that its tokens need: one thread, and weights in memory, so that it waits for nothing.
    pub(super) fn is_cpu_bound(&self) -> bool {
        let memory = self.run.memory.iter().find(|memory| memory.model == self.model.name);
        let is_mapped = memory.is_some_and(|memory| memory.parts.iter().any(|part| part.mapped && part.bytes > 0));
        let is_known = |cell: &Cell<'_>| !cell.decode_s.is_empty() && cell.decode_cpu_s.len() == cell.decode_s.len();
        self.cells.first().is_some_and(|cell| cell.threads == Some(1) && is_known(cell)) && !is_mapped
    }
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
        self.first_s = rounds(generations, "ttft_s", 1.0);
        let all = generations.iter().filter_map(|sample| sample.series.get("token_s")).flatten().copied();
        self.token_s = sorted(&all.filter(is_sound).collect::<Vec<_>>());
        self.prefill_s = rounds(of(self.prefill), "wall_s", 1.0);
        self.decode_s = decode_times(of(self.decode), self.decode, generations);
        self.decode_cpu_s = rounds(of(self.decode), "cpu_s", tokens_of(self.decode));
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

    /// What times of another cell were of those of this one, round by round.
    pub(super) fn ratios(&self, other: &Cell<'_>) -> RoundTimes {
        Self::ratios_of(&self.decode_s, &other.decode_s)
    }

    /// What other times were of these, round by round: how many times as fast these are.
    pub(super) fn ratios_of(own: &RoundTimes, other: &RoundTimes) -> RoundTimes {
        own.iter().filter_map(|(round, own)| Some((*round, other.get(round)? / own))).collect()
    }

    /// Seconds of a token, by the CPU or by the clock.
    pub(super) fn clock(&self, by_cpu: bool) -> &RoundTimes {
        if by_cpu { &self.decode_cpu_s } else { &self.decode_s }
    }

    /// Operations and bytes of one token that is generated: as declared; or multiplying with and reading all weights once.
    pub(super) fn decode_work(&self, model: &Model) -> RowWork {
        let declared = self.decode.filter(|row| row.flops.is_some() || row.bytes.is_some());
        let tokens = self.decode.and_then(|row| row.tokens).filter(is_sound).unwrap_or(1.0);
        let (flops, bytes) = match declared {
            Some(row) => (row.flops.map(|flops| flops / tokens), row.bytes.map(|bytes| bytes / tokens)),
            None => (Some(2.0 * model.active_parameters as f64), Some(model.weight_bytes as f64)),
        };
        self.work(model, flops, bytes)
    }

    /// The same of one token of the prompt.
    pub(super) fn prefill_work(&self, model: &Model) -> Option<RowWork> {
        let tokens = self.prompt.filter(|tokens| *tokens > 0)? as f64;
        let declared = self.prefill.filter(|row| row.flops.is_some());
        let (flops, bytes) = match declared {
            Some(row) => (row.flops.map(|flops| flops / tokens), row.bytes.map(|bytes| bytes / tokens)),
            None => (Some(2.0 * model.active_parameters as f64), None),
        };
        Some(self.work(model, flops, bytes))
    }

    fn work(&self, model: &Model, flops: Option<f64>, bytes: Option<f64>) -> RowWork {
        let (working_set, threads) = (model.weight_bytes as f64, self.threads);
        let arithmetic = crate::arithmetic(Some(model));
        RowWork { flops, bytes, working_set, arithmetic, threads }
    }
}

/// The seconds of a token in each round: of the row of tokens, or by the times of single tokens.
fn decode_times(tokens: &[&Sample], row: Option<&Row>, generations: &[&Sample]) -> RoundTimes {
    if !tokens.is_empty() {
        return rounds(tokens, "wall_s", tokens_of(row));
    }
    let by_token = generations.iter().filter_map(|sample| {
        let times = sample.series.get("token_s").filter(|times| !times.is_empty())?;
        Some(((sample.launch, sample.round), times.iter().sum::<f64>() / times.len() as f64))
    });
    by_token.filter(|(_, seconds)| is_sound(seconds)).collect()
}

/// Tokens of a sample of this row.
fn tokens_of(row: Option<&Row>) -> f64 {
    row.map_or(1.0, |row| row.calls.max(1) as f64 * row.tokens.filter(is_sound).unwrap_or(1.0))
}

/// A metric of each round, for one of so many parts.
fn rounds(samples: &[&Sample], metric: &str, parts: f64) -> RoundTimes {
    let values = samples.iter().filter_map(|sample| {
        let value = sample.values.get(metric)? / parts;
        Some(((sample.launch, sample.round), value))
    });
    values.filter(|(_, value)| is_sound(value)).collect()
}
