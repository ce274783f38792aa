//! `hotloop quantize`: writes a model in another format.

use std::ops::ControlFlow;
use std::time::Instant;

use engine::{Converted, ErrorKind, QuantiseOptions, Summary};
use kernels::Pool;
use record::{QUANTISATION_SCHEMA, QUANTISATION_VERSION, Quantisation, QuantisedTensor};

use super::{PERCENT, Refusal, interrupt, progress, tool};
use crate::args::Quantize;

/// Converts, and tells what was done.
pub fn run(options: &Quantize) -> Result<Quantisation, Refusal> {
    // Once is enough: ending at once would leave a part of a file behind.
    interrupt::listen(|| {});
    let start = Instant::now();
    let source = engine::open(&options.source)?;
    let pool = options.threads.map_or_else(Pool::best, Pool::new);
    let settings = QuantiseOptions { format: options.format, pool: &pool, overwrite: options.force };
    let bar = progress(PERCENT, "writing tensors");
    let summary = engine::quantise(&*source, &options.target, &settings, &mut |done, total| {
        bar.set_length(total);
        bar.set_position(done);
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    bar.finish_and_clear();
    let summary = summary.map_err(|error| refusal(options, error))?;
    Ok(document(options, pool.threads(), start.elapsed().as_secs_f64(), summary))
}

/// The error with what helps here.
fn refusal(options: &Quantize, error: engine::Error) -> Refusal {
    let is_there = error.kind() == ErrorKind::Refused && !options.force && options.target.is_file();
    let hint = if interrupt::asked() {
        Some("run it again to convert the model; the target was left as it was")
    } else {
        is_there.then_some("give another name, or --force to replace it")
    };
    let refusal = Refusal::from(error);
    Refusal { hint: hint.unwrap_or(refusal.hint), ..refusal }
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
