//! What keeping memory saves: every idea measured with and without it, in turns.

use std::hint::black_box;
use std::time::Duration;

use kernels::{Kernels, LayerNorm, Matrix, MatrixMut, Product};
use record::{Phase, Row};

use super::kernel_rows::numbers;
use super::tokens::{self, Generated};
use super::{Arithmetic, Task, WorkloadResult, inference, model_of, model_rows, start_profiler, take_profile};
use crate::metrics::{counted, timed};
use crate::recorder::RunRecorder;
use crate::{Generator, ModelChoice, ModelUse, Models};

/// Something done in one of two ways.
struct Variant<'a> {
    /// What is done, and the way: `MatMulBackward/fresh`.
    name: &'static str,
    what: &'static str,
    calls: u64,
    /// All calls of a sample.
    work: Box<dyn FnMut() + 'a>,
}

/// Tokens of the inferences that are compared.
const TOKENS: usize = 25;
const PROMPT: usize = 10;

pub(super) fn run(
    task: &Task,
    models: &dyn Models,
    with: Arithmetic<'_>,
    recorder: &mut RunRecorder<'_>,
) -> Result<WorkloadResult, String> {
    let pairs = [
        matmul_backward(with),
        training_step(with),
        tensor_pool(),
        in_place_add(with.kernels),
        layer_norm(with.kernels),
    ];
    // The model's two pairs are the rest.
    let count = pairs.len() as u32 + 2;
    let tokens = task.tokens.unwrap_or(TOKENS);
    let which = model_of(task, ModelChoice::Small);
    let prompt = tokens::prompt(task, models, which, (PROMPT, tokens))?;
    let share = |at: u32| f64::from(at) / f64::from(count);
    for (at, pair) in (0..).zip(pairs) {
        recorder.part(share(at), share(at + 1));
        let time = recorder.fair(count - at);
        measure(pair, recorder, time)?;
    }
    if recorder.is_over() {
        return Ok(WorkloadResult::default());
    }
    recorder.part(share(count - 2), 1.0);
    let mut outcome = of_model(models, which, (&prompt, tokens), recorder)?;
    if recorder.is_over() {
        return Ok(outcome);
    }
    let (profile, mut memory) = profile(task, models, which, (&prompt, tokens))?;
    let generator = models.create(which, ModelUse::usual(prompt.len() + tokens))?;
    memory.cache_per_token_measured = cache_per_token(&*generator)?;
    (outcome.profile, outcome.memory) = (Some(profile), vec![memory]);
    outcome.notes.push(ONE_PASS.to_owned());
    Ok(outcome)
}

/// What has to be known of the tree.
pub(super) const ONE_PASS: &str = "the call tree and the rankings come from one inference with the profiler on; the rows were measured with the \
     profiler off";

/// An inference with the profiler on: what is live at the most, and when.
fn profile(
    task: &Task,
    models: &dyn Models,
    which: ModelChoice,
    (prompt, tokens): (&[u32], usize),
) -> Result<(record::Profile, record::Memory), String> {
    start_profiler(task);
    let worked = (|| {
        hotloop::scope!("memory");
        let mut generator = (model_rows::STANDARD)(models, which, ModelUse::usual(prompt.len() + tokens))?;
        (inference::standard)(&mut *generator, prompt, tokens).map(|_| generator)
    })();
    let profile = take_profile()?;
    let memory = model_rows::memory(worked?.memory(), &profile, ["ModelCreation", "InferenceComplete"]);
    Ok((profile, memory))
}

/// Repeats both ways in turns, so that whatever disturbs disturbs both.
fn measure(mut pair: [Variant<'_>; 2], recorder: &mut RunRecorder<'_>, time: Duration) -> Result<(), String> {
    let mut allocated = Vec::new();
    for variant in &mut pair {
        let (name, what, calls) = (variant.name.to_owned(), variant.what.to_owned(), variant.calls);
        recorder.row(Row { name, what, calls, threads: None, ..Row::default() });
        (variant.work)();
        allocated.push(counted(|| (variant.work)()));
    }
    let first = pair[0].name;
    let mut turn = false;
    recorder.repeat(
        first,
        time,
        |_: Phase| (),
        || {
            turn = !turn;
            let order = if turn { [0, 1] } else { [1, 0] };
            let taken = order.map(|at| {
                let ((), mut taken) = timed(|| (pair[at].work)());
                if let Some(allocated) = allocated[at] {
                    allocated.add_to(&mut taken);
                }
                (pair[at].name.to_owned(), taken)
            });
            Ok(taken.into())
        },
    )
}

/// C = A·B of these shapes, with one factor or the other turned.
fn multiply(with: Arithmetic<'_>, a: Matrix<'_>, b: Matrix<'_>, out: &mut [f32]) {
    let (rows, cols) = (a.rows(), b.cols());
    with.kernels.gemm_on(with.pool, Product::new(a, b), MatrixMut::new(out, rows, cols));
    black_box(out);
}

/// A product of 128 × 256 and 256 × 128 and its two gradients, 100 times.
fn matmul_backward(with: Arithmetic<'_>) -> [Variant<'_>; 2] {
    const CALLS: u64 = 100;
    let (m, k, n) = (128, 256, 128);
    let factors = move || (numbers(m * k), numbers(k * n));
    let pass = move |(a, b): &(Vec<f32>, Vec<f32>), [c, da, db]: [&mut [f32]; 3]| {
        multiply(with, Matrix::new(a, m, k), Matrix::new(b, k, n), c);
        // The gradient of the result stands for itself: its numbers do not matter.
        multiply(with, Matrix::new(c, m, n), Matrix::new(b, k, n).transposed(), da);
        multiply(with, Matrix::new(a, m, k).transposed(), Matrix::new(c, m, n), db);
    };
    let sizes = [m * n, m * k, k * n];
    let (given, given2, mut kept) = (factors(), factors(), sizes.map(|size| vec![0.0; size]));
    let fresh = move || {
        (0..CALLS).for_each(|_| pass(&given, sizes.map(|size| vec![0.0; size]).each_mut().map(Vec::as_mut_slice)))
    };
    let pooled = move || (0..CALLS).for_each(|_| pass(&given2, kept.each_mut().map(Vec::as_mut_slice)));
    let what = "a 128 × 256 by 256 × 128 matrix product with both gradients";
    [
        Variant { name: "MatMulBackward/fresh", what, calls: CALLS, work: Box::new(fresh) },
        Variant { name: "MatMulBackward/pooled", what, calls: CALLS, work: Box::new(pooled) },
    ]
}

/// Two layers of 256, a batch of 32, forward and backward, 50 steps.
fn training_step(with: Arithmetic<'_>) -> [Variant<'_>; 2] {
    const CALLS: u64 = 50;
    let (rows, width) = (32, 256);
    let small = rows * width;
    let sizes = [small, small, width * width, small, width * width, small];
    let given = move || [numbers(small), numbers(width * width), numbers(width * width)];
    let pass = move |[x, w1, w2]: &[Vec<f32>; 3], [h, y, dw2, dh, dw1, dx]: [&mut [f32]; 6]| {
        let (batch, weights) = (|x| Matrix::new(x, rows, width), |w| Matrix::new(w, width, width));
        multiply(with, batch(x), weights(w1), h);
        multiply(with, batch(h), weights(w2), y);
        multiply(with, batch(h).transposed(), batch(y), dw2);
        multiply(with, batch(y), weights(w2).transposed(), dh);
        multiply(with, batch(x).transposed(), batch(dh), dw1);
        multiply(with, batch(dh), weights(w1).transposed(), dx);
    };
    let (mine, theirs, mut kept) = (given(), given(), sizes.map(|size| vec![0.0; size]));
    let fresh = move || {
        (0..CALLS).for_each(|_| pass(&mine, sizes.map(|size| vec![0.0; size]).each_mut().map(Vec::as_mut_slice)))
    };
    let pooled = move || (0..CALLS).for_each(|_| pass(&theirs, kept.each_mut().map(Vec::as_mut_slice)));
    let what = "a training step: two layers of 256 × 256, 32 samples, forward and backward";
    [
        Variant { name: "TrainingStep/fresh", what, calls: CALLS, work: Box::new(fresh) },
        Variant { name: "TrainingStep/pooled", what, calls: CALLS, work: Box::new(pooled) },
    ]
}

/// A tensor of 512 zeros, 1,000 times.
fn tensor_pool<'a>() -> [Variant<'a>; 2] {
    const CALLS: u64 = 1_000;
    let mut kept = vec![0.0f32; 512];
    let fresh = || (0..CALLS).for_each(|_| drop(black_box(vec![0.0f32; 512])));
    let pooled = move || {
        for _ in 0..CALLS {
            kept.fill(0.0);
            black_box(&mut kept);
        }
    };
    let what = "a tensor of 512 zeros";
    [
        Variant { name: "TensorPool/fresh", what, calls: CALLS, work: Box::new(fresh) },
        Variant { name: "TensorPool/pooled", what, calls: CALLS, work: Box::new(pooled) },
    ]
}

/// The sum of two tensors of 512 values, 1,000 times.
fn in_place_add<'a>(kernels: Kernels) -> [Variant<'a>; 2] {
    const CALLS: u64 = 1_000;
    let (a, b, mut sum, more) = (numbers(512), numbers(512), vec![0.0; 512], numbers(512));
    let allocating = move || {
        for _ in 0..CALLS {
            let mut out = vec![0.0; 512];
            kernels.add(&a, &b, &mut out);
            black_box(&mut out);
        }
    };
    let in_place = move || {
        for _ in 0..CALLS {
            kernels.add_assign(&mut sum, &more);
            black_box(&mut sum);
        }
    };
    let what = "the sum of two tensors of 512 values";
    [
        Variant { name: "Add/allocating", what, calls: CALLS, work: Box::new(allocating) },
        Variant { name: "Add/in_place", what, calls: CALLS, work: Box::new(in_place) },
    ]
}

/// The norm of 32 rows of 512 values, 100 times: in one pass, or in the steps of its formula.
fn layer_norm<'a>(kernels: Kernels) -> [Variant<'a>; 2] {
    const CALLS: u64 = 100;
    const EPSILON: f32 = 1e-5;
    let (rows, width) = (32, 512);
    let (x, weight, bias, mut out) = (numbers(rows * width), numbers(width), numbers(width), vec![0.0; rows * width]);
    let (x2, weight2, bias2) = (x.clone(), weight.clone(), bias.clone());
    let fused = move || {
        for _ in 0..CALLS {
            kernels.layer_norm_rows(&x, LayerNorm { weight: &weight, bias: &bias, eps: EPSILON }, &mut out);
            black_box(&mut out);
        }
    };
    let separate = move || {
        for _ in 0..CALLS {
            let mut centred = x2.clone();
            for row in centred.chunks_exact_mut(width) {
                let mean = kernels.sum(row) / width as f32;
                row.iter_mut().for_each(|value| *value -= mean);
            }
            let mut normed = centred.clone();
            for row in normed.chunks_exact_mut(width) {
                let variance = kernels.sum_of_squares(row) / width as f32;
                kernels.scale(row, 1.0 / (variance + EPSILON).sqrt());
            }
            let mut scaled = normed.clone();
            kernels.mul_rows(&mut scaled, &weight2);
            let mut out = scaled.clone();
            kernels.add_rows(&mut out, &bias2);
            black_box(&mut out);
        }
    };
    let what = "the layer norm of 32 rows of 512 values";
    [
        Variant { name: "LayerNorm/separate", what, calls: CALLS, work: Box::new(separate) },
        Variant { name: "LayerNorm/fused", what, calls: CALLS, work: Box::new(fused) },
    ]
}

/// The model with and without memory that is kept between passes, and with and without keys and values that are.
fn of_model(
    models: &dyn Models,
    which: ModelChoice,
    (prompt, tokens): (&[u32], usize),
    recorder: &mut RunRecorder<'_>,
) -> Result<WorkloadResult, String> {
    let usual = ModelUse::usual(prompt.len() + tokens);
    let create = |usage: ModelUse| models.create(which, usage);
    let mut kept = create(usual)?;
    let mut outcome = WorkloadResult {
        models: vec![kept.describe()],
        prompt_blake3: Some(tokens::hash(prompt)),
        prompt_tokens: Some(prompt.len()),
        tokens: Some(tokens),
        ..WorkloadResult::default()
    };
    let mut generated = Generated::default();
    let whys = [
        (ModelUse { pooled: false, ..usual }, "Inference/fresh", "Inference/pooled"),
        (ModelUse { keeps: false, ..usual }, "KvCache/recomputed", "KvCache/kept"),
    ];
    for (left, (without, without_name, with_name)) in (1..=2).rev().zip(whys) {
        if recorder.is_over() {
            break;
        }
        let mut other = create(without)?;
        for generator in [&mut *other, &mut *kept] {
            generated.add((inference::standard)(generator, prompt, tokens)?.tokens);
        }
        // These inferences worked just now, and nothing about them changes.
        let run = |generator: &mut dyn Generator| drop((inference::standard)(generator, prompt, tokens));
        let what = "an inference, one token at a time";
        let calls = 1;
        let pair = [
            Variant { name: without_name, what, calls, work: Box::new(|| run(&mut *other)) },
            Variant { name: with_name, what, calls, work: Box::new(|| run(&mut *kept)) },
        ];
        let time = recorder.fair(left);
        measure(pair, recorder, time)?;
    }
    outcome.correctness = generated.correctness();
    Ok(outcome)
}

/// What one more position takes: the memory for many less that for half as many.
pub(super) fn cache_per_token(generator: &dyn Generator) -> Result<Option<f64>, String> {
    let most = usize::try_from(generator.describe().context).unwrap_or(usize::MAX).clamp(2, 512);
    let positions = [most / 2, most];
    let mut taken = [0.0; 2];
    for (taken, positions) in taken.iter_mut().zip(positions) {
        let mut room = None;
        let Some(allocated) = counted(|| room = Some(generator.room(positions))) else { return Ok(None) };
        let room = room.expect("it was run")?;
        *taken = allocated.kept as f64 - room.other_bytes as f64;
        drop(room.held);
    }
    Ok(Some((taken[1] - taken[0]) / (positions[1] - positions[0]) as f64))
}
