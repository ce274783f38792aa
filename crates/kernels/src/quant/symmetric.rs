//! The quantiser of Q6_K: weight ≈ scale · (code − 32), with the scales of sixteen sub-blocks rounded to eight bits.
//!
//! As in [`affine`](super::affine): spacings are tried per sub-block, then the neighbours of the rounded scale, then the best `d`
//! for the codes. The squares are weighted by x².

use super::f16_to_f32;
use super::q6_k::BlockQ6_K;
use super::round::{at_least, at_most, extreme, inverse, low_byte, nearest_even, scale_bits, sum};

/// How many candidates are tried at a time.
const LANES: usize = 16;

/// A value per candidate.
type Lanes = [f32; LANES];

/// How the number of spacings on the longer side differs from 32.
const SPACINGS: Lanes = {
    let mut spacings = [0.0; LANES];
    let mut i = 0;
    while i < LANES {
        spacings[i] = (i as f32 - 8.0) * 0.1;
        i += 1;
    }
    spacings
};

/// How often `d` is fitted to the codes.
const REFITS: usize = 2;

/// Values that are all smaller are zero: their inverse could be infinite.
const SMALLEST: f32 = 1e-30;

/// A sub-block: its values and their weights.
struct SubBlock<'a> {
    x: &'a [f32; 16],
    w: [f32; 16],
}

impl SubBlock<'_> {
    /// The best scale on its own.
    #[inline(always)]
    fn fit(&self) -> f32 {
        let extreme = extreme(self.x);
        if extreme.abs() < SMALLEST {
            return 0.0;
        }
        let mut inverses = SPACINGS;
        for inverse in &mut inverses {
            *inverse = -(32.0 + *inverse) / extreme;
        }
        let (mut ll_sums, mut xl_sums) = ([0.0; LANES], [0.0; LANES]);
        for (&x, &w) in self.x.iter().zip(&self.w) {
            for c in 0..LANES {
                let l = level(x * inverses[c]);
                ll_sums[c] += w * l * l;
                xl_sums[c] += w * x * l;
            }
        }
        let (mut best, mut most) = (0.0, 0.0);
        for c in 0..LANES {
            let scale = xl_sums[c] * inverse(ll_sums[c]);
            if scale * xl_sums[c] > most {
                (best, most) = (scale, scale * xl_sums[c]);
            }
        }
        best
    }

    /// Of the integers near `near` the one with the smallest error.
    #[inline(always)]
    fn integer(&self, d: f32, near: f32) -> i8 {
        let mut scales = [0.0; LANES];
        for (c, scale) in scales.iter_mut().enumerate() {
            *scale = eight_bits(near + c as f32 - 8.0);
        }
        let steps = scales.map(|scale| scale * d);
        let inverses = steps.map(inverse);
        let mut errors = [0.0; LANES];
        for (&x, &w) in self.x.iter().zip(&self.w) {
            for c in 0..LANES {
                let off = x - steps[c] * level(x * inverses[c]);
                errors[c] += w * off * off;
            }
        }
        let mut best = 8;
        for c in 0..LANES {
            if errors[c] < errors[best] {
                best = c;
            }
        }
        low_byte(scales[best]) as i8
    }
}

/// The nearest code, less 32.
#[inline(always)]
fn level(position: f32) -> f32 {
    nearest_even(at_most(at_least(position, -32.0), 31.0))
}

/// The nearest number of eight bits.
#[inline(always)]
fn eight_bits(value: f32) -> f32 {
    nearest_even(at_most(at_least(value, -128.0), 127.0))
}

/// `d` as bits of an f16, scales and codes of a block of finite values.
#[inline(always)]
pub(crate) fn quantise(values: &[f32; 256]) -> (u16, [i8; 16], [u8; 256]) {
    let subs: [SubBlock<'_>; 16] = {
        let chunks = values.as_chunks::<16>().0;
        core::array::from_fn(|s| SubBlock { x: &chunks[s], w: chunks[s].map(|x| x * x) })
    };
    let fits: [f32; 16] = core::array::from_fn(|s| subs[s].fit());
    let mut best = Attempt::new(&subs, &fits, extreme(&fits) / -128.0);
    for _ in 0..REFITS {
        let next = Attempt::new(&subs, &fits, best.refit(&subs));
        if next.error < best.error {
            best = next;
        } else {
            break;
        }
    }
    (best.d, best.scales, best.codes)
}

/// A whole block with its error.
struct Attempt {
    d: u16,
    scales: [i8; 16],
    codes: [u8; 256],
    error: f32,
}

impl Attempt {
    #[inline(always)]
    fn new(subs: &[SubBlock<'_>; 16], fits: &[f32; 16], d: f32) -> Self {
        let d_bits = scale_bits(d);
        let d = f16_to_f32(d_bits);
        let d_inverse = inverse(d);
        let mut attempt = Self { d: d_bits, scales: [0; 16], codes: [0; 256], error: 0.0 };
        for (s, codes) in attempt.codes.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            attempt.scales[s] = subs[s].integer(d, eight_bits(fits[s] * d_inverse));
            let step = d * f32::from(attempt.scales[s]);
            let inverse = inverse(step);
            let mut errors = [0.0; 16];
            for i in 0..16 {
                let l = level(subs[s].x[i] * inverse);
                let off = subs[s].x[i] - step * l;
                errors[i] = subs[s].w[i] * off * off;
                codes[i] = low_byte(l).wrapping_add(BlockQ6_K::ZERO);
            }
            attempt.error += sum(errors);
        }
        attempt
    }

    /// The best `d` for these codes and scales.
    #[inline(always)]
    fn refit(&self, subs: &[SubBlock<'_>; 16]) -> f32 {
        let (mut aa, mut xa) = (0.0, 0.0);
        for (s, codes) in self.codes.as_chunks::<16>().0.iter().enumerate() {
            let scale = f32::from(self.scales[s]);
            let l = codes.map(|code| f32::from(code) - f32::from(BlockQ6_K::ZERO));
            let (x, w) = (subs[s].x, &subs[s].w);
            aa += scale * scale * sum(core::array::from_fn::<_, 16, _>(|i| w[i] * l[i] * l[i]));
            xa += scale * sum(core::array::from_fn::<_, 16, _>(|i| w[i] * x[i] * l[i]));
        }
        xa * inverse(aa)
    }
}
