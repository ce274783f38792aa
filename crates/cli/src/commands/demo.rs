//! The demonstration: a toy decoder that makes the mistakes a profile should show.
//!
//! It generates "tokens" with random weights: embedding, layers of attention and a feed-forward network, a head shared
//! by two threads, sampling. On purpose, the tokenizer allocates for every token, one layer is wider than the others,
//! and a scope sits on a function of a few nanoseconds.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::args;

/// Profiles it and tells what was seen.
pub fn run(options: &args::Demo) -> String {
    let timeline = options.timeline.then_some(1 << 14);
    let budget = (options.budget > 0.0).then_some(options.budget);
    hotloop::Config::new().timeline(timeline).budget(budget).start();
    let characters = generate(options.tokens);
    hotloop::stop();
    let report = hotloop::snapshot().report(options.top);
    format!(
        "Profiled the built-in demonstration: a toy decoder that generated {} ({}).\n\
         Its mistakes are there on purpose; see what the report says of them.\n\n{report}",
        counted(options.tokens, "token"),
        counted(characters, "character"),
    )
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Width of the toy model.
const WIDTH: usize = 192;
const LAYERS: usize = 4;
const VOCABULARY: usize = 512;
/// The layer that is wider than the others, and how much.
const WIDE: (usize, usize) = (2, 3);

/// A matrix of `rows` rows, and how many columns.
struct Matrix {
    values: Vec<f32>,
    rows: usize,
    columns: usize,
}

impl Matrix {
    /// Numbers that look random, the same on every run.
    fn seeded(rows: usize, columns: usize, seed: u32) -> Self {
        let mut state = seed | 1;
        let values = (0..rows * columns).map(|_| next_random(&mut state) - 0.5).collect();
        Matrix { values, rows, columns }
    }

    fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// `out = self · input`, for the rows that `out` has room for, from `first` on.
    fn multiply(&self, first: usize, input: &[f32], out: &mut [f32]) {
        hotloop::scope!("matmul", flops = 2 * out.len() * self.columns, bytes = 4 * out.len() * self.columns);
        for (offset, value) in out.iter_mut().enumerate() {
            *value = self.row(first + offset).iter().zip(input).map(|(a, b)| a * b).sum();
        }
    }
}

fn next_random(state: &mut u32) -> f32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    (*state >> 8) as f32 / (1 << 24) as f32
}

struct Layer {
    query: Matrix,
    key: Matrix,
    value: Matrix,
    up: Matrix,
    down: Matrix,
}

/// The toy decoder and its buffers.
struct Decoder {
    embedding: Matrix,
    layers: Vec<Layer>,
    head: Matrix,
    /// Keys and values of the tokens so far, by layer.
    keys: Vec<Vec<f32>>,
    values: Vec<Vec<f32>>,
}

impl Decoder {
    #[hotloop::profile]
    fn new() -> Self {
        let layer = |number: usize| {
            let hidden = 2 * WIDTH * if number == WIDE.0 { WIDE.1 } else { 1 };
            let seed = 100 * number as u32;
            Layer {
                query: Matrix::seeded(WIDTH, WIDTH, seed + 1),
                key: Matrix::seeded(WIDTH, WIDTH, seed + 2),
                value: Matrix::seeded(WIDTH, WIDTH, seed + 3),
                up: Matrix::seeded(hidden, WIDTH, seed + 4),
                down: Matrix::seeded(WIDTH, hidden, seed + 5),
            }
        };
        Decoder {
            embedding: Matrix::seeded(VOCABULARY, WIDTH, 7),
            layers: (0..LAYERS).map(layer).collect(),
            head: seeded_head(),
            keys: vec![Vec::new(); LAYERS],
            values: vec![Vec::new(); LAYERS],
        }
    }

    #[hotloop::profile(tokens = 1)]
    fn forward(&mut self, token: usize, helper: &Helper) -> Vec<f32> {
        let mut state = self.embedding.row(token).to_vec();
        for number in 0..LAYERS {
            hotloop::scope!("layer", index = number);
            self.attention(number, &mut state);
            self.feed_forward(number, &mut state);
        }
        self.logits(&state, helper)
    }

    #[hotloop::profile]
    fn attention(&mut self, number: usize, state: &mut [f32]) {
        let layer = &self.layers[number];
        let (mut query, mut key, mut value) = ([0.0; WIDTH], [0.0; WIDTH], [0.0; WIDTH]);
        layer.query.multiply(0, state, &mut query);
        layer.key.multiply(0, state, &mut key);
        layer.value.multiply(0, state, &mut value);
        self.keys[number].extend_from_slice(&key);
        self.values[number].extend_from_slice(&value);
        let mut scores = self.scores(number, &query);
        softmax(&mut scores);
        for (score, value) in scores.iter().zip(self.values[number].chunks_exact(WIDTH)) {
            state.iter_mut().zip(value).for_each(|(sum, value)| *sum += score * value);
        }
    }

    #[hotloop::profile]
    fn scores(&self, number: usize, query: &[f32]) -> Vec<f32> {
        let keys = self.keys[number].chunks_exact(WIDTH);
        keys.map(|key| scaled_dot(query, key)).collect()
    }

    #[hotloop::profile]
    fn feed_forward(&mut self, number: usize, state: &mut [f32]) {
        let layer = &self.layers[number];
        let mut hidden = vec![0.0; layer.up.rows];
        layer.up.multiply(0, state, &mut hidden);
        hidden.iter_mut().for_each(|value| *value = value.max(0.0));
        let mut out = [0.0; WIDTH];
        layer.down.multiply(0, &hidden, &mut out);
        state.iter_mut().zip(out).for_each(|(sum, value)| *sum = (*sum + value).tanh());
    }

    /// The last matrix on two threads: the helper's half is attached to the scope that asks for it.
    #[hotloop::profile]
    fn logits(&self, state: &[f32], helper: &Helper) -> Vec<f32> {
        let mut logits = vec![0.0; VOCABULARY];
        let (first, second) = logits.split_at_mut(VOCABULARY / 2);
        // A helper that has gone would only mean half the logits.
        let _ = helper.ask.send((hotloop::current(), state.to_vec()));
        self.head.multiply(0, state, first);
        {
            hotloop::scope!("wait for the helper");
            second.copy_from_slice(&helper.answer.recv().unwrap_or_else(|_| vec![0.0; VOCABULARY / 2]));
        }
        logits
    }
}

/// The other side of the thread that computes half of the logits.
struct Helper {
    ask: mpsc::Sender<(hotloop::Link, Vec<f32>)>,
    answer: mpsc::Receiver<Vec<f32>>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    fn spawn(head: Matrix) -> Self {
        let (ask, asked) = mpsc::channel::<(hotloop::Link, Vec<f32>)>();
        let (answers, answer) = mpsc::channel();
        let work = move || {
            for (link, state) in asked {
                let _attached = link.attach();
                let mut half = vec![0.0; VOCABULARY / 2];
                head.multiply(VOCABULARY / 2, &state, &mut half);
                let _ = answers.send(half);
            }
        };
        // Without the thread its channels close, and the decoder works with half of the logits.
        let thread = thread::Builder::new().name("helper".into()).spawn(work).ok();
        Helper { ask, answer, thread }
    }

    /// Waits until the thread has ended, so that the report does not depend on how fast it does.
    fn join(self) {
        drop(self.ask);
        // It can only have panicked, and has said so.
        let _ = self.thread.map(JoinHandle::join);
    }
}

/// A scope on so little work costs more than the work: the profiler will time it only now and then.
fn scaled_dot(a: &[f32], b: &[f32]) -> f32 {
    hotloop::scope!("scaled_dot", flops = 2 * WIDTH);
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() / (WIDTH as f32).sqrt()
}

fn seeded_head() -> Matrix {
    Matrix::seeded(VOCABULARY, WIDTH, 9)
}

#[hotloop::profile]
fn softmax(scores: &mut [f32]) {
    let highest = scores.iter().copied().fold(f32::MIN, f32::max);
    scores.iter_mut().for_each(|score| *score = (*score - highest).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

#[hotloop::profile]
fn sample(logits: &mut [f32], state: &mut u32) -> usize {
    softmax(logits);
    let mut left = next_random(state);
    let chosen = logits.iter().position(|share| {
        left -= share;
        left <= 0.0
    });
    chosen.unwrap_or(VOCABULARY - 1)
}

/// Pieces of text for a token; allocates for each, as tokenizers in a hurry do.
#[hotloop::profile]
fn detokenize(token: usize) -> Vec<String> {
    format!("{token:04}").chars().map(|character| character.to_string()).collect()
}

/// Writes what arrives, on a thread of its own.
fn writer(pieces: mpsc::Receiver<Vec<String>>) -> usize {
    let mut length = 0;
    for piece in pieces {
        hotloop::scope!("write", bytes = piece.len());
        length += piece.concat().len();
    }
    length
}

/// Generates so many tokens and returns how many characters they made.
fn generate(tokens: usize) -> usize {
    hotloop::function!();
    let mut decoder = Decoder::new();
    let helper = Helper::spawn(seeded_head());
    let (to_writer, pieces) = mpsc::channel();
    let writing = thread::Builder::new().name("writer".into()).spawn(move || writer(pieces));
    let (mut token, mut state) = (1, 42);
    for _ in 0..tokens {
        hotloop::scope!("generate_token", tokens = 1);
        let mut logits = decoder.forward(token, &helper);
        token = sample(&mut logits, &mut state);
        // A writer that has gone wants no more text.
        let _ = to_writer.send(detokenize(token));
    }
    helper.join();
    drop(to_writer);
    writing.ok().and_then(|thread| thread.join().ok()).unwrap_or(0)
}
