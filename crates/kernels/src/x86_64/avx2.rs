//! AVX2 with FMA and F16C: vectors of eight.

use core::arch::x86_64::*;

use crate::simd::{Simd, WordSimd, instructions};

/// Proof that this CPU has AVX2, FMA and F16C.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    pub(crate) fn detect() -> Option<Self> {
        let there =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        there.then_some(Self(()))
    }

    /// The sign bits of `len` lanes are set.
    #[inline(always)]
    fn part_mask(self, len: usize) -> __m256i {
        const EDGE: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(len < 8);
        // SAFETY: eight values lie behind each start from 1 to 8; `self` exists only where the CPU has AVX2.
        unsafe { _mm256_loadu_si256(EDGE.as_ptr().add(8 - len).cast()) }
    }
}

impl Simd for Avx2 {
    type F = __m256;
    type M = __m256;
    /// The second of two factors, of which neither leaves the range of normal numbers.
    type Power = __m256;
    const LANES: usize = 8;
    const SQUARE: usize = 8;

    instructions! {
        fn splat(value: f32) -> __m256 = _mm256_set1_ps(value);
        fn add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        fn sub(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        fn mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        fn div(a: __m256, b: __m256) -> __m256 = _mm256_div_ps(a, b);
        fn sqrt(a: __m256) -> __m256 = _mm256_sqrt_ps(a);
        fn fma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        fn fnma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fnmadd_ps(a, b, c);
        fn min(a: __m256, b: __m256) -> __m256 = _mm256_min_ps(a, b);
        fn max(a: __m256, b: __m256) -> __m256 = _mm256_max_ps(a, b);
        fn abs(a: __m256) -> __m256 = _mm256_andnot_ps(_mm256_set1_ps(-0.0), a);
        fn neg(a: __m256) -> __m256 = _mm256_xor_ps(_mm256_set1_ps(-0.0), a);
        fn copy_sign(a: __m256, b: __m256) -> __m256 =
            _mm256_or_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0), a), _mm256_and_ps(_mm256_set1_ps(-0.0), b));
        fn round(a: __m256) -> __m256 = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
        fn power_of_two(shifted: __m256) -> __m256 = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_sub_epi32(
            _mm256_castps_si256(shifted),
            _mm256_set1_epi32(127),
        )));
        fn scale(a: __m256, power: __m256) -> __m256 = _mm256_mul_ps(a, power);
        fn add_scaled(c: __m256, a: __m256, power: __m256) -> __m256 = _mm256_fmadd_ps(a, power, c);
        fn sub_scaled(c: __m256, a: __m256, power: __m256) -> __m256 = _mm256_fnmadd_ps(a, power, c);
        fn lt(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
        fn select(mask: __m256, yes: __m256, no: __m256) -> __m256 = _mm256_blendv_ps(no, yes, mask);
        fn splat_f16(bits: u16) -> __m256 = _mm256_cvtph_ps(_mm_set1_epi16(bits.cast_signed()));
        fn swap_pairs(a: __m256) -> __m256 = _mm256_permute_ps::<0b10_11_00_01>(a);
    }

    /// Hides that the number is known. Polynomials have more constants than there are registers:
    /// known ones are broadcast again before each use, hidden ones are kept on the stack, where an
    /// instruction finds them without another one. GELU became a seventh faster.
    #[inline(always)]
    fn constant(self, value: f32) -> __m256 {
        let mut hidden = value;
        // SAFETY: it is a comment, and `self` exists only where the CPU has the instruction for the rest.
        unsafe {
            std::arch::asm!("/* {0} */", inout(xmm_reg) hidden, options(pure, nomem, nostack, preserves_flags));
            _mm256_set1_ps(hidden)
        }
    }

    #[inline(always)]
    unsafe fn load_ptr(self, from: *const f32) -> __m256 {
        // SAFETY: as the caller promises.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_ptr(self, value: __m256, to: *mut f32) {
        // SAFETY: as the caller promises.
        unsafe { _mm256_storeu_ps(to, value) }
    }

    #[inline(always)]
    fn load_part(self, from: &[f32]) -> __m256 {
        // SAFETY: the mask reads no lane beyond the slice.
        unsafe { _mm256_maskload_ps(from.as_ptr(), self.part_mask(from.len())) }
    }

    #[inline(always)]
    fn load_part_or(self, from: &[f32], other: __m256) -> __m256 {
        // SAFETY: `self` exists only where the CPU has these instructions.
        let mask = unsafe { _mm256_castsi256_ps(self.part_mask(from.len())) };
        self.select(mask, self.load_part(from), other)
    }

    #[inline(always)]
    fn store_part(self, value: __m256, to: &mut [f32]) {
        // SAFETY: the mask writes no lane beyond the slice.
        unsafe { _mm256_maskstore_ps(to.as_mut_ptr(), self.part_mask(to.len()), value) }
    }

    #[inline(always)]
    unsafe fn load_f16_ptr(self, from: *const u16) -> __m256 {
        // SAFETY: as the caller promises.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_bf16_ptr(self, from: *const u16) -> __m256 {
        // SAFETY: as the caller promises.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast())))) }
    }

    #[inline(always)]
    unsafe fn transpose_ptr(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe { transpose_8(from, from_row, to, to_row) }
    }

    #[inline(always)]
    unsafe fn load_turned(self, from: *const f32, row: usize, to: &mut [__m256; 16]) {
        // SAFETY: as the caller promises; `self` exists only where the CPU has these instructions.
        unsafe { turned_8(from, row, to) }
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
    unsafe fn store_f16_ptr(self, value: __m256, to: *mut u16) {
        // SAFETY: as the caller promises.
        unsafe { _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)) }
    }

    #[inline(always)]
    unsafe fn load_i8_ptr(self, from: *const i8) -> __m256 {
        // SAFETY: as the caller promises.
        unsafe { _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from.cast()))) }
    }

    #[inline(always)]
    fn begin_scale(self, fraction: __m256, shifted: __m256) -> (__m256, __m256) {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let biased_twice = _mm256_castps_si256(shifted);
            let first = _mm256_srli_epi32::<1>(biased_twice);
            let second = _mm256_slli_epi32::<23>(_mm256_sub_epi32(biased_twice, first));
            let first = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(first));
            (_mm256_fmadd_ps(fraction, first, first), _mm256_castsi256_ps(second))
        }
    }

    #[inline(always)]
    fn reduce_add(self, a: __m256) -> f32 {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn reduce_max(self, a: __m256) -> f32 {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)))
        }
    }

    #[inline(always)]
    fn reduce_add_four(self, [a, b, c, d]: [__m256; 4]) -> [f32; 4] {
        let mut sums = [0.0; 4];
        // SAFETY: four values fit into `sums`; `self` exists only where the CPU has these instructions.
        unsafe {
            let halves = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
            let whole = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
            _mm_storeu_ps(sums.as_mut_ptr(), whole);
        }
        sums
    }

    #[inline(always)]
    fn double(self, a: __m256) -> [__m256; 2] {
        // SAFETY: `self` exists only where the CPU has these instructions.
        unsafe {
            let (even, odd) = (_mm256_unpacklo_ps(a, a), _mm256_unpackhi_ps(a, a));
            [_mm256_permute2f128_ps::<0x20>(even, odd), _mm256_permute2f128_ps::<0x31>(even, odd)]
        }
    }
}

impl WordSimd for Avx2 {
    type W = __m256i;

    instructions! {
        fn splat_word(word: u32) -> __m256i = _mm256_set1_epi32(word.cast_signed());
        fn lane_numbers() -> __m256i = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        fn add_words(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn mul_words(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi32(a, b);
        fn xor_words(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn lt_words(a: __m256i, b: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_cmpgt_epi32(b, a));
    }

    #[inline(always)]
    fn shift_words<const N: u32>(self, a: __m256i) -> __m256i {
        // SAFETY: `self` exists only where the CPU has this instruction.
        unsafe { _mm256_srl_epi32(a, _mm_cvtsi32_si128(const { N.cast_signed() })) }
    }
}

/// Rows r and r + 4 share a register in two halves; then pairs, then fours of them change places.
///
/// # Safety
/// Eight values can be read and written at each of eight rows; the CPU has AVX2.
#[inline(always)]
unsafe fn transpose_8(from: *const f32, from_row: usize, to: *mut f32, to_row: usize) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut columns = [_mm256_setzero_ps(); 16];
        turned_8(from, from_row, &mut columns);
        for (i, column) in columns[..8].iter().enumerate() {
            _mm256_storeu_ps(to.add(i * to_row), *column);
        }
    }
}

/// See [`Simd::load_turned`].
///
/// # Safety
/// Eight values can be read at each of eight rows; the CPU has AVX2.
#[inline(always)]
unsafe fn turned_8(from: *const f32, row_step: usize, to: &mut [__m256; 16]) {
    // SAFETY: as the caller promises.
    unsafe {
        for col in [0, 4] {
            // No closures: they would be compiled without the instruction set.
            let mut rows = [_mm256_setzero_ps(); 4];
            for (row, both) in rows.iter_mut().enumerate() {
                let low = _mm_loadu_ps(from.add(row * row_step + col));
                let high = _mm_loadu_ps(from.add((row + 4) * row_step + col));
                *both = _mm256_set_m128(high, low);
            }
            let [a, b, c, d] = rows;
            let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
            let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
            to[col] = _mm256_shuffle_ps::<0x44>(ab, cd);
            to[col + 1] = _mm256_shuffle_ps::<0xee>(ab, cd);
            to[col + 2] = _mm256_shuffle_ps::<0x44>(ab_high, cd_high);
            to[col + 3] = _mm256_shuffle_ps::<0xee>(ab_high, cd_high);
        }
    }
}
