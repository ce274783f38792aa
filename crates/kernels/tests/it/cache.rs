//! Keys and values on their way into a cache.

use kernels::Kernels;
use kernels::quant::{Block, BlockQ8_0, f16_to_f32, f32_to_f16};

use crate::attention::Noise;
use crate::effort::sizes;

/// Every f16, the middles between neighbours and the f32 next to those, all NaN payload bits that f16 keeps, and
/// others.
fn many() -> Vec<f32> {
    let mut values = Vec::new();
    for bits in 0..=u16::MAX {
        let value = f16_to_f32(bits);
        let middle = f32::from_bits(value.to_bits() ^ (1 << 12));
        values.extend([value, middle, middle.next_up(), middle.next_down()]);
    }
    let mut noise = Noise(5);
    values.extend((0..100_000).map(|_| f32::from_bits((noise.unit().to_bits()).wrapping_mul(0x9e37_79b9))));
    values.extend([f32::MAX, f32::MIN, 65504.0, 65519.99, 65520.0, 5.96e-8, 2.98e-8, 2.99e-8, 1e-45, -1e-45]);
    values
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn half_precision_is_the_definition_bit_for_bit() {
    let values = many();
    let exact: Vec<u16> = values.iter().map(|value| f32_to_f16(*value)).collect();
    for kernels in Kernels::available() {
        let mut out = vec![0; values.len()];
        kernels.store_f16(&values, &mut out);
        for ((value, exact), out) in values.iter().zip(&exact).zip(&out) {
            assert_eq!(out, exact, "{value:e} {:08x} {}", value.to_bits(), kernels.isa());
        }
    }
}

#[test]
fn half_precision_at_every_length_and_alignment() {
    let values = Noise(6).units(200);
    for kernels in Kernels::available() {
        for len in sizes(0..=130) {
            let from = len % 7;
            let values = values[..from + len].to_vec();
            let mut out = vec![0x1234; len + 8];
            kernels.store_f16(&values[from..], &mut out[3..][..len]);
            let exact = values[from..].iter().map(|value| f32_to_f16(*value));
            assert!(out[3..][..len].iter().copied().eq(exact), "{len} {}", kernels.isa());
            assert!(out[..3].iter().chain(&out[3 + len..]).all(|untouched| *untouched == 0x1234), "{len}");
        }
    }
}

#[test]
fn blocks_are_the_definition_at_every_length() {
    let canary = BlockQ8_0::from_parts(0x1234, &[77; 32]);
    for len in sizes(0..=130) {
        let values = Noise(len as u64).units(len);
        let mut padded = values.clone();
        padded.resize(len.next_multiple_of(32), 0.0);
        let exact: Vec<BlockQ8_0> = padded.chunks_exact(32).map(BlockQ8_0::quantise).collect();
        for kernels in Kernels::available() {
            let mut out = vec![canary; exact.len() + 1];
            kernels.store_q8_0(&values, &mut out[..exact.len()]);
            assert!(out[..exact.len()] == exact && out[exact.len()] == canary, "{len} {}", kernels.isa());
            for (value, i) in values.iter().zip(0..) {
                let block = &out[i / 32];
                let back = block.d() * f32::from(block.codes()[i % 32]);
                // Half a step, where a step is 1/127 of the largest; and the rounding of the scale to f16.
                assert!((value - back).abs() <= 1.0 / 254.0 + 1.0 / 2048.0, "{value} {back}");
            }
        }
    }
}
