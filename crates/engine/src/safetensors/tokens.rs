//! `tokenizer.json` where it is a byte-level BPE that GGUF has a name for.

use serde_json::Value as Json;

use super::SideFiles;
use super::config::Config;
use crate::{Array, Error, Metadata, Result, Value};

/// What GGUF calls each kind of token.
const NORMAL: i64 = 1;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// How LLaMA 3 cuts a text into words.
const LLAMA3_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// And Qwen2, with every digit alone.
const QWEN2_WORDS: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The tokens of a `tokenizer.json` without a model, as in GGUF; beside it may be a `tokenizer_config.json`.
///
/// # Errors
/// Where it is no byte-level BPE that GGUF has a name for.
pub fn tokens(tokenizer: &[u8], config: Option<&[u8]>) -> Result<Metadata> {
    let tokenizer = json("tokenizer.json", tokenizer)?;
    let settings = config.map_or(Ok(Json::Null), |bytes| json("tokenizer_config.json", bytes))?;
    let mut metadata = Metadata::default();
    set(&tokenizer, &settings, Vocabulary { count: count(&tokenizer), bos: None, eos: None }, &mut metadata)?;
    if metadata.get("tokenizer.ggml.model").is_none() {
        return Err(Error::unsupported(
            "only byte-level BPE tokenizers of GPT-2, LLaMA 3, Qwen2 or SmolLM are supported",
        ));
    }
    Ok(metadata)
}

/// How many tokens there are: not more than the file names, whatever their numbers.
fn count(tokenizer: &Json) -> usize {
    let listed =
        tokenizer.get("model").and_then(|model| model.get("vocab")?.as_object()).map_or(0, serde_json::Map::len);
    let added = tokenizer.get("added_tokens").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let numbers = added.iter().filter_map(|token| usize::try_from(token.get("id")?.as_u64()?).ok());
    let beyond = numbers.filter(|id| *id < listed + added.len()).max().map_or(0, |last| last + 1);
    listed.max(beyond)
}

fn json(name: &str, bytes: &[u8]) -> Result<Json> {
    serde_json::from_slice(bytes).map_err(|error| Error::malformed(format!("{name}: not JSON: {error}")))
}

/// Adds the tokens as in GGUF, one for each row of the embedding, where they are of a known kind.
pub(super) fn add(
    beside: &SideFiles,
    config: &Config,
    vocabulary: Option<usize>,
    metadata: &mut Metadata,
) -> Result<()> {
    let (Some(bytes), Some(count)) = (&beside.tokenizer, vocabulary) else { return Ok(()) };
    let tokenizer = json("its tokenizer.json", bytes)?;
    let settings = match &beside.tokenizer_config {
        Some(bytes) => json("its tokenizer_config.json", bytes)?,
        None => Json::Null,
    };
    let known = Vocabulary { count, bos: config.bos, eos: config.eos };
    set(&tokenizer, &settings, known, metadata).map_err(|error| error.about("its tokenizer.json"))
}

/// What is known without the file.
struct Vocabulary {
    count: usize,
    bos: Option<u64>,
    eos: Option<u64>,
}

fn set(tokenizer: &Json, settings: &Json, known: Vocabulary, metadata: &mut Metadata) -> Result<()> {
    let Some(words) = words(tokenizer) else { return Ok(()) };
    let Some(merges) = merges(tokenizer) else { return Ok(()) };
    let vocabulary = known.count;
    let tokens = Tokens::read(tokenizer, vocabulary)?;
    let special = |field: &str| {
        let named = settings.get(field)?;
        let text = named.as_str().or_else(|| named.get("content")?.as_str())?;
        tokens.texts.iter().position(|token| token == text).map(|id| id as u64)
    };
    for (name, id) in [
        ("bos", special("bos_token").or(known.bos)),
        ("eos", special("eos_token").or(known.eos)),
        ("unknown", special("unk_token")),
        ("padding", special("pad_token")),
    ] {
        if let Some(id) = id.filter(|id| *id < vocabulary as u64) {
            metadata.set(format!("tokenizer.ggml.{name}_token_id"), Value::Unsigned(id));
        }
    }
    let begins =
        settings.get("add_bos_token").and_then(Json::as_bool).unwrap_or_else(|| begins_with_special(tokenizer));
    metadata.set("tokenizer.ggml.add_bos_token", Value::Bool(begins));
    if let Some(template) = settings.get("chat_template").and_then(Json::as_str) {
        metadata.set("tokenizer.chat_template", Value::Text(template.to_owned()));
    }
    metadata.set("tokenizer.ggml.model", Value::Text("gpt2".to_owned()));
    metadata.set("tokenizer.ggml.pre", Value::Text(words.to_owned()));
    metadata.set("tokenizer.ggml.tokens", Value::Array(Array::Text(tokens.texts)));
    metadata.set("tokenizer.ggml.token_type", Value::Array(Array::Signed(tokens.kinds)));
    metadata.set("tokenizer.ggml.merges", Value::Array(Array::Text(merges)));
    Ok(())
}

/// GGUF's name of the way in which a text is cut into words; nothing where it has none, or where
/// this is no byte-level BPE.
fn words(tokenizer: &Json) -> Option<&'static str> {
    let model = tokenizer.get("model")?;
    let is_bpe = model.get("type").is_none_or(|kind| kind == "BPE");
    let falls_back = model.get("byte_fallback").and_then(Json::as_bool).unwrap_or(false);
    // Texts would have to be changed first.
    let normalised = tokenizer
        .get("normalizer")
        .is_some_and(|way| !way.is_null() && way.get("type").is_none_or(|kind| kind != "NFC"));
    if !is_bpe || falls_back || normalised {
        return None;
    }
    let way = tokenizer.get("pre_tokenizer")?;
    let steps = match way.get("pretokenizers").and_then(Json::as_array) {
        Some(steps) => steps.iter().collect(),
        None => vec![way],
    };
    let kind = |step: &Json| step.get("type").and_then(Json::as_str).map(str::to_owned);
    let kinds: Vec<String> = steps.iter().map(|step| kind(step)).collect::<Option<_>>()?;
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let by_own_words = |step: &Json| step.get("use_regex").and_then(Json::as_bool).unwrap_or(true);
    let plain = |step: &Json| !step.get("add_prefix_space").and_then(Json::as_bool).unwrap_or(false);
    match (kinds.as_slice(), steps.as_slice()) {
        (["ByteLevel"], [bytes]) if by_own_words(bytes) && plain(bytes) => Some("gpt-2"),
        (["Digits", "ByteLevel"], [digits, bytes]) => {
            let alone = digits.get("individual_digits").and_then(Json::as_bool).unwrap_or(false);
            (alone && by_own_words(bytes) && plain(bytes)).then_some("smollm")
        }
        (["Split", "ByteLevel"], [split, bytes]) if !by_own_words(bytes) && plain(bytes) => {
            match split.get("pattern")?.get("Regex")?.as_str()? {
                LLAMA3_WORDS => Some("llama-bpe"),
                QWEN2_WORDS => Some("qwen2"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The merges as GGUF has them: two texts with a blank between.
fn merges(tokenizer: &Json) -> Option<Vec<String>> {
    let merge = |merge: &Json| match merge {
        Json::String(both) => Some(both.clone()),
        Json::Array(two) => match two.as_slice() {
            [Json::String(left), Json::String(right)] => Some(format!("{left} {right}")),
            _ => None,
        },
        _ => None,
    };
    tokenizer.get("model")?.get("merges")?.as_array()?.iter().map(merge).collect()
}

/// Whether a token is put before every text.
fn begins_with_special(tokenizer: &Json) -> bool {
    let begins = |way: &Json| {
        way.get("type").is_some_and(|kind| kind == "TemplateProcessing")
            && way.get("single").and_then(|single| single.get(0)?.get("SpecialToken")).is_some()
    };
    tokenizer.get("post_processor").is_some_and(|way| {
        begins(way) || way.get("processors").and_then(Json::as_array).is_some_and(|steps| steps.iter().any(begins))
    })
}

/// As many tokens as the embedding has rows.
struct Tokens {
    texts: Vec<String>,
    kinds: Vec<i64>,
}

impl Tokens {
    fn read(tokenizer: &Json, vocabulary: usize) -> Result<Self> {
        let vocab = tokenizer.get("model").and_then(|model| model.get("vocab")?.as_object());
        let vocab = vocab.ok_or_else(|| Error::malformed("it has no vocabulary"))?;
        let mut tokens = Self { texts: vec![String::new(); vocabulary], kinds: vec![UNUSED; vocabulary] };
        for (text, id) in vocab {
            tokens.put(text, id.as_u64(), NORMAL)?;
        }
        let added = tokenizer.get("added_tokens").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        for token in added {
            let special = token.get("special").and_then(Json::as_bool).unwrap_or(false);
            let text = token.get("content").and_then(Json::as_str).unwrap_or_default();
            tokens.put(text, token.get("id").and_then(Json::as_u64), if special { CONTROL } else { USER_DEFINED })?;
        }
        for (id, text) in tokens.texts.iter_mut().enumerate().filter(|(id, _)| tokens.kinds[*id] == UNUSED) {
            *text = format!("[PAD{id}]");
        }
        Ok(tokens)
    }

    fn put(&mut self, text: &str, id: Option<u64>, kind: i64) -> Result<()> {
        let id = id.and_then(|id| usize::try_from(id).ok()).filter(|id| *id < self.texts.len()).ok_or_else(|| {
            let rows = self.texts.len();
            Error::malformed(format!(
                "token {}: its number is not below {rows}, the rows of the embedding",
                crate::error::Escaped(text)
            ))
        })?;
        text.clone_into(&mut self.texts[id]);
        self.kinds[id] = kind;
        Ok(())
    }
}
