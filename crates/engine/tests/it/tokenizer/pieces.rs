//! Texts in pieces, and the kinds of vocabularies that trainings write.

use engine::{Array, Encode, Metadata, TensorSource, Tokenizer, Value, gguf};

use super::small::{merges, pieces};
use crate::folder::shared;
use crate::random::Random;

/// Encodes a text cut anywhere.
fn in_pieces(tokenizer: &Tokenizer, text: &str, random: &mut Random, longest: usize) -> Vec<u32> {
    let mut encoder = tokenizer.encoder();
    let mut ids = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(1 + random.below(longest)));
        encoder.push(piece, &mut ids);
        rest = after;
    }
    encoder.finish(&mut ids);
    ids
}

#[track_caller]
fn check(tokenizer: &Tokenizer, text: &str, random: &mut Random, longest: usize) {
    let whole = tokenizer.encode(text, Encode::default());
    let pieces = in_pieces(tokenizer, text, random, longest);
    assert!(pieces == whole, "{:?}", &text[..text.floor_char_boundary(300)]);
}

#[test]
fn any_text_cut_anywhere() {
    let mut random = Random(61);
    let rules = ["default", "gpt-2", "llama-bpe", "dbrx", "qwen2", "smollm"];
    let mut tokenizers: Vec<Tokenizer> = rules
        .map(|rule| {
            let mut metadata = merges();
            metadata.set("tokenizer.ggml.pre", Value::Text(rule.to_owned()));
            Tokenizer::from_metadata(&metadata).expect("a vocabulary")
        })
        .into();
    tokenizers.push(Tokenizer::from_metadata(&pieces()).expect("a vocabulary"));
    tokenizers.push(Tokenizer::bytes(300));
    tokenizers.push(Tokenizer::bytes(80));
    tokenizers.push(Tokenizer::from_metadata(&words(&["the", "cat", ",", "é"])).expect("a vocabulary"));
    for tokenizer in &tokenizers {
        let mut encoder = tokenizer.encoder();
        for _ in 0..400 {
            let text = format!("{} {}\n{}", random.text(40), random.text(40), random.text(20));
            check(tokenizer, &text, &mut random, 8);
            // One text after another.
            let mut ids = Vec::new();
            encoder.push(&text, &mut ids);
            encoder.finish(&mut ids);
            assert_eq!(ids, tokenizer.encode(&text, Encode::default()));
        }
    }
}

#[test]
fn books_cut_anywhere() {
    let mut random = Random(62);
    for name in ["gpt-2", "llama-bpe", "llama-spm"] {
        let Some(path) = shared(&format!("vocab/ggml-vocab-{name}.gguf")) else { return };
        let file = gguf::File::open(&path).expect("the file is whole");
        let tokenizer = Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is whole");
        for book in ["tinyshakespeare", "pride_and_prejudice"] {
            let Some(path) = shared(&format!("text/{book}.txt")) else { return };
            let text = std::fs::read_to_string(path).expect("a text");
            for longest in [50, 100_000] {
                check(&tokenizer, &text, &mut random, longest);
            }
        }
    }
}

#[test]
fn text_without_words_is_not_held_back_for_ever() {
    let tokenizer = Tokenizer::from_metadata(&merges()).expect("a vocabulary");
    let (mut encoder, mut ids) = (tokenizer.encoder(), Vec::new());
    let piece = "ab".repeat(1 << 16);
    for _ in 0..32 {
        encoder.push(&piece, &mut ids);
    }
    assert!(!ids.is_empty(), "four mebibytes are held back");
    encoder.finish(&mut ids);
    assert!(tokenizer.decode(&ids) == piece.repeat(32));
}

/// A vocabulary of words behind the tokens that LoopOS has.
fn words(words: &[&str]) -> Metadata {
    let mut tokens: Vec<String> = ["<pad>", "<unk>", "<bos>", "<eos>"].map(str::to_owned).to_vec();
    let mut kinds = vec![3, 2, 3, 3];
    tokens.extend(words.iter().map(|word| (*word).to_owned()));
    kinds.extend(words.iter().map(|_| 1));
    [
        ("tokenizer.ggml.model", Value::Text("hotloop-words".to_owned())),
        ("tokenizer.ggml.tokens", Value::Array(Array::Text(tokens))),
        ("tokenizer.ggml.token_type", Value::Array(Array::Signed(kinds))),
        ("tokenizer.ggml.bos_token_id", Value::Unsigned(2)),
        ("tokenizer.ggml.eos_token_id", Value::Unsigned(3)),
        ("tokenizer.ggml.unknown_token_id", Value::Unsigned(1)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}

#[test]
fn words_and_marks() {
    let tokenizer = Tokenizer::from_metadata(&words(&["the", "cat", ",", "!", "é"])).expect("a vocabulary");
    let ids = |text| tokenizer.encode(text, Encode::default());
    assert_eq!(ids("The cat,\tTHE  dog!é"), [4, 5, 6, 4, 1, 7, 8]);
    assert_eq!(ids("the-cat"), [4, 1, 5]);
    assert!(ids(" \n").is_empty());
    assert_eq!(tokenizer.decode(&[4, 5, 6, 4, 1, 7, 8]), "the cat, the <unk>! é");
    assert_eq!(tokenizer.decode(&[2, 4, 3]), "the");
    let special = Encode { parse_special: true, ..Encode::default() };
    assert_eq!(tokenizer.encode("<bos>the<eos>", special), [2, 4, 3]);
    let mut stream = tokenizer.stream();
    assert_eq!(stream.push(4), " the");
    assert_eq!(stream.finish(), "");
}

#[test]
fn characters_or_nothing() {
    let mut metadata = merges();
    metadata.set("hotloop.tokenizer.unit", Value::Text("character".to_owned()));
    let tokenizer = Tokenizer::from_metadata(&metadata).expect("a vocabulary");
    // What the merges would join stays apart, and what has no token is left out where none stands for it.
    let text = "ab ab";
    assert_eq!(tokenizer.encode(text, Encode::default()).len(), 5);
    assert_eq!(tokenizer.decode(&tokenizer.encode("aéb", Encode::default())), "ab");
    metadata.set("hotloop.tokenizer.unit", Value::Text("syllable".to_owned()));
    let error = Tokenizer::from_metadata(&metadata).expect_err("no such unit");
    assert!(error.to_string().contains("hotloop.tokenizer.unit"), "{error}");
}
