//! Products of bytes with AVX2.
//!
//! `vpmaddubsw` adds two products in 16 bits, and codes of up to six bits leave room to add further
//! ones there before `vpmaddwd` brings them to 32 bits. Codes of eight bits would overflow even a
//! pair; they are split into their even and odd bytes, and `vpmaddwd` multiplies them as 16-bit
//! numbers.

use core::arch::x86_64::*;

use super::Avx2;
use crate::quant::byte_simd::ByteSimd;
use crate::simd::instructions;

/// Sums in 32 bits, and those that have room in 16 bits yet.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    whole: __m256i,
    narrow: __m256i,
}

/// Even and odd bytes, in 16 bits each.
#[derive(Clone, Copy)]
pub(crate) struct Pairs {
    even: __m256i,
    odd: __m256i,
}

/// `low` and the masked bits of a plane that was shifted.
macro_rules! upper_bits {
    ($low:expr, $plane:expr, $mask:expr, left $left:literal) => {
        _mm256_or_si256($low, _mm256_and_si256(_mm256_slli_epi16::<$left>($plane), _mm256_set1_epi8($mask)))
    };
    ($low:expr, $plane:expr, $mask:expr, right $right:literal) => {
        _mm256_or_si256($low, _mm256_and_si256(_mm256_srli_epi16::<$right>($plane), _mm256_set1_epi8($mask)))
    };
}

impl ByteSimd for Avx2 {
    type Bytes = __m256i;
    type Wide = Pairs;
    type WideWord = Pairs;
    type Sum = Sum;
    type TileSums = __m256i;
    const ROWS: usize = 4;
    const GROUPS: usize = 1;
    const WIDE_ZERO: i32 = 128;

    instructions! {
        fn low(bytes: __m256i) -> __m256i = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
        fn high(bytes: __m256i) -> __m256i = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
        fn low_six(bytes: __m256i) -> __m256i = _mm256_and_si256(bytes, _mm256_set1_epi8(63));
        fn upper_twos(a: __m256i, b: __m256i, c: __m256i) -> __m256i = {
            let upper = _mm256_and_si256(_mm256_srli_epi16::<2>(a), _mm256_set1_epi8(0x30));
            let all = upper_bits!(upper, b, 0x0c, right 4);
            upper_bits!(all, c, 0x03, right 6)
        };
        fn zero() -> Sum = Sum { whole: _mm256_setzero_si256(), narrow: _mm256_setzero_si256() };
        fn dot(sum: Sum, codes: __m256i, word: __m256i) -> Sum =
            Sum { narrow: _mm256_add_epi16(sum.narrow, _mm256_maddubs_epi16(codes, word)), ..sum };
        fn settle(sum: Sum) -> Sum = Sum {
            whole: _mm256_add_epi32(sum.whole, _mm256_madd_epi16(sum.narrow, _mm256_set1_epi16(1))),
            narrow: _mm256_setzero_si256(),
        };
        fn wide(codes: __m256i) -> Pairs =
            Pairs { even: _mm256_and_si256(codes, _mm256_set1_epi16(255)), odd: _mm256_srli_epi16::<8>(codes) };
        fn dot_wide(sum: Sum, codes: Pairs, word: Pairs) -> Sum = {
            let even = _mm256_add_epi32(sum.whole, _mm256_madd_epi16(codes.even, word.even));
            Sum { whole: _mm256_add_epi32(even, _mm256_madd_epi16(codes.odd, word.odd)), ..sum }
        };
        fn sum_to_f32(sum: Sum) -> __m256 = _mm256_cvtepi32_ps(sum.whole);
    }

    #[inline(always)]
    fn fifth<const STEP: usize>(self, low: __m256i, plane: __m256i) -> __m256i {
        // SAFETY: `self` exists only where the CPU has AVX2.
        unsafe {
            match STEP {
                0 => upper_bits!(low, plane, 16, left 4),
                1 => upper_bits!(low, plane, 16, left 3),
                2 => upper_bits!(low, plane, 16, left 2),
                3 => upper_bits!(low, plane, 16, left 1),
                4 => upper_bits!(low, plane, 16, left 0),
                5 => upper_bits!(low, plane, 16, right 1),
                6 => upper_bits!(low, plane, 16, right 2),
                _ => upper_bits!(low, plane, 16, right 3),
            }
        }
    }

    #[inline(always)]
    unsafe fn load_bytes(self, from: *const u8) -> __m256i {
        // SAFETY: as the caller promises.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_bytes(self, bytes: __m256i, to: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { _mm256_storeu_si256(to.cast(), bytes) }
    }

    #[inline(always)]
    unsafe fn load_u8(self, from: *const u8) -> __m256 {
        // SAFETY: as the caller promises.
        unsafe { _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn load_i8(self, from: *const u8) -> __m256 {
        // SAFETY: as the caller promises.
        unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn word(self, from: *const i8) -> __m256i {
        // SAFETY: as the caller promises.
        unsafe { _mm256_set1_epi32(from.cast::<i32>().read_unaligned()) }
    }

    #[inline(always)]
    unsafe fn begin(self, from: *const i32) -> Sum {
        // SAFETY: as the caller promises.
        unsafe { Sum { whole: _mm256_set1_epi32(from.read()), narrow: _mm256_setzero_si256() } }
    }

    #[inline(always)]
    unsafe fn wide_word(self, _: *const i8, wide: *const i16) -> Pairs {
        // SAFETY: as the caller promises.
        unsafe {
            Pairs {
                even: _mm256_set1_epi32(wide.cast::<i32>().read_unaligned()),
                odd: _mm256_set1_epi32(wide.add(2).cast::<i32>().read_unaligned()),
            }
        }
    }

    #[inline(always)]
    fn dot_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> __m256i {
        // SAFETY: both are arrays of 32; `self` exists only where the CPU has AVX2.
        unsafe {
            let (codes, x) = (_mm256_loadu_si256(codes.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().cast()));
            _mm256_madd_epi16(_mm256_maddubs_epi16(codes, x), _mm256_set1_epi16(1))
        }
    }

    /// Amounts of codes by activations with their signs: 128 · 127 · 2 is still below 2¹⁵.
    #[inline(always)]
    fn dot_wide_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> __m256i {
        // SAFETY: both are arrays of 32; `self` exists only where the CPU has AVX2.
        unsafe {
            let (codes, x) = (_mm256_loadu_si256(codes.as_ptr().cast()), _mm256_loadu_si256(x.as_ptr().cast()));
            let signed = _mm256_xor_si256(codes, _mm256_set1_epi8(-128));
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(signed), _mm256_sign_epi8(x, signed));
            _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
        }
    }

    #[inline(always)]
    fn halves(self, [a, b, c, d]: &[__m256i; 4]) -> [[i32; 4]; 2] {
        // SAFETY: `self` exists only where the CPU has AVX2; the array has the size of a vector.
        unsafe {
            let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(*a, *b), _mm256_hadd_epi32(*c, *d));
            std::mem::transmute::<__m256i, [[i32; 4]; 2]>(sums)
        }
    }

    #[inline(always)]
    fn wholes(self, [a, b, c, d]: &[__m256i; 4]) -> [i32; 4] {
        // SAFETY: `self` exists only where the CPU has AVX2; the array has the size of a vector.
        unsafe {
            let sums = _mm256_hadd_epi32(_mm256_hadd_epi32(*a, *b), _mm256_hadd_epi32(*c, *d));
            let sums = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
            std::mem::transmute::<__m128i, [i32; 4]>(sums)
        }
    }

    #[inline(always)]
    unsafe fn largest_bits(self, from: *const f32) -> u32 {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let amount =
                |i: usize| _mm256_and_si256(_mm256_loadu_si256(from.add(8 * i).cast()), _mm256_set1_epi32(i32::MAX));
            let eight =
                _mm256_max_epi32(_mm256_max_epi32(amount(0), amount(1)), _mm256_max_epi32(amount(2), amount(3)));
            let four = _mm_max_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
            let two = _mm_max_epi32(four, _mm_unpackhi_epi64(four, four));
            _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32::<1>(two))) as u32
        }
    }

    #[inline(always)]
    unsafe fn round_block(self, from: *const f32, inverse: f32, codes: *mut i8, wide: *mut i16) -> [i32; 2] {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            let inverse = _mm256_set1_ps(inverse);
            let round = |i: usize| _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(from.add(8 * i)), inverse));
            // Packing works within halves of a vector; the permutations put the values into order.
            let in_order = |packed| _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
            let first = in_order(_mm256_packs_epi32(round(0), round(1)));
            let second = in_order(_mm256_packs_epi32(round(2), round(3)));
            let bytes = in_order(_mm256_packs_epi16(first, second));
            _mm256_storeu_si256(codes.cast(), bytes);
            let even_odd =
                _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
            _mm256_storeu_si256(wide.cast(), _mm256_shuffle_epi8(first, even_odd));
            _mm256_storeu_si256(wide.add(16).cast(), _mm256_shuffle_epi8(second, even_odd));
            // `vpsadbw` adds eight unsigned bytes: each code is 128 too large for it.
            let sums = _mm256_sad_epu8(_mm256_xor_si256(bytes, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
            let halves = _mm256_add_epi32(sums, _mm256_unpackhi_epi64(sums, sums));
            let half = |four: __m128i| _mm_cvtsi128_si32(four) - 16 * 128;
            [half(_mm256_castsi256_si128(halves)), half(_mm256_extracti128_si256::<1>(halves))]
        }
    }
}
