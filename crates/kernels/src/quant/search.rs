//! What the quantisers of Q4_K, Q5_K and Q6_K spend their time with: the codes of a group of
//! weights for sixteen candidates at once. [`scalar`](crate::scalar::quant) defines it,
//! [`vector`](crate::vector::quant) has one candidate per lane; sums run over the elements in
//! order, so both round alike.

/// How many candidates are tried at a time.
pub(crate) const LANES: usize = 16;

/// A value per candidate.
pub(crate) type Lanes = [f32; LANES];

/// A group of weights that share a scale.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    /// The values.
    pub(crate) x: &'a [f32],
    /// How much the squared error of each counts.
    pub(crate) w: &'a [f32],
    /// The smallest and the largest code.
    pub(crate) codes: [f32; 2],
}

/// The two inner loops.
pub(crate) trait Search: Copy {
    /// With the codes l = (x − origin) · inverse, rounded and limited: the sums of w·l, w·l² and w·x·l.
    fn sums(self, group: Group<'_>, origin: f32, inverses: &Lanes) -> [Lanes; 3];

    /// With the best codes for the weights step · l − base: the sum of w · error².
    fn errors(self, group: Group<'_>, steps: &Lanes, bases: &Lanes) -> Lanes;
}

/// Which candidate has the smallest value, `otherwise` where none is smaller than that one's.
#[inline(always)]
pub(crate) fn smallest(values: &Lanes, otherwise: usize) -> usize {
    let (mut best, mut least) = (otherwise, values[otherwise]);
    for (c, &value) in values.iter().enumerate() {
        if value < least {
            (best, least) = (c, value);
        }
    }
    best
}
