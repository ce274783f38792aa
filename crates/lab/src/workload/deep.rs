//! A larger model, layer by layer, and products of matrices beside it.

use super::standard::{Plan, ScopeNames, generate};
use super::{
    Arithmetic, Task, WorkloadResult, inference, kernel_rows, model_of, model_rows, start_profiler, take_profile,
    tokens,
};
use crate::recorder::RunRecorder;
use crate::{ModelChoice, Models};

/// SmallMind's: the medium model, 50 tokens behind 32 at random.
const TOKENS: usize = 50;
const PROMPT: usize = 32;
/// The part of the time that kernels take.
const KERNELS: f64 = 0.3;

pub(super) fn run(
    task: &Task,
    models: &dyn Models,
    with: Arithmetic<'_>,
    recorder: &mut RunRecorder<'_>,
) -> Result<WorkloadResult, String> {
    let which = model_of(task, ModelChoice::Medium);
    // Whether all will fit, before anything is measured.
    let tokens = task.tokens.unwrap_or(TOKENS);
    let prompt = tokens::prompt(task, models, which, (PROMPT, tokens))?;
    let mut rows = kernel_rows::matmul(with, 128);
    let time = recorder.effort().time.mul_f64(KERNELS) / (rows.len() as u32 + 1);
    let parts = (rows.len() + 1) as f64;
    for (at, row) in rows.iter_mut().enumerate() {
        recorder.part(KERNELS * at as f64 / parts, KERNELS * (at + 1) as f64 / parts);
        row.measure(recorder, time)?;
    }
    kernel_rows::measure_together(&mut rows, recorder, time)?;
    if recorder.is_over() {
        return Ok(WorkloadResult::default());
    }
    recorder.part(KERNELS, 1.0);
    let names = ScopeNames {
        create: model_rows::DEEP,
        infer: inference::deep,
        creation: "Transformer_ModelCreation",
        whole: "Inference",
    };
    let plan = Plan { which, prompt, tokens, names };
    start_profiler(task);
    let worked = {
        hotloop::scope!("deep");
        rows.iter_mut().for_each(kernel_rows::KernelRow::profile);
        generate(task, models, plan, recorder)
    };
    let profile = take_profile()?;
    worked?.outcome(profile, recorder)
}
