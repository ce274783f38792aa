//! Rows of weights, to and from their formats.
//!
//! The blocks are taken apart as their definitions do it, in loops that the compiler turns into vectors of bytes; what follows,
//! and the search of the quantisers, is told in vectors here. (Left to the compiler, AVX-512 gathers and scatters over sixteen
//! blocks at a time, five times slower.) F32 and BF16 are copies and shifts that it does well, and so are the quantisers
//! without a search.

use crate::quant::round::{each, inverse};
use crate::quant::search::{Group, LANES, Lanes, Search};
use crate::quant::*;
use crate::simd::Simd;

/// See [`Kernels::dequantise`](crate::Kernels::dequantise).
#[inline(always)]
pub(crate) fn dequantise<S: Simd>(simd: S, format: Format, from: &[u8], out: &mut [f32]) {
    match format {
        Format::F16 => halves(simd, from, out),
        Format::Q8_0 => rows(from, out, |block: &BlockQ8_0, out| symmetric(simd, &block.codes(), 0, block.d(), out)),
        Format::Q4_0 => rows(from, out, |block: &BlockQ4_0, out| {
            symmetric(simd, signed(&block.codes()), BlockQ4_0::ZERO, block.d(), out);
        }),
        Format::Q5_0 => rows(from, out, |block: &BlockQ5_0, out| {
            symmetric(simd, signed(&block.codes()), BlockQ5_0::ZERO, block.d(), out);
        }),
        Format::Q4_1 => rows(from, out, |block: &BlockQ4_1, out| {
            affine(simd, signed(&block.codes()), block.d(), block.m(), out);
        }),
        Format::Q5_1 => rows(from, out, |block: &BlockQ5_1, out| {
            affine(simd, signed(&block.codes()), block.d(), block.m(), out);
        }),
        Format::Q4_K => rows(from, out, |block: &BlockQ4_K, out| {
            let scales = [block.scales(), block.mins()];
            sub_blocks(simd, signed(&block.codes()), [block.d(), block.dmin()], scales, out);
        }),
        Format::Q5_K => rows(from, out, |block: &BlockQ5_K, out| {
            let scales = [block.scales(), block.mins()];
            sub_blocks(simd, signed(&block.codes()), [block.d(), block.dmin()], scales, out);
        }),
        Format::Q6_K => rows(from, out, |block: &BlockQ6_K, out| {
            let (d, scales, codes) = (block.d(), block.scales(), block.codes());
            for (s, out) in out.chunks_exact_mut(16).enumerate() {
                let scale = d * f32::from(scales[s]);
                symmetric(simd, signed(&codes[16 * s..16 * s + 16]), BlockQ6_K::ZERO, scale, out);
            }
        }),
        Format::F32 | Format::BF16 => format.dequantise(from, out),
    }
}

/// F16 to F32.
#[inline(always)]
fn halves<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
    let whole = out.len() - out.len() % S::LANES;
    let (halves, rest) = from.split_at(2 * whole);
    for (out, halves) in out.chunks_exact_mut(S::LANES).zip(halves.chunks_exact(2 * S::LANES)) {
        // SAFETY: the chunk is as many halves as a vector has lanes, and any alignment will do.
        simd.store(unsafe { simd.load_f16_ptr(halves.as_ptr().cast()) }, out);
    }
    Format::F16.dequantise(rest, &mut out[whole..]);
}

/// Block by block.
#[inline(always)]
fn rows<B: Block>(from: &[u8], out: &mut [f32], weights: impl Fn(&B, &mut [f32])) {
    for (block, out) in blocks::<B>(from).iter().zip(out.chunks_exact_mut(B::LEN)) {
        weights(block, out);
    }
}

/// scale · (code − zero)
#[inline(always)]
fn symmetric<S: Simd>(simd: S, codes: &[i8], zero: u8, scale: f32, out: &mut [f32]) {
    let (zero, scale) = (simd.splat(f32::from(zero)), simd.splat(scale));
    for (out, codes) in out.chunks_exact_mut(S::LANES).zip(codes.chunks_exact(S::LANES)) {
        // SAFETY: the chunk is as many bytes as a vector has lanes.
        let codes = unsafe { simd.load_i8_ptr(codes.as_ptr()) };
        simd.store(simd.mul(scale, simd.sub(codes, zero)), out);
    }
}

/// scale · code + base
#[inline(always)]
fn affine<S: Simd>(simd: S, codes: &[i8], scale: f32, base: f32, out: &mut [f32]) {
    let (scale, base) = (simd.splat(scale), simd.splat(base));
    for (out, codes) in out.chunks_exact_mut(S::LANES).zip(codes.chunks_exact(S::LANES)) {
        // SAFETY: the chunk is as many bytes as a vector has lanes.
        let codes = unsafe { simd.load_i8_ptr(codes.as_ptr()) };
        simd.store(simd.add(simd.mul(scale, codes), base), out);
    }
}

/// The eight sub-blocks of Q4_K and Q5_K.
#[inline(always)]
fn sub_blocks<S: Simd>(simd: S, codes: &[i8], [d, dmin]: [f32; 2], [scales, mins]: [[u8; 8]; 2], out: &mut [f32]) {
    for (s, (out, codes)) in out.chunks_exact_mut(32).zip(codes.chunks_exact(32)).enumerate() {
        affine(simd, codes, d * f32::from(scales[s]), -(dmin * f32::from(mins[s])), out);
    }
}

/// Codes below 128, which are the same as signed bytes.
#[inline(always)]
fn signed(codes: &[u8]) -> &[i8] {
    // SAFETY: bytes of either kind have the same size and alignment, and every pattern is a value.
    unsafe { core::slice::from_raw_parts(codes.as_ptr().cast(), codes.len()) }
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

/// As [`limited_code`](crate::quant::round::limited_code) of one value.
#[inline(always)]
fn limited_code<S: Simd>(simd: S, position: S::F, codes: [S::F; 2]) -> S::F {
    simd.round(simd.min(simd.max(position, codes[0]), codes[1]))
}
