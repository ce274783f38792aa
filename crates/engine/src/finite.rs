//! Whether all weights of a tensor are finite, found from its bytes without computing the weights.

use crate::{Error, Result, Tensor, tensor};

/// Refuses a tensor with weights that are infinite or NaN: a damaged file, or a training that diverged.
pub fn check_finite(tensor: &Tensor<'_>) -> Result<()> {
    let Some(block) = tensor.format.first_non_finite(&tensor.data) else { return Ok(()) };
    let weight = block * tensor.format.block_len();
    let cols = tensor.shape.first().copied().unwrap_or(1).max(1);
    let what = if tensor.format.block_len() == 1 { "a weight that is" } else { "a block whose scale is" };
    let message = format!("row {}, column {}: {what} infinite or NaN", weight / cols, weight % cols);
    let error = Error::malformed(message + "; the file is damaged, or training diverged");
    Err(error.about(tensor::shown(&tensor.name)))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use kernels::Kernels;
    use kernels::quant::Format;

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
