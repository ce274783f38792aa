//! The numbers that are learned: random at first, or from a file; and as a source of tensors.

use std::borrow::Cow;

use kernels::{AlignedBuffer, Kernels};

use super::{Entry, Layout};
use crate::model::Role;
use crate::synthetic::{hash, normal};
use crate::{Config, Error, Metadata, Result, Tensor, TensorInfo, TensorSource, memory, tensor};

/// The deviation of matrices at the beginning, as GPT-2 has it.
const DEVIATION: f32 = 0.02;

/// All numbers of a model that are learned.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// What the model is.
    pub config: Config,
    /// Where each tensor lies in `values`.
    pub layout: Layout,
    /// The numbers.
    pub values: AlignedBuffer<f32>,
}

impl Parameters {
    /// Numbers to begin with, the same on every machine: matrices normal with a deviation of 0.02,
    /// those that are added to the residual stream by √(2 · layers) smaller; norms one, biases
    /// zero.
    ///
    /// # Errors
    /// Where the sizes make no sense together, or memory is short.
    pub fn random(config: Config, tied: bool, seed: u64) -> Result<Self> {
        let mut parameters = Self::zeroed(config, tied)?;
        let Self { config, layout, values } = &mut parameters;
        let residual = DEVIATION / (2.0 * config.layers as f32).sqrt();
        for (entry, role) in layout.roles() {
            let deviation = match role {
                Role::NormWeight => {
                    values[entry.range.clone()].fill(1.0);
                    continue;
                }
                Role::Bias | Role::NormBias => continue,
                Role::Residual => residual,
                Role::Matrix | Role::Positions => DEVIATION,
            };
            let rows = values[entry.range.clone()].chunks_mut(entry.info.shape[0]);
            for (row, values) in rows.enumerate() {
                let mut state = hash(seed, &entry.info.name, row as u64);
                values.iter_mut().for_each(|value| *value = deviation * normal(&mut state));
            }
        }
        Ok(parameters)
    }

    /// The numbers of any model, as f32.
    ///
    /// # Errors
    /// Where a tensor is missing, has another shape or is one that this family has not; where numbers are not finite; where memory is
    /// short.
    pub fn read(source: &dyn TensorSource) -> Result<Self> {
        let read = || {
            let config = Config::read(source)?;
            let tied = source.info("output.weight")?.is_none();
            let mut parameters = Self::zeroed(config, tied)?;
            parameters.refuse_others(source)?;
            let Self { layout, values, .. } = &mut parameters;
            for entry in layout.entries() {
                read_tensor(source, entry, &mut values[entry.range.clone()])?;
                source.release(&entry.info.name);
            }
            Ok(parameters)
        };
        read().map_err(|error: Error| match source.file() {
            Some(file) => error.in_file(file),
            None => error,
        })
    }

    /// All of them zero.
    fn zeroed(config: Config, tied: bool) -> Result<Self> {
        let layout = Layout::new(&config, tied)?;
        let bytes = layout.len().saturating_mul(size_of::<f32>());
        memory::check(bytes, "the parameters", "choose a smaller model")?;
        let values = AlignedBuffer::zeroed(layout.len());
        Ok(Self { config, layout, values })
    }

    /// What would be lost in learning must not be there.
    fn refuse_others(&self, source: &dyn TensorSource) -> Result<()> {
        match source.names().into_iter().find(|name| self.layout.range(name).is_none()) {
            None => Ok(()),
            Some(name) => {
                let family = self.config.architecture.name();
                let message = format!("not supported in training of {family} models");
                Err(Error::unsupported(message).about(tensor::shown(name)))
            }
        }
    }

    /// The values of a tensor; nothing where there is none of that name.
    pub fn tensor(&self, name: &str) -> Option<&[f32]> {
        self.layout.range(name).map(|range| &self.values[range])
    }

    /// As a source of tensors in f32, for [`Model::load`](crate::Model::load) and for writers of
    /// files. `metadata` is what else the model says about itself, such as its vocabulary; the keys
    /// that the config follows from are set here.
    pub fn source(&self, mut metadata: Metadata) -> ParametersSource<'_> {
        self.config.write(&mut metadata);
        ParametersSource { parameters: self, metadata, kernels: Kernels::best() }
    }
}

fn read_tensor(source: &dyn TensorSource, entry: &Entry, values: &mut [f32]) -> Result<()> {
    let about = |error: Error| error.about(entry.info.shown());
    let tensor = source.tensor(&entry.info.name)?.ok_or_else(|| about(Error::malformed("it is missing")))?;
    if tensor.shape != entry.info.shape {
        let (found, wanted) = (&tensor.shape, &entry.info.shape);
        return Err(about(Error::malformed(format!("the shape is {found:?}, expected {wanted:?}"))));
    }
    let wanted = TensorInfo { format: tensor.format, ..entry.info.clone() }.bytes().map_err(about)?;
    if tensor.data.len() != wanted {
        let found = tensor.data.len();
        return Err(about(Error::malformed(format!("{found} bytes; its shape needs {wanted}"))));
    }
    let kernels = Kernels::best();
    kernels.dequantise(tensor.format, &tensor.data, values);
    if kernels.has_non_finite(values) {
        return Err(about(Error::malformed("contains NaN or infinity")));
    }
    Ok(())
}

/// The tensors of [`Parameters`], in f32.
#[derive(Debug)]
pub struct ParametersSource<'a> {
    parameters: &'a Parameters,
    metadata: Metadata,
    kernels: Kernels,
}

impl TensorSource for ParametersSource<'_> {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.parameters.layout.entries().iter().map(|entry| entry.info.name.as_str()).collect()
    }

    fn info(&self, name: &str) -> Result<Option<TensorInfo>> {
        Ok(self.parameters.layout.entry(name).map(|entry| entry.info.clone()))
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        let Some(Entry { info, range, .. }) = self.parameters.layout.entry(name) else { return Ok(None) };
        let mut data = vec![0; size_of::<f32>() * range.len()];
        self.kernels.quantise(info.format, &self.parameters.values[range.clone()], &mut data);
        let (name, shape) = (Cow::Borrowed(info.name.as_str()), info.shape.clone());
        Ok(Some(Tensor { name, format: info.format, shape, data: Cow::Owned(data) }))
    }
}
