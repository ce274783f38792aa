//! Dropout.

use crate::dropout::Dropout;
use crate::simd::WordSimd;

/// See the definition.
#[inline(always)]
fn words<S: WordSimd>(simd: S, places: S::W, key: [S::W; 2]) -> S::W {
    let mut word = simd.add_words(places, key[0]);
    word = simd.mul_words(simd.xor_words(word, simd.shift_words::<16>(word)), simd.splat_word(0x85eb_ca6b));
    word = simd.mul_words(simd.xor_words(word, simd.shift_words::<13>(word)), simd.splat_word(0xc2b2_ae35));
    word = simd.xor_words(word, key[1]);
    word = simd.mul_words(simd.xor_words(word, simd.shift_words::<16>(word)), simd.splat_word(0x85eb_ca6b));
    simd.xor_words(word, simd.shift_words::<15>(word))
}

/// See [`Kernels::dropout`](crate::Kernels::dropout).
#[inline(always)]
pub(crate) fn dropout<S: WordSimd>(simd: S, x: &mut [f32], which: Dropout) {
    if which.rate == 0.0 {
        return;
    }
    let [low, high] = which.words();
    let key = [simd.splat_word(low), simd.splat_word(high)];
    let (bound, factor, zero) = (simd.splat_word(which.bound()), simd.splat(which.factor()), simd.splat(0.0));
    let mut places = simd.add_words(simd.lane_numbers(), simd.splat_word(which.first as u32));
    let step = simd.splat_word(S::LANES as u32);
    let mut vectors = x.chunks_exact_mut(S::LANES);
    for vector in &mut vectors {
        let kept = simd.lt_words(simd.shift_words::<1>(words(simd, places, key)), bound);
        simd.store(simd.select(kept, simd.mul(simd.load(vector), factor), zero), vector);
        places = simd.add_words(places, step);
    }
    let rest = vectors.into_remainder();
    if !rest.is_empty() {
        let kept = simd.lt_words(simd.shift_words::<1>(words(simd, places, key)), bound);
        simd.store_part(simd.select(kept, simd.mul(simd.load_part(rest), factor), zero), rest);
    }
}
