//! What the samples say.

use super::super::figures::{ModelRows, groups};
use super::super::limits::InWords as _;
use super::super::rows::Measured;
use super::super::view::View;
use super::Insight;
use crate::document::quoted;
use crate::units::{bytes, digits, mean_bytes, plural, seconds, tokens_per_s, whole_percent};

/// Below this share of the limit a sentence is worth it.
const BELOW: f64 = 0.8;
/// The slowest token beside the median, from where on it stands out.
const SLOW: f64 = 3.0;
/// The prompt's share of a generation, from where on it stands out.
const PROMPT: f64 = 0.2;
/// How far apart the cache may lie from its formula.
const CACHE: f64 = 0.02;

fn of_model(view: &View<'_>, group: &ModelRows<'_>) -> String {
    let several = view.run.models.len() > 1;
    group.model.filter(|_| several).map_or(String::new(), |model| format!(" of {}", quoted(&model.name)))
}

/// What generating could be at the machine's limit.
pub(super) fn decode_below_limit(view: &View<'_>) -> Option<Insight> {
    let found = groups(view).into_iter().filter_map(|group| {
        let speed = group.decode(view)?;
        let (share, roof) = (speed.share()?, speed.roof.clone()?);
        let sentence = format!(
            "Decode{} runs at {}, {} of {}; the limit is {}.",
            of_model(view, &group),
            tokens_per_s(speed.median),
            whole_percent(share),
            roof.in_words(),
            tokens_per_s(speed.median / share)
        );
        (share < BELOW).then_some(Insight { worth: 1.0 - share, sentence })
    });
    found.max_by(|a, b| a.worth.total_cmp(&b.worth))
}

/// How much of a generation is its prompt.
pub(super) fn prompt(view: &View<'_>) -> Option<Insight> {
    let found = groups(view).into_iter().filter_map(|group| {
        let wall = compare::median(&view.values(&group.generation?.name, "wall_s"))?;
        let prefill = compare::quantile(&group.prefill_times(view), 0.5)?;
        let share = (wall > 0.0).then(|| prefill / wall)?;
        let sentence = format!(
            "Prefill{} takes {} of a generation: {} of {}.",
            of_model(view, &group),
            whole_percent(share),
            seconds(prefill),
            seconds(wall)
        );
        (share >= PROMPT).then_some(Insight { worth: share / 2.0, sentence })
    });
    found.max_by(|a, b| a.worth.total_cmp(&b.worth))
}

/// A token that took much longer than the others.
pub(super) fn slow_token(view: &View<'_>) -> Option<Insight> {
    let found = groups(view).into_iter().filter_map(|group| {
        let times = view.series(&group.generation?.name, "token_s");
        let (slowest, median) = (times.last().copied()?, compare::quantile(&times, 0.5).filter(|time| *time > 0.0)?);
        let sentence = format!(
            "The slowest of {}{} took {}, {}× the median ({}).",
            plural(times.len() as u64, "token"),
            of_model(view, &group),
            seconds(slowest),
            digits(slowest / median),
            seconds(median)
        );
        let all: f64 = times.iter().sum();
        (slowest >= SLOW * median).then_some(Insight { worth: (slowest - median) / all, sentence })
    });
    found.max_by(|a, b| a.worth.total_cmp(&b.worth))
}

/// The row by whose distance from the machine's limit most time could be saved, of those that are no model's.
pub(super) fn row_below_limit(view: &View<'_>) -> Option<Insight> {
    let kernels =
        view.run.rows.iter().filter(|row| row.model.is_none() && row.tokens.is_none() && row.part_of.is_none());
    let measured: Vec<Measured<'_>> = kernels.filter_map(|row| view.measured(row)).collect();
    let time = |found: &Measured<'_>| found.time.median * found.row.calls as f64;
    let all: f64 = measured.iter().map(time).sum();
    let farthest = measured.iter().filter_map(|found| {
        let share = found.share().filter(|share| *share < BELOW)?;
        Some((time(found) / all * (1.0 - share), share, found))
    });
    let (worth, share, found) = farthest.filter(|(worth, ..)| worth.is_finite()).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let roof = found.roof.as_ref()?;
    let sentence = format!(
        "{} takes {} per call, {} of {}; at the limit it would take {}.",
        quoted(&found.row.name),
        seconds(found.time.median),
        whole_percent(share),
        roof.in_words(),
        seconds(roof.seconds)
    );
    Some(Insight { worth, sentence })
}

/// A cache that takes another size than it should.
pub(super) fn cache_beside_formula(view: &View<'_>) -> Option<Insight> {
    view.run.memory.iter().find_map(|memory| {
        let (formula, measured) = memory.cache_per_token_formula.zip(memory.cache_per_token_measured)?;
        let apart = (formula > 0.0).then(|| (measured - formula).abs() / formula)?;
        let tokens = view.run.models.iter().find(|model| model.name == memory.model).map(|model| model.context);
        let all = tokens.map_or(String::new(), |tokens| {
            format!(", {} over the full context", bytes(((measured - formula).abs() * tokens as f64) as u64))
        });
        let sentence = format!(
            "The KV cache takes {} per token; its dimensions imply {}{all}.",
            mean_bytes(measured),
            mean_bytes(formula)
        );
        (apart > CACHE).then_some(Insight { worth: 0.0, sentence })
    })
}
