//! What was measured.

use serde::{Deserialize, Serialize};

/// The program that was measured: this one, or any command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// Which engine or program.
    pub name: String,
    /// Its version, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The command line, where a program was run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The state of its source, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// How it was built, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
}

/// The state of the source that a program was built from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Git {
    /// The commit.
    pub commit: String,
    /// Whether files differed from it.
    pub dirty: bool,
    /// The branch, unless there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// When it was committed, by RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_time: Option<String>,
}

/// How a program was built, as far as that is known: runs of differently built programs do not answer the same question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Build {
    /// The profile, such as `release`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The level of optimisation, such as `3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opt_level: Option<String>,
    /// Whether assertions for debugging are in it: its speed says nothing about the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debug_assertions: Option<bool>,
    /// The compiler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// What it was built for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The CPU it was built for, where one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cpu: Option<String>,
    /// Instructions that the compiler could count on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub target_features: Vec<String>,
    /// Features of the program that were chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// What else the compiler was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// BLAKE3 of the program's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary_blake3: Option<String>,
}

/// A model, as far as its speed and its memory depend on it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Model {
    /// The file, or the recipe of random weights.
    pub name: String,
    /// The family.
    pub architecture: String,
    /// All its numbers.
    pub parameters: u64,
    /// Numbers that every token is multiplied with.
    pub active_parameters: u64,
    /// How its largest matrices are written.
    pub format: String,
    /// What its matrices are multiplied in; absent in records of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<Arithmetic>,
    /// Bytes of its weights as they are multiplied.
    pub weight_bytes: u64,
    /// BLAKE3 of its file, or of the recipe that its weights come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights_blake3: Option<String>,
    /// Its layers.
    pub layers: u64,
    /// The width of its residual stream.
    pub width: u64,
    /// Heads of its attention.
    pub heads: u64,
    /// Heads of its keys and values.
    pub kv_heads: u64,
    /// The length of one head.
    pub head_dim: u64,
    /// The vocabulary size.
    pub vocab: u64,
    /// The context length.
    pub context: u64,
}

/// The number type that matrix products are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// Floating-point numbers of 32 bits.
    #[default]
    F32,
    /// Integers of 8 bits.
    Int8,
}

impl Arithmetic {
    /// As limits are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Arithmetic::F32 => "f32",
            Arithmetic::Int8 => "int8",
        }
    }
}
