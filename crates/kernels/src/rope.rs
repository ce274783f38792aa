//! Rotary position embedding: pairs of a head's values turned by angles that grow with the position.

use crate::dispatch::kernels;

/// Which two values of a head are turned together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RopePairing {
    /// 2i and 2i + 1.
    Adjacent,
    /// i and i + d/2, where d values are turned.
    Halves,
}

/// What the angles are made of. Pair i at position p is turned by p · `position_scale` · `base`^(−2i / `dims`) /
/// `factors`\[i\].
#[derive(Debug, Clone, Copy)]
pub struct RopeSpec<'a> {
    /// Which values are a pair.
    pub pairing: RopePairing,
    /// How many values of a head are turned, the first ones; even. The others stay as they are.
    pub dims: usize,
    /// The base of the frequencies, 10 000 in many models.
    pub base: f64,
    /// One over the factor by which the context was stretched linearly; 1 where it was not.
    pub position_scale: f64,
    /// What each frequency is divided by (`dims` / 2 values), where the model brings that.
    pub factors: Option<&'a [f32]>,
}

/// Cosines and sines for the positions from 0 to a length that is asked for: `dims` f32 for each position.
#[derive(Debug, Clone)]
pub struct RopeTable {
    pairing: RopePairing,
    pairs: usize,
    positions: usize,
    // (position, pair)
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl RopeTable {
    /// Computed in f64: an angle of many turns would lose its fraction in f32.
    ///
    /// # Panics
    /// Where `dims` is odd, or the factors are not one for each pair.
    #[track_caller]
    pub fn new(spec: &RopeSpec<'_>, positions: usize) -> Self {
        assert!(spec.dims.is_multiple_of(2), "rope: {} values are no pairs", spec.dims);
        let pairs = spec.dims / 2;
        let factor = |pair: usize| spec.factors.map_or(1.0, |factors| f64::from(factors[pair]));
        assert!(spec.factors.is_none_or(|factors| factors.len() == pairs), "rope: a factor for each of {pairs} pairs");
        let frequencies: Vec<f64> = (0..pairs)
            .map(|pair| spec.base.powf(-2.0 * pair as f64 / spec.dims as f64) * spec.position_scale / factor(pair))
            .collect();
        let len = positions.checked_mul(pairs).expect("a table no larger than memory can be");
        let (mut cos, mut sin) = (Vec::with_capacity(len), Vec::with_capacity(len));
        for position in (0..positions).take(len) {
            for frequency in &frequencies {
                let (s, c) = (position as f64 * frequency).sin_cos();
                cos.push(c as f32);
                sin.push(s as f32);
            }
        }
        Self { pairing: spec.pairing, pairs, positions, cos, sin }
    }

    /// Which values are a pair.
    pub fn pairing(&self) -> RopePairing {
        self.pairing
    }

    /// How many values of a head are turned.
    pub fn dims(&self) -> usize {
        2 * self.pairs
    }

    /// How many positions there are angles for.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// The cosines and the sines of a position, one for each pair.
    #[inline(always)]
    pub(crate) fn at(&self, position: usize) -> (&[f32], &[f32]) {
        let range = position * self.pairs..(position + 1) * self.pairs;
        (&self.cos[range.clone()], &self.sin[range])
    }
}

/// The factors of the frequencies that stretch a context as LLaMA 3.1 does: long waves by `factor`, short ones not at
/// all, those between by a mean. GGUF files bring them ready as the tensor `rope_freqs.weight`.
#[derive(Debug, Clone, Copy)]
pub struct RopeStretch {
    /// How much the long waves are stretched.
    pub factor: f64,
    /// Waves longer than `context` / `low` are stretched fully.
    pub low: f64,
    /// Waves shorter than `context` / `high` stay as they are.
    pub high: f64,
    /// The context the model was first trained with.
    pub context: f64,
}

impl RopeStretch {
    /// The factor of each pair, for [`RopeSpec::factors`].
    pub fn factors(&self, base: f64, dims: usize) -> Vec<f32> {
        let factor = |pair: usize| {
            let wave = std::f64::consts::TAU * base.powf(2.0 * pair as f64 / dims as f64);
            let short = ((self.context / wave - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
            1.0 / (short + (1.0 - short) / self.factor)
        };
        (0..dims / 2).map(|pair| factor(pair) as f32).collect()
    }
}

/// How the rows that are turned lie in memory: row r is the position `first_position` + r, its heads begin at r ·
/// `stride`, `heads` times `head_dim` values one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RopeRows {
    /// The position of the first row.
    pub first_position: usize,
    /// How many rows.
    pub rows: usize,
    /// From the beginning of one row to that of the next.
    pub stride: usize,
    /// Heads in a row.
    pub heads: usize,
    /// Values in a head.
    pub head_dim: usize,
}

impl RopeRows {
    fn end_within(&self, positions: usize) -> bool {
        self.first_position.checked_add(self.rows).is_some_and(|end| end <= positions)
    }

    fn fit(&self, len: usize) -> bool {
        let Some(width) = self.heads.checked_mul(self.head_dim) else { return false };
        // Heads of nothing would be turned one by one all the same.
        let heads = width > 0 || self.heads == 0;
        let end = |last: usize| last.checked_mul(self.stride)?.checked_add(width);
        heads
            && width <= self.stride
            && self.rows.checked_sub(1).is_none_or(|last| end(last).is_some_and(|end| end <= len))
    }
}

kernels! { rope:
    /// Turns every head of every row, in place: (a, b) becomes (a cos − b sin, a sin + b cos).
    pub fn rope(x: &mut [f32], rows: RopeRows, table: &RopeTable) where {
        table.dims() <= rows.head_dim,
        rows.end_within(table.positions()),
        rows.fit(x.len()),
    };
    /// Turns back, which is also how gradients pass [`rope`](crate::Kernels::rope): (a, b) becomes (a cos + b sin, b
    /// cos − a sin).
    pub fn rope_backward(x: &mut [f32], rows: RopeRows, table: &RopeTable) where {
        table.dims() <= rows.head_dim,
        rows.end_within(table.positions()),
        rows.fit(x.len()),
    };
}
