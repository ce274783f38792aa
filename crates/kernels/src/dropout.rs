//! Dropout whose mask follows from a key and the places of the values, so that it need not be kept
//! for the backward pass.

use crate::dispatch::kernels;

/// Which values are dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dropout {
    /// What the mask follows from: another one for every step and every place in the model.
    pub key: u64,
    /// The share of values that are dropped, from 0 to below 1.
    pub rate: f32,
    /// The number of the first value that is handed in, among all that the key is for: they may come in parts.
    pub first: usize,
}

/// Of 2³¹ equally likely words those below are kept.
pub(crate) const WORDS: f64 = (1u64 << 31) as f64;

impl Dropout {
    /// The key as two words without any pattern: keys that differ in one bit have nothing in common
    /// then, and the masks of no two keys are the same one moved along.
    pub(crate) fn words(&self) -> [u32; 2] {
        let mut state = self.key.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^= state >> 31;
        [state as u32, (state >> 32) as u32]
    }

    /// Words below are kept.
    pub(crate) fn bound(&self) -> u32 {
        ((1.0 - f64::from(self.rate)) * WORDS).round() as u32
    }

    /// What kept values are multiplied with.
    pub(crate) fn factor(&self) -> f32 {
        (1.0 / (1.0 - f64::from(self.rate))) as f32
    }

    fn ends_within_words(&self, len: usize) -> bool {
        self.first.checked_add(len).is_some_and(|end| end as u64 <= 1 << 32)
    }
}

kernels! { dropout:
    /// Sets values to 0 with the probability [`Dropout::rate`], each by itself, and divides the
    /// others by what is left of 1. The gradient goes the same way: the same call.
    ///
    /// The same bits on every instruction set, and however the values are divided among calls. One
    /// key is for at most 2³² values.
    pub fn dropout(x: &mut [f32], which: Dropout)
        where { (0.0..1.0).contains(&which.rate), which.ends_within_words(x.len()) };
}
