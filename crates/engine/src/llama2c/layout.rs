//! What stands where in a checkpoint.

use std::borrow::Cow;
use std::ops::Range;

use kernels::quant::Format;

use crate::{Error, Metadata, Result, TensorInfo, Value};

/// "ak42", the other way round in the bytes of the file.
const MAGIC: [u8; 4] = 0x616b_3432u32.to_le_bytes();
/// What versions 1 and 2 keep for their headers.
const HEADER_BYTES: u64 = 256;
/// The seven numbers, in their order.
const FIELDS: [&str; 7] =
    ["dimension", "hidden dimension", "layers", "heads", "key and value heads", "vocabulary", "context"];
const VOCABULARY: usize = 5;
/// The context is in no other size of the file, so that nothing else would notice a damaged one.
const MAX_CONTEXT: usize = 1 << 22;

/// Whether a file begins as versions 1 and 2 do.
pub(super) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// What a checkpoint says of its model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    version: u32,
    dim: usize,
    hidden: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    vocabulary: usize,
    context: usize,
    /// Whether the output has weights of its own.
    own_output: bool,
    /// Bytes that share a scale, in version 2.
    group: usize,
}

/// Where the weights of a tensor are.
#[derive(Debug)]
pub(super) enum Weights {
    /// As f32.
    Plain(Range<usize>),
    /// A byte each, and after them a scale for each group.
    Groups { codes: Range<usize>, scales: Range<usize>, group: usize },
}

/// Matrices and norms of a model: name, length of a row, rows; nothing for those that are there once per layer.
struct TensorGroup {
    name: &'static str,
    per_layer: bool,
    shape: (usize, usize),
}

impl Header {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let number = |at: usize| {
            let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
            four.map(i32::from_le_bytes)
                .ok_or_else(|| Error::malformed(format!("at byte {at}: truncated header of a llama2.c checkpoint")))
        };
        let version = if has_magic(bytes) { number(4)? } else { 0 };
        if !(0..=2).contains(&version) || (has_magic(bytes) && version == 0) {
            return Err(Error::unsupported(format!(
                "llama2.c checkpoints of version {version} are not supported; supported are 0, 1, 2"
            )));
        }
        let start = if version == 0 { 0 } else { 8 };
        let mut fields = [0; FIELDS.len()];
        for (place, field) in fields.iter_mut().enumerate() {
            let value = number(start + 4 * place)?;
            let signed = version == 0 && place == VOCABULARY;
            let size = if signed { i32::try_from(value.unsigned_abs()).unwrap_or(0) } else { value };
            *field = usize::try_from(size).ok().filter(|size| *size > 0).ok_or_else(|| {
                Error::malformed(format!(
                    "at byte {}: {value} is not valid for the {}",
                    start + 4 * place,
                    FIELDS[place]
                ))
            })?;
        }
        let own_output = if version == 0 { number(4 * VOCABULARY)? < 0 } else { bytes.get(36) == Some(&0) };
        let group = if version == 2 { usize::try_from(number(37)?).unwrap_or(0) } else { 1 };
        let [dim, hidden, layers, heads, kv_heads, vocabulary, context] = fields;
        let header = Self {
            version: version.unsigned_abs(),
            dim,
            hidden,
            layers,
            heads,
            kv_heads,
            vocabulary,
            context,
            own_output,
            group,
        };
        header.check()?;
        Ok(header)
    }

    fn check(&self) -> Result<()> {
        let Self { dim, heads, kv_heads, group, .. } = *self;
        let wrong = |what: String| Err(Error::malformed(what));
        if !dim.is_multiple_of(heads) || !(dim / heads).is_multiple_of(2) {
            return wrong(format!("a dimension of {dim} cannot be split into {heads} heads of even length"));
        }
        if !heads.is_multiple_of(kv_heads) {
            return wrong(format!("{heads} heads are not divisible by {kv_heads} key/value heads"));
        }
        if self.context > MAX_CONTEXT {
            return wrong(format!("a context of {} exceeds any model", self.context));
        }
        if group == 0 || !dim.is_multiple_of(group) {
            return wrong(format!("a dimension of {dim} cannot be split into groups of {group}"));
        }
        Ok(())
    }

    /// Whether a model could have these sizes; without a magic number there is no other sign.
    pub(super) fn is_plausible(&self) -> bool {
        self.dim <= 1 << 16
            && self.hidden <= 1 << 18
            && self.layers <= 1 << 10
            && self.vocabulary <= 1 << 22
            && self.hidden >= self.dim / 4
    }

    /// All parts in the order of the file.
    fn parts(&self) -> Vec<TensorGroup> {
        let Self { dim, hidden, vocabulary, .. } = *self;
        let kv = dim / self.heads * self.kv_heads;
        let once = |name, shape| TensorGroup { name, per_layer: false, shape };
        let each = |name, shape| TensorGroup { name, per_layer: true, shape };
        let embedding = once("token_embd", (dim, vocabulary));
        let attention_norm = each("attn_norm", (dim, 1));
        let attention = [
            each("attn_q", (dim, dim)),
            each("attn_k", (dim, kv)),
            each("attn_v", (dim, kv)),
            each("attn_output", (dim, dim)),
        ];
        let ffn_norm = each("ffn_norm", (dim, 1));
        let ffn = [each("ffn_gate", (dim, hidden)), each("ffn_down", (hidden, dim)), each("ffn_up", (dim, hidden))];
        let norm = once("output_norm", (dim, 1));
        let mut parts = Vec::new();
        if self.version == 0 {
            parts.extend([embedding, attention_norm]);
            parts.extend(attention);
            parts.push(ffn_norm);
            parts.extend(ffn);
            // Angles of the positions, which nobody reads any more.
            parts.extend([norm, once("", (self.context, dim / self.heads))]);
        } else {
            parts.extend([attention_norm, ffn_norm, norm, embedding]);
            parts.extend(attention);
            parts.extend(ffn);
        }
        if self.own_output {
            parts.push(once("output", (dim, vocabulary)));
        }
        parts
    }

    fn is_grouped(&self, part: &TensorGroup) -> bool {
        self.version == 2 && !part.name.ends_with("norm")
    }

    /// The bytes of one tensor.
    fn part_bytes(&self, part: &TensorGroup) -> Option<u64> {
        let weights = (part.shape.0 as u64).checked_mul(part.shape.1 as u64)?;
        if self.is_grouped(part) {
            let groups = weights.is_multiple_of(self.group as u64).then(|| weights / self.group as u64)?;
            weights.checked_add(groups.checked_mul(4)?)
        } else {
            weights.checked_mul(4)
        }
    }

    fn start(&self) -> u64 {
        if self.version == 0 { 4 * FIELDS.len() as u64 } else { HEADER_BYTES }
    }

    /// How many bytes such a file has.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.parts().iter().try_fold(self.start(), |sum, part| {
            let times = if part.per_layer { self.layers as u64 } else { 1 };
            sum.checked_add(self.part_bytes(part)?.checked_mul(times)?)
        })
    }

    /// Every tensor and its place, where the file has the length that follows from its header.
    pub(super) fn tensors(&self, length: usize) -> Result<Vec<(TensorInfo, Weights)>> {
        let expected = self.bytes();
        if expected != Some(length as u64) {
            let wanted = expected.map_or("more than any file".to_owned(), |bytes| bytes.to_string());
            let message =
                format!("the header of this llama2.c checkpoint implies {wanted} bytes, but the file has {length}");
            return Err(Error::malformed(message + "; it is truncated, or the header is damaged"));
        }
        let mut at = self.start() as usize;
        let mut tensors = Vec::new();
        for part in self.parts() {
            for layer in 0..if part.per_layer { self.layers } else { 1 } {
                let bytes = self.part_bytes(&part).unwrap_or(0) as usize;
                if !part.name.is_empty() {
                    tensors.push((part.info(layer), self.weights(&part, at, bytes)));
                }
                at += bytes;
            }
        }
        Ok(tensors)
    }

    fn weights(&self, part: &TensorGroup, at: usize, bytes: usize) -> Weights {
        if self.is_grouped(part) {
            let codes = at..at + part.shape.0 * part.shape.1;
            Weights::Groups { scales: codes.end..at + bytes, codes, group: self.group }
        } else {
            Weights::Plain(at..at + bytes)
        }
    }

    /// The same with the keys of GGUF.
    pub(super) fn metadata(&self) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.set("general.architecture", Value::Text("llama".to_owned()));
        metadata.set("general.file_type", Value::Unsigned(0));
        for (key, number) in [
            ("llama.vocab_size", self.vocabulary),
            ("llama.context_length", self.context),
            ("llama.embedding_length", self.dim),
            ("llama.block_count", self.layers),
            ("llama.feed_forward_length", self.hidden),
            ("llama.attention.head_count", self.heads),
            ("llama.attention.head_count_kv", self.kv_heads),
            ("llama.rope.dimension_count", self.dim / self.heads),
        ] {
            metadata.set(key, Value::Unsigned(number as u64));
        }
        metadata.set("llama.rope.freq_base", Value::Float(10_000.0));
        metadata.set("llama.attention.layer_norm_rms_epsilon", Value::Float(1e-5f32.into()));
        metadata
    }
}

impl TensorGroup {
    fn info(&self, layer: usize) -> TensorInfo {
        let name =
            if self.per_layer { format!("blk.{layer}.{}.weight", self.name) } else { format!("{}.weight", self.name) };
        let (cols, rows) = self.shape;
        let shape = if self.name.ends_with("norm") { vec![cols] } else { vec![cols, rows] };
        TensorInfo { name, format: Format::F32, shape }
    }
}

impl Weights {
    pub(super) fn range(&self) -> Range<usize> {
        match self {
            Self::Plain(range) => range.clone(),
            Self::Groups { codes, scales, .. } => codes.start..scales.end,
        }
    }

    /// As f32.
    pub(super) fn read<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Self::Groups { codes, scales, group } = self else {
            return Cow::Borrowed(&bytes[self.range()]);
        };
        let mut weights = Vec::with_capacity(codes.len() * 4);
        let scales = bytes[scales.clone()].as_chunks::<4>().0;
        for (codes, scale) in bytes[codes.clone()].chunks_exact(*group).zip(scales) {
            let scale = f32::from_le_bytes(*scale);
            weights.extend(codes.iter().flat_map(|code| (f32::from(code.cast_signed()) * scale).to_le_bytes()));
        }
        Cow::Owned(weights)
    }
}
