//! Vocabularies that are taken over, sound and hostile.

use std::path::Path;

use engine::Encode;
use training::data::{CorpusRole, DataSettings, Sources, VocabularySettings};
use training::vocabulary::{Vocabulary, VocabularyRequest, prepare};

use super::learned;
use crate::folder::{Folder, shared};
use crate::random::Random;

/// Takes over a file.
fn take(folder: &Folder, path: &Path) -> training::Result<Vocabulary> {
    folder.write("text", "some text");
    let data = DataSettings { input_file: "text".into(), ..DataSettings::default() };
    let sources = Sources::find(&data, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    let settings = VocabularySettings { file: Some(path.to_owned()), ..VocabularySettings::default() };
    let request = VocabularyRequest { settings: &settings, data: &data, sources: &sources, base: folder.root() };
    prepare(&request, &folder.path("out"), &mut |_| true)
}

const LOOPOS: &str = "# Tokenizer Vocabulary\n# Format: token_id word frequency\nvocab_size=9\nnext_id=9\ntotal_tokens=12\n---\n\
    0\t<pad>\n1\t<unk>\n2\t<bos>\n3\t<eos>\n4\t<|user|>\n5\t<|assistant|>\n6\tthe\n7\t,\n8\tcat\n";

#[test]
fn a_list_of_loopos() {
    let folder = Folder::new();
    let path = folder.write("tokenizer.vocab", LOOPOS);
    let vocabulary = take(&folder, &path).expect("a vocabulary");
    assert_eq!(vocabulary.len(), 9);
    assert_eq!(vocabulary.tokenizer().encode("The cat, a dog", Encode::default()), [6, 8, 7, 1, 1]);
    let plain = folder.write("words", "the\ncat\n\n<unk>\n");
    let vocabulary = take(&folder, &plain).expect("a vocabulary");
    assert_eq!(vocabulary.tokenizer().encode("the cat", Encode::default()), [6, 7]);
}

#[test]
fn a_list_that_loopos_would_look_for() {
    let folder = Folder::new();
    folder.write("text", "a a b b");
    let data = DataSettings {
        input_file: "text".into(),
        tokenizer_vocab: Some("outputs/tokenizer.vocab".into()),
        ..DataSettings::default()
    };
    let sources = Sources::find(&data, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    let settings = VocabularySettings::default();
    let request = VocabularyRequest { settings: &settings, data: &data, sources: &sources, base: folder.root() };
    let prepared = || prepare(&request, &folder.path("out"), &mut |_| true).expect("a vocabulary");
    let vocabulary = prepared();
    assert_eq!(vocabulary.len(), 8);
    assert!(vocabulary.notes()[0].contains("tokenizer.vocab does not exist"), "{:?}", vocabulary.notes());
    folder.write("outputs/tokenizer.vocab", LOOPOS);
    assert_eq!(prepared().len(), 9);
}

#[test]
fn models_and_their_vocabularies() {
    let Some(path) = shared("vocab/ggml-vocab-gpt-2.gguf") else { return };
    let folder = Folder::new();
    let vocabulary = take(&folder, &path).expect("a vocabulary");
    assert_eq!(vocabulary.len(), 50_257);
    assert_eq!(vocabulary.tokenizer().encode("Hello world", Encode::default()), [15496, 995]);
    let stories = take(&folder, &shared("models/stories260K-f32.gguf").expect("it is there")).expect("a vocabulary");
    assert_eq!(stories.len(), 512);
    assert!(stories.metadata().iter().all(|(key, _)| key.starts_with("tokenizer.")));
}

/// A `tokenizer.json` with these pairs.
fn json(vocabulary: &Vocabulary) -> String {
    let texts = |key| vocabulary.metadata().texts(key).expect("texts").expect("the key");
    let vocab: serde_json::Map<String, serde_json::Value> =
        texts("tokenizer.ggml.tokens").iter().enumerate().map(|(id, token)| (token.clone(), id.into())).collect();
    serde_json::json!({
        "added_tokens": [{ "id": 0, "content": "<|endoftext|>", "special": true }],
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false, "use_regex": true },
        "model": { "type": "BPE", "vocab": vocab, "merges": texts("tokenizer.ggml.merges") },
    })
    .to_string()
}

#[test]
fn a_file_of_hugging_face() {
    let folder = Folder::new();
    let text = "taken over from somewhere else, taken over again and again";
    let own = learned("bpe", Some(280), text);
    let path = folder.write("tokenizer.json", json(&own));
    folder.write("tokenizer_config.json", r#"{ "eos_token": "<|endoftext|>" }"#);
    let vocabulary = take(&folder, &path).expect("a vocabulary");
    assert_eq!(vocabulary.tokenizer().eos(), Some(0));
    let encode = |vocabulary: &Vocabulary| vocabulary.tokenizer().encode(text, Encode::default());
    assert_eq!(encode(&vocabulary), encode(&own));
    assert_eq!(vocabulary.len(), own.len());
}

#[test]
fn what_is_no_vocabulary_is_refused() {
    let folder = Folder::new();
    let line = |from: &str, to: &str| LOOPOS.replace(from, to);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("no word", Vec::new()),
        ("not text", vec![0xFF, 0xFE, 0]),
        ("must be <pad>", b"---\n".to_vec()),
        ("tokenizer.json: not JSON", b"{".to_vec()),
        ("byte-level BPE", b"{}".to_vec()),
        ("expected 8", line("8\t", "9\t").into_bytes()),
        ("expected 8", line("8\t", "18446744073709551615\t").into_bytes()),
        ("expected 8", line("8\t", "7\t").into_bytes()),
        ("expected a number, a tab", line("8\t", "8 ").into_bytes()),
        ("expected a number, a tab", line("8\t", "-8\t").into_bytes()),
        ("must be <unk>", line("<unk>", "<nil>").into_bytes()),
        ("a word of 5000 bytes", line("cat", &"x".repeat(5000)).into_bytes()),
        ("GGUF", b"GGUF\x03\0\0\0".to_vec()),
    ];
    for (expected, bytes) in cases {
        let path = folder.write("given", &bytes);
        let error = take(&folder, &path).expect_err("no vocabulary");
        let text = error.to_string();
        assert!(text.contains("given"), "{text}");
        assert!(expected == "GGUF" || text.contains(expected), "{text}, not {expected}");
    }
    let error = take(&folder, &folder.path("none")).expect_err("it is not there");
    assert!(error.to_string().contains("none"), "{error}");
}

/// Damaged files of all kinds: refused or read, and what is read encodes any text with ids that there are.
#[test]
fn damaged_vocabularies_do_no_harm() {
    let folder = Folder::new();
    let mut random = Random(99);
    let own = learned("bpe", Some(270), "some text to damage, some more text");
    let characters = learned("characters", None, "some text to damage äö");
    let words = learned("words", None, "some text some text");
    let mut sound: Vec<Vec<u8>> = vec![LOOPOS.as_bytes().to_vec(), json(&own).into_bytes()];
    for vocabulary in [&own, &characters, &words] {
        let path = folder.path("sound.gguf");
        let writer = engine::gguf::Writer::create(&path, true, vocabulary.metadata(), Vec::new()).expect("a file");
        writer.finish().expect("a file");
        sound.push(std::fs::read(&path).expect("it is there"));
    }
    let mut read = 0;
    for bytes in &sound {
        for _ in 0..150 {
            let mut damaged = bytes.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(damaged.len());
                match random.below(4) {
                    0 => damaged[at] = random.next() as u8,
                    1 => damaged[at] ^= 1 << random.below(8),
                    2 => damaged.truncate(at.max(1)),
                    _ => {
                        let end = (at + random.below(40)).min(damaged.len());
                        let part = damaged[at..end].to_vec();
                        damaged.splice(at..at, part);
                    }
                }
            }
            let path = folder.write("damaged", &damaged);
            if let Ok(vocabulary) = take(&folder, &path) {
                read += 1;
                let tokenizer = vocabulary.tokenizer();
                let ids = tokenizer.encode(&random.text(80), Encode { add_special: true, parse_special: true });
                assert!(ids.iter().all(|id| (*id as usize) < vocabulary.len()));
                tokenizer.decode(&ids);
            }
        }
    }
    assert!(read > 50, "{read} of them could be read, so that little was tried");
}
