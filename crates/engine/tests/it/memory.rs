//! A model in memory, as small as a test needs it.

use std::borrow::Cow;

use engine::{Metadata, Result, Tensor, TensorInfo, TensorSource, Value};
use kernels::Kernels;
use kernels::quant::Format;

/// Tensors that a test has made.
#[derive(Default)]
pub struct Model {
    pub metadata: Metadata,
    pub tensors: Vec<(TensorInfo, Vec<u8>)>,
}

impl Model {
    pub fn text(mut self, key: &str, text: &str) -> Self {
        self.metadata.set(key, Value::Text(text.to_owned()));
        self
    }

    pub fn number(mut self, key: &str, number: u64) -> Self {
        self.metadata.set(key, Value::Unsigned(number));
        self
    }

    /// A tensor of these weights.
    pub fn with(mut self, name: &str, format: Format, shape: &[usize], weights: &[f32]) -> Self {
        let info = TensorInfo { name: name.to_owned(), format, shape: shape.to_vec() };
        let mut bytes = vec![0; info.bytes().expect("such a tensor can be")];
        Kernels::best().quantise(format, weights, &mut bytes);
        self.tensors.push((info, bytes));
        self
    }

    /// A tensor of weights that look like those of a model.
    pub fn waves(self, name: &str, format: Format, shape: &[usize]) -> Self {
        let weights = waves(shape.iter().product(), name.len() as f32);
        self.with(name, format, shape, &weights)
    }
}

/// Weights without a pattern that blocks could have an advantage from.
pub fn waves(count: usize, seed: f32) -> Vec<f32> {
    (0..count).map(|i| ((i as f32 * 0.37 + seed).sin() + (i as f32 * 1.7).cos()) * 0.1).collect()
}

/// The weights of a tensor.
pub fn weights(tensor: &Tensor<'_>) -> Vec<f32> {
    let mut weights = vec![0.0; tensor.shape.iter().product()];
    Kernels::best().dequantise(tensor.format, &tensor.data, &mut weights);
    weights
}

impl TensorSource for Model {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.iter().map(|(info, _)| info.name.as_str()).collect()
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        let found = self.tensors.iter().find(|(info, _)| info.name == name);
        Ok(found.map(|(info, bytes)| Tensor {
            name: Cow::Borrowed(&info.name),
            format: info.format,
            shape: info.shape.clone(),
            data: Cow::Borrowed(bytes),
        }))
    }
}
