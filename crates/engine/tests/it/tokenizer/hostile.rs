//! Files that are damaged or mean harm: an error that names the place, no panic, no endless work.

use engine::{Array, Encode, ErrorKind, Metadata, Tokenizer, Value};

use super::small::{merges, pieces};
use crate::random::Random;

const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
const SCORES: &str = "tokenizer.ggml.scores";
const MERGES: &str = "tokenizer.ggml.merges";

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn texts(texts: &[&str]) -> Value {
    Value::Array(Array::Text(texts.iter().map(|text| (*text).to_owned()).collect()))
}

#[track_caller]
fn refused(mut metadata: Metadata, key: &str, value: Value, expected: &str) {
    metadata.set(key, value);
    let error = Tokenizer::from_metadata(&metadata).expect_err("the file contradicts itself");
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn what_is_missing_is_named() {
    let without = |metadata: Metadata, left_out: &str| -> Metadata {
        metadata
            .iter()
            .filter(|(key, _)| *key != left_out)
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect()
    };
    for (metadata, key) in
        [(pieces(), "tokenizer.ggml.model"), (pieces(), TOKENS), (pieces(), SCORES), (merges(), MERGES)]
    {
        let error = Tokenizer::from_metadata(&without(metadata, key)).expect_err("a key is missing");
        assert!(error.to_string().contains(&format!("key {key} is missing")), "{error}");
    }
    assert!(Tokenizer::from_metadata(&without(merges(), TYPES)).is_ok());
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    for (key, metadata) in [("tokenizer.ggml.model", pieces()), ("tokenizer.ggml.pre", merges())] {
        let mut metadata = metadata;
        metadata.set(key, text("klingon"));
        let error = Tokenizer::from_metadata(&metadata).expect_err("nobody knows it");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("klingon") && error.to_string().contains(key), "{error}");
    }
}

#[test]
fn lengths_must_agree() {
    refused(pieces(), SCORES, Value::Array(Array::Float(vec![0.0; 3])), "3 scores for 272 tokens");
    refused(pieces(), TYPES, Value::Array(Array::Signed(vec![1; 3])), "3 types for 272 tokens");
    refused(merges(), TYPES, Value::Array(Array::Unsigned(vec![1; 300])), "300 types for 261 tokens");
    refused(pieces(), TOKENS, texts(&[]), "0 tokens");
}

#[test]
fn kinds_of_values_must_fit() {
    refused(pieces(), SCORES, texts(&["1.0"]), "not an array of floating-point numbers");
    refused(pieces(), TYPES, texts(&["1"]), "not an array of whole numbers");
    refused(pieces(), TOKENS, Value::Unsigned(4), "not an array of texts");
    refused(merges(), MERGES, Value::Bool(true), "not an array of texts");
    refused(pieces(), "tokenizer.ggml.add_bos_token", Value::Unsigned(1), "not yes or no");
}

#[test]
fn numbers_must_be_possible() {
    for (key, id) in [("bos", 272), ("eos", u64::MAX), ("unknown", 1 << 32), ("eot", 999), ("eom", 999)] {
        let key = format!("tokenizer.ggml.{key}_token_id");
        refused(pieces(), &key, Value::Unsigned(id), &format!("key {key}: {id}, but there are 272 tokens"));
    }
    refused(pieces(), "tokenizer.ggml.bos_token_id", Value::Signed(-1), "not a whole number");
    refused(pieces(), TYPES, Value::Array(Array::Signed(vec![7; 272])), "token 0 has type 7");
    refused(pieces(), SCORES, Value::Array(Array::Float(vec![f32::NAN; 272])), "the score of token 0 is NaN");
    refused(merges(), "tokenizer.ggml.add_bos_token", Value::Bool(true), "bos_token_id is missing");
    refused(pieces(), TYPES, Value::Array(Array::Signed(vec![6; 272])), "marked as a byte");
}

#[test]
fn merges_must_name_tokens() {
    refused(merges(), MERGES, texts(&["a b", "ab"]), "merge 1, \"ab\": no space");
    refused(merges(), MERGES, texts(&["a c"]), "together are not a token");
    refused(merges(), MERGES, texts(&["", "a b"]), "merge 0");
    refused(merges(), MERGES, texts(&[" ", "a b"]), "merge 0");
    refused(merges(), MERGES, texts(&["ab "]), "is not a token");
    refused(merges(), TOKENS, texts(&["abc"; 261]), "no token is a single byte");
}

#[test]
fn sizes_are_bounded() {
    let long = "x".repeat(5000);
    refused(pieces(), TOKENS, texts(&[&long]), "token 0 has 5000 bytes");
    refused(pieces(), TOKENS, Value::Array(Array::Text(vec![String::new(); (1 << 22) + 1])), "the limit is");
}

#[test]
fn empty_and_equal_tokens_do_no_harm() {
    for kind in 0..6 {
        let mut metadata = pieces();
        metadata.set(TOKENS, texts(&["", "a", "a", ""]));
        metadata.set(SCORES, Value::Array(Array::Float(vec![f32::NEG_INFINITY; 4])));
        metadata.set(TYPES, Value::Array(Array::Signed(vec![kind; 4])));
        let tokenizer = Tokenizer::from_metadata(&metadata).expect("it is odd, and whole");
        let ids = tokenizer.encode("aa b", Encode { add_special: true, parse_special: true });
        assert!(ids.iter().all(|id| *id < 4) && ids.contains(&1), "{kind}: {ids:?}");
        assert_eq!(tokenizer.decode(&[0, 3]), "");
    }
}

/// Every token is a run of the same letter, and the scores make them grow one letter at a time, so
/// that every join looks at all of a token. It takes a second; what is quadratic would take hours.
#[test]
fn the_worst_text_for_the_worst_file_ends() {
    let tokens: Vec<String> = (1..2000).map(|length| "a".repeat(length)).collect();
    let scores: Vec<f32> = (1..2000).map(|length| length as f32).collect();
    let mut metadata: Metadata = pieces().iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    metadata.set(TYPES, Value::Array(Array::Signed(vec![1; tokens.len()])));
    metadata.set(TOKENS, Value::Array(Array::Text(tokens)));
    metadata.set(SCORES, Value::Array(Array::Float(scores)));
    let tokenizer = Tokenizer::from_metadata(&metadata).expect("it is odd, and whole");
    let text = "a".repeat(1 << 20);
    let ids = tokenizer.encode(&text, Encode::default());
    assert!(ids.len() < 2000 && tokenizer.decode(&ids).ends_with('a'));
}

#[test]
fn a_megabyte_without_spaces_is_one_word() {
    for metadata in [pieces(), merges()] {
        let tokenizer = Tokenizer::from_metadata(&metadata).expect("the vocabulary is whole");
        for unit in ["a", "abc", " ", "\n", "7", "é", "<|im_end|", "<img"] {
            let text = unit.repeat((1 << 20) / unit.len());
            let ids = tokenizer.encode(&text, Encode { add_special: true, parse_special: true });
            assert!(tokenizer.decode(&ids) == text, "{unit:?}");
        }
    }
}

#[test]
fn changed_files_never_panic() {
    let mut random = Random(11);
    for round in 0..3000 {
        let mut metadata = if round % 2 == 0 { pieces() } else { merges() };
        for _ in 0..=random.below(2) {
            let keys: Vec<String> = metadata.iter().map(|(key, _)| key.to_owned()).collect();
            let key = &keys[random.below(keys.len())];
            let value = changed(metadata.get(key).expect("it is there").clone(), &mut random);
            metadata.set(key.clone(), value);
        }
        if let Ok(tokenizer) = Tokenizer::from_metadata(&metadata) {
            let ids = tokenizer.encode(&random.text(50), Encode { add_special: true, parse_special: round % 3 == 0 });
            assert!(ids.iter().all(|id| (*id as usize) < tokenizer.vocab_len()));
            tokenizer.decode(&ids);
        }
    }
}

fn changed(value: Value, random: &mut Random) -> Value {
    match value {
        Value::Array(Array::Text(mut texts)) if !texts.is_empty() => {
            let at = random.below(texts.len());
            match random.below(3) {
                0 => texts[at] = random.text(5),
                1 => texts.truncate(at),
                _ => texts[at].clear(),
            }
            Value::Array(Array::Text(texts))
        }
        Value::Array(Array::Signed(mut numbers)) => {
            let at = random.below(numbers.len());
            numbers[at] = random.below(9) as i64 - 1;
            Value::Array(Array::Signed(numbers))
        }
        Value::Array(Array::Float(mut numbers)) => {
            let at = random.below(numbers.len());
            numbers[at] = f32::from_bits(random.next() as u32);
            Value::Array(Array::Float(numbers))
        }
        Value::Unsigned(_) => Value::Unsigned(random.below(600) as u64),
        Value::Bool(yes) => Value::Bool(!yes),
        other => other,
    }
}
