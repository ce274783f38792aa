//! What the kernels ask of an instruction set.
//!
//! An implementor is a token: a value without content that exists only where the CPU has the
//! instructions, so its methods are safe to call. Every method is `#[inline(always)]`, and so is
//! every function that is generic over [`Simd`]: they end up in the `#[target_feature]` functions
//! that [`kernels!`](crate::dispatch::kernels) writes, and only there become single instructions.

/// Added to a number of moderate size, it rounds that to a whole number n, ties to even, and leaves
/// n + 254 in the low bits of the sum, where [`Simd::begin_scale`] finds it without a conversion:
/// 254 makes both halves of an exponent positive.
pub(crate) const EXPONENT_SHIFT: f32 = (3 << 22) as f32 + 254.0;

/// Vectors of f32 and what can be done with them.
pub(crate) trait Simd: Copy {
    /// A vector of [`LANES`](Simd::LANES) f32.
    type F: Copy;
    /// The outcome of a comparison, one bit or one lane each.
    type M: Copy;
    /// What is left of a power of two, one for each lane.
    type Power: Copy;
    /// How many f32 a vector holds.
    const LANES: usize;
    /// The side of what [`transpose_ptr`](Simd::transpose_ptr) turns.
    const SQUARE: usize;

    /// The same value in all lanes.
    fn splat(self, value: f32) -> Self::F;
    /// As [`splat`](Simd::splat), for a number that is known when the program is built.
    #[inline(always)]
    fn constant(self, value: f32) -> Self::F {
        self.splat(value)
    }
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be read from `from`, at any alignment.
    unsafe fn load_ptr(self, from: *const f32) -> Self::F;
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be written to `to`, at any alignment.
    unsafe fn store_ptr(self, value: Self::F, to: *mut f32);
    /// The first values of a slice that is shorter than a vector; zero in the other lanes.
    fn load_part(self, from: &[f32]) -> Self::F;
    /// As [`load_part`](Simd::load_part), with the lanes of `other` in place of zero.
    fn load_part_or(self, from: &[f32], other: Self::F) -> Self::F;
    /// The first lanes to a slice that is shorter than a vector.
    fn store_part(self, value: Self::F, to: &mut [f32]);
    /// Half-precision values, widened.
    ///
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be read from `from`, at any alignment.
    unsafe fn load_f16_ptr(self, from: *const u16) -> Self::F;
    /// bfloat16 values, widened.
    ///
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be read from `from`, at any alignment.
    unsafe fn load_bf16_ptr(self, from: *const u16) -> Self::F;
    /// Narrowed to half precision: to nearest, ties to even; a NaN stays a NaN of the same sign.
    ///
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be written to `to`, at any alignment.
    unsafe fn store_f16_ptr(self, value: Self::F, to: *mut u16);
    /// Signed bytes, widened.
    ///
    /// # Safety
    /// [`LANES`](Simd::LANES) bytes can be read from `from`.
    unsafe fn load_i8_ptr(self, from: *const i8) -> Self::F;
    /// The f16 with these bits, widened, in all lanes.
    fn splat_f16(self, bits: u16) -> Self::F;

    /// A square of [`SQUARE`](Simd::SQUARE)² values: row i of `from` becomes column i of `to`.
    ///
    /// # Safety
    /// [`SQUARE`](Simd::SQUARE) values can be read and written at each of as many rows, which are `from_row` and `to_row`
    /// apart.
    unsafe fn transpose_ptr(self, from: *const f32, from_row: usize, to: *mut f32, to_row: usize);
    /// The columns of a square of [`LANES`](Simd::LANES)² values, in the first places of `to`: lane
    /// r of place i is value i of row r.
    ///
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be read at each of as many rows, which are `row` apart.
    unsafe fn load_turned(self, from: *const f32, row: usize, to: &mut [Self::F; 16]);
    /// Asks for the cache line of an address, which need not exist, into L2.
    fn prefetch(self, address: *const f32);
    /// Asks for the cache line of an address, which need not exist, into L1, to be written.
    fn prefetch_write(self, address: *mut f32);

    /// a + b
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// a − b
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// a · b
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// √a, rounded once
    fn sqrt(self, a: Self::F) -> Self::F;
    /// a · b + c, rounded once
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// c − a · b, rounded once
    fn fnma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// a where a < b, else b: b where either is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// a where a > b, else b: b where either is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// |a|
    fn abs(self, a: Self::F) -> Self::F;
    /// −a
    fn neg(self, a: Self::F) -> Self::F;
    /// The magnitude of a with the sign of b.
    fn copy_sign(self, a: Self::F, b: Self::F) -> Self::F;
    /// To the nearest whole number, ties to even.
    fn round(self, a: Self::F) -> Self::F;
    /// 2ⁿ from [`EXPONENT_SHIFT`] + n, for whole n from −126 to 127.
    fn power_of_two(self, shifted: Self::F) -> Self::F;
    /// (1 + fraction) · 2ⁿ from [`EXPONENT_SHIFT`] + n, for whole n from −252 to 254: a number of
    /// moderate size, and the power that is left to scale it with. What is done to the number in
    /// between cannot overflow or underflow early.
    fn begin_scale(self, fraction: Self::F, shifted: Self::F) -> (Self::F, Self::Power);
    /// a · power, rounded once, up to infinity and down to subnormal numbers.
    fn scale(self, a: Self::F, power: Self::Power) -> Self::F;
    /// c + a · power
    fn add_scaled(self, c: Self::F, a: Self::F, power: Self::Power) -> Self::F;
    /// c − a · power
    fn sub_scaled(self, c: Self::F, a: Self::F, power: Self::Power) -> Self::F;

    /// a < b; false where either is NaN.
    fn lt(self, a: Self::F, b: Self::F) -> Self::M;
    /// `yes` where the mask is set, else `no`.
    fn select(self, mask: Self::M, yes: Self::F, no: Self::F) -> Self::F;

    /// The sum of all lanes, by halves: lane i with lane i + half.
    fn reduce_add(self, a: Self::F) -> f32;
    /// The largest lane; unspecified where one is NaN.
    fn reduce_max(self, a: Self::F) -> f32;

    /// The sum of each of four vectors, all in one order.
    fn reduce_add_four(self, a: [Self::F; 4]) -> [f32; 4];
    /// Lanes 2i and 2i + 1 exchanged.
    fn swap_pairs(self, a: Self::F) -> Self::F;
    /// Each lane twice: the lower half of the lanes, then the upper half.
    fn double(self, a: Self::F) -> [Self::F; 2];

    /// The first values of a slice.
    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::F {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough, as was just checked.
        unsafe { self.load_ptr(from.as_ptr()) }
    }

    /// All lanes to the beginning of a slice.
    #[inline(always)]
    fn store(self, value: Self::F, to: &mut [f32]) {
        assert!(to.len() >= Self::LANES);
        // SAFETY: the slice is long enough, as was just checked.
        unsafe { self.store_ptr(value, to.as_mut_ptr()) }
    }

    /// Half-precision values at the beginning of a slice, widened.
    #[inline(always)]
    fn load_f16(self, from: &[u16]) -> Self::F {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough, as was just checked.
        unsafe { self.load_f16_ptr(from.as_ptr()) }
    }
}

/// Vectors of 32-bit words beside those of f32, lane by lane.
pub(crate) trait WordSimd: Simd {
    /// A vector of [`LANES`](Simd::LANES) words.
    type W: Copy;

    /// The same word in all lanes.
    fn splat_word(self, word: u32) -> Self::W;
    /// 0, 1, 2 …
    fn lane_numbers(self) -> Self::W;
    /// a + b, without what does not fit
    fn add_words(self, a: Self::W, b: Self::W) -> Self::W;
    /// a · b, without what does not fit
    fn mul_words(self, a: Self::W, b: Self::W) -> Self::W;
    /// The bits that only one of both has.
    fn xor_words(self, a: Self::W, b: Self::W) -> Self::W;
    /// a / 2ᴺ
    fn shift_words<const N: u32>(self, a: Self::W) -> Self::W;
    /// a < b, of words below 2³¹.
    fn lt_words(self, a: Self::W, b: Self::W) -> Self::M;
}

/// Writes methods that are one instruction each.
macro_rules! instructions {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty = $value:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $type),*) -> $out {
            // SAFETY: `self` exists only where the CPU has these instructions.
            unsafe { $value }
        }
    )+};
}
pub(crate) use instructions;
