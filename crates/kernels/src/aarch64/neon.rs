//! NEON: vectors of four.

use core::arch::aarch64::*;

use crate::quant::f16_to_f32;
use crate::simd::{Simd, WordSimd, instructions};

/// Proof that this CPU has NEON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Neon(());

impl Neon {
    pub(crate) fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

impl Simd for Neon {
    type F = float32x4_t;
    type M = uint32x4_t;
    /// The second of two factors, of which neither leaves the range of normal numbers.
    type Power = float32x4_t;
    const LANES: usize = 4;
    const SQUARE: usize = 4;

    instructions! {
        fn splat(value: f32) -> float32x4_t = vdupq_n_f32(value);
        fn add(a: float32x4_t, b: float32x4_t) -> float32x4_t = vaddq_f32(a, b);
        fn sub(a: float32x4_t, b: float32x4_t) -> float32x4_t = vsubq_f32(a, b);
        fn mul(a: float32x4_t, b: float32x4_t) -> float32x4_t = vmulq_f32(a, b);
        fn div(a: float32x4_t, b: float32x4_t) -> float32x4_t = vdivq_f32(a, b);
        fn sqrt(a: float32x4_t) -> float32x4_t = vsqrtq_f32(a);
        fn fma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t = vfmaq_f32(c, a, b);
        fn fnma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t = vfmsq_f32(c, a, b);
        fn min(a: float32x4_t, b: float32x4_t) -> float32x4_t = vbslq_f32(vcltq_f32(a, b), a, b);
        fn max(a: float32x4_t, b: float32x4_t) -> float32x4_t = vbslq_f32(vcgtq_f32(a, b), a, b);
        fn abs(a: float32x4_t) -> float32x4_t = vabsq_f32(a);
        fn neg(a: float32x4_t) -> float32x4_t = vnegq_f32(a);
        fn copy_sign(a: float32x4_t, b: float32x4_t) -> float32x4_t = vbslq_f32(vdupq_n_u32(1 << 31), b, a);
        fn round(a: float32x4_t) -> float32x4_t = vrndnq_f32(a);
        fn power_of_two(shifted: float32x4_t) -> float32x4_t =
            vreinterpretq_f32_u32(vshlq_n_u32::<23>(vsubq_u32(vreinterpretq_u32_f32(shifted), vdupq_n_u32(127))));
        fn scale(a: float32x4_t, power: float32x4_t) -> float32x4_t = vmulq_f32(a, power);
        fn add_scaled(c: float32x4_t, a: float32x4_t, power: float32x4_t) -> float32x4_t = vfmaq_f32(c, a, power);
        fn sub_scaled(c: float32x4_t, a: float32x4_t, power: float32x4_t) -> float32x4_t = vfmsq_f32(c, a, power);
        fn lt(a: float32x4_t, b: float32x4_t) -> uint32x4_t = vcltq_f32(a, b);
        fn select(mask: uint32x4_t, yes: float32x4_t, no: float32x4_t) -> float32x4_t = vbslq_f32(mask, yes, no);
        fn splat_f16(bits: u16) -> float32x4_t = vdupq_n_f32(f16_to_f32(bits));
        fn swap_pairs(a: float32x4_t) -> float32x4_t = vrev64q_f32(a);
        fn reduce_max(a: float32x4_t) -> f32 = vmaxvq_f32(a);
    }

    #[inline(always)]
    unsafe fn load_ptr(self, from: *const f32) -> float32x4_t {
        // SAFETY: as the caller promises.
        unsafe { vld1q_f32(from) }
    }

    #[inline(always)]
    unsafe fn store_ptr(self, value: float32x4_t, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe { vst1q_f32(to, value) }
    }

    #[inline(always)]
    fn load_part(self, from: &[f32]) -> float32x4_t {
        let mut whole = [0.0; 4];
        whole[..from.len()].copy_from_slice(from);
        self.load(&whole)
    }

    #[inline(always)]
    fn load_part_or(self, from: &[f32], other: float32x4_t) -> float32x4_t {
        let mut whole = [0.0; 4];
        self.store(other, &mut whole);
        whole[..from.len()].copy_from_slice(from);
        self.load(&whole)
    }

    #[inline(always)]
    fn store_part(self, value: float32x4_t, to: &mut [f32]) {
        let mut whole = [0.0; 4];
        self.store(value, &mut whole);
        to.copy_from_slice(&whole[..to.len()]);
    }

    /// By integer arithmetic: the half-precision type is not in every stable compiler.
    #[inline(always)]
    unsafe fn load_f16_ptr(self, from: *const u16) -> float32x4_t {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let bits = vmovl_u16(vld1_u16(from));
            let sign = vshlq_n_u32::<16>(vandq_u32(bits, vdupq_n_u32(0x8000)));
            let magnitude = vshlq_n_u32::<13>(vandq_u32(bits, vdupq_n_u32(0x7fff)));
            // Exponents differ by 112; the product also makes subnormal halves normal.
            let scaled = vmulq_f32(vreinterpretq_f32_u32(magnitude), vdupq_n_f32(f32::from_bits((127 + 112) << 23)));
            let special = vcgeq_u32(magnitude, vdupq_n_u32(0x7c00 << 13));
            let widened = vorrq_u32(magnitude, vdupq_n_u32(0xff << 23));
            let value = vbslq_u32(special, widened, vreinterpretq_u32_f32(scaled));
            vreinterpretq_f32_u32(vorrq_u32(value, sign))
        }
    }

    #[inline(always)]
    unsafe fn load_bf16_ptr(self, from: *const u16) -> float32x4_t {
        // SAFETY: as the caller promises.
        unsafe { vreinterpretq_f32_u32(vshlq_n_u32::<16>(vmovl_u16(vld1_u16(from)))) }
    }

    #[inline(always)]
    unsafe fn transpose_ptr(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        let mut columns = [self.splat(0.0); 16];
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            self.load_turned(from, from_row, &mut columns);
            for (i, column) in columns[..4].iter().enumerate() {
                vst1q_f32(to.add(i * to_row), *column);
            }
        }
    }

    #[inline(always)]
    unsafe fn load_turned(self, from: *const f32, row: usize, to: &mut [float32x4_t; 16]) {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let (a, b) = (vld1q_f32(from), vld1q_f32(from.add(row)));
            let (c, d) = (vld1q_f32(from.add(2 * row)), vld1q_f32(from.add(3 * row)));
            let (ab, cd) = (vtrnq_f32(a, b), vtrnq_f32(c, d));
            to[0] = vcombine_f32(vget_low_f32(ab.0), vget_low_f32(cd.0));
            to[1] = vcombine_f32(vget_low_f32(ab.1), vget_low_f32(cd.1));
            to[2] = vcombine_f32(vget_high_f32(ab.0), vget_high_f32(cd.0));
            to[3] = vcombine_f32(vget_high_f32(ab.1), vget_high_f32(cd.1));
        }
    }

    /// Stable Rust has no prefetch for aarch64; its CPUs find streams by themselves.
    #[inline(always)]
    fn prefetch(self, _address: *const f32) {}

    #[inline(always)]
    fn prefetch_write(self, _address: *mut f32) {}

    /// By integer arithmetic, as [`f32_to_f16`](crate::quant::f32_to_f16) does it for one value.
    #[inline(always)]
    unsafe fn store_f16_ptr(self, value: float32x4_t, to: *mut u16) {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let bits = vreinterpretq_u32_f32(value);
            let sign = vandq_u32(vshrq_n_u32::<16>(bits), vdupq_n_u32(0x8000));
            let magnitude = vandq_u32(bits, vdupq_n_u32(0x7fff_ffff));
            let odd = vandq_u32(vshrq_n_u32::<13>(magnitude), vdupq_n_u32(1));
            let rebiased = vsubq_u32(vaddq_u32(magnitude, odd), vdupq_n_u32((112 << 23) - 0xfff));
            let normal = vshrq_n_u32::<13>(rebiased);
            // Near one half the spacing of f32 is that of subnormal halves, so the addition rounds.
            let shifted = vaddq_f32(vreinterpretq_f32_u32(magnitude), vdupq_n_f32(0.5));
            let subnormal = vsubq_u32(vreinterpretq_u32_f32(shifted), vdupq_n_u32(0.5f32.to_bits()));
            let nan = vorrq_u32(vdupq_n_u32(0x7e00), vandq_u32(vshrq_n_u32::<13>(magnitude), vdupq_n_u32(0x3ff)));
            let large = vbslq_u32(vcgtq_u32(magnitude, vdupq_n_u32(0x7f80_0000)), nan, vdupq_n_u32(0x7c00));
            let small = vbslq_u32(vcltq_u32(magnitude, vdupq_n_u32(0x3880_0000)), subnormal, normal);
            let half = vbslq_u32(vcgeq_u32(magnitude, vdupq_n_u32(0x4780_0000)), large, small);
            vst1_u16(to, vmovn_u32(vorrq_u32(half, sign)));
        }
    }

    #[inline(always)]
    unsafe fn load_i8_ptr(self, from: *const i8) -> float32x4_t {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let bytes = vcreate_s8(u64::from(from.cast::<u32>().read_unaligned()));
            vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes))))
        }
    }

    #[inline(always)]
    fn begin_scale(self, fraction: float32x4_t, shifted: float32x4_t) -> (float32x4_t, float32x4_t) {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let biased_twice = vreinterpretq_u32_f32(shifted);
            let first = vshrq_n_u32::<1>(biased_twice);
            let second = vshlq_n_u32::<23>(vsubq_u32(biased_twice, first));
            let first = vreinterpretq_f32_u32(vshlq_n_u32::<23>(first));
            (vfmaq_f32(first, fraction, first), vreinterpretq_f32_u32(second))
        }
    }

    #[inline(always)]
    fn reduce_add(self, a: float32x4_t) -> f32 {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let two = vadd_f32(vget_low_f32(a), vget_high_f32(a));
            vget_lane_f32::<0>(vpadd_f32(two, two))
        }
    }

    #[inline(always)]
    fn reduce_add_four(self, [a, b, c, d]: [float32x4_t; 4]) -> [f32; 4] {
        let mut sums = [0.0; 4];
        // SAFETY: `self` exists only where the CPU has these instructions.
        let all = unsafe { vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)) };
        self.store(all, &mut sums);
        sums
    }

    #[inline(always)]
    fn double(self, a: float32x4_t) -> [float32x4_t; 2] {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe { [vzip1q_f32(a, a), vzip2q_f32(a, a)] }
    }
}

impl WordSimd for Neon {
    type W = uint32x4_t;

    instructions! {
        fn splat_word(word: u32) -> uint32x4_t = vdupq_n_u32(word);
        fn add_words(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vaddq_u32(a, b);
        fn mul_words(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vmulq_u32(a, b);
        fn xor_words(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = veorq_u32(a, b);
        fn lt_words(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vcltq_u32(a, b);
    }

    #[inline(always)]
    fn lane_numbers(self) -> uint32x4_t {
        // SAFETY: four words are there; `self` exists only where the CPU has the instruction.
        unsafe { vld1q_u32([0, 1, 2, 3].as_ptr()) }
    }

    /// By a register: the immediate of the other form is of another type than N.
    #[inline(always)]
    fn shift_words<const N: u32>(self, a: uint32x4_t) -> uint32x4_t {
        // SAFETY: `self` exists only where the CPU has this instruction.
        unsafe { vshlq_u32(a, vdupq_n_s32(const { -N.cast_signed() })) }
    }
}
