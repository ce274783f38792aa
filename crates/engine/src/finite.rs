//! Whether all weights of a tensor are finite, found from its bytes without computing the weights.

use kernels::quant::Format;

use crate::{Error, Result, Tensor, tensor};

/// Blocks looked at between two decisions to stop: inside, the loop has no branch and becomes vectors.
const STRETCH: usize = 1024;

/// Refuses a tensor with weights that are infinite or NaN: a damaged file, or a training that went astray.
///
/// In the block formats all weights are finite if the scales are, since the product of the largest f16 with the largest codes
/// is far below the largest f32.
pub fn check_finite(tensor: &Tensor<'_>) -> Result<()> {
    let Some(block) = first_bad(tensor.format, &tensor.data) else { return Ok(()) };
    let weight = block * tensor.format.block_len();
    let cols = tensor.shape.first().copied().unwrap_or(1).max(1);
    let what = if tensor.format.block_len() == 1 { "a weight that is" } else { "a block whose scale is" };
    let message = format!("row {}, column {}: {what} infinite or not a number", weight / cols, weight % cols);
    let error = Error::malformed(message + "; the file is damaged, or the model was never sound");
    Err(error.about(tensor::shown(&tensor.name)))
}

/// The first block with a number that is not finite.
fn first_bad(format: Format, data: &[u8]) -> Option<usize> {
    match format {
        Format::F32 => find::<4>(data, |block| u32::from_le_bytes(*block) & 0x7f80_0000 == 0x7f80_0000),
        Format::BF16 => find::<2>(data, |block| u16::from_le_bytes(*block) & 0x7f80 == 0x7f80),
        Format::F16 => find::<2>(data, |block| bad_half(block, 0)),
        Format::Q4_0 => find::<18>(data, |block| bad_half(block, 0)),
        Format::Q5_0 => find::<22>(data, |block| bad_half(block, 0)),
        Format::Q8_0 => find::<34>(data, |block| bad_half(block, 0)),
        Format::Q4_1 => find::<20>(data, |block| bad_half(block, 0) | bad_half(block, 2)),
        Format::Q5_1 => find::<24>(data, |block| bad_half(block, 0) | bad_half(block, 2)),
        Format::Q4_K => find::<144>(data, |block| bad_half(block, 0) | bad_half(block, 2)),
        Format::Q5_K => find::<176>(data, |block| bad_half(block, 0) | bad_half(block, 2)),
        Format::Q6_K => find::<210>(data, |block| bad_half(block, 208)),
    }
}

/// Whether the f16 at this place is infinite or NaN.
#[inline(always)]
fn bad_half<const BYTES: usize>(block: &[u8; BYTES], at: usize) -> bool {
    u16::from_le_bytes([block[at], block[at + 1]]) & 0x7c00 == 0x7c00
}

#[inline(always)]
fn find<const BYTES: usize>(data: &[u8], bad: impl Fn(&[u8; BYTES]) -> bool) -> Option<usize> {
    let blocks = data.as_chunks::<BYTES>().0;
    let mut stretches = blocks.chunks(STRETCH);
    let stretch = stretches.position(|stretch| stretch.iter().fold(false, |any, block| any | bad(block)))?;
    let within = blocks[stretch * STRETCH..].iter().position(bad)?;
    Some(stretch * STRETCH + within)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use kernels::Kernels;

    use super::*;

    #[test]
    fn every_number_that_is_not_finite_is_found() {
        let kernels = Kernels::best();
        for &format in Format::ALL {
            let (length, block_bytes) = (format.block_len() * 2100, format.block_bytes());
            let mut data = vec![0; format.row_bytes(length).unwrap()];
            kernels.quantise(format, &(0..length).map(|i| (i as f32).sin()).collect::<Vec<_>>(), &mut data);
            let tensor = |data: &[u8]| {
                check_finite(&Tensor { name: "t".into(), format, shape: vec![length], data: Cow::Owned(data.to_vec()) })
            };
            assert_eq!(tensor(&data), Ok(()), "{format}");
            // Whatever makes a weight of a block infinite or NaN has to be found there.
            for at in (0..block_bytes).step_by(2) {
                for block in [0, 1023, 1024, 2099] {
                    let mut damaged = data.clone();
                    let width = block_bytes.min(at + 4) - at;
                    damaged[block * block_bytes + at..][..width].fill(0xff);
                    let mut weights = vec![0.0; length];
                    kernels.dequantise(format, &damaged, &mut weights);
                    let error = tensor(&damaged).err().map(|error| error.to_string());
                    let column = format!("tensor t: row 0, column {}: ", block * format.block_len());
                    let found = error.as_ref().is_some_and(|error| error.starts_with(&column));
                    assert_eq!(found, kernels.has_non_finite(&weights), "{format} byte {at} of {block}: {error:?}");
                }
            }
        }
    }
}
