//! Where the first number is that is none.

use super::arena::ArenaViews;
use super::{Entry, Layout, NonFinitePlace};
use crate::{Compute, steps};

/// The first of some tensors with a number that is infinite or none.
fn tensor<'a>(compute: &Compute, mut entries: impl Iterator<Item = &'a Entry>, values: &[f32]) -> Option<String> {
    let bad = |entry: &&Entry| compute.kernels.has_non_finite(&values[entry.range.clone()]);
    entries.find(bad).map(|entry| entry.info.name.clone())
}

/// The first parameter with such a number.
pub(crate) fn parameter(compute: &Compute, layout: &Layout, values: &[f32]) -> Option<NonFinitePlace> {
    tensor(compute, layout.entries().iter(), values).map(|tensor| NonFinitePlace::Parameter { tensor })
}

/// The first gradient with such a number in the order of a backward pass, which goes from the last tensor to the first.
pub(crate) fn gradient(compute: &Compute, layout: &Layout, values: &[f32]) -> Option<NonFinitePlace> {
    tensor(compute, layout.entries().iter().rev(), values).map(|tensor| NonFinitePlace::Gradient { tensor })
}

/// The first step of a forward pass that gave such a number, in sequences of so many tokens.
pub(crate) fn activation(compute: &Compute, mut parts: ArenaViews<'_>, length: usize) -> Option<NonFinitePlace> {
    let rows = parts.rows();
    let look = |layer: Option<usize>, step: &'static str, values: &[f32]| {
        let width = values.len().checked_div(rows).filter(|width| *width > 0)?;
        let row = values.chunks(width).position(|row| compute.kernels.has_non_finite(row))?;
        Some(NonFinitePlace::Activation { layer, step, sequence: row / length, position: row % length })
    };
    if let Some(place) = look(None, steps::EMBEDDING, parts.first()) {
        return Some(place);
    }
    let shared = parts.shares_layers();
    for layer in 0..parts.layers() {
        let (tape, _) = parts.layer(layer);
        if let Some(place) = tape.steps(shared).find_map(|(step, values)| look(Some(layer), step, values)) {
            return Some(place);
        }
    }
    let (tape, _) = parts.head();
    look(None, steps::FINAL_NORM, tape.normed).or_else(|| look(None, steps::LOSS, tape.losses))
}
