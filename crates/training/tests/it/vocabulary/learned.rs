//! What is learned from texts, and what it makes of texts.

use engine::{Encode, Tokenizer};
use training::data::{CorpusRole, DataSettings, Sources, VocabularySettings};
use training::vocabulary::{Vocabulary, VocabularyRequest, prepare, train};

use super::{learned, settings};
use crate::folder::{Folder, shared};
use crate::random::Random;

fn ids(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer.encode(text, Encode::default())
}

fn tokens(vocabulary: &Vocabulary) -> Vec<String> {
    vocabulary.metadata().texts("tokenizer.ggml.tokens").expect("texts").expect("tokens").to_vec()
}

#[test]
fn words_as_loopos_has_them() {
    let vocabulary = learned("words", None, "The cat, the dog. THE Cat!\nOnce");
    let expected = ["<pad>", "<unk>", "<bos>", "<eos>", "<|user|>", "<|assistant|>", "the", "cat"];
    assert_eq!(tokens(&vocabulary), expected, "words that come once are none");
    let all = Vocabulary::new(
        &train(&VocabularySettings { min_frequency: Some(1), ..settings("words", None) }, ["b a, b c! b a"])
            .expect("words"),
    )
    .expect("words");
    assert_eq!(tokens(&all)[6..], ["b", "a", "!", ",", "c"], "by how often they come, then by their bytes");
    let few = learned("words", Some(7), "a a b b b");
    assert_eq!(tokens(&few)[6..], ["b"]);
    let tokenizer = vocabulary.tokenizer();
    assert_eq!(ids(tokenizer, "  The\tunknown CAT"), [6, 1, 7]);
    assert_eq!(tokenizer.decode(&[6, 1, 7, 3]), "the <unk> cat");
    assert_eq!((tokenizer.bos(), tokenizer.eos(), tokenizer.unknown()), (Some(2), Some(3), Some(1)));
    assert!(tokenizer.is_end(3));
}

#[test]
fn words_come_back_up_to_white_space() {
    let text = "the quick-brown fox, (it) said: \"jump!\" \u{e4}\u{20ac} 12.5%\n";
    let twice = format!("{text}{text}");
    let vocabulary = learned("words", None, &twice);
    let tokenizer = vocabulary.tokenizer();
    let back = tokenizer.decode(&ids(tokenizer, text));
    let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    assert_eq!(squeezed(&back), squeezed(text));
    assert!(back.starts_with("the quick- brown fox,( it) said:"), "{back}");
    // As it is written: a text that goes on keeps the space before a word.
    let mut stream = tokenizer.stream();
    let streamed: String = ids(tokenizer, text).into_iter().map(|id| stream.push(id).to_owned()).collect();
    assert_eq!(streamed, format!(" {back}"));
}

#[test]
fn characters_in_the_order_of_their_codes() {
    let vocabulary = learned("characters", None, "héllo €😶 wörld\n");
    let tokenizer = vocabulary.tokenizer();
    let text = "€öé😶\n h";
    assert_eq!(tokenizer.decode(&ids(tokenizer, text)), text);
    assert_eq!(ids(tokenizer, text).len(), 7);
    assert_eq!(ids(tokenizer, "\n d"), [0, 1, 2]);
    let unknown = tokenizer.unknown().expect("a token for what is unknown");
    assert_eq!(ids(tokenizer, "hXh€ß"), [3, unknown, 3, ids(tokenizer, "€")[0], unknown]);
    assert_eq!(tokenizer.decode(&[3, unknown]), "h<unk>");
    assert_eq!(vocabulary.len(), 14);
    assert_eq!(tokenizer.eos(), Some(13));
    let few = learned("characters", Some(4), "aabbbcccd");
    assert_eq!(tokens(&few), ["b", "c", "<unk>", "<|endoftext|>"]);
}

#[test]
fn byte_pairs_come_back_whatever_the_text() {
    let mut random = Random(11);
    let texts: Vec<String> = (0..200).map(|_| random.text(400)).collect();
    let vocabulary = learned("bpe", Some(500), &texts[..50].concat());
    let tokenizer = vocabulary.tokenizer();
    assert!(vocabulary.len() > 300 && vocabulary.len() <= 500, "{}", vocabulary.len());
    for text in &texts {
        assert_eq!(&tokenizer.decode(&ids(tokenizer, text)), text);
    }
    assert_eq!(tokenizer.eos(), Some(0));
    assert_eq!(
        tokenizer.encode("a<|endoftext|>", Encode { parse_special: true, ..Encode::default() }).last(),
        Some(&0)
    );
    assert!(!ids(tokenizer, "a<|endoftext|>").contains(&0), "what users write is no end");
}

#[test]
fn all_bytes_are_tokens_even_of_an_empty_text() {
    let vocabulary = learned("bpe", None, "");
    assert_eq!(vocabulary.len(), 257);
    let text = "anything \u{0}\u{7f}äöü";
    assert_eq!(vocabulary.tokenizer().decode(&ids(vocabulary.tokenizer(), text)), text);
    let error = train(&settings("bpe", Some(256)), ["text"]).expect_err("too few");
    assert!(error.to_string().contains("tokenizer.vocab_size"), "{error}");
}

#[test]
fn the_same_texts_give_the_same_vocabulary() {
    let mut random = Random(3);
    let text: String = (0..300).map(|_| random.text(60)).collect();
    for kind in ["bpe", "characters", "words"] {
        let first = learned(kind, Some(400), &text);
        for _ in 0..8 {
            let again = learned(kind, Some(400), &text);
            assert_eq!(again.metadata(), first.metadata(), "{kind}");
            assert_eq!(again.fingerprint(), first.fingerprint());
        }
        assert_ne!(
            learned(kind, Some(if kind == "words" { 10 } else { 300 }), &text).fingerprint(),
            first.fingerprint()
        );
    }
}

#[test]
fn pieces_of_a_text_are_learned_like_the_whole() {
    let Some(path) = shared("text/pride_and_prejudice.txt") else { return };
    let text = std::fs::read_to_string(&path).expect("a text");
    let folder = Folder::new();
    // Larger than what is read at once, so that words lie across the ends.
    let long = text.repeat(3);
    folder.write("long", &long);
    for (kind, size) in [("bpe", Some(700)), ("characters", None), ("words", Some(2000))] {
        let (settings, data) =
            (settings(kind, size), DataSettings { input_file: "long".into(), ..DataSettings::default() });
        let out = folder.path("out");
        let sources = Sources::find(&data, CorpusRole::Training, folder.root(), &out).expect("files");
        let request = VocabularyRequest { settings: &settings, data: &data, sources: &sources, base: folder.root() };
        let mut reports = 0;
        let learn = |reports: &mut u32| {
            prepare(&request, &out, &mut |_| {
                *reports += 1;
                true
            })
        };
        let vocabulary = learn(&mut reports).expect("a vocabulary");
        assert_eq!(vocabulary.metadata(), learned(kind, size, &long).metadata(), "{kind}");
        // And kept for the next time.
        let before = std::mem::take(&mut reports);
        let kept = learn(&mut reports).expect("a vocabulary");
        assert!(before > 0 && reports == 0, "{before} {reports}");
        assert_eq!(kept.metadata(), vocabulary.metadata());
        let tokenizer = vocabulary.tokenizer();
        if kind != "words" {
            assert!(tokenizer.decode(&ids(tokenizer, &text)) == text, "{kind}: the text came back changed");
        }
    }
}

#[test]
fn a_sample_of_a_large_corpus() {
    let folder = Folder::new();
    folder.write("large", "some words that come again and again\n".repeat(100_000));
    let data = DataSettings { input_file: "large".into(), ..DataSettings::default() };
    let out = folder.path("out");
    let sources = Sources::find(&data, CorpusRole::Training, folder.root(), &out).expect("files");
    let settings = VocabularySettings { sample_bytes: 1 << 20, ..settings("words", None) };
    let request = VocabularyRequest { settings: &settings, data: &data, sources: &sources, base: folder.root() };
    let mut most = 0;
    let vocabulary = prepare(&request, &out, &mut |progress| {
        most = progress.done.max(most);
        true
    });
    let vocabulary = vocabulary.expect("a vocabulary");
    assert!(most <= 1 << 20, "{most} bytes were read");
    assert_eq!(vocabulary.notes(), ["the vocabulary is learned from one of every 4 MiB of the corpus"]);
    assert!(tokens(&vocabulary).contains(&"again".to_owned()));
}
