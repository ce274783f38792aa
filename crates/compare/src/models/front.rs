//! The models that are Pareto-optimal in speed, memory and quality.

use record::{MeasuredModel, SpeedVerdict};

use super::cells::ModelEntry;
use super::ranking::{SpeedJudge, original};

/// Says of each model whether it is Pareto-optimal, where all three were measured of all.
///
/// A model is dominated by another that is faster by the rules of [`SpeedJudge`], takes no more memory and has no worse quality. Copies of
/// a model share its answer.
pub(super) fn mark(entries: &[ModelEntry<'_>], models: &mut [MeasuredModel], judge: &SpeedJudge) {
    let is_measured =
        |model: &MeasuredModel| model.decode.is_some() && model.memory.bytes.is_some() && model.quality.is_some();
    let texts = models.iter().filter_map(|model| model.quality.as_ref()).map(|quality| &quality.text_blake3);
    let is_one_text = texts.clone().all(|text| Some(text) == texts.clone().next());
    if models.len() < 2 || !models.iter().all(is_measured) || !is_one_text {
        return;
    }
    let is_faster = |other: usize, own: usize| {
        other != own && judge.pair(&entries[own], &entries[other]).verdict == SpeedVerdict::Faster
    };
    let beaten: Vec<Option<String>> = (0..models.len())
        .map(|own| {
            let own = original(entries, own);
            let beats = |other: &usize| {
                *other == original(entries, *other)
                    && is_faster(*other, own)
                    && is_no_worse(&models[*other], &models[own])
            };
            (0..models.len()).find(beats).map(|other| models[other].model.name.clone())
        })
        .collect();
    for (model, beaten) in models.iter_mut().zip(beaten) {
        model.pareto = Some(beaten.is_none());
        model.beaten_by = beaten;
    }
}

/// In memory and quality.
fn is_no_worse(a: &MeasuredModel, b: &MeasuredModel) -> bool {
    let bits = |model: &MeasuredModel| model.quality.as_ref().map(|quality| quality.bits_per_byte);
    a.memory.bytes <= b.memory.bytes && bits(a) <= bits(b)
}
