//! What was trained, as a model file for `hotloop generate` and llama.cpp.

use std::ops::ControlFlow;
use std::path::Path;

use engine::train::Parameters;
use engine::{Compute, Metadata, QuantiseOptions, Summary, TensorSource};
use kernels::quant::Format;

use crate::checkpoint::Checkpoint;
use crate::{Error, Result};

/// Writes parameters as GGUF, in f32 or another format; a file that is there is replaced, whole or not at all.
///
/// # Errors
/// Where numbers are not finite or the file cannot be written.
pub fn export_gguf(
    parameters: &Parameters,
    vocabulary: &Metadata,
    path: &Path,
    format: Format,
    compute: &Compute,
) -> Result<Summary> {
    write(&parameters.source(vocabulary.clone()), path, format, compute)
}

/// The same from a checkpoint, which need not fit into memory.
///
/// # Errors
/// Where the checkpoint is not whole or the file cannot be written.
pub fn export_checkpoint(checkpoint: &Checkpoint, path: &Path, format: Format, compute: &Compute) -> Result<Summary> {
    write(checkpoint, path, format, compute)
}

fn write(source: &dyn TensorSource, path: &Path, format: Format, compute: &Compute) -> Result<Summary> {
    let options = QuantiseOptions { format, pool: &compute.pool, overwrite: true };
    engine::quantise(source, path, &options, &mut |_, _| ControlFlow::Continue(())).map_err(|error| {
        match error.kind() {
            engine::ErrorKind::Io => {
                Error::of_output(error.to_string(), "free disk space, or choose another data.output_dir")
            }
            _ => error.into(),
        }
    })
}
