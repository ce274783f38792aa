//! Rounding of small numbers in a form that every instruction set turns into vectors of the same result.

/// 1.5 · 2²³: added to a small number it leaves no room for a fraction.
const WHOLE: f32 = 12_582_912.0;

/// The largest finite f16: scales beyond it would be infinite, and every weight of their block NaN.
const LARGEST_SCALE: f32 = 65504.0;

/// Beyond every weight that a block format can hold (Q6_K: 65504 · 128 · 32), and its fourth power is still far from infinite.
const LARGEST_WEIGHT: f32 = (1 << 28) as f32;

/// To the nearest whole number, ties to even, for |value| < 2²².
#[inline(always)]
pub(crate) fn nearest_even(value: f32) -> f32 {
    (value + WHOLE) - WHOLE
}

/// To the nearest whole number, ties away from zero, for |value| < 2²².
#[inline(always)]
pub(crate) fn nearest_away(value: f32) -> f32 {
    let even = nearest_even(value);
    if (value - even).abs() == 0.5 { value + 0.5f32.copysign(value) } else { even }
}

/// The largest whole number that is not above `value`, for |value| < 2²².
#[inline(always)]
pub(crate) fn floor(value: f32) -> f32 {
    let even = nearest_even(value);
    if even > value { even - 1.0 } else { even }
}

/// The low byte of a whole number of magnitude below 2²²; of another, that of the nearest, ties to even.
#[inline(always)]
pub(crate) fn low_byte(value: f32) -> u8 {
    (value + WHOLE).to_bits() as u8
}

/// The smaller one; `limit` where `value` is NaN.
#[inline(always)]
pub(crate) fn at_most(value: f32, limit: f32) -> f32 {
    if value < limit { value } else { limit }
}

/// The larger one; `limit` where `value` is NaN.
#[inline(always)]
pub(crate) fn at_least(value: f32, limit: f32) -> f32 {
    if value > limit { value } else { limit }
}

/// What the quantisers of blocks see of their input: 0 for NaN, and nothing beyond ±2²⁸.
#[inline(always)]
pub(crate) fn finite<const LEN: usize>(values: &[f32]) -> [f32; LEN] {
    let mut finite = [0.0; LEN];
    for (finite, &value) in finite.iter_mut().zip(values) {
        let value = if value.is_nan() { 0.0 } else { value };
        *finite = at_least(at_most(value, LARGEST_WEIGHT), -LARGEST_WEIGHT);
    }
    finite
}

/// A scale as an f16 that is finite.
#[inline(always)]
pub(crate) fn scale_bits(scale: f32) -> u16 {
    super::half::f32_to_f16(at_least(at_most(scale, LARGEST_SCALE), -LARGEST_SCALE))
}

/// 1 / value, or 0 for 0.
#[inline(always)]
pub(crate) fn inverse(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { 1.0 / value }
}

/// The element of the largest magnitude with its sign; the first of several.
#[inline(always)]
pub(crate) fn extreme(values: &[f32]) -> f32 {
    // Two passes, since the first is vectors and the second almost always ends early.
    let magnitude = largest_magnitude(values);
    values.iter().copied().find(|value| value.abs() == magnitude).unwrap_or(0.0)
}

/// max |value|; 0 of none. In eight strands, so that it becomes vectors.
#[inline(always)]
pub(crate) fn largest_magnitude(values: &[f32]) -> f32 {
    strands(values, 0.0, |largest, value| at_least(value.abs(), largest))
}

/// The smallest and the largest of a block.
#[inline(always)]
pub(crate) fn range(values: &[f32]) -> (f32, f32) {
    let low = strands(values, f32::INFINITY, |low, value| at_most(value, low));
    let high = strands(values, f32::NEG_INFINITY, |high, value| at_least(value, high));
    (low, high)
}

/// The sum by halves: element i with element i + half, and so on; the length is a power of two.
#[inline(always)]
pub(crate) fn sum<const LEN: usize>(mut values: [f32; LEN]) -> f32 {
    let mut half = LEN / 2;
    while half > 0 {
        for i in 0..half {
            values[i] += values[i + half];
        }
        half /= 2;
    }
    values[0]
}

/// A fold in eight strands that are then folded themselves; `values` are a multiple of eight.
#[inline(always)]
fn strands(values: &[f32], start: f32, step: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
    let mut folded = [start; 8];
    for eight in values.as_chunks::<8>().0 {
        for (folded, &value) in folded.iter_mut().zip(eight) {
            *folded = step(*folded, value);
        }
    }
    folded.into_iter().fold(start, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        for i in -40_000..=40_000 {
            for value in [i as f32 / 64.0, (i as f32 / 64.0).next_up(), (i as f32 / 64.0).next_down()] {
                assert_eq!(nearest_even(value), value.round_ties_even(), "{value}");
                assert_eq!(nearest_away(value), value.round(), "{value}");
                assert_eq!(floor(value), value.floor(), "{value}");
                assert_eq!(low_byte(value), value.round_ties_even() as i32 as u8, "{value}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_becomes_finite() {
        let seen: [f32; 8] = finite(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1.0, 0.0, 1e-40, 3e8]);
        assert_eq!(seen, [0.0, LARGEST_WEIGHT, -LARGEST_WEIGHT, LARGEST_WEIGHT, -1.0, 0.0, 1e-40, LARGEST_WEIGHT]);
        assert_eq!(scale_bits(1e30), 0x7bff);
        assert_eq!(scale_bits(-1e30), 0xfbff);
    }

    #[test]
    fn extremes_keep_their_sign_and_the_first_wins() {
        let mut values = [0.0; 32];
        (values[9], values[21], values[30]) = (-3.0, 3.0, 2.0);
        assert_eq!(extreme(&values), -3.0);
        assert_eq!(range(&values), (-3.0, 3.0));
        assert_eq!(largest_magnitude(&values), 3.0);
        assert_eq!(extreme(&[0.0; 32]), 0.0);
    }
}
