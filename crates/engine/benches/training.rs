//! Steps of training: tokens per second, arithmetic as a share of what the machine can do, and where the time goes.
//!
//! `cargo bench -p hotloop-engine --bench training` prints a table; `-- --help` tells the options.
//! A step is all that an optimiser's step takes but the data: gradients begun anew, forward,
//! backward, the norm of the gradients, AdamW. Numbers of threads take turns, step by step.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use compare::median;
use engine::train::{
    Examples, Mode, Network, NetworkOptions, Optimiser, OptimiserKind, Parameters, StepSize, clip_scale, gradient_norm,
};
use engine::{Compute, Config, Synthetic, SyntheticSource};
use kernels::limits::{self, Plan};

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

const HELP: &str = "cargo bench -p hotloop-engine --bench training -- [OPTION]… [SHAPE]…

shapes: gpt2-3.3M, gpt2-3.3M-b1, gpt2-124M, loopos-tiny; without any, all but the large one

  --threads N,N   numbers of threads, in turns; 1 and 2 without it
  --seconds S     how long each shape is measured, all numbers of threads together; 4 without it
  --dropout P     the share of values that is dropped; 0 without it
  --cpu-time      on a busy machine: the CPU time of one thread instead of the clock's (Linux)
  --json          a line of JSON per shape and number of threads instead of the table
  --profile       the profiler's tree behind each shape
  --quick         three steps each";

/// What is trained.
struct Shape {
    name: &'static str,
    model: Synthetic,
    batch: usize,
    length: usize,
}

fn shapes() -> Vec<Shape> {
    let medium = Synthetic { tied: true, ..Synthetic::MEDIUM };
    let gpt2 = Synthetic {
        vocab: 50257,
        context: 1024,
        width: 768,
        layers: 12,
        heads: 12,
        kv_heads: 12,
        ffn: 3072,
        ..medium.clone()
    };
    let tiny = Synthetic { vocab: 1006, context: 512, layers: 2, tied: false, ..medium.clone() };
    vec![
        Shape { name: "gpt2-3.3M", model: medium.clone(), batch: 8, length: 128 },
        Shape { name: "gpt2-3.3M-b1", model: medium, batch: 1, length: 128 },
        Shape { name: "loopos-tiny", model: tiny, batch: 8, length: 127 },
        Shape { name: "gpt2-124M", model: gpt2, batch: 4, length: 64 },
    ]
}

struct Options {
    shapes: Vec<String>,
    threads: Vec<usize>,
    seconds: f64,
    dropout: f32,
    cpu_time: bool,
    json: bool,
    profile: bool,
    quick: bool,
}

impl Options {
    fn read() -> Option<Self> {
        let mut options = Self {
            shapes: Vec::new(),
            threads: vec![1, 2],
            seconds: 4.0,
            dropout: 0.0,
            cpu_time: false,
            json: false,
            profile: false,
            // Without `--bench` this was built as a test, which asks only whether it works.
            quick: !std::env::args().any(|argument| argument == "--bench"),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => {}
                "--cpu-time" => (options.cpu_time, options.threads) = (true, vec![1]),
                "--json" => options.json = true,
                "--profile" => options.profile = true,
                "--quick" => options.quick = true,
                "--seconds" => options.seconds = arguments.next()?.parse().ok()?,
                "--dropout" => options.dropout = arguments.next()?.parse().ok()?,
                "--threads" => {
                    let list = arguments.next()?;
                    options.threads = list.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
                }
                name if shapes().iter().any(|shape| shape.name == name) => options.shapes.push(argument),
                _ => return None,
            }
        }
        Some(options)
    }

    fn wants(&self, shape: &Shape) -> bool {
        if self.shapes.is_empty() {
            shape.name != "gpt2-124M"
        } else {
            self.shapes.iter().any(|name| name == shape.name)
        }
    }
}

fn main() {
    let Some(options) = Options::read() else {
        println!("{HELP}");
        return;
    };
    if !options.json {
        println!(
            "{:14} {:>7} {:>16} {:>16} {:>10} {:>6}  best ms: {}",
            "shape",
            "threads",
            "best tokens/s",
            "median tokens/s",
            "GFLOP/s",
            "share",
            KINDS.join(", ")
        );
    }
    for shape in shapes().iter().filter(|shape| options.wants(shape)) {
        measure(shape, &options);
    }
}

/// What a step consists of.
const KINDS: [&str; 5] = ["zero", "forward", "backward", "clip", "optimizer"];

/// All that one number of threads needs.
struct Side {
    compute: Compute,
    /// Seconds of the kinds of each step.
    steps: Vec<[f64; KINDS.len()]>,
    /// f32 operations per second, as the limits have it.
    limit: f64,
}

struct Training {
    parameters: Parameters,
    network: Network,
    optimiser: Optimiser,
    tokens: Vec<u32>,
    targets: Vec<u32>,
    key: u64,
    now: fn() -> f64,
}

/// Seconds by the clock.
fn clock() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64()
}

/// Seconds that this thread has been on a CPU.
fn cpu_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells the time of a thread");
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
    nanoseconds.expect("a number of nanoseconds") / 1e9
}

impl Training {
    fn new(shape: &Shape, options: &Options) -> Self {
        let config = Config::read(&SyntheticSource::new(shape.model.clone())).expect("the shape makes sense");
        let parameters = Parameters::random(config, shape.model.tied, 1).expect("there is memory");
        let now = if options.cpu_time { cpu_time } else { clock };
        let Shape { batch, length, .. } = *shape;
        let options = NetworkOptions { batch, length, dropout: options.dropout, recompute: false };
        let network = Network::new(&parameters.config, &parameters.layout, options).expect("there is memory");
        let kind = OptimiserKind::AdamW { beta1: 0.9, beta2: 0.95, eps: 1e-8 };
        let optimiser = Optimiser::new(kind, 0.1, &parameters.layout).expect("there is memory");
        let count = (shape.batch * shape.length) as u64;
        let token = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 % shape.model.vocab as u32;
        let (tokens, targets) = ((0..count).map(token).collect(), (1..=count).map(token).collect());
        Self { parameters, network, optimiser, tokens, targets, key: 0, now }
    }

    /// Seconds of each kind.
    fn step(&mut self, compute: &Compute) -> [f64; KINDS.len()] {
        let Self { parameters, network, optimiser, tokens, targets, key, now } = self;
        let examples = Examples { tokens, targets };
        *key += 1;
        let mode = Mode::Learn { key: *key, scale: 1.0 / tokens.len() as f32 };
        let (mut times, mut last) = ([0.0; KINDS.len()], now());
        let mut lap = |kind: usize| {
            let time = now();
            times[kind] = time - last;
            last = time;
        };
        network.renew_gradients();
        lap(0);
        let loss = network.forward(compute, parameters, examples, mode);
        assert!(loss.sum.is_finite());
        lap(1);
        network.backward(compute, parameters, examples);
        lap(2);
        let scale = clip_scale(gradient_norm(compute, network.gradients()), 1.0);
        lap(3);
        let size = StepSize { gradient_scale: scale, ..StepSize::new(1e-4) };
        optimiser.step(compute, parameters, network.gradients(), size);
        lap(4);
        times
    }
}

/// The fastest window of multiply-adds in registers.
fn limit(compute: &Compute) -> f64 {
    let (duration, preparation) = (Duration::from_millis(150), Duration::ZERO);
    let plan = Plan { threads: compute.pool.threads(), duration, preparation };
    limits::f32_flops(&[compute.kernels], plan).map_or(f64::NAN, |measured| measured.best())
}

fn measure(shape: &Shape, options: &Options) {
    let mut training = Training::new(shape, options);
    let side = |&threads: &usize| {
        let compute = Compute::new(Some(threads)).expect("the variable names what there is");
        Side { limit: limit(&compute), steps: Vec::new(), compute }
    };
    let mut sides: Vec<Side> = options.threads.iter().map(side).collect();
    for side in &mut sides {
        training.step(&side.compute);
    }
    let start = Instant::now();
    while if options.quick { sides[0].steps.len() < 3 } else { start.elapsed().as_secs_f64() < options.seconds } {
        for side in &mut sides {
            // Memory and pool have to get warm for this number of threads: the step before was another's.
            let step = training.step(&side.compute);
            side.steps.push(step);
        }
    }
    for side in &mut sides {
        side.limit = side.limit.max(limit(&side.compute));
        show(shape, &training.network, side, options.json);
        if options.profile {
            profile(&mut training, side);
        }
    }
}

fn show(shape: &Shape, network: &Network, side: &Side, json: bool) {
    let tokens = (shape.batch * shape.length) as f64;
    let seconds: Vec<f64> = side.steps.iter().map(|step| step.iter().sum()).collect();
    let least = |times: &mut dyn Iterator<Item = f64>| times.fold(f64::INFINITY, f64::min);
    let (best, middle) = (least(&mut seconds.iter().copied()), median(&seconds).unwrap_or(f64::NAN));
    let kinds: Vec<f64> =
        (0..KINDS.len()).map(|kind| 1e3 * least(&mut side.steps.iter().map(|step| step[kind]))).collect();
    let work = network.flops();
    let flops = (work.forward + work.backward) as f64 / best;
    let (name, threads, share) = (shape.name, side.compute.pool.threads(), flops / side.limit);
    let [best, middle, gflops] = [tokens / best, tokens / middle, flops / 1e9];
    if !json {
        let kinds: Vec<String> = kinds.iter().map(|ms| format!("{ms:.2}")).collect();
        let kinds = kinds.join(", ");
        println!("{name:14} {threads:>7} {best:>16.0} {middle:>16.0} {gflops:>10.1} {:>4.0} %  {kinds}", share * 100.0);
        return;
    }
    let kinds: Vec<String> = KINDS.iter().zip(&kinds).map(|(kind, ms)| format!("\"{kind}\": {ms:.4}")).collect();
    println!(
        "{{\"shape\": \"{name}\", \"threads\": {threads}, \"steps\": {}, \"tokens_per_step\": {tokens}, \
         \"best_tokens_per_s\": {best:.1}, \"median_tokens_per_s\": {middle:.1}, \"gflops\": {gflops:.2}, \
         \"limit_gflops\": {:.2}, \"share\": {share:.4}, \"best_ms\": {{{}}}}}",
        seconds.len(),
        side.limit / 1e9,
        kinds.join(", ")
    );
}

/// The tree of some steps.
fn profile(training: &mut Training, side: &Side) {
    hotloop::reset();
    hotloop::start();
    for _ in 0..10 {
        training.step(&side.compute);
    }
    hotloop::stop();
    println!("{}", hotloop::snapshot().report(40));
}
