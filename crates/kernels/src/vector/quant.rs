//! Rows of weights, to and from their formats.
//!
//! The definitions of the block formats are loops that the compiler turns into vectors of whatever instruction set they are
//! inlined for, so they are used as they are; half precision has instructions of its own.

use crate::quant::round::{each, inverse};
use crate::quant::search::{Group, LANES, Lanes, Search};
use crate::quant::{BlockQ4_K, BlockQ5_K, BlockQ6_K, Format, blocks_mut};
use crate::simd::Simd;

/// See [`Kernels::dequantise`](crate::Kernels::dequantise).
#[inline(always)]
pub(crate) fn dequantise<S: Simd>(simd: S, format: Format, from: &[u8], out: &mut [f32]) {
    let whole = if format == Format::F16 { out.len() - out.len() % S::LANES } else { 0 };
    let (halves, rest) = from.split_at(2 * whole);
    for (out, halves) in out.chunks_exact_mut(S::LANES).zip(halves.chunks_exact(2 * S::LANES)) {
        // SAFETY: the chunk is as many halves as a vector has lanes, and any alignment will do.
        simd.store(unsafe { simd.load_f16_ptr(halves.as_ptr().cast()) }, out);
    }
    format.dequantise(rest, &mut out[whole..]);
}

/// See [`Kernels::quantise`](crate::Kernels::quantise).
#[inline(always)]
pub(crate) fn quantise<S: Simd>(simd: S, format: Format, from: &[f32], out: &mut [u8]) {
    let blocks = from.chunks_exact(format.block_len());
    match format {
        Format::Q4_K => {
            for (values, block) in blocks.zip(blocks_mut(out)) {
                *block = BlockQ4_K::quantise_by(Wide(simd), values);
            }
        }
        Format::Q5_K => {
            for (values, block) in blocks.zip(blocks_mut(out)) {
                *block = BlockQ5_K::quantise_by(Wide(simd), values);
            }
        }
        Format::Q6_K => {
            for (values, block) in blocks.zip(blocks_mut(out)) {
                *block = BlockQ6_K::quantise_by(Wide(simd), values);
            }
        }
        _ => format.quantise(from, out),
    }
}

/// See [`Kernels::has_non_finite`](crate::Kernels::has_non_finite).
#[inline(always)]
pub(crate) fn has_non_finite<S: Simd>(_: S, values: &[f32]) -> bool {
    // Whole kilobytes without a way out in between, so that they become vectors.
    values.chunks(256).any(|values| values.iter().fold(false, |any, value| any | !value.is_finite()))
}

/// The search of the quantisers with one candidate per lane.
#[derive(Clone, Copy)]
struct Wide<S>(S);

impl<S: Simd> Search for Wide<S> {
    #[inline(always)]
    fn sums(self, group: Group<'_>, origin: f32, inverses: &Lanes) -> [Lanes; 3] {
        let simd = self.0;
        let codes = group.codes.map(|code| simd.splat(code));
        let mut sums = [[0.0; LANES]; 3];
        for from in (0..LANES).step_by(S::LANES) {
            let inverses = simd.load(&inverses[from..]);
            let [mut l_sum, mut ll_sum, mut xl_sum] = [simd.splat(0.0); 3];
            for (&x, &w) in group.x.iter().zip(group.w) {
                let l = limited_code(simd, simd.mul(simd.splat(x - origin), inverses), codes);
                let wl = simd.mul(simd.splat(w), l);
                l_sum = simd.add(l_sum, wl);
                ll_sum = simd.add(ll_sum, simd.mul(wl, l));
                xl_sum = simd.add(xl_sum, simd.mul(simd.splat(w * x), l));
            }
            simd.store(l_sum, &mut sums[0][from..]);
            simd.store(ll_sum, &mut sums[1][from..]);
            simd.store(xl_sum, &mut sums[2][from..]);
        }
        sums
    }

    #[inline(always)]
    fn errors(self, group: Group<'_>, steps: &Lanes, bases: &Lanes) -> Lanes {
        let simd = self.0;
        let codes = group.codes.map(|code| simd.splat(code));
        let inverses = each(steps, inverse);
        let mut errors = [0.0; LANES];
        for from in (0..LANES).step_by(S::LANES) {
            let (steps, bases) = (simd.load(&steps[from..]), simd.load(&bases[from..]));
            let inverses = simd.load(&inverses[from..]);
            let mut error = simd.splat(0.0);
            for (&x, &w) in group.x.iter().zip(group.w) {
                let x = simd.splat(x);
                let l = limited_code(simd, simd.mul(simd.add(x, bases), inverses), codes);
                let off = simd.sub(x, simd.sub(simd.mul(steps, l), bases));
                error = simd.add(error, simd.mul(simd.mul(simd.splat(w), off), off));
            }
            simd.store(error, &mut errors[from..]);
        }
        errors
    }
}

/// As [`round::limited_code`](crate::quant::round::limited_code).
#[inline(always)]
fn limited_code<S: Simd>(simd: S, position: S::F, codes: [S::F; 2]) -> S::F {
    simd.round(simd.min(simd.max(position, codes[0]), codes[1]))
}
