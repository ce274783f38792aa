//! What a right factor may be made of.

use crate::simd::Simd;

/// A number that weights are stored as and that becomes an f32 as it is loaded.
pub(crate) trait Element: Copy {
    /// # Safety
    /// `S::LANES` elements can be read from `from`, at any alignment.
    unsafe fn load<S: Simd>(simd: S, from: *const Self) -> S::F;
}

impl Element for f32 {
    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const f32) -> S::F {
        // SAFETY: as the caller promises.
        unsafe { simd.load_ptr(from) }
    }
}

/// The bits of a half-precision number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct F16(pub u16);

impl Element for F16 {
    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const F16) -> S::F {
        // SAFETY: as the caller promises.
        unsafe { simd.load_f16_ptr(from.cast()) }
    }
}

/// The bits of a bfloat16 number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Bf16(pub u16);

impl Element for Bf16 {
    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, from: *const Bf16) -> S::F {
        // SAFETY: as the caller promises.
        unsafe { simd.load_bf16_ptr(from.cast()) }
    }
}
