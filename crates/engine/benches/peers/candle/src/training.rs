//! candle's steps of training a GPT-2 on weights and tokens from a seed: forward, backward, AdamW.
//! See `../../README.md`.

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW, loss, ops};

const USAGE: &str = "\
usage: training-candle VOCABULARY CONTEXT WIDTH LAYERS HEADS BATCH LENGTH [--threads N]

RAYON_NUM_THREADS says with how many threads. Prints {\"parameters\":P} when it is warm; then each line of the input is a number of steps,
answered with {\"seconds\":S,\"loss\":L}.";

#[derive(Clone, Copy)]
struct Shape {
    vocabulary: usize,
    context: usize,
    width: usize,
    layers: usize,
    heads: usize,
    batch: usize,
    length: usize,
}

struct Linear {
    weight: Var,
    bias: Var,
}

impl Linear {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weight.t()?)?.broadcast_add(&self.bias)
    }
}

struct Norm {
    weight: Var,
    bias: Var,
}

impl Norm {
    /// The fused norm of candle has no backward pass.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        ops::layer_norm_slow(x, &self.weight, &self.bias, 1e-5)
    }
}

struct Block {
    attention_norm: Norm,
    qkv: Linear,
    out: Linear,
    feed_forward_norm: Norm,
    up: Linear,
    down: Linear,
}

struct Gpt2 {
    shape: Shape,
    tokens: Var,
    positions: Var,
    blocks: Vec<Block>,
    norm: Norm,
    mask: Tensor,
    all: Vec<Var>,
}

/// Makes tensors and remembers them for the optimiser.
struct Maker {
    all: Vec<Var>,
}

impl Maker {
    fn matrix(&mut self, rows: usize, columns: usize) -> Result<Var> {
        self.keep(Var::randn(0f32, 0.02, (rows, columns), &Device::Cpu)?)
    }

    fn constant(&mut self, value: f32, length: usize) -> Result<Var> {
        self.keep(Var::from_tensor(&Tensor::full(value, length, &Device::Cpu)?)?)
    }

    fn keep(&mut self, tensor: Var) -> Result<Var> {
        self.all.push(tensor.clone());
        Ok(tensor)
    }

    fn norm(&mut self, width: usize) -> Result<Norm> {
        Ok(Norm { weight: self.constant(1.0, width)?, bias: self.constant(0.0, width)? })
    }

    fn linear(&mut self, inputs: usize, outputs: usize) -> Result<Linear> {
        Ok(Linear { weight: self.matrix(outputs, inputs)?, bias: self.constant(0.0, outputs)? })
    }

    fn block(&mut self, width: usize) -> Result<Block> {
        Ok(Block {
            attention_norm: self.norm(width)?,
            qkv: self.linear(width, 3 * width)?,
            out: self.linear(width, width)?,
            feed_forward_norm: self.norm(width)?,
            up: self.linear(width, 4 * width)?,
            down: self.linear(4 * width, width)?,
        })
    }
}

impl Gpt2 {
    fn new(shape: Shape) -> Result<Self> {
        let mut maker = Maker { all: Vec::new() };
        let tokens = maker.matrix(shape.vocabulary, shape.width)?;
        let positions = maker.matrix(shape.context, shape.width)?;
        let blocks = (0..shape.layers).map(|_| maker.block(shape.width)).collect::<Result<_>>()?;
        let norm = maker.norm(shape.width)?;
        let length = shape.length;
        let hidden = |index: usize| if index % length > index / length { f32::NEG_INFINITY } else { 0.0 };
        let mask = Tensor::from_vec((0..length * length).map(hidden).collect(), (length, length), &Device::Cpu)?;
        Ok(Self { shape, tokens, positions, blocks, norm, mask, all: maker.all })
    }

    /// The mean loss; rows of all sequences lie in one matrix but for attention.
    fn loss(&self, tokens: &Tensor, targets: &Tensor) -> Result<Tensor> {
        let Shape { width, batch, length, .. } = self.shape;
        let embedded = self.tokens.index_select(tokens, 0)?.reshape((batch, length, width))?;
        let mut x = embedded.broadcast_add(&self.positions.narrow(0, 0, length)?)?.reshape((batch * length, width))?;
        for block in &self.blocks {
            let mixed = self.attention(&block.qkv.forward(&block.attention_norm.forward(&x)?)?)?;
            x = (x + block.out.forward(&mixed)?)?;
            let hidden = block.up.forward(&block.feed_forward_norm.forward(&x)?)?.gelu()?;
            x = (x + block.down.forward(&hidden)?)?;
        }
        let logits = self.norm.forward(&x)?.matmul(&self.tokens.t()?)?;
        loss::cross_entropy(&logits, targets)
    }

    fn attention(&self, qkv: &Tensor) -> Result<Tensor> {
        let Shape { width, heads, batch, length, .. } = self.shape;
        let qkv = qkv.reshape((batch, length, 3, heads, width / heads))?;
        let part = |index: usize| qkv.narrow(2, index, 1)?.squeeze(2)?.transpose(1, 2)?.contiguous();
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let scores = (q.matmul(&k.t()?)? / ((width / heads) as f64).sqrt())?;
        let shares = ops::softmax(&scores.broadcast_add(&self.mask)?, D::Minus1)?;
        shares.matmul(&v)?.transpose(1, 2)?.reshape((batch * length, width))
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let sizes: Vec<usize> = std::env::args().skip(1).map_while(|argument| argument.parse().ok()).collect();
    let [vocabulary, context, width, layers, heads, batch, length] = sizes[..] else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let shape = Shape { vocabulary, context, width, layers, heads, batch, length };
    let model = Gpt2::new(shape)?;
    let parameters: usize = model.all.iter().map(|tensor| tensor.elem_count()).sum();
    let mut optimiser = AdamW::new(model.all.clone(), ParamsAdamW { lr: 1e-4, ..ParamsAdamW::default() })?;
    let text: Vec<u32> = (0..=(batch * length) as u64).map(|place| (place * 7_919 + place * place * 31) as u32 % vocabulary as u32).collect();
    let tokens = Tensor::new(&text[..batch * length], &Device::Cpu)?;
    let targets = Tensor::new(&text[1..], &Device::Cpu)?;
    let mut steps = |number: usize| -> Result<(f64, f32)> {
        let start = Instant::now();
        let mut last = 0.0;
        for _ in 0..number {
            let loss = model.loss(&tokens, &targets)?;
            optimiser.backward_step(&loss)?;
            last = loss.to_dtype(DType::F32)?.to_scalar()?;
        }
        Ok((start.elapsed().as_secs_f64(), last))
    };
    steps(1)?;
    println!("{{\"parameters\":{parameters}}}");
    for line in std::io::stdin().lock().lines() {
        let (seconds, loss) = steps(line?.trim().parse()?)?;
        println!("{{\"seconds\":{seconds:.6},\"loss\":{loss:.6}}}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
