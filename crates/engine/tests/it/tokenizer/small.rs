//! Vocabularies of a few tokens, written here, whose ids can be told by hand.

use engine::{Array, Encode, Metadata, Tokenizer, Value};

use crate::random::Random;

fn texts(texts: &[&str]) -> Value {
    Value::Array(Array::Text(texts.iter().map(|text| (*text).to_owned()).collect()))
}

/// A file with scores: bytes, a few letters and words, `<|im_end|>` and `<img>`.
pub fn pieces() -> Metadata {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>", "<|im_end|>", "<img>"].map(str::to_owned).to_vec();
    let mut kinds = vec![2, 3, 3, 3, 4];
    tokens.extend((0..256).map(|byte| format!("<0x{byte:02X}>")));
    kinds.extend([6; 256]);
    let words = ["▁", "a", "b", "c", "ab", "bc", "abc", "▁a", "▁ab", "▁▁", "é"];
    tokens.extend(words.map(str::to_owned));
    kinds.extend([1; 11]);
    let mut scores = vec![0.0; 261];
    // The pair bc is better than ab.
    scores.extend([-9.0, -9.0, -9.0, -9.0, -2.0, -1.0, -4.0, -3.0, -5.0, -6.0, -9.0]);
    [
        ("tokenizer.ggml.model", Value::Text("llama".to_owned())),
        ("tokenizer.ggml.tokens", Value::Array(Array::Text(tokens))),
        ("tokenizer.ggml.scores", Value::Array(Array::Float(scores))),
        ("tokenizer.ggml.token_type", Value::Array(Array::Signed(kinds))),
        ("tokenizer.ggml.bos_token_id", Value::Unsigned(1)),
        ("tokenizer.ggml.eos_token_id", Value::Unsigned(2)),
        ("tokenizer.ggml.unknown_token_id", Value::Unsigned(0)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}

/// A file with merges: the 256 bytes in the order of their characters, then what the merges make, then `<|end|>`.
pub fn merges() -> Metadata {
    let mut tokens: Vec<String> = ('!'..='~').chain('¡'..='¬').chain('®'..='Ń').map(String::from).collect();
    assert_eq!(tokens.len(), 256);
    tokens.extend(["ab", "bc", "Ġa", "Ġab", "<|end|>"].map(str::to_owned));
    let mut kinds = vec![1; 260];
    kinds.push(3);
    [
        ("tokenizer.ggml.model", Value::Text("gpt2".to_owned())),
        ("tokenizer.ggml.pre", Value::Text("gpt-2".to_owned())),
        ("tokenizer.ggml.tokens", Value::Array(Array::Text(tokens))),
        ("tokenizer.ggml.token_type", Value::Array(Array::Signed(kinds))),
        ("tokenizer.ggml.merges", texts(&["b c", "Ġ a", "a b", "Ġa b"])),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect()
}

fn read(metadata: &Metadata) -> Tokenizer {
    Tokenizer::from_metadata(metadata).expect("the vocabulary is whole")
}

/// The tokens as text, with bars between them.
#[track_caller]
fn check(tokenizer: &Tokenizer, text: &str, expected: &str) {
    let ids = tokenizer.encode(text, Encode::default());
    let tokens: Vec<_> = ids.iter().map(|id| String::from_utf8_lossy(tokenizer.token_bytes(*id).unwrap())).collect();
    assert_eq!(tokens.join("|"), expected, "{text:?}");
    assert_eq!(tokenizer.decode(&ids), text);
}

#[test]
fn the_best_score_is_joined_first() {
    let tokenizer = read(&pieces());
    check(&tokenizer, "abc", " a|bc");
    check(&tokenizer, "ab", " ab");
    check(&tokenizer, "bab", " |b|ab");
    check(&tokenizer, "  abc", "  | a|bc");
    check(&tokenizer, "é", " |é");
    check(&tokenizer, "ñ", " |\u{FFFD}|\u{FFFD}");
    check(&tokenizer, "", "");
}

#[test]
fn the_first_merge_is_made_first() {
    let tokenizer = read(&merges());
    check(&tokenizer, "abc", "a|bc");
    check(&tokenizer, " abc", " a|bc");
    check(&tokenizer, " ab ab", " ab| ab");
    check(&tokenizer, "\nab", "\n|ab");
}

/// Adds tokens of the usual kind, with a score where there are scores.
fn with(mut metadata: Metadata, more: &[&str]) -> Metadata {
    let mut add = |key: &str, change: &dyn Fn(&mut Array)| {
        if let Some(Value::Array(mut array)) = metadata.get(key).cloned() {
            change(&mut array);
            metadata.set(key, Value::Array(array));
        }
    };
    add("tokenizer.ggml.tokens", &|array| {
        if let Array::Text(tokens) = array {
            tokens.extend(more.iter().map(|token| (*token).to_owned()));
        }
    });
    add("tokenizer.ggml.token_type", &|array| {
        if let Array::Signed(kinds) = array {
            kinds.extend(more.iter().map(|_| 1));
        }
    });
    add("tokenizer.ggml.scores", &|array| {
        if let Array::Float(scores) = array {
            scores.extend(more.iter().map(|_| -0.5));
        }
    });
    metadata
}

#[test]
fn a_token_in_other_letters_does_not_hide_another() {
    // U+200D as it is, which no text becomes, before its three bytes in the letters of the file.
    let mut metadata = with(merges(), &["\u{200d}", "âĢ", "âĢį"]);
    metadata.set("tokenizer.ggml.merges", texts(&["â Ģ", "âĢ į", "a \u{200d}"]));
    let tokenizer = read(&metadata);
    assert_eq!(tokenizer.encode("\u{200d}", Encode::default()), [263]);
    assert_eq!(tokenizer.decode(&[261]), "\u{200d}");
    // A space as it is, before the letter that stands for it.
    let tokenizer = read(&with(pieces(), &["b c", "b▁", "b▁c"]));
    assert_eq!(tokenizer.encode("b c", Encode::default()).last(), Some(&274));
}

#[test]
fn special_texts_are_tokens_only_where_they_are_trusted() {
    let tokenizer = read(&pieces());
    let trusting = Encode { parse_special: true, ..Encode::default() };
    assert_eq!(tokenizer.encode("a<|im_end|></s>", trusting), [268, 3, 2]);
    let plain = tokenizer.encode("a<|im_end|>", Encode::default());
    assert!(plain.len() > 2 && !plain.contains(&3), "{plain:?}");
    // What the file's author defined is one token in any text, and the text goes on as if it began.
    assert_eq!(tokenizer.encode("a<img>a", Encode::default()), [268, 4, 268]);
    assert_eq!(tokenizer.decode(&[268, 4, 268]), "a<img>a");
    assert_eq!(tokenizer.decode(&[1, 268, 3, 2]), "a");
    assert_eq!(tokenizer.encode("<|im_end", trusting), tokenizer.encode("<|im_end", Encode::default()));
}

#[test]
fn bos_and_eos_are_added_as_the_file_says() {
    let with = Encode { add_special: true, ..Encode::default() };
    let mut metadata = pieces();
    assert_eq!(read(&metadata).encode("a", with), [1, 268]);
    metadata.set("tokenizer.ggml.add_bos_token", Value::Bool(false));
    metadata.set("tokenizer.ggml.add_eos_token", Value::Bool(true));
    assert_eq!(read(&metadata).encode("a", with), [268, 2]);
    assert_eq!(read(&metadata).encode("", with), [2]);
    metadata.set("tokenizer.ggml.add_space_prefix", Value::Bool(false));
    assert_eq!(read(&metadata).encode("a", with), [262, 2]);
    assert_eq!(read(&metadata).decode(&[268]), " a");
    assert_eq!(read(&merges()).encode("a", with).len(), 1);
}

#[test]
fn ends_are_those_named_and_those_known() {
    let tokenizer = read(&pieces());
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.vocab_len()), (Some(1), Some(2), 272));
    assert_eq!((0..300).filter(|id| tokenizer.is_end(*id)).collect::<Vec<_>>(), [2, 3]);
    assert!(read(&merges()).is_end(260));
    assert_eq!(tokenizer.chat_template(), None);
}

#[test]
fn without_words_the_tokens_are_the_same() {
    let whole = read(&pieces());
    let mut metadata = pieces();
    // A token that crosses a word and can never come into being: nothing may be cut any more.
    let Some(Value::Array(Array::Text(tokens))) = metadata.get("tokenizer.ggml.tokens") else { unreachable!() };
    let mut tokens = tokens.clone();
    tokens[260] = "q▁q".to_owned();
    metadata.set("tokenizer.ggml.tokens", Value::Array(Array::Text(tokens)));
    let mut kinds: Vec<i64> = vec![2, 3, 3, 3, 4];
    kinds.extend([6; 255]);
    kinds.extend([1; 12]);
    metadata.set("tokenizer.ggml.token_type", Value::Array(Array::Signed(kinds)));
    let uncut = read(&metadata);
    let mut random = Random(3);
    for _ in 0..300 {
        let text: String = (0..random.below(3000)).map(|_| b"abc  \n"[random.below(6)] as char).collect();
        assert_eq!(whole.encode(&text, Encode::default()), uncut.encode(&text, Encode::default()), "{text:?}");
    }
}

#[test]
fn random_texts_come_back() {
    let mut random = Random(1);
    for tokenizer in [read(&pieces()), read(&merges())] {
        for _ in 0..2000 {
            let text = random.text(60).replace('\u{2581}', "");
            assert_eq!(tokenizer.decode(&tokenizer.encode(&text, Encode::default())), text);
        }
    }
}

#[test]
fn every_way_of_cutting_keeps_the_text() {
    let mut random = Random(2);
    for pre in ["default", "gpt-2", "llama-bpe", "qwen2", "smollm"] {
        let mut metadata = merges();
        metadata.set("tokenizer.ggml.pre", Value::Text(pre.to_owned()));
        let tokenizer = read(&metadata);
        for _ in 0..2000 {
            let text = random.text(40);
            assert_eq!(tokenizer.decode(&tokenizer.encode(&text, Encode::default())), text, "{pre}");
        }
    }
}

#[test]
fn streams_give_whole_characters() {
    let tokenizer = read(&pieces());
    let mut random = Random(5);
    let mut stream = tokenizer.stream();
    for _ in 0..2000 {
        // Ids that are no tokens, and bytes in any order.
        let ids: Vec<u32> = (0..random.below(20)).map(|_| random.below(280) as u32).collect();
        let mut streamed = String::new();
        for id in &ids {
            streamed.push_str(stream.push(*id));
        }
        streamed.push_str(stream.finish());
        let shown = |id: &u32| match *id {
            1..=3 => &[],
            id => tokenizer.token_bytes(id).unwrap_or("\u{FFFD}".as_bytes()),
        };
        let bytes: Vec<u8> = ids.iter().flat_map(shown).copied().collect();
        assert_eq!(streamed, String::from_utf8_lossy(&bytes), "{ids:?}");
    }
    let mut stream = tokenizer.stream();
    assert_eq!([5 + 0xC3, 5 + 0xA9].map(|id| stream.push(id).to_owned()), ["", "é"]);
    assert_eq!(stream.push(268), " a");
}

#[test]
fn models_without_a_vocabulary_have_bytes() {
    let text = "Hé, 😶\n";
    for count in [256, 257, 50_000] {
        let tokenizer = Tokenizer::bytes(count);
        assert_eq!(tokenizer.encode(text, Encode::default()), text.bytes().map(u32::from).collect::<Vec<_>>());
        assert_eq!(tokenizer.decode(&tokenizer.encode(text, Encode::default())), text);
    }
    for count in [0, 1, 2, 27, 64, 100, 255, 256, 300, 1000] {
        let tokenizer = Tokenizer::bytes(count);
        assert_eq!(tokenizer.vocab_len(), count.max(1));
        assert!(tokenizer.encode(text, Encode::default()).iter().all(|id| (*id as usize) < count.max(1)));
        for id in 0..count as u32 {
            let shown = tokenizer.decode(&[id]);
            assert!(
                !shown.is_empty() && shown.chars().all(|shown| !shown.is_control() || shown == '\n' || shown == '\t')
            );
            if count < 95 {
                assert_eq!(tokenizer.encode(&shown, Encode::default()), [id], "{count}");
            }
        }
    }
}
