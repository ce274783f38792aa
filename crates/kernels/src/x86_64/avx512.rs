//! AVX-512 with VNNI: vectors of sixteen.

use core::arch::x86_64::*;

use super::avx2::Avx2;
use crate::simd::{EXPONENT_SHIFT, Simd, WordSimd, instructions};

/// Proof that this CPU has AVX-512 F, BW, DQ, VL and VNNI, and what [`Avx2`] stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512(Avx2);

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        let avx2 = Avx2::detect()?;
        let there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        there.then_some(Self(avx2))
    }

    /// The same CPU's AVX2, for what is no faster in wider vectors.
    #[inline(always)]
    pub(super) fn avx2(self) -> Avx2 {
        self.0
    }

    #[inline(always)]
    fn part_mask(self, len: usize) -> __mmask16 {
        assert!(len < 16);
        (1 << len) - 1
    }
}

impl Simd for Avx512 {
    type F = __m512;
    type M = __mmask16;
    /// The exponent.
    type Power = __m512;
    const LANES: usize = 16;
    const SQUARE: usize = 16;

    instructions! {
        fn splat(value: f32) -> __m512 = _mm512_set1_ps(value);
        fn add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        fn sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        fn mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        fn div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
        fn sqrt(a: __m512) -> __m512 = _mm512_sqrt_ps(a);
        fn fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        fn fnma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fnmadd_ps(a, b, c);
        fn min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps(a, b);
        fn max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps(a, b);
        fn abs(a: __m512) -> __m512 = _mm512_abs_ps(a);
        fn neg(a: __m512) -> __m512 = _mm512_xor_ps(_mm512_set1_ps(-0.0), a);
        fn copy_sign(a: __m512, b: __m512) -> __m512 =
            _mm512_or_ps(_mm512_abs_ps(a), _mm512_and_ps(_mm512_set1_ps(-0.0), b));
        fn round(a: __m512) -> __m512 = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
        fn power_of_two(shifted: __m512) -> __m512 = _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_sub_epi32(
            _mm512_castps_si512(shifted),
            _mm512_set1_epi32(127),
        )));
        fn scale(a: __m512, power: __m512) -> __m512 = _mm512_scalef_ps(a, power);
        fn add_scaled(c: __m512, a: __m512, power: __m512) -> __m512 = _mm512_add_ps(c, _mm512_scalef_ps(a, power));
        fn sub_scaled(c: __m512, a: __m512, power: __m512) -> __m512 = _mm512_sub_ps(c, _mm512_scalef_ps(a, power));
        fn lt(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
        fn select(mask: __mmask16, yes: __m512, no: __m512) -> __m512 = _mm512_mask_blend_ps(mask, no, yes);
        fn splat_f16(bits: u16) -> __m512 = _mm512_cvtph_ps(_mm256_set1_epi16(bits.cast_signed()));
        fn swap_pairs(a: __m512) -> __m512 = _mm512_permute_ps::<0b10_11_00_01>(a);
    }

    #[inline(always)]
    unsafe fn load_ptr(self, from: *const f32) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_ptr(self, value: __m512, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe { _mm512_storeu_ps(to, value) }
    }

    #[inline(always)]
    fn load_part(self, from: &[f32]) -> __m512 {
        // SAFETY: the mask reads no lane beyond the slice.
        unsafe { _mm512_maskz_loadu_ps(self.part_mask(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn load_part_or(self, from: &[f32], other: __m512) -> __m512 {
        // SAFETY: the mask reads no lane beyond the slice.
        unsafe { _mm512_mask_loadu_ps(other, self.part_mask(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn store_part(self, value: __m512, to: &mut [f32]) {
        // SAFETY: the mask writes no lane beyond the slice.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), self.part_mask(to.len()), value) }
    }

    #[inline(always)]
    unsafe fn load_f16_ptr(self, from: *const u16) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bf16_ptr(self, from: *const u16) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    unsafe fn transpose_ptr(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        let mut columns = [self.splat(0.0); 16];
        // SAFETY: as the caller promises.
        unsafe {
            self.load_turned(from, from_row, &mut columns);
            for (i, column) in columns.iter().enumerate() {
                self.store_ptr(*column, to.add(i * to_row));
            }
        }
    }

    #[inline(always)]
    unsafe fn load_turned(self, from: *const f32, row: usize, to: &mut [__m512; 16]) {
        let mut rows = *to;
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe {
            for (i, value) in rows.iter_mut().enumerate() {
                *value = _mm512_loadu_ps(from.add(i * row));
            }
            // Pairs of rows, then fours: place 4i + j has columns j, 4 + j, 8 + j, 12 + j of rows 4i to 4i + 3.
            for i in [0, 4, 8, 12] {
                let [a, b, c, d] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
                let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
                let (ab_high, cd_high) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
                to[i] = _mm512_shuffle_ps::<0x44>(ab, cd);
                to[i + 1] = _mm512_shuffle_ps::<0xee>(ab, cd);
                to[i + 2] = _mm512_shuffle_ps::<0x44>(ab_high, cd_high);
                to[i + 3] = _mm512_shuffle_ps::<0xee>(ab_high, cd_high);
            }
            for j in 0..4 {
                let [a, b, c, d] = [to[j], to[4 + j], to[8 + j], to[12 + j]];
                let (ab, cd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0x88>(c, d));
                let (ab_odd, cd_odd) = (_mm512_shuffle_f32x4::<0xdd>(a, b), _mm512_shuffle_f32x4::<0xdd>(c, d));
                to[j] = _mm512_shuffle_f32x4::<0x88>(ab, cd);
                to[4 + j] = _mm512_shuffle_f32x4::<0x88>(ab_odd, cd_odd);
                to[8 + j] = _mm512_shuffle_f32x4::<0xdd>(ab, cd);
                to[12 + j] = _mm512_shuffle_f32x4::<0xdd>(ab_odd, cd_odd);
            }
        }
    }

    #[inline(always)]
    fn prefetch(self, address: *const f32) {
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) }
    }

    #[inline(always)]
    fn prefetch_write(self, address: *mut f32) {
        // SAFETY: a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) }
    }

    #[inline(always)]
    unsafe fn store_f16_ptr(self, value: __m512, to: *mut u16) {
        // SAFETY: as the caller promises.
        unsafe { _mm256_storeu_si256(to.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)) }
    }

    #[inline(always)]
    unsafe fn load_i8_ptr(self, from: *const i8) -> __m512 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(from.cast()))) }
    }

    #[inline(always)]
    fn begin_scale(self, fraction: __m512, shifted: __m512) -> (__m512, __m512) {
        (self.add(self.splat(1.0), fraction), self.sub(shifted, self.splat(EXPONENT_SHIFT)))
    }

    #[inline(always)]
    fn reduce_add(self, a: __m512) -> f32 {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let eight = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a));
            let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn reduce_max(self, a: __m512) -> f32 {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let eight = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a));
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn reduce_add_four(self, [a, b, c, d]: [__m512; 4]) -> [f32; 4] {
        let mut sums = [0.0; 4];
        // SAFETY: four values fit into `sums`; `self` exists only where the CPU has these instructions.
        unsafe {
            let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let quarters =
                _mm512_add_ps(_mm512_shuffle_ps::<0b01_00_01_00>(ab, cd), _mm512_shuffle_ps::<0b11_10_11_10>(ab, cd));
            let halves = _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps::<1>(quarters));
            let whole = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
            _mm_storeu_ps(sums.as_mut_ptr(), whole);
        }
        sums
    }

    #[inline(always)]
    fn double(self, a: __m512) -> [__m512; 2] {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let lower = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
            let upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
            [_mm512_permutexvar_ps(lower, a), _mm512_permutexvar_ps(upper, a)]
        }
    }
}

impl WordSimd for Avx512 {
    type W = __m512i;

    instructions! {
        fn splat_word(word: u32) -> __m512i = _mm512_set1_epi32(word.cast_signed());
        fn lane_numbers() -> __m512i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        fn add_words(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn mul_words(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32(a, b);
        fn xor_words(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn lt_words(a: __m512i, b: __m512i) -> __mmask16 = _mm512_cmplt_epi32_mask(a, b);
    }

    #[inline(always)]
    fn shift_words<const N: u32>(self, a: __m512i) -> __m512i {
        // SAFETY: `self` exists only where the CPU has this instruction.
        unsafe { _mm512_srli_epi32::<N>(a) }
    }
}
