//! The quantiser of Q4_K and Q5_K: weight ≈ scale · code − min, with the scales and mins of eight
//! sub-blocks rounded to six bits.
//!
//! 1. Each sub-block alone: codes are made with several spacings around the one that just spans the values; for each the
//!    best scale and min follow by weighted least squares, and the spacing of the smallest error wins.
//! 2. The largest scale and the largest min give `d` and `dmin`; in each sub-block the neighbours of the rounded scale and min
//!    are tried too, since rounding each to its nearest is not the best for both.
//! 3. With the codes known, `d` and `dmin` follow by least squares over the whole block; step 2 is done again with these.
//!
//! The squares are weighted by |x| + rms(x): large weights meet large activations more often than not.

use super::f16_to_f32;
use super::round::{
    at_least, at_most, each, inverse, largest_magnitude, limited_code, low_byte, nearest_even, product, range,
    reaching, scale_bits, sum,
};
use super::search::{Group, LANES, Lanes, Search, smallest};
use super::six_bit::ScalesAndMins;

/// How often step 3 is done.
const REFITS: usize = 1;

/// A range below this is one value: its inverse could be infinite.
const SMALLEST_RANGE: f32 = 1e-30;

/// Scales, mins and codes (0 to `max`) of a block of finite values.
#[inline(always)]
pub(crate) fn quantise<S: Search>(search: S, max: f32, values: &[f32; 256]) -> (ScalesAndMins, [u8; 256]) {
    let values = values.as_chunks::<32>().0;
    let mut weights = [[0.0; 32]; 8];
    let (mut scales, mut mins) = ([0.0; 8], [0.0; 8]);
    for s in 0..8 {
        let rms = (sum(product(&values[s], &values[s])) / 32.0).sqrt();
        weights[s] = each(&values[s], |x| x.abs() + rms);
        let sums = [sum(weights[s]), sum(product(&weights[s], &values[s]))];
        (scales[s], mins[s]) = fit(search, Group { x: &values[s], w: &weights[s], codes: [0.0, max] }, sums);
    }
    let block = Block { search, max, values, weights: &weights, scales, mins };
    let mut best =
        block.attempt(reaching(largest_magnitude(&scales) / 63.0), reaching(largest_magnitude(&mins) / 63.0));
    for _ in 0..REFITS {
        let (d, dmin) = block.refit(&best);
        let next = block.attempt(d, dmin);
        if next.error >= best.error {
            break;
        }
        best = next;
    }
    (best.scales, best.codes)
}

/// Where the variance of the codes is less than this part of their mean square, rounding errors are
/// most of it: sixteen times what 32 sums of f32 may be off. One code in 32 that differs by one
/// from the largest of Q5_K is still above.
const DEGENERATE: f32 = 3e-5;

/// How the number of spacings may differ from the number of codes less one. Wider ones cut off the largest values.
const SPACINGS: Lanes =
    [-1.0, -0.875, -0.75, -0.625, -0.5, -0.375, -0.25, -0.125, 0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875];

/// Step 1: the best scale and min of a sub-block, both at least 0. `sums` are those of w and w·x.
#[inline(always)]
fn fit<S: Search>(search: S, group: Group<'_>, sums: [f32; 2]) -> (f32, f32) {
    let (low, high) = range(group.x);
    let low = at_most(low, 0.0);
    if high - low < SMALLEST_RANGE {
        return (0.0, -low);
    }
    let mut best = Fit { scale: 0.0, base: low, loss: f32::INFINITY };
    // The next time from where the first one led: with one large value among small ones the best
    // base is far from `low`.
    let (mut origin, mut span) = (low, high - low);
    for _ in 0..3 {
        let next = fit_from(search, group, sums, origin, span);
        // Where all values have one and the same code there is no scale.
        if next.loss < best.loss && next.scale > 0.0 {
            best = next;
        }
        (origin, span) = (best.base, best.scale * group.codes[1]);
        if span < SMALLEST_RANGE {
            break;
        }
    }
    (best.scale, -best.base)
}

/// A scale and a base for weight ≈ scale · code + base, and the squared error less that of zeros.
#[derive(Clone, Copy)]
struct Fit {
    scale: f32,
    base: f32,
    loss: f32,
}

/// The best of several spacings, where code 0 is at `origin` and the largest code about `span`
/// above it. `sums` are those of w and w·x.
#[inline(always)]
fn fit_from<S: Search>(search: S, group: Group<'_>, sums: [f32; 2], origin: f32, span: f32) -> Fit {
    let inverses = each(&SPACINGS, |more| (group.codes[1] + more) / span);
    let [l_sums, ll_sums, xl_sums] = search.sums(group, origin, &inverses);
    let [w, wx] = sums;
    let (mut scales, mut bases, mut losses) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    for c in 0..LANES {
        let (l, ll, xl) = (l_sums[c], ll_sums[c], xl_sums[c]);
        let determinant = w * ll - l * l;
        let base = (ll * wx - l * xl) / determinant;
        let both = base <= 0.0 && determinant > DEGENERATE * w * ll;
        let scale = if both { (w * xl - wx * l) / determinant } else { xl * inverse(ll) };
        let base = if both { base } else { 0.0 };
        losses[c] = scale * scale * ll + base * (2.0 * scale * l + base * w) - 2.0 * (scale * xl + base * wx);
        (scales[c], bases[c]) = (scale, base);
    }
    let best = smallest(&losses, 8);
    Fit { scale: scales[best], base: bases[best], loss: losses[best] }
}

/// What is known of a block after step 1.
struct Block<'a, S> {
    search: S,
    max: f32,
    values: &'a [[f32; 32]],
    weights: &'a [[f32; 32]; 8],
    scales: [f32; 8],
    mins: [f32; 8],
}

/// A quantised block with its error.
struct Attempt {
    scales: ScalesAndMins,
    codes: [u8; 256],
    error: f32,
}

impl<S: Search> Block<'_, S> {
    /// Step 2.
    #[inline(always)]
    fn attempt(&self, d: f32, dmin: f32) -> Attempt {
        let mut scales = ScalesAndMins { d: scale_bits(d), dmin: scale_bits(dmin), scales: [0; 8], mins: [0; 8] };
        let (d, dmin) = (f16_to_f32(scales.d), f16_to_f32(scales.dmin));
        let (d_inverse, dmin_inverse) = (inverse(d), inverse(dmin));
        let mut codes = [0; 256];
        let mut error = 0.0;
        for (s, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let group = Group { x: &self.values[s], w: &self.weights[s], codes: [0.0, self.max] };
            let near = [self.scales[s] * d_inverse, self.mins[s] * dmin_inverse];
            let (scale, min, least) = integers(self.search, group, [d, dmin], near);
            error += least;
            (scales.scales[s], scales.mins[s]) = (low_byte(scale), low_byte(min));
            let (inverse, base) = (inverse(d * scale), dmin * min);
            *codes = each(&self.values[s], |x| low_byte(limited_code((x + base) * inverse, group.codes)));
        }
        Attempt { scales, codes, error }
    }

    /// Step 3: the best `d` and `dmin` for the codes and integers of an attempt.
    #[inline(always)]
    fn refit(&self, attempt: &Attempt) -> (f32, f32) {
        let (mut aa, mut ab, mut bb, mut xa, mut xb) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (s, codes) in attempt.codes.as_chunks::<32>().0.iter().enumerate() {
            let (scale, min) = (f32::from(attempt.scales.scales[s]), f32::from(attempt.scales.mins[s]));
            let l = each(codes, f32::from);
            let (w, wx) = (&self.weights[s], product(&self.weights[s], &self.values[s]));
            let wl = product(w, &l);
            aa += scale * scale * sum(product(&wl, &l));
            ab += scale * min * sum(wl);
            bb += min * min * sum(*w);
            xa += scale * sum(product(&wx, &l));
            xb += min * sum(wx);
        }
        let determinant = aa * bb - ab * ab;
        let (d, dmin) = ((xa * bb - xb * ab) / determinant, (xa * ab - xb * aa) / determinant);
        if d > 0.0 && dmin > 0.0 { (d, dmin) } else { (xa * inverse(aa), 0.0) }
    }
}

/// Of the integers near those given for scale and min the ones with the smallest error, and that error.
#[inline(always)]
fn integers<S: Search>(search: S, group: Group<'_>, [d, dmin]: [f32; 2], near: [f32; 2]) -> (f32, f32, f32) {
    let (mut scales, mut mins) = ([0.0; LANES], [0.0; LANES]);
    for c in 0..LANES {
        scales[c] = six_bits(near[0] + (c / 4) as f32 - 1.0);
        mins[c] = six_bits(near[1] + (c % 4) as f32 - 1.0);
    }
    let (steps, bases) = (each(&scales, |scale| scale * d), each(&mins, |min| min * dmin));
    let errors = search.errors(group, &steps, &bases);
    let best = smallest(&errors, 5);
    (scales[best], mins[best], errors[best])
}

/// The nearest number of six bits.
#[inline(always)]
fn six_bits(value: f32) -> f32 {
    nearest_even(at_most(at_least(value, 0.0), 63.0))
}
