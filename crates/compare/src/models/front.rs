//! The front of models that no other beats in speed, memory and quality at once.

use record::MeasuredModel;

use super::CONFIDENCE;
use super::cells::{Cell, Entry};
use crate::stats::sign_interval;

/// Says of each model whether it is on the front, where all three were measured of all.
///
/// One is beaten by another that is shown to be faster, turn by turn, takes no more memory and has no worse quality. Whether it is
/// faster is asked of every pair, so each answer has its part of the chance to be wrong.
pub(super) fn mark(entries: &[Entry<'_>], models: &mut [MeasuredModel]) {
    let is_measured =
        |model: &MeasuredModel| model.decode.is_some() && model.memory.bytes.is_some() && model.quality.is_some();
    let texts = models.iter().filter_map(|model| model.quality.as_ref()).map(|quality| &quality.text_blake3);
    let is_one_text = texts.clone().all(|text| Some(text) == texts.clone().next());
    if models.len() < 2 || !models.iter().all(is_measured) || !is_one_text {
        return;
    }
    let pairs = models.len() * (models.len() - 1);
    let alpha = (1.0 - CONFIDENCE) / pairs as f64;
    let cells: Vec<Option<&Cell<'_>>> = entries.iter().map(|entry| entry.cells.first()).collect();
    let beaten: Vec<Option<String>> = (0..models.len())
        .map(|own| {
            let beats = |other: &usize| {
                let is_faster = cells[*other].zip(cells[own]).is_some_and(|(a, b)| is_faster(a, b, alpha));
                *other != own && is_faster && is_no_worse(&models[*other], &models[own])
            };
            (0..models.len()).find(beats).map(|other| models[other].model.name.clone())
        })
        .collect();
    for (model, beaten) in models.iter_mut().zip(beaten) {
        model.pareto = Some(beaten.is_none());
        model.beaten_by = beaten;
    }
}

/// Whether the first is shown to be faster.
fn is_faster(a: &Cell<'_>, b: &Cell<'_>, alpha: f64) -> bool {
    sign_interval(&a.ratios(b), alpha).is_some_and(|ratio| ratio.low > 1.0)
}

/// In memory and quality.
fn is_no_worse(a: &MeasuredModel, b: &MeasuredModel) -> bool {
    let bits = |model: &MeasuredModel| model.quality.as_ref().map(|quality| quality.bits_per_byte);
    a.memory.bytes <= b.memory.bytes && bits(a) <= bits(b)
}
