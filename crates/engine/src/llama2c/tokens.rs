//! The tokens of llama2.c: for each its score, its length and its text, with blanks where SentencePiece has `▁`.

use std::path::Path;

use crate::mapping::Mapping;
use crate::{Array, Error, Metadata, Result, Value};

/// What GGUF calls each kind of token.
const NORMAL: i64 = 1;
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const BYTE: i64 = 6;

/// Adds the tokens from the file beside a checkpoint that has as many as the model, if there is one.
pub(super) fn add(checkpoint: &Path, vocabulary: usize, metadata: &mut Metadata) -> Result<()> {
    for name in [format!("tok{vocabulary}.bin"), "tokenizer.bin".to_owned()] {
        let path = checkpoint.with_file_name(name);
        if !path.is_file() {
            continue;
        }
        let tokens = read(&Mapping::open(&path)?).map_err(|error| error.in_file(&path))?;
        // The usual file of 32,000 lies beside small models too, and is not theirs.
        if tokens.len() == vocabulary {
            set(metadata, tokens);
            return Ok(());
        }
    }
    Ok(())
}

/// Every token with its score.
fn read(mut bytes: &[u8]) -> Result<Vec<(String, f32)>> {
    let whole = bytes.len();
    // The length of the longest, which we need not know.
    take(&mut bytes, 4).ok_or_else(|| Error::malformed("not a llama2.c tokenizer: too short"))?;
    let mut tokens = Vec::new();
    while !bytes.is_empty() {
        let (number, at) = (tokens.len(), whole - bytes.len());
        let wrong = |what: &str| Error::malformed(format!("token {number} at byte {at}: {what}"));
        let token = token(&mut bytes).ok_or_else(|| wrong("truncated, or its length is damaged"))?;
        let text = std::str::from_utf8(token.0).map_err(|_| wrong("its text is not UTF-8"))?;
        tokens.push((text.to_owned(), token.1));
    }
    Ok(tokens)
}

fn token<'a>(bytes: &mut &'a [u8]) -> Option<(&'a [u8], f32)> {
    let score = f32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
    let length = i32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
    Some((take(bytes, usize::try_from(length).ok()?)?, score))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn set(metadata: &mut Metadata, tokens: Vec<(String, f32)>) {
    let kinds = tokens.iter().enumerate().map(|(id, (text, _))| match id {
        0 => UNKNOWN,
        1 | 2 => CONTROL,
        _ if text.len() == 6 && text.starts_with("<0x") && text.ends_with('>') => BYTE,
        _ => NORMAL,
    });
    metadata.set("tokenizer.ggml.token_type", Value::Array(Array::Signed(kinds.collect())));
    let scores = tokens.iter().map(|(_, score)| *score).collect();
    metadata.set("tokenizer.ggml.scores", Value::Array(Array::Float(scores)));
    // The first three are written with line breaks around them, for show.
    let texts = tokens.into_iter().enumerate().map(|(id, (text, _))| match id {
        0..=2 => text.trim().to_owned(),
        _ => text.replace(' ', "▁"),
    });
    metadata.set("tokenizer.ggml.tokens", Value::Array(Array::Text(texts.collect())));
    metadata.set("tokenizer.ggml.model", Value::Text("llama".to_owned()));
    for (key, id) in [("unknown", 0), ("bos", 1), ("eos", 2)] {
        metadata.set(format!("tokenizer.ggml.{key}_token_id"), Value::Unsigned(id));
    }
    metadata.set("tokenizer.ggml.add_bos_token", Value::Bool(true));
    metadata.set("tokenizer.ggml.add_eos_token", Value::Bool(false));
    metadata.set("tokenizer.ggml.add_space_prefix", Value::Bool(true));
}
