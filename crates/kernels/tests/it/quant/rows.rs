//! Rows: every instruction set against the definition, at every length and alignment, with every kind of number.

use kernels::Isa;

use super::*;
use crate::effort::{rounds, sizes};

/// Numbers of blocks that are tried: enough for several vectors and a tail, also of blocks of one.
fn counts(format: Format) -> std::ops::RangeInclusive<usize> {
    0..=if format.block_len() == 1 { rounds(130, 37) } else { rounds(5, 2) }
}

fn scalar() -> Kernels {
    Kernels::with(Isa::Scalar).unwrap()
}

/// What surrounds a slice that is written to.
const CANARY: u8 = 0xa5;

/// Blocks of any bytes; every third all ones, every fifth with infinite scales wherever one may stand.
fn hostile_blocks(format: Format, count: usize, random: &mut Random) -> Vec<u8> {
    let mut bytes = random.bytes(count * format.block_bytes());
    for (i, block) in bytes.chunks_exact_mut(format.block_bytes()).enumerate() {
        match i {
            _ if i % 3 == 2 => block.fill(0xff),
            _ if i % 5 == 1 => block.chunks_exact_mut(2).for_each(|half| half.copy_from_slice(&[0x00, 0x7c])),
            _ => {}
        }
    }
    bytes
}

#[test]
fn every_instruction_set_dequantises_alike() {
    for &format in Format::ALL {
        let mut random = Random(2);
        for count in counts(format) {
            let len = count * format.block_len();
            for (offset, kernels) in Kernels::available().into_iter().enumerate() {
                let bytes = [vec![CANARY; offset], hostile_blocks(format, count, &mut random)].concat();
                let want = dequantised(scalar(), format, &bytes[offset..], len);
                let mut out = vec![f32::MAX; len + 40];
                kernels.dequantise(format, &bytes[offset..], &mut out[20..20 + len]);
                assert_same(&out[20..20 + len], &want, (format, count, kernels.isa()));
                assert!(out[..20].iter().chain(&out[20 + len..]).all(|&value| value == f32::MAX), "{format} {count}");
            }
        }
    }
}

/// Weights of several kinds, one after the other in blocks of `len`.
fn weights_of_all_kinds(len: usize, count: usize, random: &mut Random) -> Vec<f32> {
    const SPECIAL: [f32; 12] = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        1e-45,
        -0.0,
        0.0,
        1e10,
        -1e-10,
        65520.0,
    ];
    let mut block = |kind| -> Vec<f32> {
        match kind {
            0 => random.normals(len, 0.02),
            1 => (0..len).map(|_| SPECIAL[(random.next() >> 32) as usize % SPECIAL.len()]).collect(),
            2 => vec![0.0; len],
            3 => vec![-1.25; len],
            4 => random.normals(len, 1e-6),
            5 => (0..len).map(|_| f32::from_bits((random.next() >> 32) as u32)).collect(),
            6 => random.normals(len, 1e-38),
            _ => (0..len).map(|i| if i == len / 3 { -30.0 } else { random.uniform() as f32 }).collect(),
        }
    };
    (0..count).flat_map(|i| block(i % 8)).collect()
}

#[test]
fn every_instruction_set_quantises_alike() {
    for &format in Format::ALL {
        let mut random = Random(3);
        for count in counts(format).chain([rounds(24, 8)]) {
            let weights = weights_of_all_kinds(format.block_len(), count, &mut random);
            let want = quantised(scalar(), format, &weights);
            for (offset, kernels) in Kernels::available().into_iter().enumerate() {
                let mut out = vec![CANARY; want.len() + 20];
                kernels.quantise(format, &weights, &mut out[offset..offset + want.len()]);
                assert_eq!(out[offset..offset + want.len()], want, "{format} {count} {}", kernels.isa());
                let mut around = out[..offset].iter().chain(&out[offset + want.len()..]);
                assert!(around.all(|&byte| byte == CANARY), "{format} {count}");
            }
        }
    }
}

#[test]
fn what_is_not_finite_becomes_finite_in_blocks() {
    for &format in Format::ALL.iter().filter(|format| format.block_len() > 1) {
        let mut random = Random(4);
        for kernels in Kernels::available() {
            let weights = weights_of_all_kinds(format.block_len(), rounds(64, 8), &mut random);
            let back = dequantised(kernels, format, &quantised(kernels, format, &weights), weights.len());
            assert!(!kernels.has_non_finite(&back), "{format} {}", kernels.isa());

            // A NaN counts as zero; what is infinite is still the largest of its block.
            let mut weights = random.normals(format.block_len(), 1.0);
            weights[5] = f32::NAN;
            let with_nan = quantised(kernels, format, &weights);
            weights[5] = 0.0;
            assert_eq!(with_nan, quantised(kernels, format, &weights), "{format}");
            weights[7] = f32::NEG_INFINITY;
            let with_infinite = dequantised(kernels, format, &quantised(kernels, format, &weights), weights.len());
            let least = with_infinite.iter().copied().fold(0.0, f32::min);
            assert!(with_infinite[7] == least && least < -6e4, "{format}: {}", with_infinite[7]);
        }
    }
}

#[test]
fn zeros_stay_zeros() {
    for &format in Format::ALL {
        for kernels in Kernels::available() {
            for zero in [0.0, -0.0] {
                let zeros = vec![zero; 2 * format.block_len()];
                let back = dequantised(kernels, format, &quantised(kernels, format, &zeros), zeros.len());
                assert!(back.iter().all(|&weight| weight == 0.0), "{format} {}", kernels.isa());
            }
        }
    }
}

#[test]
fn one_value_that_is_not_finite_is_found_wherever_it_stands() {
    for kernels in Kernels::available() {
        for len in sizes((0..=70).chain([255, 256, 257, 600])) {
            let mut values = vec![f32::MAX; len];
            assert!(!kernels.has_non_finite(&values), "{len}");
            for at in 0..len {
                for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(0x7f80_0001)] {
                    values[at] = bad;
                    assert!(kernels.has_non_finite(&values), "{len} {at}");
                }
                values[at] = f32::MIN;
            }
        }
    }
}

#[test]
#[should_panic(expected = "dequantise: ")]
fn a_row_that_is_too_short_is_refused() {
    Kernels::best().dequantise(Format::Q8_0, &[0; 34], &mut [0.0; 64]);
}

#[test]
#[should_panic(expected = "quantise: ")]
fn half_a_block_of_weights_is_refused() {
    Kernels::best().quantise(Format::Q8_0, &[0.0; 16], &mut [0; 17]);
}
