//! From logits to weights: e^x with nothing but additions and multiplications, so that its bits are
//! the same everywhere.
//!
//! The kernels' softmax is faster, and its last bits depend on the instruction set; here a last bit
//! can decide for another token.

/// Weights are summed in blocks of this many, so that a choice looks at one block and not at all weights.
pub(super) const BLOCK: usize = 256;
/// Comparisons side by side; the compiler makes vectors of them.
const LANES: usize = 16;

/// The largest logit; −∞ if all are NaN or there are none.
pub(super) fn largest(logits: &[f32]) -> f32 {
    let (chunks, rest) = logits.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (lane, logit) in lanes.iter_mut().zip(chunk) {
            // False for NaN, which is therefore never the largest.
            *lane = if *logit > *lane { *logit } else { *lane };
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |largest, logit| if *logit > largest { *logit } else { largest })
}

/// Calls `take` for every value above `floor(state)`, which may rise meanwhile, in the order of the ids.
pub(super) fn above<S>(
    values: &[f32],
    state: &mut S,
    floor: impl Fn(&S) -> f32,
    mut take: impl FnMut(&mut S, u32, f32),
) {
    let mut scan = |state: &mut S, values: &[f32], start: usize| {
        for (value, id) in values.iter().zip(start as u32..) {
            if *value > floor(state) {
                take(state, id, *value);
            }
        }
    };
    let (chunks, rest) = values.as_chunks::<LANES>();
    for (at, chunk) in chunks.iter().enumerate() {
        let limit = floor(state);
        // Hardly ever true, and without branches: this is what most of the time is spent on.
        if chunk.iter().fold(false, |any, value| any | (*value > limit)) {
            scan(state, chunk, at * LANES);
        }
    }
    scan(state, rest, chunks.len() * LANES);
}

/// Writes e^((x − largest) · sharpness) of every logit, zero for NaN; and the sums of the blocks.
pub(super) fn weigh(logits: &[f32], largest: f32, sharpness: f32, weights: &mut [f32], sums: &mut [f32]) {
    for ((weights, logits), sum) in weights.chunks_mut(BLOCK).zip(logits.chunks(BLOCK)).zip(sums) {
        for (weight, logit) in weights.iter_mut().zip(logits) {
            *weight = exponential((*logit - largest) * sharpness);
        }
        *sum = total(weights);
    }
}

/// A sum in an order that does not depend on the machine: eight sums side by side.
fn total(weights: &[f32]) -> f32 {
    let (chunks, rest) = weights.as_chunks::<8>();
    let mut lanes = [0.0f32; 8];
    for chunk in chunks {
        for (lane, weight) in lanes.iter_mut().zip(chunk) {
            *lane += weight;
        }
    }
    lanes.iter().chain(rest).sum()
}

/// e^x for x ≤ 0, at most 2 ulp away; zero below −87 and for NaN.
///
/// e^x is 2^whole · e^part with |part| ≤ ½ ln 2, and e^part is 1 + part + part² · g(part), where
/// the polynomial of g goes through it at the six Chebyshev points of that range.
#[inline(always)]
pub(super) fn exponential(x: f32) -> f32 {
    // Adding and subtracting this rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let power = x * std::f32::consts::LOG2_E;
    let in_range = x > -87.0;
    let power = if in_range { power } else { 0.0 };
    let whole = (power + ROUND) - ROUND;
    // The logarithm of two in two parts, the first so short that its product with a whole number is exact.
    let x = if in_range { x } else { 0.0 };
    let part = (x - whole * (355.0 / 512.0)) + whole * 2.121_944_4e-4;
    let mut value = 1.989_098_1e-4;
    for coefficient in [1.393_364_2e-3, 8.333_31e-3, 4.166_646_7e-2, 0.166_666_67, 0.5] {
        value = value * part + coefficient;
    }
    let value = value * (part * part) + part + 1.0;
    let scale = f32::from_bits((((power + ROUND).to_bits() as i32 - ROUND.to_bits() as i32 + 127) as u32) << 23);
    if in_range { value * scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_near() {
        assert_eq!([0.0, -0.0].map(exponential), [1.0, 1.0]);
        assert_eq!([-87.5, f32::NEG_INFINITY, f32::NAN, f32::MIN].map(exponential), [0.0; 4]);
        for step in 0..870_000 {
            let x = step as f32 * -1e-4;
            let exact = f64::from(x).exp();
            let ulp = f64::from((exact as f32).next_up()) - f64::from(exact as f32);
            let off = (f64::from(exponential(x)) - exact).abs() / ulp;
            assert!(x <= -87.0 || off <= 2.0, "{x}: {off} ulp");
        }
    }

    #[test]
    fn the_largest_is_found_anywhere() {
        for length in 0..70 {
            for at in 0..length {
                let mut logits = vec![f32::NAN; length];
                logits[at] = -3.0;
                assert_eq!(largest(&logits), -3.0);
            }
            assert_eq!(largest(&vec![f32::NAN; length]), f32::NEG_INFINITY);
        }
    }
}
