//! Dropout.

use crate::dropout::Dropout;

/// From the place of a value to a word without any pattern: two rounds of a multiplication between
/// shifts, with half of the key before each.
fn word(place: u32, key: [u32; 2]) -> u32 {
    let mut word = place.wrapping_add(key[0]);
    word = (word ^ (word >> 16)).wrapping_mul(0x85eb_ca6b);
    word = (word ^ (word >> 13)).wrapping_mul(0xc2b2_ae35);
    word ^= key[1];
    word = (word ^ (word >> 16)).wrapping_mul(0x85eb_ca6b);
    word ^ (word >> 15)
}

/// See [`Kernels::dropout`](crate::Kernels::dropout).
pub(crate) fn dropout(x: &mut [f32], which: Dropout) {
    if which.rate == 0.0 {
        return;
    }
    let (key, bound, factor) = (which.words(), which.bound(), which.factor());
    for (i, x) in x.iter_mut().enumerate() {
        let kept = word((which.first + i) as u32, key) >> 1 < bound;
        *x = if kept { *x * factor } else { 0.0 };
    }
}
