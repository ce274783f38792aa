//! A larger model, layer by layer, and products of matrices beside it.

use super::standard::{Names, Plan, generate};
use super::{
    Arithmetic, Outcome, Task, inference, kernel_rows, model_of, model_rows, start_profiler, take_profile, tokens,
};
use crate::course::Course;
use crate::{Models, Which};

/// SmallMind's: the medium model, 50 tokens behind 32 at random.
const TOKENS: usize = 50;
const PROMPT: usize = 32;
/// The part of the time that kernels take.
const KERNELS: f64 = 0.3;

pub(super) fn run(
    task: &Task,
    models: &dyn Models,
    with: Arithmetic<'_>,
    course: &mut Course<'_>,
) -> Result<Outcome, String> {
    let which = model_of(task, Which::Medium);
    // Whether all will fit, before anything is measured.
    tokens::prompt(task, models, which, (PROMPT, task.tokens.unwrap_or(TOKENS)))?;
    let mut rows = kernel_rows::matmul(with, 128);
    let time = course.effort().time.mul_f64(KERNELS) / (rows.len() as u32 + 1);
    let parts = (rows.len() + 1) as f64;
    for (at, row) in rows.iter_mut().enumerate() {
        course.part(KERNELS * at as f64 / parts, KERNELS * (at + 1) as f64 / parts);
        row.measure(course, time)?;
    }
    kernel_rows::measure_together(&mut rows, course, time)?;
    course.part(KERNELS, 1.0);
    let names = Names {
        create: model_rows::DEEP,
        infer: inference::deep,
        creation: "Transformer_ModelCreation",
        whole: "Inference",
    };
    let plan = Plan { which, prompt: PROMPT, tokens: TOKENS, names };
    start_profiler(task);
    let worked = {
        hotloop::scope!("deep");
        rows.iter_mut().for_each(kernel_rows::KernelRow::profile);
        generate(task, models, plan, course)
    };
    let profile = take_profile()?;
    worked?.outcome(profile, course)
}
