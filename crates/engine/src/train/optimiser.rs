//! Steps of optimisers over all parameters, divided among threads.

use std::ops::Range;

use arrayvec::ArrayVec;
use kernels::{AdamWStep, AlignedBuffer, Kernels, Moments, SgdStep};

use super::{Layout, Parameters};
use crate::{Compute, Error, Result, memory, steps};

/// How parameters follow from gradients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptimiserKind {
    /// Adam with decoupled weight decay. The numbers are those of the paper and of PyTorch's `AdamW`.
    AdamW {
        /// How much of the mean of gradients stays: 0.9 as a rule.
        beta1: f64,
        /// How much of the mean of their squares stays: 0.999 as a rule, 0.95 for language models.
        beta2: f64,
        /// What keeps the divisor from zero: 1e-8 as a rule.
        eps: f64,
    },
    /// Gradient descent with momentum. Weight decay is added to the gradients, as PyTorch's `SGD` does it.
    Sgd {
        /// How much of the last direction stays; 0 for none.
        momentum: f64,
    },
}

impl OptimiserKind {
    /// The names of what it remembers, in the order of [`Optimiser::states`].
    fn state_names(self) -> &'static [&'static str] {
        match self {
            Self::AdamW { .. } => &["m", "v"],
            Self::Sgd { .. } => &["momentum"],
        }
    }

    fn check(self) -> Result<()> {
        let share = |name: &str, value: f64| match value {
            0.0..1.0 => Ok(()),
            _ => Err(Error::refused(format!("{name} = {value}: expected a number from 0 up to, but not including, 1"))),
        };
        match self {
            Self::AdamW { beta1, beta2, eps } => {
                share("beta1", beta1)?;
                share("beta2", beta2)?;
                if eps > 0.0 && eps.is_finite() {
                    return Ok(());
                }
                Err(Error::refused(format!("eps = {eps}: expected a number above 0")))
            }
            Self::Sgd { momentum } => share("momentum", momentum),
        }
    }
}

/// How far one step goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSize {
    /// From the schedule.
    pub learning_rate: f64,
    /// What gradients are multiplied with, as [`clip_scale`] gives it; 1 leaves them.
    pub gradient_scale: f32,
    /// Where each gradient is cut off then, on both sides; infinity cuts off none.
    pub gradient_limit: f32,
}

impl StepSize {
    /// With the gradients as they are.
    #[must_use]
    pub fn new(learning_rate: f64) -> Self {
        Self { learning_rate, gradient_scale: 1.0, gradient_limit: f32::INFINITY }
    }
}

/// Neighbouring tensors that decay alike, and what lies between them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DecayRun {
    end: usize,
    decays: bool,
}

/// Moves parameters against their gradients, and remembers what that needs.
#[derive(Debug, Clone)]
pub struct Optimiser {
    kind: OptimiserKind,
    weight_decay: f64,
    runs: Vec<DecayRun>,
    /// One list per name, flat as the parameters.
    states: ArrayVec<AlignedBuffer<f32>, 2>,
    steps: u64,
}

/// Threads take so many values at a time, or more where there were too many such parts: about a
/// millisecond of memory traffic.
const PART: usize = 1 << 18;
/// The most parts of a step.
const MOST_PARTS: usize = 64;

impl Optimiser {
    /// Before the first step. Matrices decay, other tensors do not: see [`Entry::decays`](super::Entry::decays).
    ///
    /// # Errors
    /// Where a number makes no sense, or memory is short.
    pub fn new(kind: OptimiserKind, weight_decay: f64, layout: &Layout) -> Result<Self> {
        kind.check()?;
        if !(weight_decay >= 0.0 && weight_decay.is_finite()) {
            return Err(Error::refused(format!("weight_decay = {weight_decay}: expected a number of at least 0")));
        }
        let names = kind.state_names();
        let bytes = layout.len().saturating_mul(names.len() * size_of::<f32>());
        memory::check(bytes, "the optimiser state", "choose a smaller model, or `sgd`")?;
        let states = names.iter().map(|_| AlignedBuffer::zeroed(layout.len())).collect();
        Ok(Self { kind, weight_decay, runs: runs(layout), states, steps: 0 })
    }

    /// One step: parameters move against `gradients`.
    ///
    /// # Panics
    /// Where the lengths differ from those of the layout.
    #[track_caller]
    pub fn step(&mut self, compute: &Compute, parameters: &mut Parameters, gradients: &[f32], size: StepSize) {
        let len = self.states[0].len();
        assert!(parameters.values.len() == len && gradients.len() == len, "another layout than the optimiser's");
        hotloop::scope!(steps::OPTIMIZER, flops = self.flops(), bytes = self.bytes());
        self.steps += 1;
        let update = self.update(size);
        let (runs, kernels) = (&self.runs, compute.kernels);
        let mut parts = parts(&mut parameters.values, gradients, &mut self.states);
        compute.pool.run_each(&mut parts, |part| part.run(kernels, runs, update));
    }

    /// How many steps were made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Goes on behind so many steps, as a checkpoint has them; the states belong to it.
    pub fn set_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// What is remembered between steps, by name: "m" and "v", or "momentum". Flat as the parameters.
    pub fn states(&self) -> impl Iterator<Item = (&'static str, &[f32])> {
        self.kind.state_names().iter().copied().zip(self.states.iter().map(|state| &**state))
    }

    /// The same, to be read from a checkpoint.
    pub fn states_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut [f32])> {
        self.kind.state_names().iter().copied().zip(self.states.iter_mut().map(|state| &mut **state))
    }

    /// The bytes it takes.
    pub fn memory(&self) -> usize {
        self.states.iter().map(|state| state.len() * size_of::<f32>()).sum()
    }

    /// The bytes that a step reads and writes: values and states both, gradients once.
    fn bytes(&self) -> usize {
        self.states[0].len() * size_of::<f32>() * (3 + 2 * self.states.len())
    }

    fn flops(&self) -> usize {
        let per_value = if matches!(self.kind, OptimiserKind::AdamW { .. }) { 17 } else { 9 };
        self.states[0].len() * per_value
    }

    /// What this step does to tensors that stay, and to those that decay.
    fn update(&self, size: StepSize) -> [Update; 2] {
        let gradient = [size.gradient_scale, size.gradient_limit];
        let rate = size.learning_rate;
        [0.0, self.weight_decay].map(|decay| match self.kind {
            OptimiserKind::AdamW { beta1, beta2, eps } => {
                // Beyond some thousand steps nothing is left to correct; a number of steps that
                // does not fit is as good as any such.
                let step = i32::try_from(self.steps).unwrap_or(i32::MAX);
                Update::AdamW(AdamWStep {
                    keep: (1.0 - rate * decay) as f32,
                    rate: (rate / (1.0 - beta1.powi(step))) as f32,
                    mean: [beta1 as f32, (1.0 - beta1) as f32],
                    square: [beta2 as f32, (1.0 - beta2) as f32],
                    root_scale: (1.0 / (1.0 - beta2.powi(step)).sqrt()) as f32,
                    eps: eps as f32,
                    gradient,
                })
            }
            OptimiserKind::Sgd { momentum } => Update::Sgd(SgdStep {
                rate: rate as f32,
                momentum: momentum as f32,
                weight_decay: decay as f32,
                gradient,
            }),
        })
    }
}

#[derive(Debug, Clone, Copy)]
enum Update {
    AdamW(AdamWStep),
    Sgd(SgdStep),
}

/// What one thread has at a time.
struct ParameterSlice<'a> {
    first: usize,
    values: &'a mut [f32],
    gradients: &'a [f32],
    states: ArrayVec<&'a mut [f32], 2>,
}

impl ParameterSlice<'_> {
    fn run(&mut self, kernels: Kernels, runs: &[DecayRun], update: [Update; 2]) {
        let (mut at, end) = (self.first, self.first + self.values.len());
        let begun = runs.partition_point(|run| run.end <= at);
        for run in &runs[begun..] {
            if at == end {
                break;
            }
            let until = run.end.min(end);
            self.update(kernels, at - self.first..until - self.first, update[usize::from(run.decays)]);
            at = until;
        }
    }

    fn update(&mut self, kernels: Kernels, range: Range<usize>, update: Update) {
        let (values, gradients) = (&mut self.values[range.clone()], &self.gradients[range.clone()]);
        match (update, &mut self.states[..]) {
            (Update::AdamW(step), [mean, square]) => {
                let moments = Moments { mean: &mut mean[range.clone()], square: &mut square[range] };
                kernels.adamw(values, gradients, moments, step);
            }
            (Update::Sgd(step), [direction]) => kernels.sgd(values, gradients, &mut direction[range], step),
            _ => unreachable!("each kind has its states from the beginning"),
        }
    }
}

/// All lists cut at the same places.
fn parts<'a>(
    mut values: &'a mut [f32],
    gradients: &'a [f32],
    states: &'a mut [AlignedBuffer<f32>],
) -> ArrayVec<ParameterSlice<'a>, MOST_PARTS> {
    let size = values.len().div_ceil(MOST_PARTS).max(PART);
    let mut states: ArrayVec<&mut [f32], 2> = states.iter_mut().map(|state| &mut **state).collect();
    let mut parts = ArrayVec::new();
    for (number, gradients) in gradients.chunks(size).enumerate() {
        let mine = values.split_off_mut(..gradients.len()).unwrap_or_default();
        let of_states = states.iter_mut().map(|state| state.split_off_mut(..gradients.len()).unwrap_or_default());
        parts.push(ParameterSlice { first: number * size, values: mine, gradients, states: of_states.collect() });
    }
    parts
}

/// What lies between tensors is zero and stays so, whether it decays or not.
fn runs(layout: &Layout) -> Vec<DecayRun> {
    let mut runs: Vec<DecayRun> = Vec::new();
    for entry in layout.entries() {
        match runs.last_mut() {
            Some(last) if last.decays == entry.decays => last.end = entry.range.end,
            _ => runs.push(DecayRun { end: entry.range.end, decays: entry.decays }),
        }
    }
    if let Some(last) = runs.last_mut() {
        last.end = layout.len();
    }
    runs
}

/// Gradients are summed in so many parts, whatever the number of threads.
const SUMS: usize = 256;
/// And within a part in blocks, whose sums are added in f64: so it is precise for any number of them.
const BLOCK: usize = 4096;

/// The Euclidean norm of all gradients, with the same bits for every number of threads. Infinite or
/// no number where a gradient is.
pub fn gradient_norm(compute: &Compute, gradients: &[f32]) -> f64 {
    hotloop::scope!(steps::CLIP, flops = 2 * gradients.len(), bytes = size_of_val(gradients));
    let mut sums = [0.0f64; SUMS];
    let (kernels, bytes) = (compute.kernels, size_of_val(gradients));
    // One thread reads some 20 bytes per nanosecond.
    let parts = compute.pool.parts(bytes as f64 / 20.0);
    compute.pool.run_rows(parts, &mut sums, 1, |rows, sums| {
        for (row, sum) in rows.zip(sums) {
            let [start, end] =
                [row, row + 1].map(|row| (gradients.len() as u128 * row as u128 / SUMS as u128) as usize);
            *sum = gradients[start..end].chunks(BLOCK).map(|block| sum_of_squares(kernels, block)).sum();
        }
    });
    sums.iter().sum::<f64>().sqrt()
}

fn sum_of_squares(kernels: Kernels, block: &[f32]) -> f64 {
    let sum = f64::from(kernels.sum_of_squares(block));
    if sum.is_finite() { sum } else { block.iter().map(|&x| f64::from(x) * f64::from(x)).sum() }
}

/// What brings gradients of this norm to at most `most`: 1 where they are there already. A norm
/// that is not a number gives that.
#[must_use]
pub fn clip_scale(norm: f64, most: f64) -> f32 {
    if norm <= most { 1.0 } else { (most / norm) as f32 }
}
