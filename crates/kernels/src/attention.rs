//! Attention of queries over the keys and values of a cache, and its gradient.
//!
//! The softmax streams: positions are read in blocks, and what was summed so far is scaled down whenever a larger score
//! appears. Nothing of the size queries × positions is ever held.
//!
//! **Who may compute what.** Each (query, head) is computed by itself: queries and heads can be divided among calls and
//! threads at will, each call writing its own [`RowsMut`], and no bit of the result depends on how. Where one head's
//! positions are divided too, the bits depend on where; [`Kernels::attention_decode`] divides them at the multiples of
//! [`ATTENTION_PART`] and merges in order, so [`Kernels::attention_part`] for the same parts, on any number of threads,
//! followed by [`Kernels::attention_merge`] gives its very bits. Dividing by length alone, never by the number of
//! threads, keeps results the same on every machine with the same instruction set.
//!
//! **Special values.** A position whose score is −∞ weighs nothing; a query that sees no position, or only such, gives
//! zeros and the logarithm −∞. A score of NaN or +∞ makes the whole output of that query and head NaN. Decoding does
//! not read positions that a query does not see; where many queries are computed together, keys and values that only
//! some of them see have to be finite, for the sake of the others.

use std::ops::Range;

use crate::dispatch::{Kernels, kernels};
use crate::quant::{Block, BlockQ8_0};
use crate::rows::{Rows, RowsMut};

/// One head's positions are divided at the multiples of this, where several threads share them. 512
/// positions of 128 values are 512 KiB of f32 keys and values, 7 µs at 75 GB/s: long beside a
/// parallel region of 1 µs.
pub const ATTENTION_PART: usize = 512;

/// What holds for every query of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionShape {
    /// Values in a head; at least one.
    pub head_dim: usize,
    /// How many heads of queries share a head of keys and values; at least one.
    pub group: usize,
    /// What scores are multiplied with: 1/√`head_dim` in most models.
    pub scale: f32,
    /// How many positions a query sees at most: its own and those before.
    pub window: Option<usize>,
}

impl AttentionShape {
    /// The positions that the query at `position` sees.
    #[inline(always)]
    pub(crate) fn visible(&self, position: usize) -> Range<usize> {
        let end = position + 1;
        self.window.map_or(0, |window| end.saturating_sub(window))..end
    }
}

/// The queries of a call: rows of consecutive positions, in each some heads one after another.
#[derive(Debug, Clone, Copy)]
pub struct Queries<'a> {
    /// (query, head, head_dim)
    pub rows: Rows<'a>,
    /// The number of the first of these heads in the model.
    pub first_head: usize,
    /// The position of the first row.
    pub first_position: usize,
}

impl Queries<'_> {
    /// The first position and the first head that none of them has; nothing where those cannot be counted.
    fn ends(&self, heads: usize) -> Option<(usize, usize)> {
        if self.rows.rows() == 0 || heads == 0 {
            return Some((0, 0));
        }
        Some((self.first_position.checked_add(self.rows.rows())?, self.first_head.checked_add(heads)?))
    }
}

/// The cells of a cache.
#[derive(Debug, Clone, Copy)]
pub enum CacheCells<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Half precision, as bits.
    F16(&'a [u16]),
    /// Blocks of 32 bytes with a scale. A head takes whole blocks; what of the last is beyond `head_dim` is not used.
    Q8_0(&'a [BlockQ8_0]),
}

impl CacheCells<'_> {
    /// How many cells hold one head of one position.
    pub fn per_head(&self, head_dim: usize) -> usize {
        match self {
            CacheCells::F32(_) | CacheCells::F16(_) => head_dim,
            CacheCells::Q8_0(_) => head_dim.div_ceil(BlockQ8_0::LEN),
        }
    }

    fn len(&self) -> usize {
        match self {
            CacheCells::F32(cells) => cells.len(),
            CacheCells::F16(cells) => cells.len(),
            CacheCells::Q8_0(cells) => cells.len(),
        }
    }
}

/// The keys or the values of a layer. Head h of position p begins at cell p · `position_stride` + h · `head_stride`.
#[derive(Debug, Clone, Copy)]
pub struct CacheView<'a> {
    /// Where they are.
    pub cells: CacheCells<'a>,
    /// From a position to the next.
    pub position_stride: usize,
    /// From a head to the next.
    pub head_stride: usize,
}

impl CacheView<'_> {
    /// Whether the cache has so many positions and heads.
    fn holds(&self, positions: usize, heads: usize, head_dim: usize) -> bool {
        let steps = |count: usize, stride: usize| count.saturating_sub(1).checked_mul(stride);
        let last = steps(positions, self.position_stride).zip(steps(heads, self.head_stride));
        let end = last.and_then(|(p, h)| p.checked_add(h)?.checked_add(self.cells.per_head(head_dim)));
        positions == 0 || heads == 0 || end.is_some_and(|end| end <= self.cells.len())
    }
}

/// What a call computes.
#[derive(Debug, Clone, Copy)]
pub struct Attention<'a> {
    /// Heads, scale, window.
    pub shape: AttentionShape,
    /// Whose attention.
    pub queries: Queries<'a>,
    /// (position, kv head, head_dim)
    pub keys: CacheView<'a>,
    /// (position, kv head, head_dim)
    pub values: CacheView<'a>,
}

impl Attention<'_> {
    /// How many heads the queries have.
    pub fn heads(&self) -> usize {
        self.queries.rows.width().checked_div(self.shape.head_dim).unwrap_or(0)
    }

    /// Whether the numbers make sense together and the cache has all that the queries see.
    fn fits(&self) -> bool {
        let (shape, queries) = (&self.shape, &self.queries);
        if shape.head_dim == 0 || shape.group == 0 || !queries.rows.width().is_multiple_of(shape.head_dim) {
            return false;
        }
        let Some((positions, heads)) = queries.ends(self.heads()) else { return false };
        let kv_heads = heads.div_ceil(shape.group);
        [&self.keys, &self.values].into_iter().all(|cache| cache.holds(positions, kv_heads, shape.head_dim))
    }

    /// Whether the results have the shape of the queries.
    fn fills(&self, out: &AttentionOut<'_>) -> bool {
        let rows = &self.queries.rows;
        let like_heads = |logs: &RowsMut<'_>| (logs.rows(), logs.width()) == (rows.rows(), self.heads());
        (out.rows.rows(), out.rows.width()) == (rows.rows(), rows.width())
            && out.log_sum_exp.as_ref().is_none_or(like_heads)
    }

    /// f32 that [`Kernels::attention_part`](crate::Kernels::attention_part) writes: (query, head, 2 + head_dim), the
    /// largest score, the sum of the weights relative to it, and the values so weighted.
    pub fn part_len(&self) -> usize {
        self.queries.rows.rows() * self.heads() * (2 + self.shape.head_dim)
    }
}

/// Where results go.
#[derive(Debug)]
pub struct AttentionOut<'a> {
    /// (query, head, head_dim)
    pub rows: RowsMut<'a>,
    /// (query, head): the logarithm of the sum of the exponentials of the scores, which the gradient needs.
    pub log_sum_exp: Option<RowsMut<'a>>,
}

impl AttentionOut<'_> {
    /// Whether so many values can be parts of it.
    fn takes(&self, parts: usize, head_dim: usize) -> bool {
        if head_dim == 0 || !self.rows.width().is_multiple_of(head_dim) {
            return false;
        }
        let (rows, heads) = (self.rows.rows(), self.rows.width() / head_dim);
        parts.is_multiple_of(rows * heads * (head_dim + 2))
            && self.log_sum_exp.as_ref().is_none_or(|logs| (logs.rows(), logs.width()) == (rows, heads))
    }
}

/// What the gradient of attention over a whole sequence is made of. The view's heads are whole groups: queries, `out`,
/// `d_out` have `group` heads for each head of keys and values.
#[derive(Debug, Clone, Copy)]
pub struct AttentionTape<'a> {
    /// Heads, scale, window.
    pub shape: AttentionShape,
    /// (position, head, head_dim)
    pub queries: Rows<'a>,
    /// (position, kv head, head_dim)
    pub keys: Rows<'a>,
    /// (position, kv head, head_dim)
    pub values: Rows<'a>,
    /// What the forward computation gave: (position, head, head_dim)
    pub out: Rows<'a>,
    /// What it gave as logarithms: (position, head)
    pub log_sum_exp: Rows<'a>,
    /// The gradient of `out`.
    pub d_out: Rows<'a>,
}

impl AttentionTape<'_> {
    /// How many heads the keys and values have.
    pub(crate) fn kv_heads(&self) -> usize {
        self.keys.width() / self.shape.head_dim
    }

    fn fits(&self) -> bool {
        let AttentionShape { head_dim, group, .. } = self.shape;
        if head_dim == 0 || group == 0 || !self.keys.width().is_multiple_of(head_dim) {
            return false;
        }
        let (positions, Some(heads)) = (self.keys.rows(), self.kv_heads().checked_mul(group)) else { return false };
        let is = |rows: &Rows<'_>, width: usize| (rows.rows(), rows.width()) == (positions, width);
        is(&self.values, self.keys.width())
            && heads
                .checked_mul(head_dim)
                .is_some_and(|width| [&self.queries, &self.out, &self.d_out].into_iter().all(|rows| is(rows, width)))
            && is(&self.log_sum_exp, heads)
    }

    fn fills(&self, out: &AttentionGradients<'_>) -> bool {
        let same = |out: &RowsMut<'_>, rows: &Rows<'_>| (out.rows(), out.width()) == (rows.rows(), rows.width());
        same(&out.queries, &self.queries) && same(&out.keys, &self.keys) && same(&out.values, &self.values)
    }
}

/// Where gradients go; what was there is overwritten.
#[derive(Debug)]
pub struct AttentionGradients<'a> {
    /// (position, head, head_dim)
    pub queries: RowsMut<'a>,
    /// (position, kv head, head_dim)
    pub keys: RowsMut<'a>,
    /// (position, kv head, head_dim)
    pub values: RowsMut<'a>,
}

/// f32 of scratch for [`Kernels::attention_decode`](crate::Kernels::attention_decode) and
/// [`Kernels::attention_part`](crate::Kernels::attention_part).
pub fn attention_decode_scratch(shape: &AttentionShape) -> usize {
    crate::vector::attention::decode::scratch(shape)
}

/// f32 of scratch for [`Kernels::attention_prefill`](crate::Kernels::attention_prefill), whatever the number of
/// queries.
pub fn attention_prefill_scratch(shape: &AttentionShape) -> usize {
    crate::vector::attention::prefill::scratch(shape)
}

/// f32 of scratch for [`Kernels::attention_backward`](crate::Kernels::attention_backward): linear in the number of
/// positions.
pub fn attention_backward_scratch(shape: &AttentionShape, positions: usize) -> usize {
    crate::vector::attention::backward::scratch(shape, positions)
}

/// Where the attention of few queries goes.
pub(crate) enum FewOut<'a> {
    /// All positions, divided by the sum.
    Whole(AttentionOut<'a>),
    /// Some positions, with the largest score and the sum.
    Part(Range<usize>, &'a mut [f32]),
}

impl Kernels {
    /// The attention of one query, or of a few: each of them reads the keys and values it sees once for all heads that
    /// share them.
    ///
    /// The query at position p sees the positions up to p, at most `window` of them.
    /// out = Σ wᵢ · valueᵢ / Σ wᵢ with wᵢ = exp(scale · query · keyᵢ).
    #[track_caller]
    pub fn attention_decode(self, task: &Attention<'_>, out: AttentionOut<'_>, scratch: &mut [f32]) {
        assert!(task.fills(&out), "attention_decode: the output has another shape than the queries");
        self.attention_few(task, FewOut::Whole(out), scratch);
    }

    /// The same for the positions of a range only, before division by the sum; see [`Attention::part_len`] for what is
    /// written.
    #[track_caller]
    pub fn attention_part(self, task: &Attention<'_>, positions: Range<usize>, part: &mut [f32], scratch: &mut [f32]) {
        assert!(part.len() == task.part_len(), "attention_part: `part.len() == task.part_len()` does not hold");
        self.attention_few(task, FewOut::Part(positions, part), scratch);
    }
}

kernels! { attention:
    /// Both of the above: one kernel, because it is long.
    pub(crate) fn attention_few(task: &Attention<'_>, out: FewOut<'_>, scratch: &mut [f32]) where {
        task.fits(),
        scratch.len() >= attention_decode_scratch(&task.shape),
    };
    /// The whole from `parts`, one after another in the order of their positions, each as
    /// [`attention_part`](crate::Kernels::attention_part) wrote it.
    pub fn attention_merge(parts: &[f32], head_dim: usize, out: AttentionOut<'_>) where {
        out.takes(parts.len(), head_dim),
    };
    /// The attention of many queries, computed in tiles: faster than
    /// [`attention_decode`](crate::Kernels::attention_decode) from about four rows (queries × heads that share a key)
    /// on, with the same meaning.
    pub fn attention_prefill(task: &Attention<'_>, out: AttentionOut<'_>, scratch: &mut [f32]) where {
        task.fits(),
        task.fills(&out),
        scratch.len() >= attention_prefill_scratch(&task.shape),
    };
    /// The gradients of causal attention over a whole sequence, positions 0 to T. Divide it among threads by heads of
    /// keys.
    pub fn attention_backward(tape: &AttentionTape<'_>, out: AttentionGradients<'_>, scratch: &mut [f32]) where {
        tape.fits(),
        tape.fills(&out),
        scratch.len() >= attention_backward_scratch(&tape.shape, tape.keys.rows()),
    };
}
