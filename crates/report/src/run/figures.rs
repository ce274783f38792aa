//! The figures of a model's speed: first token, time per token, prefill, decode, allocations.

use std::collections::HashMap;

use record::{Model, Row, WorkloadKind};

use super::limits::{Arithmetic, InWords as _, RooflineLimit, RowWork};
use super::rows::between;
use super::view::{CONFIDENCE, Timing, View};
use crate::document::{Block, Section, Table, not_measured};
use crate::units::{count, mean_bytes, mean_count, seconds, tokens_per_s, whole_percent};

/// The rows of one model, by what they are.
#[derive(Default, Clone, Copy)]
pub(super) struct ModelRows<'a> {
    /// As the rows name it.
    name: Option<&'a str>,
    pub(super) model: Option<&'a Model>,
    /// A whole generation.
    pub(super) generation: Option<&'a Row>,
    prefill: Option<&'a Row>,
    decode: Option<&'a Row>,
    creation: Option<&'a Row>,
}

/// Tokens per second, and what they could be.
pub(super) struct TokenSpeed {
    /// By the median time of a call.
    pub(super) median: f64,
    /// By the interval of that time, turned round.
    interval: Option<(f64, f64)>,
    samples: usize,
    /// The least time of one call, and the time that it took.
    pub(super) roof: Option<RooflineLimit>,
    pub(super) call_s: f64,
}

impl TokenSpeed {
    pub(super) fn share(&self) -> Option<f64> {
        let roof = self.roof.as_ref().filter(|_| self.call_s > 0.0)?;
        Some(roof.seconds / self.call_s)
    }
}

pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    groups(view).iter().take(view.top).map(|group| section(view, group)).collect()
}

/// What a row of a model is.
#[derive(Clone, Copy)]
enum RowRole {
    Generation,
    Prefill,
    Decode,
    Creation,
}

/// By what was measured of it and by its name.
fn role(view: &View<'_>, row: &Row) -> Option<RowRole> {
    let is_generation =
        |sample: &&record::Sample| sample.values.contains_key("ttft_s") || sample.series.contains_key("token_s");
    if view.samples(&row.name).iter().any(is_generation) {
        return Some(RowRole::Generation);
    }
    let name = row.name.to_lowercase();
    let ends = [
        ("inference", RowRole::Generation),
        ("prefill", RowRole::Prefill),
        ("decode", RowRole::Decode),
        ("creation", RowRole::Creation),
    ];
    ends.iter().find(|(end, _)| name.ends_with(end)).map(|(_, role)| *role)
}

/// The models that text was generated with. A workload that should have some is shown without figures too.
pub(super) fn groups<'a>(view: &View<'a>) -> Vec<ModelRows<'a>> {
    let mut places: HashMap<Option<&str>, usize> = HashMap::new();
    let mut groups: Vec<ModelRows<'a>> = Vec::new();
    for row in &view.run.rows {
        let Some(role) = role(view, row) else { continue };
        let name = row.model.as_deref();
        let place = *places.entry(name).or_insert(groups.len());
        if place == groups.len() {
            groups.push(ModelRows { name, model: view.model(row), ..ModelRows::default() });
        }
        groups[place].slot(role).get_or_insert(row);
    }
    use WorkloadKind::{Deep, Enhanced, Standard};
    let is_of_models = matches!(compare::workload_kind(&view.run.workload), Standard | Deep | Enhanced);
    if groups.is_empty() && is_of_models {
        groups.push(ModelRows::default());
    }
    groups
}

impl<'a> ModelRows<'a> {
    fn slot(&mut self, role: RowRole) -> &mut Option<&'a Row> {
        match role {
            RowRole::Generation => &mut self.generation,
            RowRole::Prefill => &mut self.prefill,
            RowRole::Decode => &mut self.decode,
            RowRole::Creation => &mut self.creation,
        }
    }

    /// The time of the prompt, from the smallest to the largest.
    pub(super) fn prefill_times(&self, view: &View<'a>) -> Vec<f64> {
        let own = self.prefill.map_or(Vec::new(), |row| view.per_call(row, "wall_s"));
        let generation =
            || self.generation.map_or(Vec::new(), |row| compare::sorted(&view.values(&row.name, "prefill_s")));
        if own.is_empty() { generation() } else { own }
    }

    /// Reading the prompt.
    pub(super) fn prefill(&self, view: &View<'a>) -> Option<TokenSpeed> {
        let asked =
            ["prompt_tokens", "prompt"].iter().find_map(|name| view.run.workload.parameters.get(*name)?.parse().ok());
        let tokens: f64 = self.prefill.and_then(|row| row.tokens).or(asked)?;
        let times = self.prefill_times(view);
        speed(tokens, &times, self.roof(view, self.prefill, tokens))
    }

    /// One token after the other.
    pub(super) fn decode(&self, view: &View<'a>) -> Option<TokenSpeed> {
        let row = self.decode.filter(|row| !view.per_call(row, "wall_s").is_empty());
        if let Some(row) = row {
            let tokens = row.tokens.unwrap_or(1.0);
            return speed(tokens, &view.per_call(row, "wall_s"), self.roof(view, Some(row), tokens));
        }
        let samples = view.samples(&self.generation?.name).iter().filter_map(|sample| sample.series.get("token_s"));
        let means =
            samples.filter(|times| !times.is_empty()).map(|times| times.iter().sum::<f64>() / times.len() as f64);
        speed(1.0, &compare::sorted(&means.collect::<Vec<_>>()), self.roof(view, self.decode, 1.0))
    }

    /// The least time of a pass: as declared, or all weights read once and multiplied with every token.
    fn roof(&self, view: &View<'a>, row: Option<&Row>, tokens: f64) -> Option<RooflineLimit> {
        let declared = row.filter(|row| row.flops.is_some() || row.bytes.is_some());
        let weights = self.model.map(|model| model.weight_bytes as f64);
        let arithmetic = match row.and_then(|row| row.limited_by.as_deref()) {
            Some("f32") => Arithmetic::F32,
            Some("int8") => Arithmetic::Int8,
            _ => compare::arithmetic(self.model),
        };
        let multiplied = self.model.map(|model| 2.0 * model.active_parameters as f64 * tokens);
        let (flops, bytes) = declared.map_or((multiplied, weights), |row| (row.flops, row.bytes));
        let working_set = weights.unwrap_or(0.0);
        view.roof(&RowWork { flops, bytes, working_set, arithmetic, threads: view.threads(row) })
    }
}

fn speed(tokens: f64, times: &[f64], roof: Option<RooflineLimit>) -> Option<TokenSpeed> {
    let times: Vec<f64> = times.iter().copied().filter(|time| *time > 0.0).collect();
    let time = Timing::of(&times)?;
    let interval = time.interval.map(|found| (tokens / found.high, tokens / found.low));
    Some(TokenSpeed { median: tokens / time.median, interval, samples: time.samples, roof, call_s: time.median })
}

fn section(view: &View<'_>, group: &ModelRows<'_>) -> Section {
    let mut table = Table::new(&["figure", "value", "95 % CI", "n", "% of limit"]).with_words_last();
    let generation =
        |metric: &str| group.generation.map_or(Vec::new(), |row| compare::sorted(&view.values(&row.name, metric)));
    time_row(&mut table, "time to first token", &generation("ttft_s"));
    token_rows(&mut table, &group.generation.map_or(Vec::new(), |row| view.series(&row.name, "token_s")));
    match group.prefill(view) {
        // Without the number of tokens there is no speed, but a time.
        None => time_row(&mut table, "prefill", &generation("prefill_s")),
        prefill => speed_row(&mut table, "prefill", prefill),
    }
    speed_row(&mut table, "decode", group.decode(view));
    time_row(&mut table, "full generation", &generation("wall_s"));
    for (name, metric, written) in [
        ("allocations per token", "allocs", mean_count as fn(f64) -> String),
        ("bytes per token", "alloc_bytes", mean_bytes),
    ] {
        let per_token = per_token(view, group, metric);
        let value = compare::quantile(&per_token, 0.5).map_or_else(not_measured, written);
        table.row([name.to_owned(), value, String::new(), counted(per_token.len())]);
    }
    if let Some(row) = group.creation {
        time_row(&mut table, "model creation", &view.per_call(row, "wall_s"));
    }
    let of = group.name.map_or(String::new(), |name| format!("of {}; ", crate::document::quoted(name)));
    let explanation = format!("{of}medians unless noted; n: measurements");
    Section::new("FIGURES", &explanation).with(Block::Table(table))
}

fn counted(n: usize) -> String {
    if n == 0 { String::new() } else { count(n as u64) }
}

fn time_row(table: &mut Table, name: &str, sorted: &[f64]) {
    let time = Timing::of(sorted);
    let interval = time.as_ref().map_or_else(String::new, super::rows::interval);
    table.row([
        name.to_owned(),
        time.map_or_else(not_measured, |time| seconds(time.median)),
        interval,
        counted(sorted.len()),
    ]);
}

/// The quantiles that the number of values allows, and the slowest where it does not allow all.
fn token_rows(table: &mut Table, sorted: &[f64]) {
    time_row(table, "time per token, p50", sorted);
    let Some(slowest) = sorted.last() else { return };
    for (name, q) in [("time per token, p90", 0.9), ("time per token, p99", 0.99)] {
        let interval = compare::quantile_interval(sorted, q, CONFIDENCE);
        let (Some(interval), Some(value)) = (interval, compare::quantile(sorted, q)) else {
            let name = format!("time per token, slowest of {}", count(sorted.len() as u64));
            table.row([name, seconds(*slowest), String::new(), counted(sorted.len())]);
            return;
        };
        let interval = between(&seconds(interval.low), &seconds(interval.high));
        table.row([name.to_owned(), seconds(value), interval, counted(sorted.len())]);
    }
}

fn speed_row(table: &mut Table, name: &str, speed: Option<TokenSpeed>) {
    let Some(speed) = speed else { return table.row([name.to_owned(), not_measured()]) };
    let written = tokens_per_s;
    let interval = speed.interval;
    let interval = interval.map_or_else(|| "too few".to_owned(), |(low, high)| between(&written(low), &written(high)));
    let limit = match (speed.share(), &speed.roof) {
        (Some(share), Some(roof)) => format!("{} of {}", whole_percent(share), roof.in_words()),
        _ => not_measured(),
    };
    table.row([name.to_owned(), written(speed.median), interval, counted(speed.samples), limit]);
}

/// Allocations of whole generations, or their bytes, divided by the tokens of each.
pub(super) fn per_token(view: &View<'_>, group: &ModelRows<'_>, metric: &str) -> Vec<f64> {
    let Some(row) = group.generation else { return Vec::new() };
    let values = view.samples(&row.name).iter().filter_map(|sample| {
        let listed = sample.series.get("token_s").map(|times| times.len() as f64 + 1.0);
        let all = row.tokens.map(|tokens| tokens * row.calls.max(1) as f64).or(listed);
        let tokens = all.filter(|tokens| *tokens > 0.0)?;
        sample.values.get(metric).map(|value| value / tokens).filter(|value| value.is_finite())
    });
    let values: Vec<f64> = values.collect();
    let is_alone = view.run.models.len() <= 1;
    if values.is_empty() && is_alone {
        profiled_per_token(view, metric).into_iter().collect()
    } else {
        compare::sorted(&values)
    }
}

/// The same from the profile: of the longest scope that declares tokens.
fn profiled_per_token(view: &View<'_>, metric: &str) -> Option<f64> {
    let sum = view.tree.as_ref()?.names.iter().find(|sum| sum.tokens > 0)?;
    let all = sum.allocs_total?;
    let number = if metric == "allocs" { all.allocs } else { all.alloc_bytes };
    Some(number as f64 / sum.tokens as f64)
}
