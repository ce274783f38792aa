//! The models: their shapes, and what a token of them costs.

use engine::{Architecture, Synthetic};
use kernels::quant::Format;

/// How long the prompt is that is read at once.
pub const PROMPT: usize = 128;

/// Positions the models are made for.
const CONTEXT: usize = 2_048;

/// A model of the LLaMA family whose head is its table of embeddings.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// What the files are called.
    pub name: &'static str,
    /// The width of the residual stream.
    pub dim: usize,
    /// How many layers.
    pub layers: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// The width inside the feed-forward network.
    pub ffn: usize,
    /// How many tokens there are.
    pub vocabulary: usize,
}

const SHAPES: &[Shape] = &[
    Shape { name: "small", dim: 128, layers: 2, heads: 4, kv_heads: 4, ffn: 352, vocabulary: 512 },
    Shape { name: "medium", dim: 256, layers: 4, heads: 8, kv_heads: 8, ffn: 768, vocabulary: 512 },
    Shape { name: "15M", dim: 288, layers: 6, heads: 6, kv_heads: 6, ffn: 768, vocabulary: 32_000 },
    Shape { name: "110M", dim: 768, layers: 12, heads: 12, kv_heads: 12, ffn: 2_048, vocabulary: 32_000 },
    Shape { name: "1B", dim: 2_048, layers: 16, heads: 32, kv_heads: 8, ffn: 8_192, vocabulary: 32_000 },
];

/// The weights every model is measured with.
const FORMATS: &[Format] = &[Format::F32, Format::Q8_0, Format::Q4_0];

/// A quick run leaves out what has more parameters.
const QUICK_PARAMETERS: usize = 20_000_000;
/// Models from here on take minutes.
const LARGE_PARAMETERS: usize = 500_000_000;

impl Shape {
    /// All matrices of the layers.
    fn layer_parameters(&self) -> usize {
        let kv = self.head_dim() * self.kv_heads;
        self.layers * self.dim * (2 * self.dim + 2 * kv + 3 * self.ffn)
    }

    fn head_parameters(&self) -> usize {
        self.dim * self.vocabulary
    }

    fn parameters(&self) -> usize {
        self.layer_parameters() + self.head_parameters()
    }

    /// Values in a head.
    pub fn head_dim(&self) -> usize {
        self.dim / self.heads
    }

    /// Whether it takes minutes.
    pub fn is_large(&self) -> bool {
        self.parameters() >= LARGE_PARAMETERS
    }
}

/// One line of the tables.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The model.
    pub shape: Shape,
    /// Its weights.
    pub format: Format,
    /// How many threads compute.
    pub threads: usize,
}

/// What one launch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Tokens read at once.
    pub prompt: usize,
    /// Tokens one by one, from an empty cache on.
    pub tokens: usize,
    /// How often both are timed. 0: nothing is, and the launch ends after one token.
    pub repeats: usize,
    /// How many threads compute.
    pub threads: usize,
}

/// About what one core of a machine of today does; they only choose how much work a launch gets.
const USUAL_BYTES_PER_SECOND: f64 = 20e9;
const USUAL_FLOPS: f64 = 80e9;
const TOKENS: [usize; 5] = [128, 64, 32, 16, 8];

impl Row {
    /// As it is called in the tables and by the words of the command line.
    pub fn name(&self) -> String {
        format!("{} {}", self.shape.name, self.format)
    }

    /// The recipe of its weights.
    pub fn synthetic(&self) -> Synthetic {
        let Shape { dim, layers, heads, kv_heads, ffn, vocabulary, .. } = self.shape;
        Synthetic {
            architecture: Architecture::Llama,
            vocab: vocabulary,
            context: CONTEXT,
            width: dim,
            layers,
            heads,
            kv_heads,
            head_dim: None,
            ffn,
            tied: true,
            format: self.format,
            seed: 1,
        }
    }

    /// Bytes of weights that one token reads.
    pub fn bytes_per_token(&self) -> f64 {
        self.shape.parameters() as f64 * self.format.block_bytes() as f64 / self.format.block_len() as f64
    }

    /// Operations per token of a prompt, of which the last token alone needs the head; without
    /// attention, which is little.
    pub fn prompt_operations_per_token(&self) -> f64 {
        2.0 * (self.shape.layer_parameters() as f64 + self.shape.head_parameters() as f64 / PROMPT as f64)
    }

    /// As much as takes some `seconds`, and at least two repeats: not everyone warms up a prompt of that length.
    pub fn work(&self, seconds: f64) -> Work {
        let token = self.bytes_per_token() / USUAL_BYTES_PER_SECOND;
        let fits = |tokens: &usize| token * *tokens as f64 <= 1.5 * seconds;
        let tokens = TOKENS.into_iter().find(fits).unwrap_or(TOKENS[TOKENS.len() - 1]);
        let prompt = self.prompt_operations_per_token() * PROMPT as f64 / USUAL_FLOPS;
        let repeats = (seconds / (token * tokens as f64 + prompt)).round().clamp(2.0, 32.0) as usize;
        Work { prompt: PROMPT, tokens, repeats, threads: self.threads }
    }

    /// From nothing to the logits of one token.
    pub fn start(&self) -> Work {
        Work { prompt: 0, tokens: 1, repeats: 0, threads: self.threads }
    }
}

/// All rows, with one thread.
pub fn rows(quick: bool) -> Vec<Row> {
    let shapes = SHAPES.iter().filter(|shape| !quick || shape.parameters() <= QUICK_PARAMETERS);
    shapes.flat_map(|&shape| FORMATS.iter().map(move |&format| Row { shape, format, threads: 1 })).collect()
}
