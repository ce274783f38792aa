//! Times candle's quantised LLaMA for the benchmark of engines, which starts it as a child. See `../../README.md`.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::Instant;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;

const USAGE: &str = "\
usage: engines-candle MODEL.gguf PROMPT TOKENS REPEATS

Reads a prompt of PROMPT tokens at once, and TOKENS one by one from an empty cache, each REPEATS times.
RAYON_NUM_THREADS says with how many threads. Prints {\"load_s\":S,\"prefill_tps\":[...],\"decode_tps\":[...]}.";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, prompt, tokens, repeats] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let (prompt, tokens, repeats): (usize, usize, usize) = (prompt.parse()?, tokens.parse()?, repeats.parse()?);

    let start = Instant::now();
    let mut model = Model::read(path)?;
    let load = start.elapsed().as_secs_f64();

    if prompt > 0 {
        model.prefill(prompt)?;
    }
    let prefill = (0..if prompt > 0 { repeats } else { 0 }).map(|_| model.prefill(prompt)).collect::<Result<Vec<_>, _>>()?;
    model.decode(1)?;
    let decode = (0..repeats).map(|_| model.decode(tokens)).collect::<Result<Vec<_>, _>>()?;
    println!("{{\"load_s\":{load:.6},\"prefill_tps\":{prefill:?},\"decode_tps\":{decode:?}}}");
    Ok(())
}

struct Model {
    weights: ModelWeights,
    vocabulary: usize,
}

impl Model {
    fn read(path: &str) -> Result<Self, Box<dyn Error>> {
        let mut file = BufReader::new(File::open(path)?);
        let content = Content::read(&mut file)?;
        let pieces = content.metadata.get("tokenizer.ggml.tokens").ok_or("the file has no vocabulary")?;
        let vocabulary = pieces.to_vec()?.len();
        let weights = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
        Ok(Self { weights, vocabulary })
    }

    /// Tokens per second of a prompt that is read at once, up to the logits of its last token.
    fn prefill(&mut self, tokens: usize) -> candle_core::Result<f64> {
        let start = Instant::now();
        self.forward(0, tokens)?;
        Ok(tokens as f64 / start.elapsed().as_secs_f64())
    }

    /// Tokens per second one by one.
    fn decode(&mut self, tokens: usize) -> candle_core::Result<f64> {
        let start = Instant::now();
        for position in 0..tokens {
            self.forward(position, 1)?;
        }
        Ok(tokens as f64 / start.elapsed().as_secs_f64())
    }

    /// Position 0 empties the cache. What the tokens are changes no step.
    fn forward(&mut self, position: usize, count: usize) -> candle_core::Result<()> {
        let tokens: Vec<u32> = (position..position + count).map(|at| ((at * 31 + 7) % self.vocabulary) as u32).collect();
        let input = Tensor::new(tokens.as_slice(), &Device::Cpu)?.unsqueeze(0)?;
        self.weights.forward(&input, position).map(|_| ())
    }
}
