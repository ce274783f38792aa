//! Products of bytes with AVX-512 VNNI: one instruction multiplies and adds four of them in each lane.

use core::arch::x86_64::*;

use super::Avx512;
use crate::quant::byte_simd::ByteSimd;
use crate::simd::instructions;

/// `low | (shifted plane) & mask` in one instruction.
macro_rules! upper_bits {
    ($low:expr, $shifted:expr, $mask:expr) => {
        _mm512_ternarylogic_epi32::<{ 0xf0 | (0xcc & 0xaa) }>($low, $shifted, _mm512_set1_epi8($mask))
    };
}

impl ByteSimd for Avx512 {
    type Bytes = __m512i;
    type Wide = __m512i;
    type WideWord = __m512i;
    type Sum = __m512i;
    type TileSums = __m256i;
    const ROWS: usize = 6;
    const GROUPS: usize = 2;
    const WIDE_ZERO: i32 = 128;

    instructions! {
        fn low(bytes: __m512i) -> __m512i = _mm512_and_si512(bytes, _mm512_set1_epi8(15));
        fn high(bytes: __m512i) -> __m512i = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), _mm512_set1_epi8(15));
        fn low_six(bytes: __m512i) -> __m512i = _mm512_and_si512(bytes, _mm512_set1_epi8(63));
        fn upper_twos(a: __m512i, b: __m512i, c: __m512i) -> __m512i = {
            // Each instruction takes the bits of a mask from its second operand, the others from its third.
            let upper = _mm512_ternarylogic_epi32::<0xca>(
                _mm512_set1_epi8(0x30),
                _mm512_srli_epi16::<2>(a),
                _mm512_srli_epi16::<4>(b),
            );
            let all = _mm512_ternarylogic_epi32::<0xca>(_mm512_set1_epi8(0x3c), upper, _mm512_srli_epi16::<6>(c));
            _mm512_and_si512(all, _mm512_set1_epi8(63))
        };
        fn zero() -> __m512i = _mm512_setzero_si512();
        fn dot(sum: __m512i, codes: __m512i, word: __m512i) -> __m512i = _mm512_dpbusd_epi32(sum, codes, word);
        fn dot_wide(sum: __m512i, codes: __m512i, word: __m512i) -> __m512i = _mm512_dpbusd_epi32(sum, codes, word);
        fn dot_high(sums: [__m512i; 2], two: __m512i, word: __m512i) -> [__m512i; 2] =
            [sums[0], _mm512_dpbusd_epi32(sums[1], _mm512_and_si512(two, _mm512_set1_epi8(-16)), word)];
        fn join(sums: [__m512i; 2]) -> __m512i = _mm512_add_epi32(sums[0], _mm512_srai_epi32::<4>(sums[1]));
        fn sum_to_f32(sum: __m512i) -> __m512 = _mm512_cvtepi32_ps(sum);
    }

    #[inline(always)]
    fn settle(self, sum: __m512i) -> __m512i {
        sum
    }

    #[inline(always)]
    fn wide(self, codes: __m512i) -> __m512i {
        codes
    }

    #[inline(always)]
    fn fifth<const STEP: usize>(self, low: __m512i, plane: __m512i) -> __m512i {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            match STEP {
                0 => upper_bits!(low, _mm512_slli_epi16::<4>(plane), 16),
                1 => upper_bits!(low, _mm512_slli_epi16::<3>(plane), 16),
                2 => upper_bits!(low, _mm512_slli_epi16::<2>(plane), 16),
                3 => upper_bits!(low, _mm512_slli_epi16::<1>(plane), 16),
                4 => upper_bits!(low, plane, 16),
                5 => upper_bits!(low, _mm512_srli_epi16::<1>(plane), 16),
                6 => upper_bits!(low, _mm512_srli_epi16::<2>(plane), 16),
                _ => upper_bits!(low, _mm512_srli_epi16::<3>(plane), 16),
            }
        }
    }

    #[inline(always)]
    unsafe fn load_bytes(self, from: *const u8) -> __m512i {
        // SAFETY: as the caller promises.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_bytes(self, bytes: __m512i, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { _mm512_storeu_si512(to.cast(), bytes) }
    }

    #[inline(always)]
    unsafe fn load_u8(self, from: *const u8) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn load_i8(self, from: *const u8) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn word(self, from: *const i8) -> __m512i {
        // SAFETY: as the caller promises.
        unsafe { _mm512_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn begin(self, from: *const i32) -> __m512i {
        // SAFETY: as the caller promises.
        unsafe { _mm512_set1_epi32(from.read()) }
    }

    #[inline(always)]
    unsafe fn wide_word(self, codes: *const i8, _: *const i16) -> __m512i {
        // SAFETY: as the caller promises.
        unsafe { self.word(codes) }
    }

    /// A tile of one row is half a vector.
    #[inline(always)]
    fn dot_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> __m256i {
        // SAFETY: both are arrays of 32; `self` exists only where the CPU has these instructions.
        unsafe {
            let (codes, x) = (_mm256_loadu_si256(codes.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().cast()));
            _mm256_dpbusd_epi32(_mm256_setzero_si256(), codes, x)
        }
    }

    #[inline(always)]
    fn dot_wide_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> __m256i {
        self.avx2().dot_wide_tile(codes, x)
    }

    #[inline(always)]
    fn halves(self, tiles: &[__m256i; 4]) -> [[i32; 4]; 2] {
        self.avx2().halves(tiles)
    }

    #[inline(always)]
    fn wholes(self, tiles: &[__m256i; 4]) -> [i32; 4] {
        self.avx2().wholes(tiles)
    }

    /// A block is four vectors of eight; wider ones would only make the reductions longer.
    #[inline(always)]
    unsafe fn largest_bits(self, from: *const f32) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { self.avx2().largest_bits(from) }
    }

    #[inline(always)]
    unsafe fn round_block(self, from: *const f32, inverse: f32, codes: *mut i8, wide: *mut i16) -> [i32; 2] {
        // SAFETY: as the caller promises.
        unsafe { self.avx2().round_block(from, inverse, codes, wide) }
    }
}
