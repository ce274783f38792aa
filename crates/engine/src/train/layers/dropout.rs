//! Dropout: some values become zero, the others larger by as much, so that the mean stays.
//!
//! Which values follows from the key of the step, the place in the network and the place of the
//! value alone: nothing is kept for the way back, where the same values of the gradient become
//! zero.

use super::Pass;
use crate::layers::by_rows;

/// What is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dropout {
    /// The share of values that becomes zero; below one.
    pub rate: f32,
    /// Of the step.
    pub key: u64,
}

/// The places of a network where values are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    Embedding,
    /// What attention adds to the residual stream, in that layer.
    Attention(usize),
    /// What the feed-forward network adds.
    FeedForward(usize),
}

impl Site {
    fn number(self) -> u64 {
        match self {
            Site::Embedding => 0,
            Site::Attention(layer) => 1 + 2 * layer as u64,
            Site::FeedForward(layer) => 2 + 2 * layer as u64,
        }
    }
}

/// The most values that can be told apart by their places.
pub(crate) const MOST_VALUES: usize = 1 << 32;

/// Drops values of rows of the residual stream's width, in place; the same ones of a gradient.
pub(crate) fn apply(pass: &Pass<'_>, site: Site, rows: &mut [f32]) {
    let Some(Dropout { rate, key }) = pass.dropout else { return };
    // Steps count their keys up, as sites do their numbers: no two of them may meet.
    let (key, width) = (mix(key).wrapping_add(site.number()), pass.config.width);
    by_rows(pass.pool(), rows, width, |range, rows| {
        pass.kernels().dropout(rows, kernels::Dropout { key, rate, first: range.start * width });
    });
}

/// The same of a copy, where values are dropped: the gradient of what was dropped before it was added to the stream.
pub(crate) fn of_copy<'a>(pass: &Pass<'_>, site: Site, stream: &'a [f32], copy: &'a mut [f32]) -> &'a [f32] {
    if pass.dropout.is_none() {
        return stream;
    }
    copy.copy_from_slice(stream);
    apply(pass, site, copy);
    copy
}

/// SplitMix64's last steps.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
