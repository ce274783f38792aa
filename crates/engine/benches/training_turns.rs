//! Our side of steps of training in turns: `peers/training/beside.py` starts it, and tells when it is our turn.
//!
//! `training_turns VOCABULARY CONTEXT WIDTH LAYERS HEADS BATCH LENGTH [--untied] [--threads N]`
//! trains a GPT-2 on weights and tokens from a seed: forward, backward, AdamW. It prints
//! `{"parameters":P}` when it is warm; then each line of its input is a number of steps, answered
//! with `{"seconds":S,"loss":L}`. `training_turns --peak [--threads N]` prints `{"flops":F}`, what
//! multiply-adds in registers reach.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::io::BufRead;
use std::time::{Duration, Instant};

use engine::train::{Examples, Mode, Network, NetworkOptions, Optimiser, OptimiserKind, Parameters, StepSize};
use engine::{Architecture, Compute, Config};
use kernels::limits::{self, Plan};
use kernels::{Isa, Kernels};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let has = |option: &str| arguments.iter().any(|argument| argument == option);
    let threads = match arguments.iter().position(|argument| argument == "--threads") {
        Some(place) => arguments.get(place + 1).ok_or("--threads needs a number")?.parse()?,
        None => 1,
    };
    if has("--peak") {
        println!("{{\"flops\":{}}}", peak(threads).ok_or("no thread could be started")?);
        return Ok(());
    }
    let sizes: Vec<usize> = arguments.iter().map_while(|argument| argument.parse().ok()).collect();
    // Built as a test, or without a shape: whether it works at all.
    let Ok(sizes) = <[usize; 7]>::try_from(sizes) else {
        return Side::new([32, 16, 32, 1, 2, 2, 8], true, threads).map(|mut side| {
            side.steps(1);
        });
    };
    let mut side = Side::new(sizes, !has("--untied"), threads)?;
    side.steps(2);
    println!("{{\"parameters\":{}}}", side.parameters());
    for line in std::io::stdin().lock().lines() {
        let (seconds, loss) = side.steps(line?.trim().parse()?);
        println!("{{\"seconds\":{seconds:.6},\"loss\":{loss:.6}}}");
    }
    Ok(())
}

/// Multiply-adds of f32 in registers per second, times two.
fn peak(threads: usize) -> Option<f64> {
    let mut all = Kernels::available();
    if all.len() > 1 {
        all.retain(|kernels| kernels.isa() != Isa::Scalar);
    }
    let plan = Plan { threads, duration: Duration::from_millis(600), preparation: Duration::from_secs(1) };
    Some(limits::f32_flops(&all, plan)?.best())
}

/// All that steps need.
struct Side {
    compute: Compute,
    parameters: Parameters,
    network: Network,
    optimiser: Optimiser,
    text: Vec<u32>,
}

impl Side {
    fn new(sizes: [usize; 7], tied: bool, threads: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let [vocab, context, width, layers, heads, batch, length] = sizes;
        let config = Config {
            architecture: Architecture::Gpt2,
            vocab,
            context,
            width,
            layers,
            heads,
            kv_heads: heads,
            head_dim: width / heads,
            ffn: 4 * width,
            norm_eps: 1e-5,
            rope: None,
            window: None,
        };
        let parameters = Parameters::random(config.clone(), tied, 1)?;
        let options = NetworkOptions { batch, length, dropout: 0.0, recompute: false };
        let network = Network::new(&config, &parameters.layout, options)?;
        let kind = OptimiserKind::AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8 };
        let optimiser = Optimiser::new(kind, 0.01, &parameters.layout)?;
        // What the tokens are changes nothing, as long as they differ.
        let text = (0..=batch * length).scan(1_u64, |state, _| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            Some(((*state >> 33) % vocab as u64) as u32)
        });
        Ok(Self { compute: Compute::new(Some(threads))?, parameters, network, optimiser, text: text.collect() })
    }

    fn parameters(&self) -> usize {
        self.parameters.layout.entries().iter().map(|entry| entry.range.len()).sum()
    }

    /// The seconds that they took, and the last one's loss.
    fn steps(&mut self, number: usize) -> (f64, f64) {
        let last = self.text.len() - 1;
        let examples = Examples { tokens: &self.text[..last], targets: &self.text[1..] };
        let mut loss = 0.0;
        let start = Instant::now();
        for step in 0..number {
            let mode = Mode::Learn { key: step as u64, scale: 1.0 / last as f32 };
            self.network.renew_gradients();
            loss = self.network.forward(&self.compute, &self.parameters, examples, mode).mean();
            self.network.backward(&self.compute, &self.parameters, examples);
            self.optimiser.step(&self.compute, &mut self.parameters, self.network.gradients(), StepSize::new(1e-4));
        }
        (start.elapsed().as_secs_f64(), loss)
    }
}
