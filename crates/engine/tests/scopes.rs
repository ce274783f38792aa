//! What the profiler sees of a pass: every step by its name, with the work that it declares.

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::train::{Examples, Mode, Network, NetworkOptions, Parameters, StepWork};
use engine::{
    Architecture, CacheType, Compute, LoadOptions, Metadata, Model, Result, Segment, State, StateOptions, Synthetic,
    SyntheticSource, Tensor, TensorSource, Value, steps,
};
use hotloop::{ScopeStats, Snapshot};
use kernels::quant::Format;

/// The profiler is one per process: tests that use it take turns.
fn take_turns() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const LLAMA: Synthetic = Synthetic {
    architecture: Architecture::Llama,
    vocab: 300,
    context: 64,
    width: 64,
    layers: 3,
    kv_heads: 2,
    ffn: 96,
    seed: 1,
    ..Synthetic::SMALL
};

/// A model whose queries see few positions.
struct Windowed {
    model: SyntheticSource,
    metadata: Metadata,
}

impl TensorSource for Windowed {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.model.names()
    }

    fn tensor(&self, name: &str) -> Result<Option<Tensor<'_>>> {
        self.model.tensor(name)
    }
}

/// Passes of (sequence, tokens, logits), each with all its segments.
type Passes<'a> = &'a [&'a [(usize, usize, usize)]];

fn profile(spec: &Synthetic, cache: CacheType, passes: Passes<'_>) -> Snapshot {
    profile_source(&SyntheticSource::new(spec.clone()), cache, passes)
}

fn profile_source(source: &dyn TensorSource, cache: CacheType, passes: Passes<'_>) -> Snapshot {
    let compute = Compute::new(Some(2)).unwrap();
    let model = Model::load(source, &compute, &mut LoadOptions::default()).unwrap();
    let options = StateOptions { sequences: 2, logits: 8, cache, ..StateOptions::default() };
    let mut state = State::new(&model, &compute, &options).unwrap();
    hotloop::stop();
    hotloop::reset();
    hotloop::Config::new().budget(None).start();
    for pass in passes {
        let segment = |&(sequence, tokens, logits): &(usize, usize, usize)| {
            let tokens = &[1; 64][..tokens];
            Segment { sequence, tokens, logits }
        };
        let segments: Vec<_> = pass.iter().map(segment).collect();
        model.forward(&compute, &mut state, &segments).unwrap();
    }
    hotloop::stop();
    hotloop::snapshot()
}

#[track_caller]
fn find(snapshot: &Snapshot, name: &str) -> ScopeStats {
    snapshot.find(name).unwrap_or_else(|| panic!("no scope {name}: {}", snapshot.report(30)))
}

#[test]
fn every_step_is_where_it_belongs() {
    let _turn = take_turns();
    for architecture in Architecture::ALL {
        let features = architecture.features();
        let spec = Synthetic { architecture, kv_heads: if features.grouped_queries { 2 } else { 4 }, ..LLAMA };
        let snapshot = profile(&spec, CacheType::F16, &[&[(0, 5, 0)], &[(0, 1, 1), (1, 3, 2)], &[(1, 2, 1)]]);
        let name_of = |scope: &ScopeStats| scope.name.rsplit("::").next().unwrap().to_owned();
        let parent = |scope: &ScopeStats| scope.parent.map(|parent| name_of(&snapshot.scopes[parent]));
        let mut seen = Vec::new();
        for scope in &snapshot.scopes {
            let (name, parent) = (name_of(scope), parent(scope));
            let (above, calls) = match name.as_str() {
                steps::FORWARD => (None, 3),
                steps::EMBEDDING => (Some(steps::FORWARD), 3),
                steps::LAYER => (Some(steps::FORWARD), 3),
                // The first pass asked for no logits.
                steps::FINAL_NORM | steps::HEAD => (Some(steps::FORWARD), 2),
                step => {
                    assert!(steps::IN_LAYERS.contains(&step), "{step}");
                    (Some(steps::LAYER), 3)
                }
            };
            assert_eq!((parent.as_deref(), scope.calls), (above, calls), "{name}");
            seen.push(name);
        }
        let count = |step: &str| seen.iter().filter(|name| *name == step).count();
        for step in steps::IN_LAYERS.iter().chain([&steps::LAYER]) {
            let is_there = match *step {
                steps::ROPE => features.rope_pairing().is_some(),
                steps::QK_NORM => features.qk_norm,
                _ => true,
            };
            let wanted = if is_there { spec.layers } else { 0 };
            assert_eq!(count(step), wanted, "{step}");
        }
        let layers: Vec<_> = snapshot.scopes.iter().filter(|scope| name_of(scope) == steps::LAYER).collect();
        let mut indices: Vec<_> = layers.iter().filter_map(|scope| scope.index).collect();
        indices.sort_unstable();
        assert_eq!(indices, (0..spec.layers as u64).collect::<Vec<_>>());
        assert_eq!(find(&snapshot, steps::FORWARD).tokens, 5 + 4 + 2);
        assert_eq!(find(&snapshot, steps::HEAD).tokens, 3 + 1);
    }
}

#[test]
fn parts_are_within_the_whole() {
    let _turn = take_turns();
    let passes: Passes<'_> = &[&[(0, 20, 1)], &[(0, 1, 1)], &[(0, 1, 1)]];
    let snapshot = profile(&LLAMA, CacheType::F16, passes);
    let forward = find(&snapshot, steps::FORWARD);
    for (place, scope) in snapshot.scopes.iter().enumerate() {
        let parts = snapshot.scopes.iter().filter(|part| part.parent == Some(place));
        let sum: u64 = parts.map(|part| part.total_ns).sum();
        assert!(sum <= scope.total_ns, "{}: {sum} of {}", scope.name, scope.total_ns);
        assert!(scope.total_ns - sum == scope.self_ns, "{}: {sum} and {}", scope.name, scope.self_ns);
    }
    let selves: u64 = snapshot.scopes.iter().map(|scope| scope.self_ns).sum();
    assert_eq!(selves, forward.total_ns);
}

/// Declared operations and bytes of some passes.
#[track_caller]
fn check_work(snapshot: &Snapshot, wanted: &[(&str, usize, usize)]) {
    for (name, flops, bytes) in wanted {
        let scope = find(snapshot, name);
        assert_eq!((scope.flops, scope.bytes), (*flops as u64, *bytes as u64), "{name}");
    }
}

/// Four tokens, then one beside two of another sequence: 7 rows, 3 of them with logits.
const PASSES: Passes<'static> = &[&[(0, 4, 1)], &[(0, 1, 1), (1, 2, 1)]];

#[test]
fn work_of_llama() {
    let _turn = take_turns();
    // Matrices are padded to 16 outputs: 300 of the head become 304.
    let matrix = |inputs: usize, outputs: usize| 4 * inputs * outputs.next_multiple_of(16);
    let moved = |inputs: usize, outputs: usize, rows: usize| 4 * (inputs + outputs) * rows;
    let rows = 7;
    // Both passes read all weights; three layers have them.
    let qkv = 2 * (matrix(64, 64) + 2 * matrix(64, 32)) + moved(64, 64, rows) + 2 * moved(64, 32, rows);
    let up = 2 * 2 * matrix(64, 96) + 2 * moved(64, 96, rows);
    for (cache, head) in [(CacheType::F32, 64), (CacheType::F16, 32), (CacheType::Q8_0, 34)] {
        let snapshot = profile(&LLAMA, cache, PASSES);
        let position = 2 * 2 * head;
        check_work(
            &snapshot,
            &[
                (steps::EMBEDDING, 0, rows * (4 * 64 + 4 * 64)),
                (steps::ATTENTION_NORM, 3 * 4 * 64 * rows, 3 * 8 * 64 * rows),
                (steps::QKV, 3 * 2 * 64 * (64 + 32 + 32) * rows, 3 * qkv),
                (steps::ROPE, 3 * 3 * 6 * 16 * rows, 3 * 8 * 6 * 16 * rows),
                (steps::CACHE, 0, 3 * rows * (2 * 4 * 32 + position)),
                // Positions that queries see: 1 + 2 + 3 + 4, then 5, and 1 + 2; read are 4, 5 and 2.
                (steps::ATTENTION, 3 * 4 * 64 * (10 + 5 + 3), 3 * ((4 + 5 + 2) * position + 8 * 64 * rows)),
                (
                    steps::ATTENTION_OUT,
                    3 * (2 * 64 * 64 * rows + 64 * rows),
                    3 * (2 * matrix(64, 64) + moved(64, 64, rows) + 8 * 64 * rows),
                ),
                (steps::FFN_NORM, 3 * 4 * 64 * rows, 3 * 8 * 64 * rows),
                (steps::FFN_UP, 3 * 2 * 64 * 96 * 2 * rows, 3 * up),
                (steps::FFN_ACT, 3 * 5 * 96 * rows, 3 * 12 * 96 * rows),
                (
                    steps::FFN_DOWN,
                    3 * (2 * 64 * 96 * rows + 64 * rows),
                    3 * (2 * matrix(96, 64) + moved(96, 64, rows) + 8 * 64 * rows),
                ),
                (steps::FINAL_NORM, 4 * 64 * 3, 8 * 64 * 3),
                (steps::HEAD, 2 * 64 * 300 * 3, 2 * matrix(64, 300) + moved(64, 300, 3)),
            ],
        );
    }
}

/// Within a window of three, the four queries see 1 + 2 + 3 + 3 positions and read all four; the fifth reads three.
#[test]
fn work_within_a_window() {
    let _turn = take_turns();
    let model = SyntheticSource::new(LLAMA);
    let mut metadata = model.metadata().clone();
    metadata.set("llama.attention.sliding_window", Value::Unsigned(3));
    let snapshot = profile_source(&Windowed { model, metadata }, CacheType::F32, PASSES);
    let position = 2 * 2 * 64;
    let (seen, read) = (9 + 3 + 3, 4 + 3 + 2);
    check_work(&snapshot, &[(steps::ATTENTION, 3 * 4 * 64 * seen, 3 * (read * position + 8 * 64 * 7))]);
}

#[test]
fn work_of_gpt2() {
    let _turn = take_turns();
    let (layers, rows, width) = (2, 7, 128);
    let snapshot = profile(&Synthetic::SMALL, CacheType::F16, PASSES);
    check_work(
        &snapshot,
        &[
            (steps::ATTENTION_NORM, layers * 7 * width * rows, layers * 8 * width * rows),
            (
                steps::QKV,
                layers * 2 * width * 3 * width * rows,
                layers * (2 * 4 * width * 3 * width + 4 * (width + 3 * width) * rows),
            ),
            (steps::FFN_ACT, layers * 8 * 512 * rows, layers * 8 * 512 * rows),
            (steps::FINAL_NORM, 7 * width * 3, 8 * width * 3),
            (steps::HEAD, 2 * width * 256 * 3, 2 * 4 * width * 256 + 4 * (width + 256) * 3),
        ],
    );
    assert!(snapshot.find(steps::ROPE).is_none());
}

/// Of quantised weights the bytes are those of the packed form: as many as the file has, and at most 3 % more.
#[test]
fn work_of_quantised_weights() {
    let _turn = take_turns();
    for format in [Format::Q8_0, Format::Q4_0, Format::Q4_K, Format::Q6_K] {
        let spec = Synthetic { width: 256, ffn: 512, vocab: 512, format, ..LLAMA };
        let snapshot = profile(&spec, CacheType::F16, &[&[(0, 1, 1)]]);
        let head = find(&snapshot, steps::HEAD);
        assert_eq!(head.flops, 2 * 256 * 512);
        let weights = (head.bytes - 4 * (256 + 512)) as f64;
        let file = (format.row_bytes(256).unwrap() * 512) as f64;
        assert!((1.0..=1.031).contains(&(weights / file)), "{format}: {weights} of {file}");
    }
}

/// The profile of one step of learning, and what the network says that it takes.
fn profile_learning(recompute: bool) -> (Snapshot, StepWork) {
    let compute = Compute::new(Some(2)).unwrap();
    let parameters = Parameters::read(&SyntheticSource::new(LLAMA)).unwrap();
    let options = NetworkOptions { batch: 2, length: 10, dropout: 0.0, recompute };
    let mut network = Network::new(&parameters.config, &parameters.layout, options).unwrap();
    let examples = Examples { tokens: &[3; 20], targets: &[4; 20] };
    hotloop::stop();
    hotloop::reset();
    hotloop::Config::new().budget(None).start();
    network.forward(&compute, &parameters, examples, Mode::Learn { key: 0, scale: 1.0 });
    network.backward(&compute, &parameters, examples);
    hotloop::stop();
    (hotloop::snapshot(), network.flops())
}

/// A scope's name and those around it, from the inside.
fn path(snapshot: &Snapshot, place: usize) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = Some(place);
    while let Some(place) = at {
        path.push(snapshot.scopes[place].name.rsplit("::").next().unwrap().to_owned());
        at = snapshot.scopes[place].parent;
    }
    path
}

/// Calls and operations of a step on one way, computed again or not.
fn on_way(snapshot: &Snapshot, way: &str, step: &str, again: bool) -> (u64, u64) {
    let mut all = (0, 0);
    for (place, scope) in snapshot.scopes.iter().enumerate() {
        let path = path(snapshot, place);
        let within = |name: &str| path.iter().any(|part| part == name);
        if path[0] == step && within(way) && within(steps::RECOMPUTE) == again {
            all = (all.0 + scope.calls, all.1 + scope.flops);
        }
    }
    all
}

/// The same steps on both ways, and the products that the network says it takes.
#[test]
fn work_of_learning() {
    let _turn = take_turns();
    for recompute in [false, true] {
        let (snapshot, work) = profile_learning(recompute);
        let of = |way: &str, step: &str, again: bool| on_way(&snapshot, way, step, again);
        let mut products = [0; 3];
        for step in steps::IN_LAYERS.into_iter().filter(|step| ![steps::CACHE, steps::QK_NORM].contains(step)) {
            let [there, back] = [steps::FORWARD, steps::BACKWARD].map(|way| of(way, step, false));
            assert_eq!((there.0, back.0), (3, 3), "{step}");
            let (calls, again) = of(steps::BACKWARD, step, true);
            // The last layer is still there, and what comes behind the last product is not needed.
            let expected = if recompute && step != steps::FFN_DOWN { 2 } else { 0 };
            assert_eq!((calls, 3 * again), (expected, expected * there.1), "{step}");
            let product = [steps::QKV, steps::ATTENTION, steps::ATTENTION_OUT, steps::FFN_UP, steps::FFN_DOWN];
            if product.contains(&step) {
                // Sums with the residual stream are no products: 20 rows of 64 values for each call.
                let added = if step.ends_with("_out") || step.ends_with("_down") { 20 * 64 } else { 0 };
                let flops = [there.1 - added * there.0, back.1, again - added * calls];
                flops.iter().zip(&mut products).for_each(|(flops, sum)| *sum += flops);
            }
        }
        products[0] += of(steps::FORWARD, steps::HEAD, false).1;
        products[1] += of(steps::BACKWARD, steps::HEAD_GRADIENT, false).1;
        assert_eq!(products, [work.forward, work.backward, work.recomputed]);
        for step in [steps::EMBEDDING, steps::FINAL_NORM] {
            assert_eq!([steps::FORWARD, steps::BACKWARD].map(|way| of(way, step, false).0), [1, 1], "{step}");
        }
        assert_eq!(of(steps::FORWARD, steps::LOSS, false).0, 1);
    }
}
