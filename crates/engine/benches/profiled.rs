//! What profiling costs a model: tokens per second with the profiler on and off, in turns.
//!
//! `cargo bench -p engine --bench profiled` prints a table; `-- --quick` (or `HOTLOOP_BENCH_QUICK=1`) takes fewer rounds,
//! `-- medium` that model alone. In each round every way
//! decodes the same tokens once, the order turned from round to round; the cost is the median of the rounds' own ratios to `off`, with the 95 %
//! interval of its sign test.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::time::Instant;

use compare::{median, quantile_interval, sorted};
use engine::{Compute, LoadOptions, Model, Segment, State, StateOptions, Synthetic, SyntheticSource};

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

/// A name, and how the profiler is started; `None`: not at all.
type Way = (&'static str, Option<hotloop::Config>);

fn main() {
    let has = |option: &str| std::env::args().any(|argument| argument == option);
    // Without `--bench` this was built as a test, which asks only whether it works.
    let quick = has("--quick") || !has("--bench") || std::env::var_os("HOTLOOP_BENCH_QUICK").is_some();
    let rounds = if quick { 8 } else { 300 };
    let usual = hotloop::Config::new();
    let ways: [Way; 5] = [
        ("off", None),
        // The same as `off`: what the rounds cannot tell apart.
        ("off, again", None),
        ("on, as usual", Some(usual)),
        ("every call", Some(usual.budget(None))),
        ("and a timeline", Some(usual.budget(None).timeline(Some(1 << 16)))),
    ];
    println!("{:8} {:>7} {:16} {:>12} {:>9}  95 % interval", "model", "threads", "profiler", "tokens/s", "cost");
    let named = |name: &str| !has("small") && !has("medium") || has(name);
    let models = [("small", Synthetic::SMALL), ("medium", Synthetic::MEDIUM)];
    for (name, sizes) in models.into_iter().filter(|(name, _)| named(name)) {
        for threads in [1, 2] {
            let compute = Compute::new(Some(threads)).expect("the variable names what there is");
            let model = Model::load(&SyntheticSource::new(sizes.clone()), &compute, &mut LoadOptions::default())
                .expect("it is whole");
            let times = measure(&model, &compute, &ways, rounds);
            show(&format!("{name:8} {threads:>7}"), &ways, &times);
        }
    }
}

/// Tokens of one turn, at growing positions.
const TOKENS: usize = 48;

/// Seconds of each way, round by round.
fn measure(model: &Model, compute: &Compute, ways: &[Way], rounds: usize) -> Vec<Vec<f64>> {
    let mut state = State::new(model, compute, &StateOptions::default()).expect("there is memory");
    let mut decode = |tokens: usize| {
        state.truncate(0, 0);
        let start = Instant::now();
        for token in 0..tokens as u32 {
            let segment = Segment { sequence: 0, tokens: &[token], logits: 1 };
            model.forward(compute, &mut state, &[segment]).expect("there is room");
        }
        start.elapsed().as_secs_f64()
    };
    decode(TOKENS);
    hotloop::reset();
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..rounds {
        for turn in 0..ways.len() {
            // Every other round the other way round, so that nobody always follows the same.
            let turn = if round % 2 == 0 { turn } else { ways.len() - 1 - turn };
            let way = (turn + round / 2) % ways.len();
            // Starting takes a while, which must not be what tells the ways apart: all do it, and then warm up, until the
            // profiler has found out what it must not time each time to keep its budget.
            ways[way].1.unwrap_or_default().start();
            if ways[way].1.is_none() {
                hotloop::stop();
            }
            decode(TOKENS);
            times[way].push(decode(TOKENS));
            hotloop::stop();
        }
    }
    times
}

fn show(label: &str, ways: &[Way], times: &[Vec<f64>]) {
    for ((name, _), seconds) in ways.iter().zip(times) {
        let ratios: Vec<f64> = seconds.iter().zip(&times[0]).map(|(with, without)| with / without - 1.0).collect();
        let speed = TOKENS as f64 / median(seconds).unwrap_or(f64::NAN);
        let cost = median(&ratios).unwrap_or(f64::NAN) * 100.0;
        let interval = quantile_interval(&sorted(&ratios), 0.5, 0.95).map_or_else(
            || "too few rounds".to_owned(),
            |found| format!("{:+.2} to {:+.2} %", found.low * 100.0, found.high * 100.0),
        );
        println!("{label} {name:16} {speed:>12.0} {cost:>+7.2} %  {interval}");
    }
}
