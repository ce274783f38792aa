//! The architectures: what each is called, and what its models are made of.
//!
//! The table below is the only place that knows one architecture from another. Everything else asks for [`Features`].

use kernels::RopePairing;

use crate::{Error, Result};

/// The known architectures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Learned positions, layer norm, GELU, biases.
    Gpt2,
    /// Rotary positions, RMS norm, SwiGLU, grouped queries; Mistral models too.
    Llama,
    /// LLaMA with biases for queries, keys and values, and rotary pairs made of the halves of a head.
    Qwen2,
    /// Qwen2 without biases, and with an RMS norm of each head of queries and keys before they are rotated.
    Qwen3,
}

/// What the models of an architecture are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// How rows are normalised.
    pub norm: NormKind,
    /// How positions enter the model.
    pub positions: Positions,
    /// The activation of the feed-forward network, and whether it has a gate.
    pub feed_forward: FeedForwardKind,
    /// Whether queries, keys and values are one matrix; files may have either form.
    pub fused_qkv: bool,
    /// Whether several heads of queries may share a head of keys and values.
    pub grouped_queries: bool,
    /// Whether queries, keys and values have biases.
    pub qkv_bias: bool,
    /// Whether each head of queries and keys is normalised before it is rotated, with one weight for all heads.
    pub qk_norm: bool,
    /// Whether the output projection of attention has a bias.
    pub output_bias: bool,
    /// Whether the matrices of the feed-forward network have biases.
    pub ffn_bias: bool,
    /// Whether the embedding is the head, unless a file says otherwise.
    pub tied_head: bool,
    /// Whether [`Network`](crate::train::Network) has gradients for all of it.
    pub trainable: bool,
}

/// How rows are normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// By mean and variance, with a weight and a bias.
    LayerNorm,
    /// By the root of the mean square, with a weight alone.
    RmsNorm,
}

/// How positions enter the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// A learned row for each position is added to the embedding.
    Learned,
    /// Queries and keys are rotated; GGUF files pair the values of a head in this way.
    Rotary(RopePairing),
}

/// The shape of the feed-forward network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedForwardKind {
    /// One matrix up, then GELU in its tanh form.
    Gelu,
    /// SiLU of the gate, times a second matrix.
    SwiGlu,
}

/// How Hugging Face writes the models of an architecture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HuggingFace {
    /// The values of `model_type`.
    pub model_types: &'static [&'static str],
    /// The names of tensors and of the fields in `config.json`.
    pub layout: HuggingFaceLayout,
    /// Whether `sliding_window` counts where `use_sliding_window` is absent.
    pub window_by_default: bool,
}

/// The naming schemes of Hugging Face.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HuggingFaceLayout {
    Gpt2,
    Llama,
}

/// All that is known about an architecture.
struct Row {
    architecture: Architecture,
    /// In GGUF.
    name: &'static str,
    features: Features,
    hugging_face: HuggingFace,
}

const GPT2: Features = Features {
    norm: NormKind::LayerNorm,
    positions: Positions::Learned,
    feed_forward: FeedForwardKind::Gelu,
    fused_qkv: true,
    grouped_queries: false,
    qkv_bias: true,
    qk_norm: false,
    output_bias: true,
    ffn_bias: true,
    tied_head: true,
    trainable: true,
};

const LLAMA: Features = Features {
    norm: NormKind::RmsNorm,
    positions: Positions::Rotary(RopePairing::Adjacent),
    feed_forward: FeedForwardKind::SwiGlu,
    fused_qkv: false,
    grouped_queries: true,
    qkv_bias: false,
    qk_norm: false,
    output_bias: false,
    ffn_bias: false,
    tied_head: false,
    trainable: true,
};

/// One row per architecture, in the order of [`Architecture`].
const TABLE: &[Row] = &[
    Row {
        architecture: Architecture::Gpt2,
        name: "gpt2",
        features: GPT2,
        hugging_face: HuggingFace { model_types: &["gpt2"], layout: HuggingFaceLayout::Gpt2, window_by_default: false },
    },
    Row {
        architecture: Architecture::Llama,
        name: "llama",
        features: LLAMA,
        hugging_face: HuggingFace {
            model_types: &["llama", "mistral"],
            layout: HuggingFaceLayout::Llama,
            window_by_default: true,
        },
    },
    Row {
        architecture: Architecture::Qwen2,
        name: "qwen2",
        features: Features { positions: Positions::Rotary(RopePairing::Halves), qkv_bias: true, ..LLAMA },
        hugging_face: HuggingFace {
            model_types: &["qwen2"],
            layout: HuggingFaceLayout::Llama,
            window_by_default: false,
        },
    },
    Row {
        architecture: Architecture::Qwen3,
        name: "qwen3",
        features: Features {
            positions: Positions::Rotary(RopePairing::Halves),
            qk_norm: true,
            trainable: false,
            ..LLAMA
        },
        hugging_face: HuggingFace {
            model_types: &["qwen3"],
            layout: HuggingFaceLayout::Llama,
            window_by_default: false,
        },
    },
];

// Every architecture has its row, in its place.
const _: () = {
    let mut at = 0;
    while at < TABLE.len() {
        assert!(TABLE[at].architecture as usize == at);
        at += 1;
    }
};

impl Architecture {
    /// All of them.
    pub const ALL: [Architecture; TABLE.len()] = {
        let mut all = [Architecture::Gpt2; TABLE.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].architecture;
            at += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Its name in GGUF.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The architecture of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        let known = || Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|architecture| architecture.name() == name).ok_or_else(|| {
            Error::unsupported(format!("architecture `{name}` is not supported; supported are {}", known()))
        })
    }

    /// What its models are made of.
    pub const fn features(self) -> &'static Features {
        &self.row().features
    }

    /// Those that can be trained.
    pub fn trainable() -> impl Iterator<Item = Architecture> {
        Self::ALL.into_iter().filter(|architecture| architecture.features().trainable)
    }

    /// How Hugging Face writes its models.
    pub(crate) fn hugging_face(self) -> &'static HuggingFace {
        &self.row().hugging_face
    }

    /// The architecture of a `model_type`.
    pub(crate) fn from_model_type(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|architecture| architecture.hugging_face().model_types.contains(&kind))
    }

    /// All values of `model_type` that are known.
    pub(crate) fn model_types() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().flat_map(|architecture| architecture.hugging_face().model_types.iter().copied())
    }
}

impl Features {
    /// How rotary models pair the values of a head in GGUF files; nothing where positions are learned.
    pub fn rope_pairing(&self) -> Option<RopePairing> {
        match self.positions {
            Positions::Learned => None,
            Positions::Rotary(pairing) => Some(pairing),
        }
    }

    /// Whether the feed-forward network has a gate.
    pub fn is_gated(&self) -> bool {
        self.feed_forward == FeedForwardKind::SwiGlu
    }
}

impl FeedForwardKind {
    /// Floating-point operations per output of the activation; an exponential counts as one.
    pub(crate) fn flops(self) -> usize {
        match self {
            FeedForwardKind::Gelu => 8,
            FeedForwardKind::SwiGlu => 5,
        }
    }
}

impl NormKind {
    /// Whether it adds a bias.
    pub fn has_bias(self) -> bool {
        self == NormKind::LayerNorm
    }
}
