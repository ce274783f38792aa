//! `config.json`: what model the weights are of.

use serde_json::{Map, Value as Json};

use crate::error::Escaped;
use crate::model::HuggingFaceLayout;
use crate::{Architecture, Error, Metadata, PAIRING_HALVES, PAIRING_KEY, Result, TensorInfo, Value};
use kernels::RopePairing;
use kernels::quant::Format;

/// What the configuration says.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) architecture: Architecture,
    pub(super) layers: usize,
    /// Whether the embedding is the output too.
    pub(super) tied: bool,
    /// Tokens that begin and end a text, by their numbers.
    pub(super) bos: Option<u64>,
    pub(super) eos: Option<u64>,
    metadata: Metadata,
    scaling: Option<Scaling>,
}

/// How LLaMA 3 stretches its angles.
#[derive(Debug)]
struct Scaling {
    base: f64,
    dimensions: usize,
    factor: f64,
    low: f64,
    high: f64,
    context: f64,
}

/// More than any model has of anything; what is above is damaged, and would be believed by nobody.
const MOST: u64 = 1 << 32;

impl Config {
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let json: Json =
            serde_json::from_slice(bytes).map_err(|error| Error::malformed(format!("not JSON: {error}")))?;
        let json = json.as_object().ok_or_else(|| Error::malformed("not a model configuration"))?;
        let kind = json.get("model_type").and_then(Json::as_str).unwrap_or_default();
        let architecture = Architecture::from_model_type(kind).ok_or_else(|| {
            let known = Architecture::model_types().collect::<Vec<_>>().join(", ");
            Error::unsupported(format!("`model_type` {} is not supported; supported are {known}", Escaped(kind)))
        })?;
        if json.get("quantization_config").is_some_and(|quantised| !quantised.is_null()) {
            return Err(Error::unsupported(
                "weights quantised by Hugging Face tools are not supported; use the original ones",
            ));
        }
        let fields = Fields { json, prefix: architecture.name(), metadata: Metadata::default() };
        let mut config = match architecture.hugging_face().layout {
            HuggingFaceLayout::Gpt2 => gpt2(fields, architecture)?,
            HuggingFaceLayout::Llama => llama(fields, architecture)?,
        };
        let id = |key: &str| match json.get(key) {
            Some(Json::Array(several)) => several.first().and_then(Json::as_u64),
            other => other.and_then(Json::as_u64),
        };
        (config.bos, config.eos) = (id("bos_token_id"), id("eos_token_id"));
        config.metadata.set("general.architecture", Value::Text(architecture.name().to_owned()));
        Ok(config)
    }

    /// The same with the keys of GGUF.
    pub(super) fn metadata(&self) -> Metadata {
        self.metadata.clone()
    }

    /// What GGUF files of LLaMA 3 have as a tensor: by how much each angle is divided.
    pub(super) fn rope_factors(&self) -> Option<(TensorInfo, Vec<u8>)> {
        let scaling = self.scaling.as_ref()?;
        let factors =
            (0..scaling.dimensions / 2).flat_map(|pair| (scaling.factor(pair) as f32).to_le_bytes()).collect();
        let shape = vec![scaling.dimensions / 2];
        Some((TensorInfo { name: "rope_freqs.weight".to_owned(), format: Format::F32, shape }, factors))
    }
}

impl Scaling {
    /// Long waves are stretched, short ones are not, between them it is blended.
    fn factor(&self, pair: usize) -> f64 {
        let turns = self.base.powf(-2.0 * pair as f64 / self.dimensions as f64);
        let wave = 2.0 * std::f64::consts::PI / turns;
        if wave < self.context / self.high {
            1.0
        } else if wave > self.context / self.low {
            self.factor
        } else {
            let blend = (self.context / wave - self.low) / (self.high - self.low);
            1.0 / ((1.0 - blend) / self.factor + blend)
        }
    }
}

/// The fields of the configuration, and what was made of them.
struct Fields<'a> {
    json: &'a Map<String, Json>,
    prefix: &'static str,
    metadata: Metadata,
}

impl Fields<'_> {
    /// A whole number; nothing where there is none.
    fn optional(&self, field: &str) -> Result<Option<u64>> {
        match self.json.get(field) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|number| (1..MOST).contains(number)) {
                Some(number) => Ok(Some(number)),
                None => Err(Error::malformed(format!("`{field}` is {}, expected a count", shown(value)))),
            },
        }
    }

    fn needed(&self, field: &str) -> Result<u64> {
        self.optional(field)?.ok_or_else(|| Error::malformed(format!("`{field}` is missing")))
    }

    /// A number above zero.
    fn number(&self, from: &Map<String, Json>, field: &str) -> Result<Option<f64>> {
        match from.get(field) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|number| *number > 0.0 && number.is_finite()) {
                Some(number) => Ok(Some(number)),
                None => Err(Error::malformed(format!("`{field}` is {}, expected a positive number", shown(value)))),
            },
        }
    }

    fn flag(&self, field: &str, usual: bool) -> bool {
        self.json.get(field).and_then(Json::as_bool).unwrap_or(usual)
    }

    fn set(&mut self, key: &str, number: u64) {
        self.metadata.set(format!("{}.{key}", self.prefix), Value::Unsigned(number));
    }

    /// Files have f32 there.
    fn set_float(&mut self, key: &str, number: f64) {
        self.metadata.set(format!("{}.{key}", self.prefix), Value::Float((number as f32).into()));
    }

    fn activation(&self, field: &str, known: &[&str]) -> Result<()> {
        match self.json.get(field).and_then(Json::as_str) {
            None => Ok(()),
            Some(name) if known.contains(&name) => Ok(()),
            Some(name) => {
                let message = format!("`{field}` {} is not supported; supported: {}", Escaped(name), known.join(", "));
                Err(Error::unsupported(message))
            }
        }
    }
}

fn shown(value: &Json) -> String {
    Escaped(&value.to_string()).to_string()
}

fn gpt2(mut fields: Fields<'_>, architecture: Architecture) -> Result<Config> {
    fields.activation("activation_function", &["gelu_new", "gelu_pytorch_tanh", "gelu_fast"])?;
    let (dim, heads, layers) = (fields.needed("n_embd")?, fields.needed("n_head")?, fields.needed("n_layer")?);
    divided(dim, heads)?;
    let context = match fields.optional("n_positions")? {
        Some(context) => context,
        None => fields.needed("n_ctx")?,
    };
    fields.set("context_length", context);
    fields.set("embedding_length", dim);
    fields.set("block_count", layers);
    fields.set("feed_forward_length", fields.optional("n_inner")?.unwrap_or(4 * dim));
    fields.set("attention.head_count", heads);
    let epsilon = fields.number(fields.json, "layer_norm_epsilon")?.unwrap_or(1e-5);
    fields.set_float("attention.layer_norm_epsilon", epsilon);
    if let Some(vocabulary) = fields.optional("vocab_size")? {
        fields.set("vocab_size", vocabulary);
    }
    let tied = fields.flag("tie_word_embeddings", architecture.features().tied_head);
    finished(fields, architecture, layers, tied, None)
}

fn llama(mut fields: Fields<'_>, architecture: Architecture) -> Result<Config> {
    fields.activation("hidden_act", &["silu"])?;
    let (dim, heads) = (fields.needed("hidden_size")?, fields.needed("num_attention_heads")?);
    let layers = fields.needed("num_hidden_layers")?;
    let head = match fields.optional("head_dim")? {
        Some(head) => head,
        None => divided(dim, heads)?,
    };
    fields.set("context_length", fields.needed("max_position_embeddings")?);
    fields.set("embedding_length", dim);
    fields.set("block_count", layers);
    fields.set("feed_forward_length", fields.needed("intermediate_size")?);
    fields.set("attention.head_count", heads);
    let kv_heads = fields.optional("num_key_value_heads")?.unwrap_or(heads);
    fields.set("attention.head_count_kv", kv_heads);
    if Some(head) != dim.checked_div(heads) {
        fields.set("attention.key_length", head);
        fields.set("attention.value_length", head);
    }
    fields.set("rope.dimension_count", head);
    let epsilon = fields.number(fields.json, "rms_norm_eps")?.unwrap_or(1e-6);
    fields.set_float("attention.layer_norm_rms_epsilon", epsilon);
    if let Some(vocabulary) = fields.optional("vocab_size")? {
        fields.set("vocab_size", vocabulary);
    }
    if architecture.features().rope_pairing() != Some(RopePairing::Halves) {
        fields.metadata.set(PAIRING_KEY, Value::Text(PAIRING_HALVES.to_owned()));
    }
    if let Some(window) = fields
        .optional("sliding_window")?
        .filter(|_| fields.flag("use_sliding_window", architecture.hugging_face().window_by_default))
    {
        fields.set("attention.sliding_window", window);
    }
    let scaling = rope(&mut fields, head)?;
    let tied = fields.flag("tie_word_embeddings", architecture.features().tied_head);
    finished(fields, architecture, layers, tied, scaling)
}

fn divided(dim: u64, heads: u64) -> Result<u64> {
    let even = dim.is_multiple_of(heads);
    even.then_some(dim / heads).ok_or_else(|| Error::malformed(format!("{dim} is not divisible by {heads} heads")))
}

/// The angles of the positions: their base, and how they are stretched.
fn rope(fields: &mut Fields<'_>, head: u64) -> Result<Option<Scaling>> {
    let empty = Map::new();
    let within = ["rope_parameters", "rope_scaling"].iter().find_map(|field| fields.json.get(*field)?.as_object());
    let within = within.unwrap_or(&empty);
    let base = fields.number(within, "rope_theta")?.or(fields.number(fields.json, "rope_theta")?).unwrap_or(10_000.0);
    fields.set_float("rope.freq_base", base);
    let kind = ["rope_type", "type"].iter().find_map(|field| within.get(*field)?.as_str()).unwrap_or("default");
    let needed = |fields: &Fields<'_>, field: &str| {
        let number = fields.number(within, field)?;
        number.ok_or_else(|| Error::malformed(format!("`{field}` of the RoPE scaling is missing")))
    };
    match kind {
        "default" => Ok(None),
        "linear" => {
            let factor = needed(fields, "factor")?;
            fields.metadata.set(format!("{}.rope.scaling.type", fields.prefix), Value::Text("linear".to_owned()));
            fields.set_float("rope.scaling.factor", factor);
            Ok(None)
        }
        "llama3" => Ok(Some(Scaling {
            base,
            // Bounded, because a tensor of that length is made.
            dimensions: usize::try_from(head.min(1 << 16)).unwrap_or(0),
            factor: needed(fields, "factor")?,
            low: needed(fields, "low_freq_factor")?,
            high: needed(fields, "high_freq_factor")?,
            context: needed(fields, "original_max_position_embeddings")?,
        })),
        _ => Err(Error::unsupported(format!(
            "RoPE scaling `{}` is not supported; supported are linear and llama3",
            Escaped(kind)
        ))),
    }
}

fn finished(
    fields: Fields<'_>,
    architecture: Architecture,
    layers: u64,
    tied: bool,
    scaling: Option<Scaling>,
) -> Result<Config> {
    let layers = usize::try_from(layers).map_err(|_| Error::malformed("too many layers"))?;
    Ok(Config { architecture, layers, tied, bos: None, eos: None, metadata: fields.metadata, scaling })
}
