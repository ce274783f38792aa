//! `hotloop quantize`: converts a model to another weight format.

use std::ops::ControlFlow;
use std::time::Instant;

use engine::{Converted, ErrorKind, QuantiseOptions, Summary};
use kernels::Pool;
use record::{QUANTISATION_SCHEMA, QUANTISATION_VERSION, Quantisation, QuantisedTensor};

use super::{CommandError, CommandOutput, PERCENT, documents, interrupt, progress, terminal, tool};
use crate::args::Quantize;

/// Converts the model.
pub fn run(options: &Quantize) -> Result<CommandOutput, CommandError> {
    // A second Ctrl-C must not end the program at once: that would leave a part of a file behind.
    interrupt::listen(|| {});
    terminal::warn_about_threads(options.threads);
    let start = Instant::now();
    kernels::Kernels::chosen().map_err(CommandError::instruction_set)?;
    let source = engine::open(&options.source)?;
    let pool = options.threads.map_or_else(Pool::best, Pool::new);
    let settings = QuantiseOptions { format: options.format, pool: &pool, overwrite: options.force };
    let bar = progress(PERCENT, "writing tensors");
    let summary = engine::quantise(&*source, &options.target, &settings, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        if interrupt::is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let summary = summary.map_err(|error| failure(options, error))?;
    let quantisation = document(options, pool.threads(), start.elapsed().as_secs_f64(), summary);
    Ok(CommandOutput::text(if options.json {
        quantisation.to_json()
    } else {
        documents::on_stdout(&report::quantisation(&quantisation))
    }))
}

/// The error with the hint that helps here.
fn failure(options: &Quantize, error: engine::Error) -> CommandError {
    let is_there = error.kind() == ErrorKind::Refused && !options.force && options.target.is_file();
    let error = CommandError::from(error);
    if interrupt::is_requested() {
        error.with_hint("run the command again to convert the model; the target was not changed")
    } else if is_there {
        error.with_hint("give another name, or --force to replace it")
    } else {
        error
    }
}

fn document(options: &Quantize, threads: usize, duration_s: f64, summary: Summary) -> Quantisation {
    let tensor = |Converted { info, from, fallback }| QuantisedTensor {
        name: info.name,
        shape: info.shape.into_iter().map(|length| length as u64).collect(),
        from: from.name().to_owned(),
        to: info.format.name().to_owned(),
        fallback,
    };
    Quantisation {
        schema: QUANTISATION_SCHEMA.to_owned(),
        version: QUANTISATION_VERSION,
        tool: tool(),
        source: options.source.display().to_string(),
        target: options.target.display().to_string(),
        format: options.format.name().to_owned(),
        threads: threads as u64,
        duration_s,
        source_bytes: summary.source_bytes,
        tensor_bytes: summary.tensor_bytes,
        file_bytes: summary.file_bytes,
        tensors: summary.tensors.into_iter().map(tensor).collect(),
    }
}
