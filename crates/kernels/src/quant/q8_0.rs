//! Q8_0: 32 weights in 34 bytes. Weight i = d · code\[i\].

use super::block::{Block, half};

/// A block as it stands in a file.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "the format's own name")]
pub struct BlockQ8_0 {
    d: [u8; 2],
    codes: [i8; 32],
}

const _: () = assert!(size_of::<BlockQ8_0>() == 34 && align_of::<BlockQ8_0>() == 1);

// SAFETY: bytes alone, so alignment 1, no padding, and every pattern is a value.
unsafe impl Block for BlockQ8_0 {
    const LEN: usize = 32;
}

impl BlockQ8_0 {
    /// The block of these parts; `d` as bits of an f16.
    #[inline(always)]
    pub fn from_parts(d: u16, codes: &[i8; 32]) -> Self {
        Self { d: d.to_le_bytes(), codes: *codes }
    }

    /// The scale.
    #[inline(always)]
    pub fn d(&self) -> f32 {
        half(self.d)
    }

    /// The codes in the order of the elements, −128 to 127; quantisers write −127 to 127.
    #[inline(always)]
    pub fn codes(&self) -> [i8; 32] {
        self.codes
    }
}
