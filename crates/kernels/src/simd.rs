//! What the kernels ask of an instruction set.
//!
//! An implementor is a token: a value without content that exists only where the CPU has the instructions, so its methods
//! are safe to call. Every method is `#[inline(always)]`, and so is every function that is generic over [`Simd`]: they end
//! up in the `#[target_feature]` functions that [`kernels!`](crate::dispatch::kernels) writes, and only there become
//! single instructions.

/// Vectors of f32 and what can be done with them.
pub(crate) trait Simd: Copy {
    /// A vector of [`LANES`](Simd::LANES) f32.
    type F: Copy;
    /// The outcome of a comparison, one bit or one lane each.
    type M: Copy;
    /// How many f32 a vector holds.
    const LANES: usize;

    /// The same value in all lanes.
    fn splat(self, value: f32) -> Self::F;
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be read from `from`, at any alignment.
    unsafe fn load_ptr(self, from: *const f32) -> Self::F;
    /// # Safety
    /// [`LANES`](Simd::LANES) values can be written to `to`, at any alignment.
    unsafe fn store_ptr(self, value: Self::F, to: *mut f32);
    /// The first values of a slice that is shorter than a vector; zero in the other lanes.
    fn load_part(self, from: &[f32]) -> Self::F;
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
    /// Whole numbers from −128 to 127 as signed bytes.
    ///
    /// # Safety
    /// [`LANES`](Simd::LANES) bytes can be written to `to`.
    unsafe fn store_i8_ptr(self, value: Self::F, to: *mut i8);
    /// The f16 with these bits, widened, in all lanes.
    fn splat_f16(self, bits: u16) -> Self::F;

    /// a + b
    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    /// a − b
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    /// a · b
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    /// a / b
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// a · b + c, rounded once
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// c − a · b, rounded once
    fn fnma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// a where a < b, else b: b where either is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// a where a > b, else b: b where either is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// √a
    fn sqrt(self, a: Self::F) -> Self::F;
    /// |a|
    fn abs(self, a: Self::F) -> Self::F;
    /// −a
    fn neg(self, a: Self::F) -> Self::F;
    /// The magnitude of a with the sign of b.
    fn copy_sign(self, a: Self::F, b: Self::F) -> Self::F;
    /// To the nearest whole number, ties to even.
    fn round(self, a: Self::F) -> Self::F;
    /// a · 2ⁿ for whole n from −252 to 254, right down to subnormal results.
    fn scale(self, a: Self::F, n: Self::F) -> Self::F;

    /// a < b; false where either is NaN.
    fn lt(self, a: Self::F, b: Self::F) -> Self::M;
    /// Whether a is NaN.
    fn is_nan(self, a: Self::F) -> Self::M;
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

    /// bfloat16 values at the beginning of a slice, widened.
    #[inline(always)]
    fn load_bf16(self, from: &[u16]) -> Self::F {
        assert!(from.len() >= Self::LANES);
        // SAFETY: the slice is long enough, as was just checked.
        unsafe { self.load_bf16_ptr(from.as_ptr()) }
    }
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
