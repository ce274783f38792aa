//! Products of bytes with NEON: 16-bit products, added in pairs and then to the 32-bit sums of their lanes.

use core::arch::aarch64::*;

use super::Neon;
use crate::quant::byte_simd::ByteSimd;
use crate::simd::instructions;

/// `low | (shifted plane) & mask`.
macro_rules! upper_bits {
    ($low:expr, $shifted:expr, $mask:expr) => {
        vorrq_u8($low, vandq_u8($shifted, vdupq_n_u8($mask)))
    };
}

impl ByteSimd for Neon {
    type Bytes = uint8x16_t;
    type Wide = uint8x16_t;
    type WideWord = uint8x16_t;
    type Sum = int32x4_t;
    type TileSums = [int32x4_t; 2];
    const ROWS: usize = 4;
    const GROUPS: usize = 1;
    const WIDE_ZERO: i32 = 0;

    instructions! {
        fn low(bytes: uint8x16_t) -> uint8x16_t = vandq_u8(bytes, vdupq_n_u8(15));
        fn high(bytes: uint8x16_t) -> uint8x16_t = vshrq_n_u8::<4>(bytes);
        fn low_six(bytes: uint8x16_t) -> uint8x16_t = vandq_u8(bytes, vdupq_n_u8(63));
        fn upper_twos(a: uint8x16_t, b: uint8x16_t, c: uint8x16_t) -> uint8x16_t =
            vsriq_n_u8::<6>(vsriq_n_u8::<4>(vshrq_n_u8::<2>(vandq_u8(a, vdupq_n_u8(0xc0))), b), c);
        fn zero() -> int32x4_t = vdupq_n_s32(0);
        fn wide(codes: uint8x16_t) -> uint8x16_t = veorq_u8(codes, vdupq_n_u8(128));
        fn sum_to_f32(sum: int32x4_t) -> float32x4_t = vcvtq_f32_s32(sum);
        fn dot(sum: int32x4_t, codes: uint8x16_t, word: uint8x16_t) -> int32x4_t = {
            let (codes, word) = (vreinterpretq_s8_u8(codes), vreinterpretq_s8_u8(word));
            let first = vmull_s8(vget_low_s8(codes), vget_low_s8(word));
            // Two products of −128 by −127 still fit into 16 bits.
            vpadalq_s16(sum, vpaddq_s16(first, vmull_high_s8(codes, word)))
        };
    }

    #[inline(always)]
    fn dot_wide(self, sum: int32x4_t, codes: uint8x16_t, word: uint8x16_t) -> int32x4_t {
        self.dot(sum, codes, word)
    }

    #[inline(always)]
    fn settle(self, sum: int32x4_t) -> int32x4_t {
        sum
    }

    #[inline(always)]
    fn fifth<const STEP: usize>(self, low: uint8x16_t, plane: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            match STEP {
                0 => upper_bits!(low, vshlq_n_u8::<4>(plane), 16),
                1 => upper_bits!(low, vshlq_n_u8::<3>(plane), 16),
                2 => upper_bits!(low, vshlq_n_u8::<2>(plane), 16),
                3 => upper_bits!(low, vshlq_n_u8::<1>(plane), 16),
                4 => upper_bits!(low, plane, 16),
                5 => upper_bits!(low, vshrq_n_u8::<1>(plane), 16),
                6 => upper_bits!(low, vshrq_n_u8::<2>(plane), 16),
                _ => upper_bits!(low, vshrq_n_u8::<3>(plane), 16),
            }
        }
    }

    #[inline(always)]
    unsafe fn load_bytes(self, from: *const u8) -> uint8x16_t {
        // SAFETY: as the caller promises.
        unsafe { vld1q_u8(from) }
    }

    #[inline(always)]
    unsafe fn store_bytes(self, bytes: uint8x16_t, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { vst1q_u8(to, bytes) }
    }

    #[inline(always)]
    unsafe fn load_u8(self, from: *const u8) -> float32x4_t {
        // SAFETY: as the caller promises.
        unsafe {
            let four = vcreate_u8(u64::from(from.cast::<u32>().read_unaligned()));
            vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(four))))
        }
    }

    #[inline(always)]
    unsafe fn load_i8(self, from: *const u8) -> float32x4_t {
        // SAFETY: as the caller promises.
        unsafe {
            let four = vcreate_s8(u64::from(from.cast::<u32>().read_unaligned()));
            vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(four))))
        }
    }

    #[inline(always)]
    unsafe fn word(self, from: *const i8) -> uint8x16_t {
        // SAFETY: as the caller promises.
        unsafe { vreinterpretq_u8_u32(vdupq_n_u32(from.cast::<u32>().read_unaligned())) }
    }

    #[inline(always)]
    unsafe fn begin(self, from: *const i32) -> int32x4_t {
        // SAFETY: as the caller promises.
        unsafe { vdupq_n_s32(from.read()) }
    }

    #[inline(always)]
    unsafe fn wide_word(self, codes: *const i8, _: *const i16) -> uint8x16_t {
        // SAFETY: as the caller promises.
        unsafe { self.word(codes) }
    }

    #[inline(always)]
    fn dot_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> [int32x4_t; 2] {
        [0, 16].map(|at| {
            // SAFETY: both are arrays of 32; `self` exists only where the CPU has these instructions.
            let (codes, x) =
                unsafe { (vld1q_u8(codes.as_ptr().add(at)), vreinterpretq_u8_s8(vld1q_s8(x.as_ptr().add(at)))) };
            self.dot(self.zero(), codes, x)
        })
    }

    #[inline(always)]
    fn dot_wide_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> [int32x4_t; 2] {
        self.dot_tile(&codes.map(|code| code ^ 128), x)
    }

    #[inline(always)]
    fn halves(self, [a, b, c, d]: &[[int32x4_t; 2]; 4]) -> [[i32; 4]; 2] {
        [0, 1].map(|half| {
            // SAFETY: `self` exists only where the CPU has these instructions; the array has the size of a vector.
            unsafe {
                let sums = vpaddq_s32(vpaddq_s32(a[half], b[half]), vpaddq_s32(c[half], d[half]));
                std::mem::transmute::<int32x4_t, [i32; 4]>(sums)
            }
        })
    }

    #[inline(always)]
    fn wholes(self, tiles: &[[int32x4_t; 2]; 4]) -> [i32; 4] {
        let [low, high] = self.halves(tiles);
        std::array::from_fn(|i| low[i] + high[i])
    }

    #[inline(always)]
    unsafe fn largest_bits(self, from: *const f32) -> u32 {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let mut largest = vdupq_n_u32(0);
            for i in 0..8 {
                let bits = vld1q_u32(from.add(4 * i).cast());
                largest = vmaxq_u32(largest, vandq_u32(bits, vdupq_n_u32(i32::MAX as u32)));
            }
            vmaxvq_u32(largest)
        }
    }

    #[inline(always)]
    unsafe fn round_block(self, from: *const f32, inverse: f32, codes: *mut i8, wide: *mut i16) -> [i32; 2] {
        let mut sums = [0; 2];
        for (half, sum) in sums.iter_mut().enumerate() {
            let at = 16 * half;
            // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
            unsafe {
                let first = self.round_eight(from.add(at), inverse);
                let second = self.round_eight(from.add(at + 8), inverse);
                vst1q_s8(codes.add(at), vcombine_s8(vmovn_s16(first), vmovn_s16(second)));
                self.store_even_odd(first, wide.add(at));
                self.store_even_odd(second, wide.add(at + 8));
                *sum = i32::from(vaddvq_s16(vaddq_s16(first, second)));
            }
        }
        sums
    }
}

impl Neon {
    /// # Safety
    /// Eight values can be read from `from`.
    #[inline(always)]
    unsafe fn round_eight(self, from: *const f32, inverse: f32) -> int16x8_t {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(from), inverse));
            let high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(from.add(4)), inverse));
            vcombine_s16(vmovn_s32(low), vmovn_s32(high))
        }
    }

    /// Of each four values 0, 2, 1, 3.
    ///
    /// # Safety
    /// Eight values can be written to `to`.
    #[inline(always)]
    unsafe fn store_even_odd(self, values: int16x8_t, to: *mut i16) {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let even = vreinterpretq_s32_s16(vuzp1q_s16(values, values));
            let odd = vreinterpretq_s32_s16(vuzp2q_s16(values, values));
            vst1q_s16(to, vreinterpretq_s16_s32(vzip1q_s32(even, odd)));
        }
    }
}
