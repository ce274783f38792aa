//! One step of learning: the loss of a batch, and the gradient of every parameter.

use kernels::{AlignedBuffer, IGNORED_TARGET, RopeSpec, RopeTable, usable_cpus};

use super::arena::{ArenaViews, Sizes};
use super::finite;
use super::layers::Pass;
use super::layers::attention::scratch_of_one;
use super::layers::dropout::{Dropout, MOST_VALUES};
use super::plan::Plan;
use super::{Examples, Layout, Loss, Mode, NetworkOptions, NonFinitePlace, Parameters, StepWork};
use crate::{Compute, Config, Error, Result, memory, steps};

/// The gradients of all parameters, and the memory of one step. Everything has its size from the
/// beginning: steps allocate nothing.
#[derive(Debug)]
pub struct Network {
    config: Config,
    options: NetworkOptions,
    plan: Plan,
    sizes: Sizes,
    rope: Option<RopeTable>,
    gradients: AlignedBuffer<f32>,
    arena: AlignedBuffer<f32>,
    /// Of the attention of every thread.
    scratch: AlignedBuffer<f32>,
    /// Of the last forward pass.
    last: LastPass,
    /// Whether the next backward pass writes the gradients instead of adding to them.
    fresh: bool,
}

/// What the last forward pass was.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LastPass {
    rows: usize,
    mode: Mode,
}

impl Network {
    /// Room for steps with parameters of this layout.
    ///
    /// # Errors
    /// Where sizes are zero or beyond the model's, or memory is short.
    pub fn new(config: &Config, layout: &Layout, options: NetworkOptions) -> Result<Self> {
        config.check()?;
        check(config, &options)?;
        let plan = Plan::new(config, layout)?;
        let sizes = Sizes::new(config, &options);
        let scratch = scratch(config, &options, usable_cpus());
        let rope = config.rope.as_ref().map_or(0, |rope| rope.dims.saturating_mul(options.length));
        let all = [layout.len(), sizes.len(), scratch, rope].into_iter().fold(0, usize::saturating_add);
        memory::check(
            all.saturating_mul(size_of::<f32>()),
            "the gradients and activations",
            "choose smaller batches, shorter sequences or recomputation",
        )?;
        Ok(Self {
            config: config.clone(),
            options,
            plan,
            sizes,
            rope: rope_table(config, options.length),
            gradients: AlignedBuffer::zeroed(layout.len()),
            arena: AlignedBuffer::zeroed(sizes.len()),
            scratch: AlignedBuffer::zeroed(scratch),
            last: LastPass { rows: 0, mode: Mode::Evaluate },
            fresh: false,
        })
    }

    /// The loss of some sequences.
    ///
    /// In [`Mode::Learn`] a backward pass has to follow: where the vocabulary is so large that
    /// logits are computed in parts, the head's gradients are added here.
    ///
    /// # Panics
    /// Where examples are no whole sequences, more than there is room for, or have tokens or targets that the model has not; where
    /// the parameters are another model's.
    pub fn forward(&mut self, compute: &Compute, parameters: &Parameters, examples: Examples<'_>, mode: Mode) -> Loss {
        self.check(parameters, examples);
        self.fit_threads(compute);
        let rows = examples.tokens.len();
        self.last = LastPass { rows, mode };
        let (plan, pass, mut parts) = self.parts(compute, parameters, examples);
        hotloop::scope!(steps::FORWARD, tokens = rows);
        plan.embedding.forward(&pass, parts.first());
        for index in 0..plan.layers.len() {
            hotloop::scope!(steps::LAYER, index = index);
            plan.forward(&pass, &mut parts, index);
        }
        let scale = match mode {
            Mode::Evaluate => None,
            Mode::Learn { scale, .. } => Some(scale),
        };
        let (mut tape, way) = parts.head();
        plan.head.forward(&pass, &mut tape, scale, way);
        Loss {
            sum: tape.losses.iter().map(|loss| f64::from(*loss)).sum(),
            targets: examples.targets.iter().filter(|target| **target != IGNORED_TARGET).count(),
        }
    }

    /// Adds the gradients of what [`Network::forward`] computed last, in [`Mode::Learn`] and with
    /// the same parameters and examples.
    ///
    /// # Panics
    /// Where there was no such pass.
    pub fn backward(&mut self, compute: &Compute, parameters: &Parameters, examples: Examples<'_>) {
        assert!(self.last.mode != Mode::Evaluate, "a backward pass without a forward pass in learning mode");
        assert!(self.last.rows == examples.tokens.len(), "a backward pass with examples other than the forward pass");
        self.check(parameters, examples);
        self.fit_threads(compute);
        let (plan, pass, mut parts) = self.parts(compute, parameters, examples);
        hotloop::scope!(steps::BACKWARD, tokens = pass.rows());
        let (tape, way) = parts.head();
        plan.head.backward(&pass, &tape, way);
        for index in (0..plan.layers.len()).rev() {
            hotloop::scope!(steps::LAYER, index = index);
            plan.backward(&pass, &mut parts, index);
        }
        plan.embedding.backward(&pass, parts.way.stream, parts.way.gradients);
        // The gradients are used up.
        self.last.mode = Mode::Evaluate;
        self.fresh = false;
    }

    fn parts<'a>(
        &'a mut self,
        compute: &'a Compute,
        parameters: &'a Parameters,
        examples: Examples<'a>,
    ) -> (&'a Plan, Pass<'a>, ArenaViews<'a>) {
        let dropout = match self.last.mode {
            Mode::Learn { key, .. } if self.options.dropout > 0.0 => Some(Dropout { rate: self.options.dropout, key }),
            _ => None,
        };
        let pass = Pass {
            compute,
            config: &self.config,
            values: &parameters.values,
            examples,
            length: self.options.length,
            dropout,
            rope: self.rope.as_ref(),
            fresh: self.fresh,
        };
        let parts = self.sizes.parts(&mut self.arena, &mut self.gradients, &mut self.scratch, self.last.rows);
        (&self.plan, pass, parts)
    }

    #[track_caller]
    fn check(&self, parameters: &Parameters, Examples { tokens, targets }: Examples<'_>) {
        let (batch, length, vocab) = (self.options.batch, self.options.length, self.config.vocab);
        assert!(parameters.values.len() == self.gradients.len(), "the parameters of another model");
        assert!(tokens.len() == targets.len(), "{} tokens and {} targets", tokens.len(), targets.len());
        let whole = tokens.len().is_multiple_of(length) && (1..=batch).contains(&(tokens.len() / length));
        assert!(whole, "{} tokens are not 1 to {batch} sequences of {length}", tokens.len());
        let outside = tokens.iter().find(|token| **token as usize >= vocab);
        assert!(outside.is_none(), "token {outside:?} of a vocabulary of {vocab}");
        let outside = targets.iter().find(|target| **target != IGNORED_TARGET && **target as usize >= vocab);
        assert!(outside.is_none(), "target {outside:?} of a vocabulary of {vocab}");
    }

    /// More threads than there are CPUs come in tests alone.
    fn fit_threads(&mut self, compute: &Compute) {
        let wanted = scratch(&self.config, &self.options, compute.pool.threads());
        if self.scratch.len() < wanted {
            self.scratch = AlignedBuffer::zeroed(wanted);
        }
    }

    /// The gradients, flat as the parameters.
    pub fn gradients(&self) -> &[f32] {
        &self.gradients
    }

    /// Sets all gradients to zero.
    pub fn zero_gradients(&mut self, compute: &Compute) {
        self.fresh = false;
        // About what one thread writes in a nanosecond.
        let parts = compute.pool.parts(self.gradients.len() as f64 / 4.0);
        compute.pool.run_rows(parts, &mut self.gradients, 1, |_, values| values.fill(0.0));
    }

    /// The next backward pass writes all gradients instead of adding to them: what
    /// [`Network::zero_gradients`] would give, without going over all of them once more. Until then
    /// they are those of before.
    pub fn renew_gradients(&mut self) {
        self.fresh = true;
    }

    /// What each row of the last forward pass cost; zero where the target is ignored.
    pub fn losses(&self) -> &[f32] {
        self.sizes.losses(&self.arena, self.last.rows)
    }

    /// How large it is.
    pub fn options(&self) -> &NetworkOptions {
        &self.options
    }

    /// The floating-point operations of the products of a whole batch.
    pub fn flops(&self) -> StepWork {
        self.plan.work(&self.config, &self.options)
    }

    /// The bytes it takes: gradients, activations and scratch memory.
    pub fn memory(&self) -> usize {
        let rope = self.rope.as_ref().map_or(0, |table| table.dims() * table.positions());
        size_of::<f32>() * (self.gradients.len() + self.arena.len() + self.scratch.len() + rope)
    }

    /// Where the first value is that is infinite or no number: in the parameters, in the order of
    /// the last forward pass, or in the gradients in the order of a backward pass. With
    /// recomputation the residual stream behind each layer is looked at alone.
    pub fn first_non_finite(&mut self, compute: &Compute, parameters: &Parameters) -> Option<NonFinitePlace> {
        let LastPass { rows, .. } = self.last;
        finite::parameter(compute, &parameters.layout, &parameters.values)
            .or_else(|| {
                let parts = self.sizes.parts(&mut self.arena, &mut self.gradients, &mut self.scratch, rows);
                finite::activation(compute, parts, self.options.length)
            })
            .or_else(|| finite::gradient(compute, &parameters.layout, &self.gradients).filter(|_| !self.fresh))
    }
}

fn check(config: &Config, options: &NetworkOptions) -> Result<()> {
    let NetworkOptions { batch, length, dropout, .. } = *options;
    if batch == 0 || length == 0 {
        return Err(Error::refused("a batch without sequences or tokens"));
    }
    if config.rope.is_none() && length > config.context {
        let most = config.context;
        return Err(Error::refused(format!("sequences of {length} tokens: this model has {most} positions")));
    }
    if !(0.0..1.0).contains(&dropout) {
        return Err(Error::refused(format!(
            "dropout = {dropout}: expected a number from 0 up to, but not including, 1"
        )));
    }
    if dropout > 0.0 && batch.saturating_mul(length).saturating_mul(config.width) > MOST_VALUES {
        return Err(Error::refused(format!("dropout in a batch of {batch} sequences: choose smaller batches")));
    }
    Ok(())
}

/// f32 of scratch for the attention of so many threads, of which no more work than there are heads of keys in a batch.
fn scratch(config: &Config, options: &NetworkOptions, threads: usize) -> usize {
    let most = options.batch.saturating_mul(config.kv_heads);
    scratch_of_one(config, options.length).saturating_mul(threads.min(most))
}

fn rope_table(config: &Config, positions: usize) -> Option<RopeTable> {
    let rope = config.rope.as_ref()?;
    let (pairing, dims, base, position_scale) = (rope.pairing, rope.dims, rope.base, rope.position_scale);
    Some(RopeTable::new(&RopeSpec { pairing, dims, base, position_scale, factors: None }, positions))
}
