//! Optimisers: PyTorch's values, an f64 reference over many steps, and nothing that depends on threads.

use engine::train::{Layout, Optimiser, OptimiserKind, Parameters, StepSize, clip_scale, gradient_norm};
use engine::{Compute, Config, Synthetic, SyntheticSource};

use crate::random::Random;

const ADAMW: OptimiserKind = OptimiserKind::AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8 };
const MOMENTUM: OptimiserKind = OptimiserKind::Sgd { momentum: 0.9 };

fn parameters(spec: Synthetic) -> Parameters {
    Parameters::random(Config::read(&SyntheticSource::new(spec)).unwrap(), true, 1).unwrap()
}

fn small() -> Parameters {
    parameters(Synthetic {
        vocab: 9,
        context: 5,
        width: 6,
        layers: 2,
        heads: 2,
        kv_heads: 2,
        ffn: 7,
        ..Synthetic::SMALL
    })
}

/// A tensor that decays and one that does not, both long enough.
const DECAYING: &str = "blk.0.attn_qkv.weight";
const STAYING: &str = "blk.1.attn_norm.bias";

/// PyTorch's own rounding, which is another one in places, over a thousand steps.
const PYTORCH_BOUND: f32 = 3e-6;

#[test]
fn steps_are_those_of_pytorch() {
    let compute = Compute::new(Some(1)).unwrap();
    let fixture = include_str!("../data/optimisers.txt");
    let ways = [
        ("adamw", ADAMW, f64::INFINITY, f32::INFINITY),
        ("adamw-norm", ADAMW, 1.0, f32::INFINITY),
        ("adamw-value", ADAMW, f64::INFINITY, 0.5),
        ("sgd", OptimiserKind::Sgd { momentum: 0.0 }, f64::INFINITY, f32::INFINITY),
        ("sgd-momentum", MOMENTUM, f64::INFINITY, f32::INFINITY),
        ("sgd-norm", MOMENTUM, 1.0, f32::INFINITY),
    ];
    for (name, kind, most, gradient_limit) in ways {
        let mut parameters = small();
        let [decaying, staying] = [DECAYING, STAYING].map(|name| parameters.layout.range(name).unwrap().start);
        let places: Vec<usize> = (0..6).map(|i| decaying + i).chain((0..4).map(|i| staying + i)).collect();
        parameters.values.fill(0.0);
        for (i, &place) in places.iter().enumerate() {
            parameters.values[place] = if i < 6 { (i as f32 - 2.0) / 8.0 } else { (i as f32 - 5.0) / 8.0 };
        }
        let mut optimiser = Optimiser::new(kind, 0.1, &parameters.layout).unwrap();
        let mut gradients = vec![0.0; parameters.layout.len()];
        let mut compared = 0;
        for step in 1..=1000 {
            for (i, &place) in places.iter().enumerate() {
                gradients[place] = (((step * 7 + i * 13) % 11) as f32 - 5.0) / 4.0 + i as f32 / 64.0;
            }
            let gradient_scale = clip_scale(gradient_norm(&compute, &gradients), most);
            let size = StepSize { gradient_scale, gradient_limit, ..StepSize::new(0.01) };
            optimiser.step(&compute, &mut parameters, &gradients, size);
            let wanted = fixture.lines().find_map(|line| line.strip_prefix(&format!("{name} {step} ")));
            for (value, &place) in wanted.unwrap_or_default().split_whitespace().zip(&places) {
                let (wanted, got) = (value.parse::<f32>().unwrap(), parameters.values[place]);
                assert!((got - wanted).abs() <= PYTORCH_BOUND * (1.0 + wanted.abs()), "{name} {step}: {got} {wanted}");
                compared += 1;
            }
        }
        assert_eq!((compared, optimiser.steps()), (60, 1000), "{name}");
        let others = (0..parameters.values.len()).filter(|place| !places.contains(place));
        assert!(others.into_iter().all(|place| parameters.values[place] == 0.0), "{name}: what has no gradient stays");
    }
}

/// AdamW in f64, as its paper has it.
struct Reference {
    values: Vec<f64>,
    m: Vec<f64>,
    v: Vec<f64>,
    decays: Vec<bool>,
}

impl Reference {
    fn new(parameters: &Parameters) -> Self {
        let mut decays = vec![false; parameters.values.len()];
        for entry in parameters.layout.entries() {
            decays[entry.range.clone()].fill(entry.decays);
        }
        let zeros = vec![0.0; decays.len()];
        let values = parameters.values.iter().map(|&x| f64::from(x)).collect();
        Self { values, m: zeros.clone(), v: zeros, decays }
    }

    fn step(&mut self, step: i32, gradients: &[f32], rate: f64, decay: f64) {
        for (i, gradient) in gradients.iter().enumerate() {
            let g = f64::from(*gradient);
            self.m[i] = 0.9 * self.m[i] + 0.1 * g;
            self.v[i] = 0.999 * self.v[i] + 0.001 * g * g;
            let (m, v) = (self.m[i] / (1.0 - 0.9f64.powi(step)), self.v[i] / (1.0 - 0.999f64.powi(step)));
            let kept = if self.decays[i] { 1.0 - rate * decay } else { 1.0 };
            self.values[i] = self.values[i] * kept - rate * m / (v.sqrt() + 1e-8);
        }
    }
}

fn random_gradients(len: usize, seed: u64) -> Vec<f32> {
    let mut random = Random(seed);
    (0..len).map(|_| (random.unit() - 0.5) * 0.1).collect()
}

#[test]
fn many_steps_stay_near_the_truth() {
    let compute = Compute::new(Some(2)).unwrap();
    let mut parameters = small();
    let mut reference = Reference::new(&parameters);
    let mut optimiser = Optimiser::new(ADAMW, 0.1, &parameters.layout).unwrap();
    for step in 1..=500 {
        let gradients = random_gradients(parameters.values.len(), step);
        let rate = 0.003 / (step as f64).sqrt();
        optimiser.step(&compute, &mut parameters, &gradients, StepSize::new(rate));
        reference.step(step as i32, &gradients, rate, 0.1);
    }
    for entry in parameters.layout.entries() {
        let pairs = parameters.values[entry.range.clone()].iter().zip(&reference.values[entry.range.clone()]);
        for (i, (&got, wanted)) in pairs.enumerate() {
            let away = (f64::from(got) - wanted).abs();
            assert!(away < 1e-6 * (1.0 + wanted.abs()), "{} {i}: {got} {wanted}", entry.info.name);
        }
    }
}

#[test]
fn threads_and_a_break_change_no_bit() {
    let spec = Synthetic { vocab: 2000, width: 96, heads: 4, ffn: 400, ..Synthetic::SMALL };
    let len = parameters(spec.clone()).values.len();
    assert!(len > 300_000, "more than one part");
    for kind in [ADAMW, MOMENTUM] {
        let run = |threads: usize, break_after: Option<u64>| {
            let compute = Compute::new(Some(threads)).unwrap();
            let mut parameters = parameters(spec.clone());
            let mut optimiser = Optimiser::new(kind, 0.1, &parameters.layout).unwrap();
            for step in 0..5 {
                if break_after == Some(step) {
                    let mut other = Optimiser::new(kind, 0.1, &parameters.layout).unwrap();
                    other.set_steps(optimiser.steps());
                    for ((name, to), (same, from)) in other.states_mut().zip(optimiser.states()) {
                        assert_eq!(name, same);
                        to.copy_from_slice(from);
                    }
                    optimiser = other;
                }
                let gradients = random_gradients(len, step);
                let norm = gradient_norm(&compute, &gradients);
                let size = StepSize { gradient_scale: clip_scale(norm, 0.5), ..StepSize::new(0.01) };
                optimiser.step(&compute, &mut parameters, &gradients, size);
            }
            parameters.values.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        };
        let wanted = run(1, None);
        assert!(run(2, None) == wanted && run(5, None) == wanted && run(2, Some(3)) == wanted, "{kind:?}");
    }
}

#[test]
fn nothing_is_allocated() {
    let compute = Compute::new(Some(2)).unwrap();
    let mut parameters = small();
    let gradients = random_gradients(parameters.values.len(), 3);
    for kind in [ADAMW, MOMENTUM] {
        let mut optimiser = Optimiser::new(kind, 0.1, &parameters.layout).unwrap();
        for round in 0..3 {
            let mut step = || {
                let norm = gradient_norm(&compute, &gradients);
                let size = StepSize { gradient_scale: clip_scale(norm, 1.0), ..StepSize::new(0.01) };
                optimiser.step(&compute, &mut parameters, &gradients, size);
            };
            if round == 0 { step() } else { hotloop::assert_no_alloc!(step()) }
        }
    }
}

#[test]
fn norms_are_right_also_of_huge_gradients_and_with_any_number_of_threads() {
    for len in [0, 1, 5, 255, 257, 100_000] {
        let mut gradients = random_gradients(len, len as u64);
        let truth = |gradients: &[f32]| gradients.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let norms = [1, 2, 3].map(|threads| gradient_norm(&Compute::new(Some(threads)).unwrap(), &gradients));
        assert!((norms[0] - truth(&gradients)).abs() <= 1e-5 * truth(&gradients), "{len}: {norms:?}");
        assert!(norms.iter().all(|norm| norm.to_bits() == norms[0].to_bits()), "{len}: {norms:?}");
        let compute = Compute::new(Some(2)).unwrap();
        if let Some(last) = gradients.last_mut() {
            *last = -1e30;
            assert!((gradient_norm(&compute, &gradients) / 1e30 - 1.0).abs() < 1e-6);
            gradients[len / 2] = f32::NAN;
            assert!(gradient_norm(&compute, &gradients).is_nan());
            assert!(clip_scale(gradient_norm(&compute, &gradients), 1.0).is_nan());
        }
    }
    assert_eq!([clip_scale(0.5, 1.0), clip_scale(1.0, 1.0), clip_scale(4.0, 1.0)], [1.0, 1.0, 0.25]);
}

#[test]
fn nonsense_is_refused_by_name() {
    let layout: Layout = small().layout;
    let refused = |kind, decay| Optimiser::new(kind, decay, &layout).unwrap_err().to_string();
    for (name, kind) in [
        ("beta1", OptimiserKind::AdamW { beta1: 1.0, beta2: 0.9, eps: 1e-8 }),
        ("beta2", OptimiserKind::AdamW { beta1: 0.9, beta2: -0.1, eps: 1e-8 }),
        ("eps", OptimiserKind::AdamW { beta1: 0.9, beta2: 0.9, eps: 0.0 }),
        ("momentum", OptimiserKind::Sgd { momentum: f64::NAN }),
    ] {
        assert!(refused(kind, 0.0).contains(name), "{name}");
    }
    assert!(refused(ADAMW, -1.0).contains("weight_decay"));
}
