//! Vocabularies as in GGUF.

use engine::{Array, Metadata, Value};

/// What GGUF calls each kind of token.
pub(super) const NORMAL: i64 = 1;
pub(super) const UNKNOWN: i64 = 2;
pub(super) const CONTROL: i64 = 3;

/// The token that parts documents, where no vocabulary says otherwise.
pub(super) const END_OF_TEXT: &str = "<|endoftext|>";

/// Tokens as they are written to a file.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// `tokenizer.ggml.model`
    pub(super) model: &'static str,
    pub(super) tokens: Vec<String>,
    pub(super) kinds: Vec<i64>,
    /// `tokenizer.ggml.<name>_token_id`
    pub(super) special: Vec<(&'static str, usize)>,
    /// Only byte-level vocabularies have them.
    pub(super) merges: Option<Vec<String>>,
}

impl Keys {
    pub(super) fn push(&mut self, token: impl Into<String>, kind: i64) {
        self.tokens.push(token.into());
        self.kinds.push(kind);
    }

    pub(super) fn metadata(self) -> Metadata {
        let mut metadata = Metadata::default();
        let mut set = |key: &str, value| metadata.set(format!("tokenizer.ggml.{key}"), value);
        set("model", Value::Text(self.model.to_owned()));
        set("tokens", Value::Array(Array::Text(self.tokens)));
        set("token_type", Value::Array(Array::Signed(self.kinds)));
        for (name, id) in self.special {
            set(&format!("{name}_token_id"), Value::Unsigned(id as u64));
        }
        // Texts are encoded as they were for training, where nothing is added.
        set("add_bos_token", Value::Bool(false));
        set("add_eos_token", Value::Bool(false));
        if let Some(merges) = self.merges {
            set("merges", Value::Array(Array::Text(merges)));
            set("pre", Value::Text("gpt-2".to_owned()));
        }
        metadata
    }
}

/// The keys that are about tokens.
pub(super) fn of_tokenizer(metadata: &Metadata) -> Metadata {
    let about = |key: &str| key.starts_with("tokenizer.") || key.starts_with("hotloop.tokenizer.");
    metadata.iter().filter(|(key, _)| about(key)).map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

/// A hash of keys and values.
pub(super) fn fingerprint(metadata: &Metadata) -> [u8; 32] {
    let mut hash = blake3::Hasher::new();
    for (key, value) in metadata.iter() {
        add_text(&mut hash, key);
        match value {
            Value::Array(Array::Text(texts)) => texts.iter().for_each(|text| add_text(&mut hash, text)),
            Value::Text(text) => add_text(&mut hash, text),
            // Numbers are few, or as many as there are tokens.
            other => add_text(&mut hash, &format!("{other:?}")),
        }
    }
    *hash.finalize().as_bytes()
}

fn add_text(hash: &mut blake3::Hasher, text: &str) {
    hash.update(&(text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}
