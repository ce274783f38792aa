//! Models for tests: tensors and metadata in memory, which a test can change before they are read.

use std::borrow::Cow;

use engine::{Architecture, Metadata, Result, Synthetic, SyntheticSource, Tensor, TensorSource, Value};
use kernels::Kernels;
use kernels::quant::Format;

use crate::random::Random;

/// A small model of the LLaMA family: grouped queries, and a vocabulary that is no multiple of anything.
pub fn llama() -> Synthetic {
    Synthetic {
        architecture: Architecture::Llama,
        vocab: 293,
        context: 96,
        width: 64,
        layers: 3,
        kv_heads: 2,
        ffn: 160,
        seed: 7,
        ..Synthetic::SMALL
    }
}

/// A small model of the GPT-2 family.
pub fn gpt2() -> Synthetic {
    Synthetic { architecture: Architecture::Gpt2, kv_heads: 4, ffn: 256, ..llama() }
}

/// A model in memory.
#[derive(Clone, Debug)]
pub struct TestModel {
    metadata: Metadata,
    tensors: Vec<Tensor<'static>>,
}

impl TestModel {
    /// A copy of all that a source has.
    pub fn of(source: &dyn TensorSource) -> Self {
        let owned = |name: &&str| {
            let tensor = source.tensor(name).unwrap().unwrap();
            let (name, data) = (tensor.name.into_owned().into(), tensor.data.into_owned().into());
            Tensor { name, data, ..tensor }
        };
        Self { metadata: source.metadata().clone(), tensors: source.names().iter().map(owned).collect() }
    }

    /// The tensors of `spec` with more varied numbers: scores that prefer some positions, norms
    /// that are not ones, biases that are not zeros. A part that is left out, or taken twice, shows
    /// in the logits.
    pub fn varied(spec: &Synthetic) -> Self {
        let mut made = Self::of(&SyntheticSource::new(Synthetic { format: Format::F32, ..spec.clone() }));
        let mut noise = Random(spec.seed);
        for tensor in &mut made.tensors {
            let (middle, reach, format) = match &tensor.shape[..] {
                [_] if tensor.name.ends_with("norm.weight") => (1.0, 0.5, Format::F32),
                [_] => (0.0, 0.3, Format::F32),
                _ if tensor.name.contains("_embd") => (0.0, 1.0, spec.format),
                // Queries and keys are larger, so that attention chooses.
                [inputs, ..] if tensor.name.contains("attn_q") || tensor.name.contains("attn_k") => {
                    (0.0, 2.5 / (*inputs as f32).sqrt(), spec.format)
                }
                [inputs, ..] => (0.0, 1.7 / (*inputs as f32).sqrt(), spec.format),
                [] => unreachable!("a tensor without a shape"),
            };
            let count = tensor.shape.iter().product();
            let values: Vec<f32> = (0..count).map(|_| middle + reach * noise.value()).collect();
            *tensor = written(&tensor.name, format, &tensor.shape, &values);
        }
        made
    }

    /// Sets a key.
    pub fn set(mut self, key: &str, value: Value) -> Self {
        self.metadata.set(key, value);
        self
    }

    /// Takes a key away.
    pub fn without_key(mut self, gone: &str) -> Self {
        let rest = self.metadata.iter().filter(|(key, _)| *key != gone);
        self.metadata = rest.map(|(key, value)| (key.to_owned(), value.clone())).collect();
        self
    }

    /// Adds a tensor, or puts it in the place of the one of that name.
    pub fn put(mut self, name: &str, shape: &[usize], values: &[f32]) -> Self {
        self = self.without(name);
        self.tensors.push(written(name, Format::F32, shape, values));
        self
    }

    /// Puts a tensor of another model in the place of this one's.
    pub fn with(self, other: &TestModel, name: &str) -> Self {
        let theirs = other.tensors.iter().find(|tensor| tensor.name == name).unwrap().clone();
        self.change(name, |tensor| *tensor = theirs)
    }

    /// Takes a tensor away.
    pub fn without(mut self, name: &str) -> Self {
        self.tensors.retain(|tensor| tensor.name != name);
        self
    }

    /// Only the first layers: a file with more of them than it says is refused.
    pub fn with_layers(mut self, layers: usize) -> Self {
        let is_kept = |name: &str| {
            let number = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
            number.is_none_or(|(number, _)| number.parse::<usize>().is_ok_and(|number| number < layers))
        };
        self.tensors.retain(|tensor| is_kept(&tensor.name));
        self.set("llama.block_count", Value::Unsigned(layers as u64))
    }

    /// Changes a tensor.
    pub fn change(mut self, name: &str, change: impl FnOnce(&mut Tensor<'static>)) -> Self {
        change(self.tensors.iter_mut().find(|tensor| tensor.name == name).unwrap());
        self
    }
}

/// A tensor of these numbers; in F16 where its rows are no whole blocks, as in files.
fn written(name: &str, format: Format, shape: &[usize], values: &[f32]) -> Tensor<'static> {
    let format = if shape[0].is_multiple_of(format.block_len()) { format } else { Format::F16 };
    let mut data = vec![0; format.row_bytes(shape[0]).unwrap() * shape[1..].iter().product::<usize>()];
    Kernels::best().quantise(format, values, &mut data);
    Tensor { name: Cow::Owned(name.to_owned()), format, shape: shape.to_vec(), data: Cow::Owned(data) }
}

impl TensorSource for TestModel {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.tensors.iter().map(|tensor| &*tensor.name).collect()
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        Ok(self.tensors.iter().find(|tensor| tensor.name == name).cloned())
    }
}
