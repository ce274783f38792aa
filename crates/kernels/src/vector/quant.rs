//! Rows of weights, to and from their formats.
//!
//! The blocks are taken apart as their definitions do it, in loops that the compiler turns into
//! vectors of bytes; what follows, and the search of the quantisers, is written with vectors here.
//! (Left to the compiler, AVX-512 gathers and scatters over sixteen blocks at a time, five times
//! slower.) F32 and BF16 are copies and shifts that it does well, and so are the quantisers without
//! a search.

use crate::quant::block::{dequantise_row, quantise_row};
use crate::quant::float::{BlockBF16, BlockF16, BlockF32};
use crate::quant::round::{each, inverse};
use crate::quant::search::{Group, LANES, Lanes, Search};
use crate::quant::*;
use crate::simd::Simd;

/// A format's rows by vectors, where that is faster than what the compiler makes of its definition;
/// the bits are the same.
pub(crate) trait ByVectors: Block {
    /// A row of blocks to its weights.
    #[inline(always)]
    fn dequantise_row<S: Simd>(_: S, from: &[u8], out: &mut [f32]) {
        dequantise_row::<Self>(from, out);
    }

    /// A row of weights to blocks.
    #[inline(always)]
    fn quantise_row<S: Simd>(_: S, from: &[f32], out: &mut [u8]) {
        quantise_row::<Self>(from, out);
    }
}

impl ByVectors for BlockF32 {}
impl ByVectors for BlockBF16 {}

impl ByVectors for BlockF16 {
    #[inline(always)]
    fn dequantise_row<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
        halves(simd, from, out);
    }
}

impl ByVectors for BlockQ8_0 {
    #[inline(always)]
    fn dequantise_row<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
        rows(from, out, |block: &Self, out| symmetric(simd, &block.codes(), 0, block.d(), out));
    }
}

impl<const HIGH: usize> ByVectors for SymmetricBlock<HIGH> {
    #[inline(always)]
    fn dequantise_row<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
        rows(from, out, |block: &Self, out| symmetric(simd, signed(&block.codes()), Self::ZERO, block.d(), out));
    }
}

impl<const HIGH: usize> ByVectors for AffineBlock<HIGH> {
    #[inline(always)]
    fn dequantise_row<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
        rows(from, out, |block: &Self, out| affine(simd, signed(&block.codes()), block.d(), block.m(), out));
    }
}

impl<const HIGH: usize> ByVectors for NestedBlock<HIGH> {
    #[inline(always)]
    fn dequantise_row<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
        rows(from, out, |block: &Self, out| {
            let scales = [block.scales(), block.mins()];
            sub_blocks(simd, signed(&block.codes()), [block.d(), block.dmin()], scales, out);
        });
    }

    #[inline(always)]
    fn quantise_row<S: Simd>(simd: S, from: &[f32], out: &mut [u8]) {
        for (values, block) in from.chunks_exact(Self::LEN).zip(blocks_mut(out)) {
            *block = Self::quantise_by(Wide(simd), values);
        }
    }
}

impl ByVectors for BlockQ6_K {
    #[inline(always)]
    fn dequantise_row<S: Simd>(simd: S, from: &[u8], out: &mut [f32]) {
        rows(from, out, |block: &Self, out| {
            let (d, scales, codes) = (block.d(), block.scales(), block.codes());
            for (s, out) in out.chunks_exact_mut(16).enumerate() {
                let scale = d * f32::from(scales[s]);
                symmetric(simd, signed(&codes[16 * s..16 * s + 16]), Self::ZERO, scale, out);
            }
        });
    }

    #[inline(always)]
    fn quantise_row<S: Simd>(simd: S, from: &[f32], out: &mut [u8]) {
        for (values, block) in from.chunks_exact(Self::LEN).zip(blocks_mut(out)) {
            *block = Self::quantise_by(Wide(simd), values);
        }
    }
}

/// See [`Kernels::dequantise`](crate::Kernels::dequantise).
#[inline(always)]
pub(crate) fn dequantise<S: Simd>(simd: S, format: Format, from: &[u8], out: &mut [f32]) {
    format.dequantise_by_vectors(simd, from, out);
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
    format.quantise_by_vectors(simd, from, out);
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
