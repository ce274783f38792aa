//! The quantiser of Q6_K: weight ≈ scale · (code − 32), with the scales of sixteen sub-blocks rounded to eight bits.
//!
//! As in [`affine`](super::affine): spacings are tried per sub-block, then the neighbours of the
//! rounded scale, then the best `d` for the codes. The squares are weighted by x².

use super::f16_to_f32;
use super::q6_k::BlockQ6_K;
use super::round::{
    at_least, at_most, each, extreme, inverse, limited_code, low_byte, nearest_even, product, reaching, scale_bits, sum,
};
use super::search::{Group, LANES, Lanes, Search, smallest};

/// How often `d` is fitted to the codes.
const REFITS: usize = 1;

/// Values that are all smaller are zero: their inverse could be infinite.
const SMALLEST: f32 = 1e-30;

/// The codes less [`BlockQ6_K::ZERO`].
const CODES: [f32; 2] = [-32.0, 31.0];

/// `d` as bits of an f16, scales and codes of a block of finite values.
#[inline(always)]
pub(crate) fn quantise<S: Search>(search: S, values: &[f32; 256]) -> (u16, [i8; 16], [u8; 256]) {
    let values = values.as_chunks::<16>().0;
    let mut weights = [[0.0; 16]; 16];
    let mut scales = [0.0; 16];
    for s in 0..16 {
        weights[s] = product(&values[s], &values[s]);
        scales[s] = fit(search, Group { x: &values[s], w: &weights[s], codes: CODES });
    }
    let block = Block { search, values, weights: &weights, scales };
    let mut best = block.attempt(reaching(extreme(&scales) / -128.0));
    for _ in 0..REFITS {
        let next = block.attempt(block.refit(&best));
        if next.error >= best.error {
            break;
        }
        best = next;
    }
    (best.d, best.scales, best.codes)
}

/// How the number of spacings on the longer side may differ from 32.
const SPACINGS: Lanes = [-0.8, -0.7, -0.6, -0.5, -0.4, -0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];

/// The best scale of a sub-block on its own.
#[inline(always)]
fn fit<S: Search>(search: S, group: Group<'_>) -> f32 {
    let extreme = extreme(group.x);
    if extreme.abs() < SMALLEST {
        return 0.0;
    }
    let inverses = each(&SPACINGS, |more| (-32.0 - more) / extreme);
    let [_, ll_sums, xl_sums] = search.sums(group, 0.0, &inverses);
    let (mut scales, mut losses) = ([0.0; LANES], [0.0; LANES]);
    for c in 0..LANES {
        scales[c] = xl_sums[c] * inverse(ll_sums[c]);
        losses[c] = -scales[c] * xl_sums[c];
    }
    scales[smallest(&losses, 8)]
}

/// What is known of a block when each sub-block has been fitted.
struct Block<'a, S> {
    search: S,
    values: &'a [[f32; 16]],
    weights: &'a [[f32; 16]; 16],
    scales: [f32; 16],
}

/// A quantised block with its error.
struct Attempt {
    d: u16,
    scales: [i8; 16],
    codes: [u8; 256],
    error: f32,
}

impl<S: Search> Block<'_, S> {
    #[inline(always)]
    fn attempt(&self, d: f32) -> Attempt {
        let mut attempt = Attempt { d: scale_bits(d), scales: [0; 16], codes: [0; 256], error: 0.0 };
        let d = f16_to_f32(attempt.d);
        let d_inverse = inverse(d);
        for (s, codes) in attempt.codes.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let group = Group { x: &self.values[s], w: &self.weights[s], codes: CODES };
            let (scale, least) = integer(self.search, group, d, self.scales[s] * d_inverse);
            attempt.error += least;
            attempt.scales[s] = low_byte(scale) as i8;
            let inverse = inverse(d * scale);
            *codes =
                each(&self.values[s], |x| low_byte(limited_code(x * inverse, CODES)).wrapping_add(BlockQ6_K::ZERO));
        }
        attempt
    }

    /// The best `d` for the codes and scales of an attempt.
    #[inline(always)]
    fn refit(&self, attempt: &Attempt) -> f32 {
        let (mut aa, mut xa) = (0.0, 0.0);
        for (s, codes) in attempt.codes.as_chunks::<16>().0.iter().enumerate() {
            let scale = f32::from(attempt.scales[s]);
            let l = each(codes, |code| f32::from(code) - f32::from(BlockQ6_K::ZERO));
            let wl = product(&self.weights[s], &l);
            aa += scale * scale * sum(product(&wl, &l));
            xa += scale * sum(product(&wl, &self.values[s]));
        }
        xa * inverse(aa)
    }
}

/// Of the integers near the one given for the scale the one with the smallest error, and that error.
#[inline(always)]
fn integer<S: Search>(search: S, group: Group<'_>, d: f32, near: f32) -> (f32, f32) {
    let mut scales = [0.0; LANES];
    for (c, scale) in scales.iter_mut().enumerate() {
        *scale = nearest_even(at_most(at_least(near + c as f32 - 8.0, -128.0), 127.0));
    }
    let errors = search.errors(group, &each(&scales, |scale| scale * d), &[0.0; LANES]);
    let best = smallest(&errors, 8);
    (scales[best], errors[best])
}
