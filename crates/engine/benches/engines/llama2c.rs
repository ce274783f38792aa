//! Models in the two formats of llama2.c: its first, in f32, and its second, in bytes with a scale per group.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use engine::{Error, SyntheticSource, Tensor, TensorSource};
use kernels::quant::{Format, f16_to_f32};

use crate::models::Row;

/// Positions that the program takes memory for; the benchmark uses fewer.
const POSITIONS: usize = 512;
/// What a file of the second format begins with, and how long its header is.
const MAGIC: u32 = 0x616b_3432;
const HEADER: usize = 256;
/// Weights that share a scale: the same as in q8_0.
const GROUP: usize = 32;

/// Writes the model of that row, if its weights are f32 or q8_0. Others it knows not.
pub fn write(row: &Row, target: &Path) -> engine::Result<()> {
    let part = target.with_extension("part");
    let io = |error: std::io::Error| Error::io(&part, &error);
    let out = BufWriter::new(File::create(&part).map_err(io)?);
    let source = SyntheticSource::new(row.synthetic());
    let mut file = Output { out, source, layers: row.shape.layers, path: &part };
    match row.format {
        Format::F32 => file.first_format(row)?,
        _ => file.second_format(row)?,
    }
    file.out.into_inner().map_err(|error| io(error.into_error()))?.sync_all().map_err(io)?;
    std::fs::rename(&part, target).map_err(io)
}

struct Output<'a> {
    out: BufWriter<File>,
    source: SyntheticSource,
    layers: usize,
    path: &'a Path,
}

impl Output<'_> {
    fn first_format(&mut self, row: &Row) -> engine::Result<()> {
        self.bytes(&sizes(row))?;
        self.tensor("token_embd.weight")?;
        let parts = ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm"];
        for part in parts.into_iter().chain(["ffn_gate", "ffn_down", "ffn_up"]) {
            self.of_all_layers(part)?;
        }
        self.tensor("output_norm.weight")?;
        // Cosines and sines, which the program skips.
        self.bytes(&vec![0; 4 * POSITIONS * row.shape.head_dim()])
    }

    fn second_format(&mut self, row: &Row) -> engine::Result<()> {
        let mut header = [MAGIC, 2].map(u32::to_le_bytes).concat();
        header.extend(sizes(row));
        // The head is the table of embeddings.
        header.push(1);
        header.extend((GROUP as u32).to_le_bytes());
        header.resize(HEADER, 0);
        self.bytes(&header)?;
        for part in ["attn_norm", "ffn_norm"] {
            self.of_all_layers(part)?;
        }
        self.tensor("output_norm.weight")?;
        self.tensor("token_embd.weight")?;
        for part in ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_down", "ffn_up"] {
            self.of_all_layers(part)?;
        }
        Ok(())
    }

    fn of_all_layers(&mut self, part: &str) -> engine::Result<()> {
        (0..self.layers).try_for_each(|layer| self.tensor(&format!("blk.{layer}.{part}.weight")))
    }

    fn tensor(&mut self, name: &str) -> engine::Result<()> {
        let missing = || Error::refused(format!("the model has no tensor {name}"));
        let bytes = in_its_form(&self.source.tensor(name)?.ok_or_else(missing)?);
        self.bytes(&bytes)
    }

    fn bytes(&mut self, bytes: &[u8]) -> engine::Result<()> {
        self.out.write_all(bytes).map_err(|error| Error::io(self.path, &error))
    }
}

/// f32 stay as they are; blocks become all their codes, then all their scales.
fn in_its_form(tensor: &Tensor<'_>) -> Vec<u8> {
    if tensor.format != Format::Q8_0 {
        return tensor.data.to_vec();
    }
    let blocks = || tensor.data.chunks_exact(2 + GROUP);
    let mut bytes: Vec<u8> = blocks().flat_map(|block| &block[2..]).copied().collect();
    bytes.extend(blocks().flat_map(|block| f16_to_f32(u16::from_le_bytes([block[0], block[1]])).to_le_bytes()));
    bytes
}

fn sizes(row: &Row) -> Vec<u8> {
    let shape = &row.shape;
    let all = [shape.dim, shape.ffn, shape.layers, shape.heads, shape.kv_heads, shape.vocabulary, POSITIONS];
    all.iter().flat_map(|size| (*size as u32).to_le_bytes()).collect()
}
