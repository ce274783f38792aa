//! Rounding of small numbers in a form that every instruction set turns into vectors of the same result.

/// 1.5 · 2²³: added to a small number it leaves no room for a fraction.
const WHOLE: f32 = 12_582_912.0;

/// The largest finite f16: scales beyond it would be infinite, and every weight of their block NaN.
const LARGEST_SCALE: f32 = 65504.0;

/// Beyond every weight that a block format can hold (Q6_K: 65504 · 128 · 32), and its fourth power
/// is still far from infinite.
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

/// A scale that as an f16 is no smaller in magnitude, unless by the last bit of a normal number:
/// among subnormal ones the nearest may be so much smaller that the largest codes no longer reach.
#[inline(always)]
pub(crate) fn reaching(scale: f32) -> f32 {
    /// The smallest normal f16 and the smallest subnormal one.
    const NORMAL: f32 = 1.0 / (1 << 14) as f32;
    const SUBNORMAL: f32 = 1.0 / (1 << 24) as f32;
    if scale.abs() < NORMAL { -floor(-scale.abs() / SUBNORMAL) * SUBNORMAL.copysign(scale) } else { scale }
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

/// The nearest code between the smallest and the largest.
#[inline(always)]
pub(crate) fn limited_code(position: f32, [smallest, largest]: [f32; 2]) -> f32 {
    nearest_even(at_most(at_least(position, smallest), largest))
}

/// The outcome for each value. The standard library's `map` is not always inlined, and what is not
/// inlined does not use the instructions of its caller.
#[inline(always)]
pub(crate) fn each<T: Copy, U: Copy + Default, const LEN: usize>(
    values: &[T; LEN],
    outcome: impl Fn(T) -> U,
) -> [U; LEN] {
    let mut outcomes = [U::default(); LEN];
    for i in 0..LEN {
        outcomes[i] = outcome(values[i]);
    }
    outcomes
}

/// Element by element.
#[inline(always)]
pub(crate) fn product<const LEN: usize>(a: &[f32; LEN], b: &[f32; LEN]) -> [f32; LEN] {
    let mut product = *a;
    for i in 0..LEN {
        product[i] *= b[i];
    }
    product
}

/// The sum in eight strands, which are then added by halves; the length is a multiple of eight.
#[inline(always)]
pub(crate) fn sum<const LEN: usize>(values: [f32; LEN]) -> f32 {
    let mut strands = [0.0; 8];
    for eight in values.as_chunks::<8>().0 {
        for (strand, value) in strands.iter_mut().zip(eight) {
            *strand += value;
        }
    }
    let [a, b, c, d, e, f, g, h] = strands;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
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
    fn subnormal_scales_are_rounded_up() {
        for scale in [1e-9, 5.9e-8, 6e-8, 6.1e-8, 1.22 / 16_777_216.0, 6.1e-5, 6.2e-5, 0.1] {
            for scale in [scale, -scale] {
                let reached = crate::quant::f16_to_f32(scale_bits(reaching(scale)));
                assert!(reached.signum() == scale.signum() && reached.abs() >= scale.abs() * (1.0 - 1.0 / 2048.0));
                assert!(reached.abs() <= scale.abs() * (1.0 + 1.0 / 2048.0) + 6e-8, "{scale} {reached}");
            }
        }
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
