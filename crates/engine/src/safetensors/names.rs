//! The tensor names of Hugging Face as those of GGUF.

use super::config::Config;
use crate::model::HuggingFaceLayout;
use crate::{Error, Result};

/// What a tensor is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TensorMapping {
    /// A tensor that the model does not need.
    Unused,
    /// A tensor of this name.
    Plain(String),
    /// A matrix of this name whose rows are columns here.
    Transposed(String),
}

/// Parts outside of the layers: what follows `model.`, and the name in GGUF. The endings `weight` and `bias` are kept.
const LLAMA: &[(&str, &str)] = &[("embed_tokens", "token_embd"), ("norm", "output_norm"), ("lm_head", "output")];
const LLAMA_LAYER: &[(&str, &str)] = &[
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("self_attn.o_proj", "attn_output"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];
const GPT2: &[(&str, &str)] =
    &[("wte", "token_embd"), ("wpe", "position_embd"), ("ln_f", "output_norm"), ("lm_head", "output")];
const GPT2_LAYER: &[(&str, &str)] = &[
    ("ln_1", "attn_norm"),
    ("attn.c_attn", "attn_qkv"),
    ("attn.c_proj", "attn_output"),
    ("ln_2", "ffn_norm"),
    ("mlp.c_fc", "ffn_up"),
    ("mlp.c_proj", "ffn_down"),
];

/// What the tensor of this name is in a model of this configuration.
pub(super) fn mapping(config: &Config, name: &str) -> Result<TensorMapping> {
    let layout = config.architecture.hugging_face().layout;
    let (prefix, layers, parts, layer_parts) = match layout {
        HuggingFaceLayout::Gpt2 => ("transformer.", "h.", GPT2, GPT2_LAYER),
        HuggingFaceLayout::Llama => ("model.", "layers.", LLAMA, LLAMA_LAYER),
    };
    let name = name.strip_prefix(prefix).unwrap_or(name);
    let unknown = || Error::unsupported(format!("{} models have no such tensor", config.architecture.name()));
    if name == "lm_head.weight" && config.tied {
        return Ok(TensorMapping::Unused);
    }
    let Some(rest) = name.strip_prefix(layers) else {
        let name = renamed(parts, name).ok_or_else(unknown)?;
        return Ok(TensorMapping::Plain(name));
    };
    let (number, part) = rest.split_once('.').ok_or_else(unknown)?;
    let layer: usize = number.parse().ok().filter(|layer: &usize| layer.to_string() == number).ok_or_else(unknown)?;
    if layer >= config.layers {
        return Err(Error::malformed(format!("layer {layer} does not exist: the configuration has {}", config.layers)));
    }
    // The mask and the frequencies, which are computed.
    if matches!(part, "attn.bias" | "attn.masked_bias" | "self_attn.rotary_emb.inv_freq") {
        return Ok(TensorMapping::Unused);
    }
    let name = format!("blk.{layer}.{}", renamed(layer_parts, part).ok_or_else(unknown)?);
    let transposed = layout == HuggingFaceLayout::Gpt2 && part.contains(".c_") && part.ends_with(".weight");
    Ok(if transposed { TensorMapping::Transposed(name) } else { TensorMapping::Plain(name) })
}

/// The name of a part with its ending.
fn renamed(parts: &[(&str, &str)], name: &str) -> Option<String> {
    let (part, ending) = name.rsplit_once('.')?;
    let (_, renamed) = parts.iter().find(|(theirs, _)| *theirs == part)?;
    matches!(ending, "weight" | "bias").then(|| format!("{renamed}.{ending}"))
}
