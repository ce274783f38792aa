//! Which tokens may be chosen, without sorting the vocabulary.
//!
//! The order of tokens is by logit, or weight, from the largest; equal ones by id.

use super::weights::{above, exponential};

/// A token that may be chosen. `value` is its logit, later its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) value: f32,
    pub(super) id: u32,
}

/// Who comes first. There are no NaN among candidates, and −0 equals 0.
fn order(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.value.partial_cmp(&a.value).unwrap_or(std::cmp::Ordering::Equal).then(a.id.cmp(&b.id))
}

/// How many candidates are gathered before the best `top_k` of them are selected.
pub(super) fn room(top_k: usize) -> usize {
    // With room for twice as many each selection halves them, so that all selections together are linear.
    (top_k * 2).max(top_k + 64)
}

/// Leaves the `top_k` largest logits above `floor` in `candidates`, in their order. The vector has [`room`] for them.
pub(super) fn largest_logits(logits: &[f32], top_k: usize, floor: f32, candidates: &mut Vec<Candidate>) {
    candidates.clear();
    let mut state = (floor, candidates);
    above(
        logits,
        &mut state,
        |state| state.0,
        |(floor, candidates), id, value| {
            candidates.push(Candidate { value, id });
            if candidates.len() == room(top_k) {
                select(candidates, top_k);
                // Later ones that equal the last of the best come behind it.
                *floor = candidates[top_k - 1].value;
            }
        },
    );
    let (_, candidates) = state;
    if candidates.len() > top_k {
        select(candidates, top_k);
    }
    candidates.sort_unstable_by(order);
}

/// Leaves the best `count`, of which the last is the worst.
fn select(candidates: &mut Vec<Candidate>, count: usize) {
    candidates.select_nth_unstable_by(count - 1, order);
    candidates.truncate(count);
}

/// Turns logits into weights: e^((x − largest) · sharpness).
pub(super) fn to_weights(candidates: &mut [Candidate], largest: f32, sharpness: f32) {
    for candidate in candidates {
        candidate.value = exponential((candidate.value - largest) * sharpness);
    }
}

/// Leaves the fewest candidates, in their order, that weigh `mass` together. They must be in their order.
pub(super) fn first_with_mass(candidates: &mut Vec<Candidate>, mass: f64) {
    let mut sum = 0.0;
    let end = candidates.iter().position(|candidate| {
        sum += f64::from(candidate.value);
        sum >= mass
    });
    candidates.truncate(end.map_or(candidates.len(), |end| end + 1));
}

/// The parts of a histogram of weights: those from 0 to 1 by their exponent and four bits more.
pub(super) const PARTS: usize = (1.0f32.to_bits() >> SHIFT) as usize + 1;
const SHIFT: u32 = 19;

fn part(weight: f32) -> usize {
    ((weight.to_bits() >> SHIFT) as usize).min(PARTS - 1)
}

/// Leaves the fewest candidates that weigh `mass` together, as [`first_with_mass`] does, where
/// there are too many to sort. A histogram tells in which part of the weights the cut is; only that
/// part is sorted. They stay in the order of their ids.
pub(super) fn heaviest(candidates: &mut Vec<Candidate>, mass: f64, histogram: &mut [f64], edge: &mut Vec<Candidate>) {
    histogram.fill(0.0);
    for candidate in &*candidates {
        histogram[part(candidate.value)] += f64::from(candidate.value);
    }
    let mut sum = 0.0;
    let Some(cut) = (0..histogram.len()).rev().find(|part| {
        sum += histogram[*part];
        sum >= mass
    }) else {
        return;
    };
    edge.clear();
    edge.extend(candidates.iter().filter(|candidate| part(candidate.value) == cut));
    edge.sort_unstable_by(order);
    first_with_mass(edge, mass - (sum - histogram[cut]));
    let Some(last) = edge.last().copied() else { return };
    candidates.retain(|candidate| order(candidate, &last).is_le());
}
