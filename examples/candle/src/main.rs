//! Generates text with candle and shows where the time and the memory went.
//!
//! Candle is used as it is published: the spans it opens for `tracing` become hotloop's scopes.

mod random_model;

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Tensor};
use candle_transformers::models::quantized_llama::ModelWeights;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

// Counts what candle allocates, scope by scope.
#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

const USAGE: &str = "\
usage: hotloop-example-candle [MODEL.gguf] [TOKENS]

MODEL.gguf  a model of the LLaMA family in GGUF, for instance stories260K or stories15M;
            without it, or with `-`, a small model with random weights is made in memory
TOKENS      how many tokens to generate (default 64)";

const SCOPES_SHOWN: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("error: {problem}\n\n{USAGE}");
            std::process::exit(2);
        }
    };

    // Candle makes each of its spans once, when the model is loaded, and enters it at every forward pass.
    // So the layer has to be there before the model is, and an entry is a call.
    tracing_subscriber::registry().with(hotloop::tracing_layer().each_entry_is_a_call()).init();

    let mut model = arguments.load()?;
    hotloop::start();
    let text = model.generate(arguments.tokens)?;
    hotloop::stop();

    println!("{text}\n");
    hotloop::print(SCOPES_SHOWN);
    Ok(())
}

struct Arguments {
    model: Option<String>,
    tokens: usize,
}

impl Arguments {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let model = arguments.next().filter(|path| path != "-");
        let tokens = match arguments.next() {
            None => 64,
            Some(count) => count.parse().map_err(|_| format!("`{count}` is not a number of tokens"))?,
        };
        if let Some(path) = model.as_deref().filter(|path| !Path::new(path).is_file()) {
            return Err(format!("there is no model file at `{path}`"));
        }
        Ok(Self { model, tokens })
    }

    fn load(&self) -> Result<Model, Box<dyn Error>> {
        match &self.model {
            Some(path) => Model::read(BufReader::new(File::open(path)?)),
            None => Model::read(Cursor::new(random_model::gguf()?)),
        }
    }
}

struct Model {
    weights: ModelWeights,
    /// Text of each token; empty where the file has no vocabulary.
    vocabulary: Vec<String>,
    context: usize,
}

impl Model {
    fn read(mut file: impl Read + Seek) -> Result<Self, Box<dyn Error>> {
        let content = Content::read(&mut file)?;
        let vocabulary = vocabulary(&content);
        let context = match content.metadata.get("llama.context_length") {
            Some(length) => length.to_u32()? as usize,
            None => 256,
        };
        let weights = ModelWeights::from_gguf(content, &mut file, &Device::Cpu)?;
        Ok(Self { weights, vocabulary, context })
    }

    #[hotloop::profile(tokens = count)]
    fn generate(&mut self, count: usize) -> candle_core::Result<String> {
        const BEGIN_OF_TEXT: u32 = 1;
        let mut token = BEGIN_OF_TEXT;
        let mut text = String::new();
        for position in 0..count.min(self.context) {
            token = self.next_token(token, position)?;
            text.push_str(&self.text_of(token));
        }
        Ok(text)
    }

    /// The likeliest token after `token`, which stands at `position`.
    fn next_token(&mut self, token: u32, position: usize) -> candle_core::Result<u32> {
        let input = Tensor::new(&[[token]], &Device::Cpu)?;
        let logits = self.weights.forward(&input, position)?;
        hotloop::scope!("pick");
        logits.squeeze(0)?.argmax(0)?.to_scalar()
    }

    fn text_of(&self, token: u32) -> String {
        match self.vocabulary.get(token as usize) {
            Some(piece) => piece.replace('\u{2581}', " ").replace("<0x0A>", "\n"),
            None => format!(" {token}"),
        }
    }
}

fn vocabulary(content: &Content) -> Vec<String> {
    let pieces = content.metadata.get("tokenizer.ggml.tokens");
    let pieces = pieces.and_then(|value| value.to_vec().ok());
    let pieces = pieces.into_iter().flatten();
    pieces.filter_map(|piece| piece.to_string().ok().cloned()).collect()
}
