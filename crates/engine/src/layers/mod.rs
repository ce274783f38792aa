//! The steps of a pass, one file each. Every step opens its scope by its name in `steps` and declares its work.

pub(crate) mod attention;
pub(crate) mod embedding;
pub(crate) mod feed_forward;
pub(crate) mod head;
pub(crate) mod linear;
pub(crate) mod norm;

use kernels::{Pool, RopeTable};

use crate::model::{LayerWeights, Segment};
use crate::{Compute, Model};

/// What a pass computes, and with what.
pub(crate) struct Pass<'a> {
    pub model: &'a Model,
    pub compute: &'a Compute,
    pub segments: &'a [Segment<'a>],
    /// How many positions of each sequence were in the cache before.
    pub lengths: &'a [usize],
    pub rope: Option<&'a RopeTable>,
    /// Tokens of all segments.
    pub rows: usize,
    /// The positions that attention looks at, the same in every layer.
    pub span: AttentionSpan,
}

/// How much of the cache attention looks at.
#[derive(Clone, Copy, Default)]
pub(crate) struct AttentionSpan {
    /// Positions that the queries of a segment see together, of all segments.
    pub positions: usize,
    /// Pairs of a query and a position that it sees.
    pub pairs: usize,
}

/// A layer of the model.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub index: usize,
    pub weights: &'a LayerWeights,
}

impl<'a> Pass<'a> {
    /// The same pass, with what attention will look at: declared by its scope, so that it is
    /// counted only where scopes are recorded.
    pub(crate) fn with_span(mut self) -> Self {
        if hotloop::is_started() {
            let window = self.model.config.window.unwrap_or(usize::MAX);
            let mut span = AttentionSpan::default();
            for (segment, _, first) in self.segments() {
                let last = first + segment.tokens.len();
                span.positions += last - (first + 1).saturating_sub(window);
                span.pairs += (first + 1..=last).map(|positions| positions.min(window)).sum::<usize>();
            }
            self.span = span;
        }
        self
    }

    /// The segments, each with its first row and its first position.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (&'a Segment<'a>, usize, usize)> {
        let mut row = 0;
        let lengths = self.lengths;
        self.segments.iter().map(move |segment| {
            let first = row;
            row += segment.tokens.len();
            (segment, first, lengths[segment.sequence])
        })
    }

    pub(crate) fn pool(&self) -> &'a Pool {
        &self.compute.pool
    }
}

/// What one thread does per nanosecond where it goes over numbers once, for deciding whether others are worth waking.
const VALUES_PER_NS: f64 = 3.0;

/// Runs `work` on rows of `width` values, divided among the threads where there are enough.
pub(crate) fn by_rows(
    pool: &Pool,
    data: &mut [f32],
    width: usize,
    work: impl Fn(std::ops::Range<usize>, &mut [f32]) + Sync,
) {
    let parts = pool.parts(data.len() as f64 / VALUES_PER_NS);
    pool.run_rows(parts, data, width, work);
}
