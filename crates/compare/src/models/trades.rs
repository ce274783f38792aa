//! The same model in several formats: what the smaller one wins, and what that costs.

use record::{Figure, MeasuredModel, Model, Trade};

use super::cells::ModelEntry;
use super::figures::quality_of;
use super::ranking::{SpeedJudge, original};
use crate::stats::batch_mean_interval;

/// Every model beside the one of the same sizes whose weights are largest.
///
/// Copies of one model are left out: nothing is won or lost.
pub(super) fn of(entries: &[ModelEntry<'_>], models: &[MeasuredModel], judge: Option<&SpeedJudge>) -> Vec<Trade> {
    let mut trades = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let same = (0..entries.len()).filter(|other| shape(entries[*other].model) == shape(entry.model));
        // Of several that are as large, the first.
        let largest = same.rev().max_by_key(|other| entries[*other].model.weight_bytes);
        let differs = |base: &usize| original(entries, *base) != original(entries, at);
        let Some(base) = largest.filter(differs) else { continue };
        trades.push(trade([&entries[base], entry], [&models[base], &models[at]], judge));
    }
    trades
}

/// What models have in common that differ in their format alone.
fn shape(model: &Model) -> [u64; 7] {
    [model.parameters, model.layers, model.width, model.heads, model.kv_heads, model.head_dim, model.vocab]
}

fn trade(entries: [&ModelEntry<'_>; 2], models: [&MeasuredModel; 2], judge: Option<&SpeedJudge>) -> Trade {
    let compared = judge.map(|judge| judge.pair(entries[0], entries[1]));
    let bytes = models.map(|model| model.memory.bytes);
    let memory = bytes[1].zip(bytes[0]).map(|(own, base)| own as f64 / base as f64);
    let change = change(entries);
    let perplexity = match models.map(|model| model.quality.as_ref()) {
        [Some(base), Some(own)] if base.text_blake3 == own.text_blake3 => Some([base.perplexity, own.perplexity]),
        _ => None,
    };
    Trade {
        model: models[1].model.name.clone(),
        base: models[0].model.name.clone(),
        speed: compared.as_ref().and_then(|compared| compared.ratio),
        verdict: compared.map(|compared| compared.verdict),
        memory: memory.filter(|ratio| ratio.is_finite()),
        perplexity,
        perplexity_change: change,
    }
}

/// By how much the perplexity changed, token by token: the same tokens are hard for both, so that much less is left to chance.
/// Batches of neighbouring tokens count as one value each.
fn change(entries: [&ModelEntry<'_>; 2]) -> Option<Figure> {
    let [base, own] = [quality_of(entries[0])?, quality_of(entries[1])?];
    if base.text_blake3 != own.text_blake3 || base.each.len() != own.each.len() {
        return None;
    }
    let differences = own.each.iter().zip(&base.each).map(|(own, base)| f64::from(*own) - f64::from(*base));
    let differences: Vec<f64> = differences.collect();
    let interval = batch_mean_interval(&differences, 1.0 - super::CONFIDENCE)?;
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    let [value, low, high] = [mean, interval.low, interval.high].map(f64::exp_m1);
    value.is_finite().then_some(Figure { value, low: Some(low), high: Some(high), samples: differences.len() as u64 })
}
