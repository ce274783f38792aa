//! How far from the weights the formats lead: the bounds that the table states.

use super::*;
use crate::effort::rounds;

/// The root mean square of the errors over that of the weights. Fails where a single one is beyond its bound.
#[track_caller]
fn rms(format: Format, weights: &[f32]) -> f64 {
    let (kernels, bound) = (Kernels::best(), format.bound());
    let back = dequantised(kernels, format, &quantised(kernels, format, weights), weights.len());
    let (mut error, mut power) = (0.0, 0.0);
    for (weights, back) in weights.chunks(format.block_len()).zip(back.chunks(format.block_len())) {
        let largest = weights.iter().fold(0f64, |largest, &weight| largest.max(f64::from(weight).abs()));
        for (&weight, &back) in weights.iter().zip(back) {
            let off = f64::from(back) - f64::from(weight);
            let limit = bound.max * largest + bound.tiny;
            assert!(off.abs() <= limit, "{format}: {back:e} for {weight:e}, the largest being {largest:e}");
            error += off * off;
            power += f64::from(weight) * f64::from(weight);
        }
    }
    (error / power).sqrt()
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn normal_weights_stay_within_the_rms_bound() {
    for &format in Format::ALL {
        for scale in [1.0, 0.03] {
            let (rms, bound) = (rms(format, &Random(5).normals(256 * 256, scale)), format.bound().rms);
            assert!(rms <= bound, "{format} {scale}: {rms:.6} is beyond {bound}");
            // A bound that is far off says nothing.
            assert!(rms >= 0.95 * bound, "{format} {scale}: {rms:.6} is far below {bound}");
        }
    }
}

/// Families of blocks that are hard in different ways; `spread` is from 0 to 1.
fn hard(family: usize, len: usize, spread: f32, random: &mut Random) -> Vec<f32> {
    let sign = |random: &mut Random| if random.next() >> 63 == 0 { 1.0 } else { -1.0 };
    match family {
        // One large weight among small ones, at any place.
        0 => {
            let mut weights = random.normals(len, spread * 0.3);
            weights[(random.next() >> 32) as usize % len] = sign(random);
            weights
        }
        // Two values, one of them rare.
        1 => (0..len).map(|_| if random.uniform() < 0.04 { -spread } else { 1.0 }).collect(),
        // All of one sign, away from zero.
        2 => (0..len).map(|_| -1.0 + spread * random.uniform() as f32).collect(),
        // Sub-blocks of very different sizes.
        3 => (0..len).map(|i| random.normal() * spread.powi((i / 16) as i32 % 7)).collect(),
        // Both ends at once, which the signed formats cut off on one side.
        4 => (0..len).map(|_| sign(random) * (1.0 - spread * random.uniform() as f32)).collect(),
        // Heavy tails.
        _ => (0..len).map(|_| random.normal() / (0.001 + random.uniform() as f32)).collect(),
    }
}

#[test]
fn hard_blocks_stay_within_the_bound_of_a_weight() {
    for &format in Format::ALL {
        let mut random = Random(6);
        for round in 0..rounds(2000, 6) {
            let (family, spread) = (round % 6, (round / 6) as f32 / 334.0);
            let mut weights = hard(family, format.block_len().max(32), spread, &mut random);
            let size = [1.0, 1e-2, 1e-4, 1e-6][round / 6 % 4];
            weights.iter_mut().for_each(|weight| *weight *= size);
            rms(format, &weights);
        }
    }
}

/// Weights that are all alike, or all but one, leave nothing but rounding errors to fit a scale to.
#[test]
fn blocks_of_one_value_stay_within_the_bound() {
    for &format in Format::ALL {
        let mut random = Random(8);
        for round in 0..rounds(3000, 2) {
            let (most, one) = (random.normal(), random.normal());
            let mut weights = vec![most; format.block_len().max(32)];
            if round % 2 == 0 {
                let at = (random.next() >> 32) as usize % weights.len();
                weights[at] = one;
            }
            rms(format, &weights);
        }
    }
}

/// Every number of blocks in a row, each block on its own within the bound: none reads or writes another's part.
#[test]
fn rows_of_any_number_of_blocks_stay_within_the_bound() {
    for &format in Format::ALL {
        let mut random = Random(7);
        for blocks in 1..=rounds(12, 2) as i32 {
            let row = (0..blocks).flat_map(|block| random.normals(format.block_len(), 10f32.powi(block - 9)));
            rms(format, &row.collect::<Vec<_>>());
        }
    }
}
