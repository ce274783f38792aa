//! Passes allocate nothing once every thread has taken part. One test alone, since allocations of
//! all threads are counted.

use engine::train::{
    Examples, Mode, Network, NetworkOptions, Optimiser, OptimiserKind, Parameters, StepSize, gradient_norm,
};
use engine::{
    Architecture, Batch, BatchSettings, CacheType, Compute, LoadOptions, Model, Request, Sampling, Segment, State,
    StateOptions, Synthetic, SyntheticSource,
};
use kernels::quant::Format;

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

/// Allocations and reallocations of all threads while `work` runs.
fn allocations(work: impl FnOnce()) -> u64 {
    hotloop::reset();
    work();
    let snapshot = hotloop::snapshot();
    let all = snapshot.scopes.iter().map(|scope| scope.allocs).chain([snapshot.outside_allocs]);
    all.map(|count| count.allocs + count.reallocs).sum()
}

/// A model and something to compute with it.
struct Case<'a> {
    name: String,
    model: &'a Model,
    compute: &'a Compute,
    options: StateOptions,
    /// How long the prompt is.
    prompt: usize,
}

impl Case<'_> {
    /// A prompt in blocks, some tokens one by one, and passes of several sequences of which some begin.
    fn round(&self, state: &mut State) {
        let Self { model, compute, .. } = *self;
        let tokens = [7; 800];
        (0..2).for_each(|sequence| state.truncate(sequence, 0));
        model.prefill(compute, state, 0, &tokens[..self.prompt]).unwrap();
        for _ in 0..3 {
            model.forward(compute, state, &[Segment { sequence: 0, tokens: &[3], logits: 1 }]).unwrap();
        }
        for count in [9, 1, 2] {
            let segments = [
                Segment { sequence: 0, tokens: &[5], logits: 1 },
                Segment { sequence: 1, tokens: &tokens[..count], logits: 1 },
            ];
            model.forward(compute, state, &segments).unwrap();
        }
        std::hint::black_box(state.logits(1));
    }

    /// With one thread all is warm after a round; a second one may come late, once.
    fn check(&self) {
        let mut state = State::new(self.model, self.compute, &self.options).unwrap();
        self.round(&mut state);
        let threads = self.compute.pool.threads();
        let (mut quiet, mut late) = (0, 0);
        while quiet < 6 {
            let count = allocations(|| self.round(&mut state));
            assert!(count == 0 || threads > 1, "{}: {count} allocations", self.name);
            quiet = if count == 0 { quiet + 1 } else { 0 };
            late += u64::from(count > 0);
            assert!(late < 10, "{}: {count} allocations in round after round", self.name);
        }
    }
}

/// Generating from a batch, from the second token on; where sequences fill their context and go on, too.
fn batches(model: &Model, compute: &Compute) {
    let sampling = Sampling { temperature: 1.0, top_k: 20, top_p: 0.9, repetition_penalty: 1.1, ..Sampling::default() };
    let options = StateOptions { sequences: 3, context: Some(40), ..StateOptions::default() };
    for keep in [true, false] {
        let mut batch = Batch::new(model, compute, &options, BatchSettings { keep, shift: true }).unwrap();
        for len in [3, 9, 30] {
            batch.join(&Request { prompt: &[4; 64][..len], sampling: &sampling, limit: 300 }).unwrap();
        }
        for _ in 0..3 {
            batch.step().unwrap();
        }
        let count = allocations(|| (0..200).for_each(|_| assert_eq!(batch.step().unwrap().len(), 3)));
        assert_eq!(count, 0, "keep {keep}");
    }
}

/// Steps of learning, from the second one on.
fn steps_of_learning(architecture: Architecture, compute: &Compute, options: NetworkOptions) {
    let kv_heads = if architecture.features().grouped_queries { 2 } else { 4 };
    let spec = Synthetic { architecture, kv_heads, vocab: 300, ..Synthetic::SMALL };
    let mut parameters = Parameters::read(&SyntheticSource::new(spec)).unwrap();
    let mut network = Network::new(&parameters.config, &parameters.layout, options).unwrap();
    let kind = OptimiserKind::AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8 };
    let mut optimiser = Optimiser::new(kind, 0.1, &parameters.layout).unwrap();
    let tokens = [7; 4 * 64];
    let examples = Examples { tokens: &tokens, targets: &tokens };
    let mut step = || {
        network.zero_gradients(compute);
        network.forward(compute, &parameters, examples, Mode::Evaluate);
        network.forward(compute, &parameters, examples, Mode::Learn { key: 1, scale: 1.0 });
        network.backward(compute, &parameters, examples);
        std::hint::black_box(gradient_norm(compute, network.gradients()));
        optimiser.step(compute, &mut parameters, network.gradients(), StepSize::new(1e-4));
    };
    step();
    let (mut quiet, mut late) = (0, 0);
    while quiet < 6 {
        let count = allocations(&mut step);
        assert!(count == 0 || compute.pool.threads() > 1, "{architecture:?} {options:?}: {count} allocations");
        quiet = if count == 0 { quiet + 1 } else { 0 };
        late += u64::from(count > 0);
        assert!(late < 10, "{architecture:?} {options:?}: {count} allocations in step after step");
    }
}

/// What is measured can be seen: on this thread, on others, and where memory is not kept.
fn allocations_are_seen(model: &Model, compute: &Compute) {
    let one = || drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations(one), 1);
    assert_eq!(allocations(|| ()), 0);
    let pool = kernels::Pool::new(3);
    pool.run(50, |_| std::thread::yield_now());
    // A thread that takes part for the first time may come late, and allocates what it keeps.
    let counts: Vec<_> = (0..10).map(|_| allocations(|| pool.run(50, |_| one()))).collect();
    assert!(counts.iter().all(|count| *count >= 50) && counts.contains(&50), "{counts:?}");
    let options = StateOptions { sequences: 2, logits: 2, pooled: false, ..StateOptions::default() };
    let case = Case { name: String::new(), model, compute, options, prompt: 20 };
    let mut state = State::new(model, compute, &options).unwrap();
    case.round(&mut state);
    assert!(allocations(|| case.round(&mut state)) >= 7);
}

#[test]
fn passes_allocate_nothing() {
    hotloop::Config::new().budget(None).start();
    let computes = [1, 2].map(|threads| Compute::new(Some(threads)).unwrap());
    for architecture in Architecture::trainable() {
        for (compute, recompute) in computes.iter().zip([false, true]) {
            let options = NetworkOptions { batch: 4, length: 64, dropout: 0.1, recompute };
            steps_of_learning(architecture, compute, options);
        }
        for format in Format::ALL.iter().copied() {
            let small = Synthetic { width: 256, layers: 1, heads: 4, ffn: 512, vocab: 300, ..Synthetic::SMALL };
            // Rows of `ffn` are no whole blocks of 256: matrices of several kinds side by side.
            let kv_heads = if architecture.features().grouped_queries { 2 } else { 4 };
            let spec = Synthetic { architecture, format, kv_heads, ffn: 320, context: 800, ..small };
            for in_place in [false, true] {
                let options = &mut LoadOptions { in_place, ..LoadOptions::default() };
                let model = &Model::load(&SyntheticSource::new(spec.clone()), &computes[0], options).unwrap();
                if (architecture, format, in_place) == (Architecture::Llama, Format::Q4_0, false) {
                    allocations_are_seen(model, &computes[0]);
                    batches(model, &computes[0]);
                }
                for compute in &computes {
                    for (number, cache) in CacheType::ALL.into_iter().enumerate() {
                        // Long contexts take long: once for each cache.
                        let long = [Format::F32, Format::Q8_0, Format::Q4_K][number] == format && !in_place;
                        let prompt = if long { 700 } else { 40 };
                        let name = format!("{} {format} in place {in_place} {cache:?}", architecture.name());
                        let name = format!("{name} {prompt} tokens, {} threads", compute.pool.threads());
                        let options = StateOptions { sequences: 2, cache, block: 24, ..StateOptions::default() };
                        let options = StateOptions { logits: 2, ..options };
                        Case { name, model, compute, options, prompt }.check();
                    }
                }
            }
        }
    }
}
