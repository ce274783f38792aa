//! The document that `hotloop tokenize --json` prints.

use serde::{Deserialize, Serialize};

use crate::Tool;

/// What kind of document it is.
pub const TOKENS_SCHEMA: &str = "hotloop-tokens";
/// Raised when the meaning of a field changes or one goes away; new fields alone do not raise it.
pub const TOKENS_VERSION: u32 = 1;

/// A text and its tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    /// [`TOKENS_SCHEMA`].
    pub schema: String,
    /// [`TOKENS_VERSION`] of the program that wrote it.
    pub version: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// Whose vocabulary it is.
    pub model: String,
    /// The number of tokens in the vocabulary.
    pub vocab: u64,
    /// Whether special tokens were added and recognised; absent where tokens were decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub special: Option<bool>,
    /// The text: what was tokenized, or what the tokens stand for.
    pub text: String,
    /// The number of tokens.
    pub count: u64,
    /// The tokens in their order.
    pub tokens: Vec<Token>,
}

/// A token of a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its number in the vocabulary.
    pub id: u32,
    /// What it stands for; U+FFFD stands for bytes that are no text on their own.
    pub text: String,
    /// Its bytes; absent where they are `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Vec<u8>>,
    /// Whether it is a control token such as `<s>`, which stands for no text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
}
