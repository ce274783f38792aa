//! What texts, tokens and choices cost.
//!
//! `cargo bench -p hotloop-engine --bench tokens` prints two tables; `-- --quick` (or
//! `HOTLOOP_BENCH_QUICK=1`) takes fewer samples. Each figure is the best of many short runs, which
//! take turns.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use engine::{Encode, Sampler, Sampling, TensorSource, Tokenizer, gguf};

fn main() {
    let has = |option: &str| std::env::args().any(|argument| argument == option);
    // Without `--bench` this was built as a test, which asks only whether it works.
    let quick = has("--quick") || !has("--bench") || std::env::var_os("HOTLOOP_BENCH_QUICK").is_some();
    let rounds = if quick { 2 } else { 60 };
    tokenizers(rounds);
    samplers(rounds * 20);
}

/// Megabytes of text per second, there and back.
fn tokenizers(rounds: usize) {
    let Some(text) = testing::shared("text/pride_and_prejudice.txt") else { return };
    let text = std::fs::read_to_string(text).expect("the text can be read");
    println!("{:16} {:>10} {:>10} {:>10} {:>10}", "vocabulary", "load ms", "encode MB/s", "decode MB/s", "tokens");
    for (name, file) in vocabularies() {
        let Ok(file) = gguf::File::open(&file) else { continue };
        let load = || Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is whole");
        let tokenizer = load();
        let ids = tokenizer.encode(&text, Encode::default());
        let mut best = [f64::INFINITY; 3];
        for round in 0..rounds {
            if round % 8 == 0 {
                best[0] = best[0].min(seconds(load));
            }
            best[1] = best[1].min(seconds(|| tokenizer.encode(&text, Encode::default())));
            best[2] = best[2].min(seconds(|| tokenizer.decode(&ids)));
        }
        let speed = |seconds: f64| text.len() as f64 / seconds / 1e6;
        let [load, encode, decode] = [best[0] * 1e3, speed(best[1]), speed(best[2])];
        println!("{name:16} {load:10.1} {encode:10.1} {decode:10.1} {:10}", ids.len());
    }
}

/// Those of the shared data, and what `HOTLOOP_BENCH_MODEL` names.
fn vocabularies() -> Vec<(String, PathBuf)> {
    let file = |name: &str| Some((name.to_owned(), testing::shared(&format!("vocab/ggml-vocab-{name}.gguf"))?));
    let mut all: Vec<_> = ["gpt-2", "llama-bpe", "llama-spm"].into_iter().filter_map(file).collect();
    all.extend(std::env::var_os("HOTLOOP_BENCH_MODEL").map(|file| ("model".to_owned(), file.into())));
    all
}

/// Microseconds per choice, from logits like a model's: a few are good, most are hopeless; and from
/// logits without any good ones, the worst for `top_p`.
fn samplers(rounds: usize) {
    let plain = Sampling { temperature: 1.0, ..Sampling::greedy() };
    let ways = [
        ("greedy", Sampling::greedy()),
        ("top-k 40, top-p 0.95", Sampling { top_k: 40, top_p: 0.95, ..plain.clone() }),
        ("the default", Sampling::default()),
        ("top-p 0.95", Sampling { top_p: 0.95, ..plain.clone() }),
        ("temperature 1", plain),
    ];
    println!("\n{:24} {:>10} {:>10} {:>14}", "µs per choice of", "32,000", "128,256", "128,256 alike");
    let mut best = vec![[f64::INFINITY; 3]; ways.len()];
    for (column, (vocab, good)) in [(32_000, 20), (128_256, 20), (128_256, 0)].into_iter().enumerate() {
        let mut logits = logits(vocab, good);
        let mut samplers: Vec<Sampler> = ways.iter().map(|(_, way)| Sampler::new(way, vocab)).collect();
        for _ in 0..rounds {
            for (sampler, best) in samplers.iter_mut().zip(&mut best) {
                best[column] = best[column].min(seconds(|| sampler.sample(&mut logits)));
            }
        }
    }
    for ((name, _), best) in ways.iter().zip(best) {
        let [small, large, alike] = best.map(|seconds| seconds * 1e6);
        println!("{name:24} {small:10.1} {large:10.1} {alike:14.1}");
    }
}

/// Sums of four random numbers, nearly normal, of standard deviation 2.5; some are 12 better.
fn logits(vocab: usize, good: usize) -> Vec<f32> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    };
    let mut logits: Vec<f32> = (0..vocab).map(|_| (next() + next() + next() + next()) * 4.33).collect();
    (0..good).for_each(|at| logits[at * 997] += 12.0);
    logits
}

fn seconds<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64()
}
