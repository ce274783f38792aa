//! The quantiser of Q4_K and Q5_K: weight ≈ scale · code − min, with the scales and mins of eight sub-blocks rounded to six bits.
//!
//! 1. Each sub-block alone: codes are made with several spacings around the one that just spans the values; for each the
//!    best scale and min follow by weighted least squares, and the spacing of the smallest error wins.
//! 2. The largest scale and the largest min give `d` and `dmin`; in each sub-block the neighbours of the rounded scale and min
//!    are tried too, since rounding each to its nearest is not the best for both.
//! 3. With the codes known, `d` and `dmin` follow by least squares over the whole block; step 2 is done again with these.
//!
//! The squares are weighted by |x| + rms(x): large weights meet large activations more often than not. Sums run over
//! elements in order with one candidate per lane, so every instruction set rounds them alike.

use super::round::{at_least, at_most, inverse, low_byte, nearest_even, range, scale_bits, sum};
use super::six_bit::ScalesAndMins;
use super::{f16_to_f32, round};

/// How many candidates are tried at a time.
const LANES: usize = 16;

/// A value per candidate.
type Lanes = [f32; LANES];

/// How the number of spacings differs from the number of codes less one. Wider spacings cut off the largest values.
const SPACINGS: Lanes = {
    let mut spacings = [0.0; LANES];
    let mut i = 0;
    while i < LANES {
        spacings[i] = -1.0 + i as f32 * 0.125;
        i += 1;
    }
    spacings
};

/// How often step 3 is done.
const REFITS: usize = 2;

/// A range below this is one value: its inverse could be infinite.
const SMALLEST_RANGE: f32 = 1e-30;

/// A sub-block: its values, their weights, and their products.
struct SubBlock<'a> {
    x: &'a [f32; 32],
    w: [f32; 32],
    wx: [f32; 32],
}

impl<'a> SubBlock<'a> {
    #[inline(always)]
    fn new(x: &'a [f32; 32]) -> Self {
        let rms = (sum(x.map(|x| x * x)) / 32.0).sqrt();
        let w = x.map(|x| x.abs() + rms);
        let mut wx = w;
        for (wx, x) in wx.iter_mut().zip(x) {
            *wx *= x;
        }
        Self { x, w, wx }
    }

    /// Step 1: the best scale and min, both at least 0.
    #[inline(always)]
    fn fit<const MAX: u8>(&self) -> (f32, f32) {
        let (low, high) = range(self.x);
        let low = at_most(low, 0.0);
        if high - low < SMALLEST_RANGE {
            return (0.0, -low);
        }
        let mut inverses = SPACINGS;
        for inverse in &mut inverses {
            *inverse = (f32::from(MAX) + *inverse) / (high - low);
        }
        let sums = self.sums::<MAX>(low, &inverses);
        let (w, wx) = (sum(self.w), sum(self.wx));
        let mut best = (0.0, -low);
        let mut most = f32::NEG_INFINITY;
        for [l, ll, xl] in sums {
            let determinant = w * ll - l * l;
            let mut scale = (w * xl - wx * l) / determinant;
            let mut base = (ll * wx - l * xl) / determinant;
            if base > 0.0 {
                (scale, base) = (xl / ll, 0.0);
            }
            // How much smaller the squared error is than that of zeros.
            let gain = 2.0 * (scale * xl + base * wx) - scale * scale * ll - base * (2.0 * scale * l + base * w);
            if gain > most && scale > 0.0 {
                (best, most) = ((scale, -base), gain);
            }
        }
        best
    }

    /// Per candidate the sums over w·l, w·l² and w·x·l, where l are the codes.
    #[inline(always)]
    fn sums<const MAX: u8>(&self, low: f32, inverses: &Lanes) -> [[f32; 3]; LANES] {
        let (mut l_sums, mut ll_sums, mut xl_sums) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for ((&x, &w), &wx) in self.x.iter().zip(&self.w).zip(&self.wx) {
            let above = x - low;
            for c in 0..LANES {
                let l = nearest_even(at_most(above * inverses[c], f32::from(MAX)));
                l_sums[c] += w * l;
                ll_sums[c] += w * l * l;
                xl_sums[c] += wx * l;
            }
        }
        core::array::from_fn(|c| [l_sums[c], ll_sums[c], xl_sums[c]])
    }

    /// Step 2: of the integers near `scale` and `min` those with the smallest error.
    #[inline(always)]
    fn integers<const MAX: u8>(&self, d: f32, dmin: f32, near: [f32; 2]) -> (u8, u8) {
        let (mut scales, mut mins) = ([0.0; LANES], [0.0; LANES]);
        for c in 0..LANES {
            scales[c] = six_bits(near[0] + (c / 4) as f32 - 1.0);
            mins[c] = six_bits(near[1] + (c % 4) as f32 - 1.0);
        }
        let (steps, bases) = (scales.map(|scale| scale * d), mins.map(|min| min * dmin));
        let errors = self.errors::<MAX>(&steps, &bases);
        let mut best = 5;
        for c in 0..LANES {
            if errors[c] < errors[best] {
                best = c;
            }
        }
        (low_byte(scales[best]), low_byte(mins[best]))
    }

    /// The weighted squared error of each candidate.
    #[inline(always)]
    fn errors<const MAX: u8>(&self, steps: &Lanes, bases: &Lanes) -> Lanes {
        let inverses = steps.map(inverse);
        let mut errors = [0.0; LANES];
        for (&x, &w) in self.x.iter().zip(&self.w) {
            for c in 0..LANES {
                let l = code::<MAX>((x + bases[c]) * inverses[c]);
                let off = x - (steps[c] * l - bases[c]);
                errors[c] += w * off * off;
            }
        }
        errors
    }
}

/// The nearest code.
#[inline(always)]
fn code<const MAX: u8>(position: f32) -> f32 {
    nearest_even(at_most(at_least(position, 0.0), f32::from(MAX)))
}

/// The nearest number of six bits.
#[inline(always)]
fn six_bits(value: f32) -> f32 {
    nearest_even(at_most(at_least(value, 0.0), 63.0))
}

/// Scales, mins and codes of a block of finite values.
#[inline(always)]
pub(crate) fn quantise<const MAX: u8>(values: &[f32; 256]) -> (ScalesAndMins, [u8; 256]) {
    let subs: [SubBlock<'_>; 8] = {
        let chunks = values.as_chunks::<32>().0;
        core::array::from_fn(|s| SubBlock::new(&chunks[s]))
    };
    let fits: [(f32, f32); 8] = core::array::from_fn(|s| subs[s].fit::<MAX>());
    let d = round::largest_magnitude(&fits.map(|fit| fit.0)) / 63.0;
    let dmin = round::largest_magnitude(&fits.map(|fit| fit.1)) / 63.0;
    let mut best = Attempt::new::<MAX>(&subs, &fits, d, dmin);
    for _ in 0..REFITS {
        let (d, dmin) = best.refit(&subs);
        let next = Attempt::new::<MAX>(&subs, &fits, d, dmin);
        if next.error < best.error {
            best = next;
        } else {
            break;
        }
    }
    (best.scales, best.codes)
}

/// A whole block with its error.
struct Attempt {
    scales: ScalesAndMins,
    codes: [u8; 256],
    error: f32,
}

impl Attempt {
    /// Step 2 for the whole block.
    #[inline(always)]
    fn new<const MAX: u8>(subs: &[SubBlock<'_>; 8], fits: &[(f32, f32); 8], d: f32, dmin: f32) -> Self {
        let (d_bits, dmin_bits) = (scale_bits(d), scale_bits(dmin));
        let (d, dmin) = (f16_to_f32(d_bits), f16_to_f32(dmin_bits));
        let (d_inverse, dmin_inverse) = (inverse(d), inverse(dmin));
        let mut scales = ScalesAndMins { d: d_bits, dmin: dmin_bits, scales: [0; 8], mins: [0; 8] };
        let mut codes = [0; 256];
        let mut error = 0.0;
        for (s, codes) in codes.as_chunks_mut::<32>().0.iter_mut().enumerate() {
            let near = [fits[s].0 * d_inverse, fits[s].1 * dmin_inverse].map(six_bits);
            (scales.scales[s], scales.mins[s]) = subs[s].integers::<MAX>(d, dmin, near);
            let (step, base) = (d * f32::from(scales.scales[s]), dmin * f32::from(scales.mins[s]));
            let inverse = inverse(step);
            let mut errors = [0.0; 32];
            for i in 0..32 {
                let l = code::<MAX>((subs[s].x[i] + base) * inverse);
                let off = subs[s].x[i] - (step * l - base);
                errors[i] = subs[s].w[i] * off * off;
                codes[i] = low_byte(l);
            }
            error += sum(errors);
        }
        Self { scales, codes, error }
    }

    /// Step 3: the best `d` and `dmin` for these codes and integers.
    #[inline(always)]
    fn refit(&self, subs: &[SubBlock<'_>; 8]) -> (f32, f32) {
        let (mut aa, mut ab, mut bb, mut xa, mut xb) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (s, codes) in self.codes.as_chunks::<32>().0.iter().enumerate() {
            let (scale, min) = (f32::from(self.scales.scales[s]), f32::from(self.scales.mins[s]));
            let l = codes.map(f32::from);
            let (w, wx) = (&subs[s].w, &subs[s].wx);
            aa += scale * scale * sum(core::array::from_fn::<_, 32, _>(|i| w[i] * l[i] * l[i]));
            ab += scale * min * sum(core::array::from_fn::<_, 32, _>(|i| w[i] * l[i]));
            bb += min * min * sum(*w);
            xa += scale * sum(core::array::from_fn::<_, 32, _>(|i| wx[i] * l[i]));
            xb += min * sum(*wx);
        }
        let determinant = aa * bb - ab * ab;
        if determinant > 0.0 {
            let (d, dmin) = ((xa * bb - xb * ab) / determinant, (xa * ab - xb * aa) / determinant);
            if d > 0.0 && dmin > 0.0 {
                return (d, dmin);
            }
        }
        (xa * inverse(aa), 0.0)
    }
}
