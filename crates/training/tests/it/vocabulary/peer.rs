//! Byte pairs beside the `tokenizers` crate itself: its own splitting, its own encoding.

use std::str::FromStr;

use engine::Encode;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

use super::learned;
use crate::folder::shared;
use crate::random::Random;

/// The vocabulary as the crate reads it.
fn peer(vocabulary: &training::vocabulary::Vocabulary) -> tokenizers::Tokenizer {
    let texts = |key| vocabulary.metadata().texts(key).expect("texts").expect("the key");
    let vocab: serde_json::Map<String, serde_json::Value> =
        texts("tokenizer.ggml.tokens").iter().enumerate().map(|(id, token)| (token.clone(), id.into())).collect();
    let merges = texts("tokenizer.ggml.merges");
    let json = serde_json::json!({ "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null, "model": { "type": "BPE", "vocab": vocab, "merges": merges } });
    let mut tokenizer = tokenizers::Tokenizer::from_str(&json.to_string()).expect("the crate reads it");
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer
}

fn check(vocabulary: &training::vocabulary::Vocabulary, peer: &tokenizers::Tokenizer, text: &str) {
    let expected = peer.encode(text, false).expect("the crate encodes any text");
    let ids = vocabulary.tokenizer().encode(text, Encode::default());
    assert!(ids == expected.get_ids(), "{:?}", &text[..text.floor_char_boundary(200)]);
}

#[test]
fn the_crate_encodes_the_same() {
    let mut random = Random(23);
    let text: String = (0..400).map(|_| random.text(100)).collect();
    let vocabulary = learned("bpe", Some(600), &text);
    let peer = peer(&vocabulary);
    for _ in 0..500 {
        check(&vocabulary, &peer, &random.text(300));
    }
}

#[test]
fn the_crate_encodes_books_the_same() {
    for name in ["text/tinyshakespeare.txt", "text/pride_and_prejudice.txt"] {
        let Some(path) = shared(name) else { return };
        let text = std::fs::read_to_string(path).expect("a text");
        let vocabulary = learned("bpe", Some(1024), &text);
        assert_eq!(vocabulary.len(), 1024);
        check(&vocabulary, &peer(&vocabulary), &text);
    }
}

#[test]
fn the_crate_learns_the_same() {
    let Some(path) = shared("text/tinyshakespeare.txt") else { return };
    let text = std::fs::read_to_string(path).expect("a text");
    let vocabulary = learned("bpe", Some(1024), &text);
    // By the crate's own way from text to words.
    let mut tokenizer = tokenizers::Tokenizer::new(BPE::default());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    let mut trainer = tokenizers::models::TrainerWrapper::from(
        tokenizers::models::bpe::BpeTrainer::builder()
            .vocab_size(1024)
            .min_frequency(2)
            .show_progress(false)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .special_tokens(vec![tokenizers::AddedToken::from("<|endoftext|>", true)])
            .build(),
    );
    tokenizer.train(&mut trainer, [text.as_str()].into_iter()).expect("it learns");
    let expected = tokenizer.get_vocab(true);
    let tokens = vocabulary.metadata().texts("tokenizer.ggml.tokens").expect("texts").expect("tokens");
    for (id, token) in (0u32..).zip(tokens) {
        assert_eq!(expected.get(token), Some(&id), "{token:?}");
    }
    assert_eq!(expected.len(), tokens.len());
}
