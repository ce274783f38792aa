//! A model in another format, written as GGUF.
//!
//! Rows are converted one by one, on all threads, in stretches of bounded size: a model larger than
//! the memory can be converted.

mod plan;
mod stretch;

use std::ops::ControlFlow;
use std::path::Path;

use kernels::Pool;
use kernels::quant::Format;

use crate::gguf::Writer;
use crate::{Error, Metadata, PAIRING_KEY, Result, TensorInfo, TensorSource, Value, check_finite};
use plan::Plan;
use stretch::RowConverter;

/// How to convert.
#[derive(Debug)]
pub struct QuantiseOptions<'a> {
    /// The format of the matrices.
    pub format: Format,
    /// Who does the work.
    pub pool: &'a Pool,
    /// Whether to replace a file that is there.
    pub overwrite: bool,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Every tensor, in the order of the files.
    pub tensors: Vec<Converted>,
    /// The bytes of all tensors in the source.
    pub source_bytes: u64,
    /// The bytes of all tensors in the result.
    pub tensor_bytes: u64,
    /// The bytes of the file that was written.
    pub file_bytes: u64,
}

/// What became of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Its name and lengths, and the format it now has.
    pub info: TensorInfo,
    /// The format it had.
    pub from: Format,
    /// Its rows are no whole blocks of the format that was meant for it, so that it has another one.
    pub fallback: bool,
}

/// Writes the model with its matrices in another format. `progress` is told how many bytes of the
/// source are done, and of how many; where it breaks, the work ends with an error, and nothing is
/// left.
///
/// Matrices get the format asked for; with Q4_K and Q5_K the output, or the embedding that stands
/// for it, gets Q6_K, which decides over the quality of every token. Rows that are no whole blocks
/// of it fall back as llama.cpp does it: Q4_K to Q5_0, Q5_K to Q5_1, Q6_K to Q8_0, and to F16 what
/// is no multiple of 32. Norms, biases and positions are F32. The order of rows becomes that of
/// GGUF where it is another ([`PAIRING_KEY`]).
///
/// Weights that are not finite are refused, and those beyond the largest f16 where the format has f16 or scales in f16.
pub fn quantise(
    source: &dyn TensorSource,
    target: &Path,
    options: &QuantiseOptions<'_>,
    progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Summary> {
    let named = |error: Error| match source.file() {
        Some(file) => error.in_file(file),
        None => error,
    };
    let plans = plan::of(source, options.format).map_err(named)?;
    let infos = plans.iter().map(|plan| plan.to.clone()).collect();
    let stretches = RowConverter::new(options.pool)?;
    let mut writer = Writer::create(target, options.overwrite, &metadata(source, options.format), infos)?;
    let total = plans.iter().map(|plan| plan.source_bytes as u64).sum();
    let mut work = Conversion { source, stretches, done: 0, total, progress };
    for plan in &plans {
        work.convert(plan, &mut writer).map_err(named)?;
    }
    let file_bytes = writer.finish()?;
    let tensor_bytes = plans.iter().map(|plan| plan.bytes as u64).sum();
    let tensors = plans.into_iter().map(Plan::done).collect();
    Ok(Summary { tensors, source_bytes: total, tensor_bytes, file_bytes })
}

/// What goes on while tensors are converted.
struct Conversion<'a> {
    source: &'a dyn TensorSource,
    stretches: RowConverter<'a>,
    done: u64,
    total: u64,
    progress: &'a mut dyn FnMut(u64, u64) -> ControlFlow<()>,
}

impl Conversion<'_> {
    fn convert(&mut self, plan: &Plan, writer: &mut Writer) -> Result<()> {
        let missing = || Error::malformed("changed while being converted").about(plan.to.shown());
        let tensor = self.source.tensor(&plan.to.name)?.ok_or_else(missing)?;
        if tensor.data.len() != plan.source_bytes || tensor.format != plan.from {
            return Err(missing());
        }
        check_finite(&tensor)?;
        let progress = &mut *self.progress;
        let (done, total) = (self.done, self.total);
        self.stretches.convert(plan, &tensor.data, |converted, source_bytes| {
            writer.write(converted)?;
            match progress(done + source_bytes as u64, total) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(Error::refused("stopped; nothing was written")),
            }
        })?;
        self.done += plan.source_bytes as u64;
        drop(tensor);
        self.source.release(&plan.to.name);
        Ok(())
    }
}

/// What the new file says about itself.
fn metadata(source: &dyn TensorSource, format: Format) -> Metadata {
    let mut metadata = source.metadata().clone();
    metadata.remove("general.alignment");
    metadata.remove(PAIRING_KEY);
    metadata.set("general.file_type", Value::Unsigned(format.file_type().into()));
    // The version of the block formats themselves, which has been 2 since 2023.
    metadata.set("general.quantization_version", Value::Unsigned(2));
    metadata
}
