//! The numbers of a model, in the layouts that the kernels read.

use std::collections::BTreeMap;

use kernels::quant::{Format, GROUP, PackedWeights};
use kernels::{HugePageArena, LinearWeights, PackedMatrix, WeightRows, WeightsInFile};

use super::Config;
use super::architecture::NormKind;
use super::tensors::{self, FUSED_QKV, QK_NORMS, Role, SPLIT_QKV, TensorSpec, layer_part};
use crate::{Compute, Error, KeptBytes, Result, Tensor, TensorInfo, TensorSource, check_finite, memory};

/// All weights of a model.
#[derive(Debug)]
pub struct Weights {
    /// A row per token.
    pub(crate) embedding: Embedding,
    /// A row per position, where positions are learned.
    pub(crate) positions: Option<Vec<f32>>,
    pub(crate) layers: Vec<LayerWeights>,
    pub(crate) final_norm: Norm,
    pub(crate) head: LinearLayer,
    /// What the frequencies of the positions are divided by, where the model brings that.
    pub(crate) rope_factors: Option<Vec<f32>>,
}

/// How weights are read.
#[derive(Default)]
pub struct LoadOptions<'a> {
    /// Uses matrices as they lie in the file. The model is there at once and takes no memory of its
    /// own, and every pass is slower; numbers that are not finite are not looked for.
    pub in_place: bool,
    /// Makes f32 of quantised weights: products are exact then, up to the rounding of f32, and take
    /// four to eight times the memory. Without, activations are rounded to bytes where weights are
    /// quantised.
    pub exact: bool,
    /// Is told how many bytes were read, and of how many.
    pub progress: Option<&'a mut dyn FnMut(usize, usize)>,
}

impl std::fmt::Debug for LoadOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadOptions").field("in_place", &self.in_place).finish_non_exhaustive()
    }
}

/// What looks up rows: they stay in the form of the file.
#[derive(Debug)]
pub(crate) struct Embedding {
    pub format: Format,
    pub row_bytes: usize,
    pub rows: KeptBytes,
}

/// The weights of one layer.
#[derive(Debug)]
pub(crate) struct LayerWeights {
    pub attention_norm: Norm,
    /// Queries, keys and values, in one matrix or in three: outputs lie in this order either way.
    pub qkv: Vec<LinearLayer>,
    /// The norms of the heads of queries and of keys, where the architecture has them.
    pub qk_norm: Option<[Norm; 2]>,
    pub attention_out: LinearLayer,
    pub ffn_norm: Norm,
    /// Where the network has a gate.
    pub gate: Option<LinearLayer>,
    pub up: LinearLayer,
    pub down: LinearLayer,
}

/// The parameters of a norm.
#[derive(Debug)]
pub(crate) enum Norm {
    Layer { weight: Vec<f32>, bias: Vec<f32> },
    Rms { weight: Vec<f32> },
}

/// A matrix and its bias.
///
/// What a scope declares lies in the cache line where the kernel finds its weights a moment later:
/// a line of its own would come from far, and no kernel would need it.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct LinearLayer {
    /// Counted once: every pass declares it.
    pub work: LinearWork,
    weights: Packed,
    pub bias: Option<Vec<f32>>,
}

/// What it takes to multiply rows with a matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearWork {
    /// Floating-point operations of a row.
    pub flops: usize,
    /// Bytes of the weights.
    pub weight_bytes: usize,
    /// Bytes of a row, there and back.
    pub row_bytes: usize,
}

#[derive(Debug)]
enum Packed {
    InFile { format: Format, inputs: usize, rows: KeptBytes },
    Quantised(PackedWeights),
    Floats(PackedMatrix),
}

impl LinearLayer {
    fn new(weights: Packed, bias: Option<Vec<f32>>) -> Self {
        let mut layer = Self { weights, bias, work: LinearWork { flops: 0, weight_bytes: 0, row_bytes: 0 } };
        let weights = layer.weights();
        let (inputs, outputs, weight_bytes) = (weights.inputs(), weights.outputs(), weights.bytes());
        layer.work = LinearWork { flops: 2 * inputs * outputs, weight_bytes, row_bytes: 4 * (inputs + outputs) };
        layer
    }

    pub(crate) fn weights(&self) -> LinearWeights<'_> {
        match &self.weights {
            Packed::InFile { format, inputs, rows } => LinearWeights::Rows(WeightsInFile::new(*format, *inputs, rows)),
            Packed::Quantised(weights) => LinearWeights::Quantised(weights),
            Packed::Floats(weights) => LinearWeights::Floats(weights),
        }
    }

    /// Whether it multiplies activations in bytes.
    pub(crate) fn is_quantised(&self) -> bool {
        self.weights().take_bytes()
    }

    fn bytes(&self) -> usize {
        self.weights().bytes() + 4 * self.bias.as_ref().map_or(0, Vec::len)
    }

    fn parameters(&self) -> usize {
        self.weights().inputs() * self.weights().outputs() + self.bias.as_ref().map_or(0, Vec::len)
    }
}

impl Norm {
    fn len(&self) -> usize {
        match self {
            Self::Layer { weight, bias } => weight.len() + bias.len(),
            Self::Rms { weight } => weight.len(),
        }
    }
}

impl LayerWeights {
    /// All matrices of the layer.
    pub(crate) fn matrices(&self) -> impl Iterator<Item = &LinearLayer> {
        self.qkv.iter().chain([&self.attention_out]).chain(&self.gate).chain([&self.up, &self.down])
    }
}

impl Weights {
    /// Reads all tensors of a model, and packs them on the threads of `compute`.
    pub fn load(
        config: &Config,
        source: &dyn TensorSource,
        compute: &Compute,
        options: &mut LoadOptions<'_>,
    ) -> Result<Self> {
        let wanted = Loader::wanted(config, source)?;
        let mut loader =
            Loader { config, source, compute, options, wanted, arena: HugePageArena::new(0), done: 0, total: 0 };
        loader.refuse_unread()?;
        loader.total = loader.total_bytes()?;
        // What is in no file has to be in memory, wherever it is used.
        let in_file = source.file().is_some();
        if !(loader.options.in_place && in_file) {
            let advice = "choose a smaller model or a smaller quantisation";
            let advice =
                if in_file { format!("{advice}, or leave the weights in the file") } else { advice.to_owned() };
            let bytes = loader.packed_bytes()?;
            memory::check(bytes, "the weights", &advice)?;
            loader.arena = HugePageArena::new(bytes.saturating_add(bytes / FILLING));
        }
        loader.whole()
    }

    /// The memory that the matrices take that every token is multiplied with, the head's among them.
    pub fn bytes_per_token(&self) -> usize {
        self.layers.iter().flat_map(LayerWeights::matrices).chain([&self.head]).map(LinearLayer::bytes).sum()
    }

    /// All memory that the weights take, without what stays in the file.
    pub fn bytes(&self) -> usize {
        let norms = |layer: &LayerWeights| {
            let of_heads = layer.qk_norm.iter().flatten();
            of_heads.chain([&layer.attention_norm, &layer.ffn_norm]).map(Norm::len).sum::<usize>()
        };
        let norms = self.layers.iter().map(norms).sum::<usize>() + self.final_norm.len();
        self.bytes_per_token() + 4 * (norms + self.positions.as_ref().map_or(0, Vec::len))
    }

    /// The bytes of the table that tokens are looked up in, wherever it lies.
    pub fn embedding_bytes(&self) -> usize {
        self.embedding.rows.len()
    }

    /// How many numbers a token is multiplied with: what its floating-point operations are counted by.
    pub fn active_parameters(&self) -> usize {
        self.layers.iter().flat_map(LayerWeights::matrices).chain([&self.head]).map(LinearLayer::parameters).sum()
    }
}

/// Packed matrices are filled up to whole groups: room for so much more of what they take in the file, a sixteenth.
const FILLING: usize = 16;

/// A row per position.
const POSITIONS: &str = "position_embd.weight";
/// What the frequencies of rotary positions are divided by.
const ROPE_FACTORS: &str = "rope_freqs.weight";

struct Loader<'a, 'b> {
    config: &'a Config,
    source: &'a dyn TensorSource,
    compute: &'a Compute,
    options: &'a mut LoadOptions<'b>,
    /// The shapes of the tensors that are read, by name.
    wanted: BTreeMap<String, Vec<usize>>,
    /// Where packed matrices lie, in the order in which a token meets them.
    arena: HugePageArena,
    done: usize,
    total: usize,
}

impl<'a> Loader<'a, '_> {
    /// The tensors that are read, by name: the model's own, and those that files have in another form.
    fn wanted(config: &Config, source: &dyn TensorSource) -> Result<BTreeMap<String, Vec<usize>>> {
        let has = |name: String| Ok::<_, Error>(source.info(&name)?.is_some());
        // A model without a head of its own uses the embedding.
        let tied = !has("output.weight".to_owned())?;
        let mut all = tensors::before_layers(config);
        for layer in 0..config.layers {
            let [fused, split] =
                [FUSED_QKV, SPLIT_QKV[0]].map(|part| has(format!("{}.weight", layer_part(layer, part))));
            let (fused, split) = (fused?, split?);
            // Where neither is there, the error names the one that is missing, not the biases that are left.
            if !split && !fused {
                all.extend(tensors::layer_tensors(config, layer, true));
            }
            all.extend(tensors::layer_tensors(config, layer, fused));
        }
        all.extend(tensors::behind_layers(config, tied));
        let mut wanted = BTreeMap::new();
        for TensorSpec { name, shape, role, .. } in all {
            // Any matrix may have a bias, whether the architecture's usual models have it or not.
            // The embedding has none of its own: as a head it may.
            if matches!(role, Role::Matrix | Role::Residual)
                && (tied || name != "token_embd.weight")
                && let (Some(matrix), Some(outputs)) = (name.strip_suffix(".weight"), shape.last())
            {
                wanted.insert(format!("{matrix}.bias"), vec![*outputs]);
            }
            wanted.insert(name, shape);
        }
        if let Some(rope) = &config.rope {
            wanted.insert(ROPE_FACTORS.to_owned(), vec![rope.dims / 2]);
        }
        Ok(wanted)
    }

    /// A model without one of its tensors would compute something else: every tensor is read, or the file is refused.
    fn refuse_unread(&self) -> Result<()> {
        let unread = self.source.names().into_iter().find(|name| !self.wanted.contains_key(*name));
        unread.map_or(Ok(()), |name| {
            let (family, layers) = (self.config.architecture.name(), self.config.layers);
            Err(Error::unsupported(format!(
                "tensor {name}: not expected in a {family} model of {layers} layers, and ignoring it would change the results"
            )))
        })
    }

    fn total_bytes(&self) -> Result<usize> {
        let mut total = 0usize;
        for name in self.source.names() {
            if let Some(info) = self.source.info(name)? {
                total = total.saturating_add(info.bytes().map_err(|error| error.about(info.shown()))?);
            }
        }
        Ok(total)
    }

    /// What the weights take once they are packed.
    fn packed_bytes(&self) -> Result<usize> {
        if !self.options.exact {
            return Ok(self.total);
        }
        let mut total = 0usize;
        for name in self.source.names() {
            let values = |info: TensorInfo| info.shape.iter().fold(4usize, |bytes, len| bytes.saturating_mul(*len));
            total = total.saturating_add(self.source.info(name)?.map_or(0, values));
        }
        Ok(total)
    }

    fn whole(&mut self) -> Result<Weights> {
        let tied = !self.has("output.weight")?;
        // The head before all else: while it is packed, its bytes are in memory twice, and little else is yet.
        let head = self.matrix(if tied { "token_embd" } else { "output" })?;
        let embedding = self.embedding(tied)?;
        let positions = self.optional(POSITIONS, |loader| loader.floats(POSITIONS))?;
        let layers = (0..self.config.layers).map(|layer| self.layer(layer)).collect::<Result<_>>()?;
        let final_norm = self.norm("output_norm")?;
        let rope_factors = if self.has(ROPE_FACTORS)? { Some(self.rope_factors()?) } else { None };
        Ok(Weights { embedding, positions, layers, final_norm, head, rope_factors })
    }

    fn rope_factors(&mut self) -> Result<Vec<f32>> {
        let factors = self.floats(ROPE_FACTORS)?;
        if factors.iter().any(|factor| *factor <= 0.0) {
            return Err(Error::malformed(format!("tensor {ROPE_FACTORS}: a factor is zero or negative")));
        }
        Ok(factors)
    }

    /// The embedding. Its numbers have been checked already where it is the head too.
    fn embedding(&mut self, tied: bool) -> Result<Embedding> {
        let name = "token_embd.weight";
        let tensor = self.tensor(name)?;
        if !self.options.in_place && !tied {
            check_finite(&tensor)?;
            self.source.release(name);
        }
        let (format, row_bytes) = (tensor.format, tensor.data.len() / self.config.vocab);
        let rows = self.source.keep(name)?.ok_or_else(|| missing(name))?;
        Ok(Embedding { format, row_bytes, rows })
    }

    fn layer(&mut self, layer: usize) -> Result<LayerWeights> {
        let name = |part: &str| layer_part(layer, part);
        let fused = self.has(&name("attn_qkv.weight"))?;
        let qkv: &[&str] = if fused { &[FUSED_QKV] } else { &SPLIT_QKV };
        let gate = name("ffn_gate");
        Ok(LayerWeights {
            attention_norm: self.norm(&name("attn_norm"))?,
            qkv: qkv.iter().map(|part| self.matrix(&name(part))).collect::<Result<_>>()?,
            qk_norm: self.qk_norm(layer)?,
            attention_out: self.matrix(&name("attn_output"))?,
            ffn_norm: self.norm(&name("ffn_norm"))?,
            gate: self.optional(&format!("{gate}.weight"), |loader| loader.matrix(&gate))?,
            up: self.matrix(&name("ffn_up"))?,
            down: self.matrix(&name("ffn_down"))?,
        })
    }

    /// What is read where the model is to have such a tensor.
    fn optional<T>(&mut self, name: &str, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.wanted.contains_key(name) { read(self).map(Some) } else { Ok(None) }
    }

    fn qk_norm(&mut self, layer: usize) -> Result<Option<[Norm; 2]>> {
        let [queries, keys] = QK_NORMS.map(|part| layer_part(layer, part));
        let first = format!("{queries}.weight");
        self.optional(&first, |loader| Ok([loader.norm(&queries)?, loader.norm(&keys)?]))
    }

    fn norm(&mut self, name: &str) -> Result<Norm> {
        let weight = self.floats(&format!("{name}.weight"))?;
        Ok(match self.config.features().norm {
            NormKind::LayerNorm => Norm::Layer { weight, bias: self.floats(&format!("{name}.bias"))? },
            NormKind::RmsNorm => Norm::Rms { weight },
        })
    }

    /// A matrix, and its bias where there is one.
    fn matrix(&mut self, name: &str) -> Result<LinearLayer> {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let tensor = self.tensor(&weight)?;
        let [inputs, outputs] = tensor.shape[..] else { return Err(missing(&weight)) };
        let weights = if self.options.in_place {
            let rows = self.source.keep(&weight)?.ok_or_else(|| missing(&weight))?;
            Packed::InFile { format: tensor.format, inputs, rows }
        } else {
            check_finite(&tensor)?;
            let packed = self.pack(&tensor, [inputs, outputs]);
            drop(tensor);
            self.source.release(&weight);
            packed
        };
        let bias = if self.has(&bias)? { Some(self.floats(&bias)?) } else { None };
        Ok(LinearLayer::new(weights, bias))
    }

    fn pack(&mut self, tensor: &Tensor<'_>, [inputs, outputs]: [usize; 2]) -> Packed {
        let (pool, arena) = (&self.compute.pool, &mut self.arena);
        if !PackedWeights::supports(tensor.format) {
            return Packed::Floats(PackedMatrix::from_file(pool, arena, tensor.format, inputs, &tensor.data));
        }
        if self.options.exact {
            let mut values = vec![0.0; inputs * outputs];
            self.compute.kernels.dequantise(tensor.format, &tensor.data, &mut values);
            return Packed::Floats(PackedMatrix::from_rows(WeightRows::F32(&values), inputs));
        }
        let mut packed = PackedWeights::zeroed_in(arena, tensor.format, outputs, inputs);
        let rows = tensor.data.chunks(GROUP * packed.row_bytes());
        let mut groups: Vec<_> = packed.groups_mut().zip(rows).map(Some).collect();
        pool.run_each(&mut groups, |group| {
            if let Some((group, rows)) = group.take() {
                group.pack(rows);
            }
        });
        drop(groups);
        Packed::Quantised(packed)
    }

    /// A tensor of few numbers, as f32.
    fn floats(&mut self, name: &str) -> Result<Vec<f32>> {
        let tensor = self.tensor(name)?;
        let mut values = vec![0.0; tensor.shape.iter().product()];
        self.compute.kernels.dequantise(tensor.format, &tensor.data, &mut values);
        if self.compute.kernels.has_non_finite(&values) {
            return Err(Error::malformed(format!("tensor {name}: contains NaN or infinity")));
        }
        if !self.options.in_place {
            self.source.release(name);
        }
        Ok(values)
    }

    fn has(&self, name: &str) -> Result<bool> {
        Ok(self.source.info(name)?.is_some())
    }

    fn tensor(&mut self, name: &str) -> Result<Tensor<'a>> {
        let tensor = self.source.tensor(name)?.ok_or_else(|| missing(name))?;
        let wanted = self.wanted.get(name).ok_or_else(|| missing(name))?;
        if tensor.shape != *wanted {
            let found = &tensor.shape;
            return Err(Error::malformed(format!("tensor {name}: the shape is {found:?}, expected {wanted:?}")));
        }
        let info = TensorInfo { name: name.to_owned(), format: tensor.format, shape: tensor.shape.clone() };
        let (found, wanted) = (tensor.data.len(), info.bytes().map_err(|error| error.about(info.shown()))?);
        if found != wanted {
            return Err(Error::malformed(format!("tensor {name}: {found} bytes; its shape needs {wanted}")));
        }
        self.done += found;
        if let Some(progress) = &mut self.options.progress {
            progress(self.done, self.total);
        }
        Ok(tensor)
    }
}

fn missing(name: &str) -> Error {
    Error::malformed(format!("the tensor {name} is missing"))
}
