//! What profiling costs a model: tokens per second with the profiler on and off, in turns.
//!
//! `cargo bench -p hotloop-engine --bench profiled` prints a table; `-- --quick` (or
//! `HOTLOOP_BENCH_QUICK=1`) takes fewer rounds, `-- medium` that model alone, `-- usual` no more
//! than the usual way, `-- threads=2` that many threads alone. A turn is a few milliseconds, so
//! that most turns pass undisturbed and neighbours meet the same machine. In each round every way
//! decodes the same tokens once, the order turned from round to round; the cost is the median of
//! the rounds' own ratios to `off`, with the 95 % interval of its sign test.
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
    let rounds = if quick { 8 } else { 2000 };
    let groups = groups();
    let groups = if has("usual") { &groups[..1] } else { &groups[..] };
    println!("{:8} {:>7} {:16} {:>12} {:>9}  95 % interval", "model", "threads", "profiler", "tokens/s", "cost");
    let named = |name: &str| !has("small") && !has("medium") || has(name);
    let models = [("small", Synthetic::SMALL), ("medium", Synthetic::MEDIUM)];
    for (name, sizes) in models.into_iter().filter(|(name, _)| named(name)) {
        let asked = |threads: &usize| !has("threads=1") && !has("threads=2") || has(&format!("threads={threads}"));
        for threads in [1, 2].into_iter().filter(asked) {
            let compute = Compute::new(Some(threads)).expect("the variable names what there is");
            let model = Model::load(&SyntheticSource::new(sizes.clone()), &compute, &mut LoadOptions::default())
                .expect("it is whole");
            for ways in groups {
                let times = measure(&model, &compute, ways, rounds);
                show(&format!("{name:8} {threads:>7}"), ways, &times);
            }
        }
    }
}

/// The ways that take turns with each other. What keeps to the budget is not among those that time
/// every call: these would make it forget what it has learnt, and a timeline would change the size
/// of the others' ring at each turn.
fn groups() -> [Vec<Way>; 3] {
    let usual = hotloop::Config::new();
    let off = ("off", None);
    [
        // Off again is the same as off: what the rounds cannot tell apart.
        vec![off, ("off, again", None), ("on, as usual", Some(usual))],
        vec![off, ("every call", Some(usual.budget(None)))],
        vec![off, ("and a timeline", Some(usual.budget(None).timeline(Some(1 << 16))))],
    ]
}

/// Tokens of one turn, at growing positions.
const TOKENS: u32 = 16;
/// Tokens before them: for the caches, which starting has filled with other things.
const WARM_UP: u32 = 6;

/// Seconds of each way, round by round.
fn measure(model: &Model, compute: &Compute, ways: &[Way], rounds: usize) -> Vec<Vec<f64>> {
    let mut state = State::new(model, compute, &StateOptions::default()).expect("there is memory");
    let mut turn = |config: Option<hotloop::Config>| {
        // Starting takes a third of a millisecond, which must not be what tells the ways apart: all do it.
        config.unwrap_or_default().start();
        if config.is_none() {
            hotloop::stop();
        }
        state.truncate(0, 0);
        let mut start = Instant::now();
        for token in 0..WARM_UP + TOKENS {
            if token == WARM_UP {
                start = Instant::now();
            }
            let segment = Segment { sequence: 0, tokens: &[token], logits: 1 };
            model.forward(compute, &mut state, &[segment]).expect("there is room");
        }
        let seconds = start.elapsed().as_secs_f64();
        hotloop::stop();
        seconds
    };
    hotloop::reset();
    // Until the profiler has found out what it must not time each time to keep its budget, which it
    // remembers from turn to turn.
    for _ in 0..rounds.min(64) {
        turn(ways[ways.len() - 1].1);
    }
    let mut times = vec![Vec::new(); ways.len()];
    for round in 0..rounds {
        for place in 0..ways.len() {
            // Every other round the other way round, so that nobody always follows the same.
            let place = if round % 2 == 0 { place } else { ways.len() - 1 - place };
            let way = (place + round / 2) % ways.len();
            times[way].push(turn(ways[way].1));
        }
    }
    times
}

fn show(label: &str, ways: &[Way], times: &[Vec<f64>]) {
    for ((name, _), seconds) in ways.iter().zip(times) {
        let ratios: Vec<f64> = seconds.iter().zip(&times[0]).map(|(with, without)| with / without - 1.0).collect();
        let speed = f64::from(TOKENS) / median(seconds).unwrap_or(f64::NAN);
        let cost = median(&ratios).unwrap_or(f64::NAN) * 100.0;
        let interval = quantile_interval(&sorted(&ratios), 0.5, 0.95).map_or_else(
            || "too few rounds".to_owned(),
            |found| format!("{:+.2} to {:+.2} %", found.low * 100.0, found.high * 100.0),
        );
        println!("{label} {name:16} {speed:>12.0} {cost:>+7.2} %  {interval}");
    }
}
