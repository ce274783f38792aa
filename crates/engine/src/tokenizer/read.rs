//! From a file's metadata to a tokenizer. What contradicts itself is refused, with the key and the place.

use super::byte_level::{self, ByteLevel, Rules};
use super::characters::{CHARACTER, Characters, UNIT_KEY};
use super::plain_words::{self, PlainWords};
use super::sentence_piece::{SPACE, SentencePiece};
use super::special::Special;
use super::split::Split;
use super::vocabulary::{Kind, Vocabulary};
use super::{Model, Tokenizer};
use crate::{Array, Error, Metadata, Result};

/// More tokens than this are no vocabulary: known ones have up to some hundred thousand.
const MAX_TOKENS: usize = 1 << 22;
/// Longer tokens would let a file make every word slow; known ones have some hundred bytes at most.
const MAX_TOKEN: usize = 4096;
/// All tokens together: their places are kept in 32 bits.
const MAX_BYTES: usize = 1 << 30;

/// Texts that end a turn or a document. Files often name one of them only, and models write the others too.
const ENDS: [&str; 7] =
    ["<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"];

/// Reads a tokenizer.
pub(super) fn tokenizer(metadata: &Metadata) -> Result<Tokenizer> {
    let name = metadata.text("tokenizer.ggml.model")?;
    let name = name.ok_or_else(|| missing("tokenizer.ggml.model", "no tokenizer in the file"))?;
    let kind = match name {
        "llama" => Family::SentencePiece,
        "gpt2" if is_of_characters(metadata)? => Family::Characters,
        "gpt2" => Family::ByteLevel(pre(metadata)?),
        "hotloop-words" => Family::PlainWords,
        other => {
            return Err(Error::unsupported(format!(
                "key tokenizer.ggml.model: tokenizer {other:?} is not supported; supported are llama, gpt2 and hotloop-words"
            )));
        }
    };
    let vocabulary = vocabulary(metadata, &kind)?;
    let id = |name: &str| token_id(metadata, name, vocabulary.len());
    let unknown = id("unknown")?;
    let (bos, eos) = (id("bos")?, id("eos")?);
    let ends = [eos, id("eot")?, id("eom")?];
    let (model, add_bos) = match kind {
        Family::SentencePiece => {
            let space_before = metadata.bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
            let scores = scores(metadata)?;
            (Model::SentencePiece(SentencePiece::new(&vocabulary, scores, unknown, space_before)?), true)
        }
        Family::ByteLevel(Pre { split, whole_words, add_bos }) => {
            let merges = metadata.texts("tokenizer.ggml.merges")?;
            let merges = merges.ok_or_else(|| missing("tokenizer.ggml.merges", "gpt2 tokenizers need it"))?;
            let rules = Rules { split, whole_words };
            (Model::ByteLevel(ByteLevel::new(&vocabulary, merges, rules)?), add_bos)
        }
        Family::Characters => (Model::Characters(Characters::new(&vocabulary, unknown)), false),
        Family::PlainWords => (Model::PlainWords(PlainWords { unknown }), false),
    };
    Ok(Tokenizer {
        always: Special::new(&vocabulary, &[Kind::UserDefined]),
        special: Special::new(&vocabulary, &[Kind::UserDefined, Kind::Control, Kind::Unknown]),
        before: added(metadata, "bos", bos, add_bos)?,
        after: added(metadata, "eos", eos, false)?,
        ends: all_ends(&vocabulary, ends),
        chat_template: metadata.text("tokenizer.chat_template")?.map(str::to_owned),
        bos,
        eos,
        unknown,
        vocabulary,
        model,
    })
}

enum Family {
    SentencePiece,
    ByteLevel(Pre),
    Characters,
    PlainWords,
}

/// Whether every character is a token.
fn is_of_characters(metadata: &Metadata) -> Result<bool> {
    match metadata.text(UNIT_KEY)? {
        None => Ok(false),
        Some(CHARACTER) => Ok(true),
        Some(other) => {
            Err(Error::unsupported(format!("key {UNIT_KEY}: {other:?} is not supported; supported is {CHARACTER}")))
        }
    }
}

/// What the name of a pre-tokenizer means.
struct Pre {
    split: Split,
    whole_words: bool,
    /// Whether texts begin with BOS where the file does not say.
    add_bos: bool,
}

fn pre(metadata: &Metadata) -> Result<Pre> {
    let plain = |split| Pre { split, whole_words: false, add_bos: false };
    Ok(match metadata.text("tokenizer.ggml.pre")?.unwrap_or("default") {
        "default" => plain(Split::Default),
        "gpt-2" | "phi-2" | "mpt" | "olmo" | "jais" | "modern-bert" | "exaone4" | "gigachat" => plain(Split::Gpt2),
        "llama-bpe" | "llama3" | "llama-v3" | "falcon3" | "lfm2" | "pixtral" => {
            Pre { split: Split::Llama3, whole_words: true, add_bos: true }
        }
        "dbrx" | "smaug-bpe" => plain(Split::Llama3),
        "qwen2" | "deepseek-r1-qwen" | "stablelm2" | "megrez" | "hunyuan" | "grok-2" => plain(Split::Qwen2),
        "smollm" | "starcoder" | "refact" | "command-r" | "codeshell" | "exaone" | "minerva-7b" => plain(Split::Digits),
        other => {
            return Err(Error::unsupported(format!(
                "key tokenizer.ggml.pre: it is not known here how {other:?} cuts texts into words, and a guess would give wrong tokens; \
                 default, gpt-2, llama-bpe, qwen2, smollm and their relatives are known"
            )));
        }
    })
}

fn missing(key: &str, why: &str) -> Error {
    Error::malformed(format!("key {key} is missing: {why}"))
}

fn vocabulary(metadata: &Metadata, family: &Family) -> Result<Vocabulary> {
    const KEY: &str = "tokenizer.ggml.tokens";
    let tokens = metadata.texts(KEY)?.ok_or_else(|| missing(KEY, "no vocabulary in the file"))?;
    let total: usize = tokens.iter().map(String::len).sum();
    if tokens.is_empty() || tokens.len() > MAX_TOKENS || total > MAX_BYTES {
        let count = tokens.len();
        return Err(Error::malformed(format!(
            "key {KEY}: {count} tokens of {total} bytes; the limit is {MAX_TOKENS} tokens and {MAX_BYTES} bytes"
        )));
    }
    if let Some(id) = tokens.iter().position(|token| token.len() > MAX_TOKEN) {
        let length = tokens[id].len();
        return Err(Error::malformed(format!("key {KEY}: token {id} has {length} bytes; the limit is {MAX_TOKEN}")));
    }
    let kinds = kinds(metadata, tokens.len())?;
    let mut vocabulary = Vocabulary::with_capacity(tokens.len());
    let mut bytes = Vec::new();
    let mut is_text = Vec::with_capacity(tokens.len());
    for (id, token) in tokens.iter().enumerate() {
        let kind = kinds.as_ref().map_or(Kind::Normal, |kinds| kinds[id]);
        bytes.clear();
        is_text.push(push_token(token, kind, family, &mut bytes).map_err(|what| {
            Error::malformed(format!("key {KEY}: token {id}, {token:?}, is marked as a byte but not written {what}"))
        })?);
        vocabulary.push(&bytes, kind);
    }
    let parts: &[Kind] = match family {
        Family::SentencePiece | Family::PlainWords => &[Kind::Normal, Kind::UserDefined],
        Family::ByteLevel(_) | Family::Characters => &[Kind::Normal, Kind::Byte, Kind::UserDefined, Kind::Unused],
    };
    for kind in parts {
        // A token that no text becomes would stand in the way of the one with the same bytes.
        let ids: Vec<u32> = vocabulary.of_kind(*kind).filter(|id| is_text[*id as usize]).collect();
        ids.into_iter().for_each(|id| vocabulary.enter(id));
    }
    Ok(vocabulary)
}

/// Adds the bytes that a token stands for. Whether a text can become it: vocabularies write their
/// texts in an alphabet of their own, and a token with other characters is never found in one.
fn push_token(
    token: &str,
    kind: Kind,
    family: &Family,
    bytes: &mut Vec<u8>,
) -> std::result::Result<bool, &'static str> {
    match (family, kind) {
        (_, Kind::Control | Kind::Unknown)
        | (Family::ByteLevel(_) | Family::Characters | Family::PlainWords, Kind::UserDefined) => {
            bytes.extend_from_slice(token.as_bytes());
        }
        (Family::SentencePiece, Kind::Byte) => {
            let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
            let digits =
                digits.filter(|digits| digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            bytes.push(byte.ok_or("<0x00> to <0xFF>")?);
        }
        (Family::SentencePiece, _) => {
            let mut parts = token.split(SPACE);
            bytes.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
            for part in parts {
                bytes.push(b' ');
                bytes.extend_from_slice(part.as_bytes());
            }
            // Spaces are written as U+2581.
            return Ok(kind == Kind::UserDefined || !token.contains(' '));
        }
        (Family::ByteLevel(_) | Family::Characters, _) => return Ok(byte_level::push_bytes(token, bytes)),
        (Family::PlainWords, _) => plain_words::push_token(token, bytes),
    }
    Ok(true)
}

fn kinds(metadata: &Metadata, count: usize) -> Result<Option<Vec<Kind>>> {
    const KEY: &str = "tokenizer.ggml.token_type";
    let numbers: Vec<i64> = match metadata.array(KEY)? {
        None => return Ok(None),
        Some(Array::Signed(numbers)) => numbers.clone(),
        Some(Array::Unsigned(numbers)) => {
            numbers.iter().map(|number| i64::try_from(*number).unwrap_or(i64::MAX)).collect()
        }
        Some(_) => return Err(Error::malformed(format!("key {KEY}: not an array of whole numbers"))),
    };
    if numbers.len() != count {
        let found = numbers.len();
        return Err(Error::malformed(format!("key {KEY}: {found} types for {count} tokens")));
    }
    let kinds = numbers.iter().enumerate().map(|(id, number)| {
        Kind::from_number(*number)
            .ok_or_else(|| Error::malformed(format!("key {KEY}: token {id} has type {number}; types are 0 to 6")))
    });
    kinds.collect::<Result<_>>().map(Some)
}

fn scores(metadata: &Metadata) -> Result<&[f32]> {
    const KEY: &str = "tokenizer.ggml.scores";
    match metadata.array(KEY)? {
        Some(Array::Float(scores)) => Ok(scores),
        Some(_) => Err(Error::malformed(format!("key {KEY}: not an array of floating-point numbers"))),
        None => Err(missing(KEY, "llama tokenizers need it")),
    }
}

/// The id that a key names.
fn token_id(metadata: &Metadata, name: &str, count: usize) -> Result<Option<u32>> {
    let key = format!("tokenizer.ggml.{name}_token_id");
    let Some(id) = metadata.unsigned(&key)? else { return Ok(None) };
    let known = u32::try_from(id).ok().filter(|id| (*id as usize) < count);
    known.map(Some).ok_or_else(|| Error::malformed(format!("key {key}: {id}, but there are {count} tokens")))
}

/// The token that is put before or behind every text.
fn added(metadata: &Metadata, name: &str, id: Option<u32>, default: bool) -> Result<Option<u32>> {
    let key = format!("tokenizer.ggml.add_{name}_token");
    match metadata.bool(&key)? {
        Some(true) if id.is_none() => {
            Err(Error::malformed(format!("key {key}: true, but tokenizer.ggml.{name}_token_id is missing")))
        }
        said => Ok(id.filter(|_| said.unwrap_or(default))),
    }
}

/// The tokens after which nothing is generated.
fn all_ends(vocabulary: &Vocabulary, named: [Option<u32>; 3]) -> Vec<u32> {
    let control = vocabulary.of_kind(Kind::Control);
    let known =
        control.filter(|id| vocabulary.get(*id).is_some_and(|text| ENDS.iter().any(|end| end.as_bytes() == text)));
    let mut ends: Vec<u32> = known.chain(named.into_iter().flatten()).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}
