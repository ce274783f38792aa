//! Real vocabularies: the ids that llama.cpp's own tests expect, and texts there and back.

use std::path::Path;

use engine::{Encode, TensorSource, Tokenizer, gguf};

use crate::folder::shared;
use crate::random::Random;

const VOCABULARIES: [&str; 3] = ["gpt-2", "llama-bpe", "llama-spm"];

fn tokenizer(name: &str) -> Option<Tokenizer> {
    let file = gguf::File::open(&shared(&format!("vocab/ggml-vocab-{name}.gguf"))?).expect("the file is whole");
    Some(Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is whole"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the file can be read")
}

#[test]
fn ids_are_those_of_the_reference() {
    for name in VOCABULARIES {
        let Some(tokenizer) = tokenizer(name) else { return };
        let file = |ending: &str| shared(&format!("vocab/ggml-vocab-{name}.gguf.{ending}"));
        let (Some(inputs), Some(outputs)) = (file("inp"), file("out")) else { return };
        let (inputs, outputs) = (read(&inputs), read(&outputs));
        let inputs: Vec<&str> = inputs.split_terminator("\n__ggml_vocab_test__\n").collect();
        let outputs: Vec<&str> = outputs.lines().collect();
        assert_eq!(inputs.len(), outputs.len());
        for (input, output) in inputs.iter().zip(outputs) {
            let expected: Vec<u32> = output.split_whitespace().map(|id| id.parse().expect("an id")).collect();
            assert_eq!(tokenizer.encode(input, Encode::default()), expected, "{name}: {input:?}");
        }
    }
}

#[test]
fn texts_come_back() {
    for name in VOCABULARIES {
        let Some(tokenizer) = tokenizer(name) else { return };
        for text in ["golden_story", "tinyshakespeare", "pride_and_prejudice"] {
            let Some(file) = shared(&format!("text/{text}.txt")) else { return };
            let text = read(&file);
            let ids = tokenizer.encode(&text, Encode::default());
            assert!(ids.len() < text.len() / 2, "{name}: hardly anything was joined");
            assert!(tokenizer.decode(&ids) == text, "{name}: not the same text");
        }
    }
}

#[test]
fn random_texts_come_back() {
    let mut random = Random(4);
    for name in VOCABULARIES {
        let Some(tokenizer) = tokenizer(name) else { return };
        for _ in 0..5000 {
            let text = random.text(40).replace('\u{2581}', "");
            assert_eq!(tokenizer.decode(&tokenizer.encode(&text, Encode::default())), text, "{name}");
        }
    }
}

#[test]
fn stories_have_their_golden_ids() {
    for (model, file) in [("stories260K", "stories260K-f32"), ("stories15M", "stories15M-q8_0")] {
        let Some(file) = shared(&format!("models/{file}.gguf")) else { return };
        let (Some(golden), Some(story)) =
            (shared(&format!("golden/{model}.golden.json")), shared("text/golden_story.txt"))
        else {
            return;
        };
        let file = gguf::File::open(&file).expect("the file is whole");
        let tokenizer = Tokenizer::from_metadata(file.metadata()).expect("the vocabulary is whole");
        let ids = tokenizer.encode(&read(&story), Encode { add_special: true, ..Encode::default() });
        let golden = golden_ids(&read(&golden));
        assert!(golden.len() >= 250 && ids.starts_with(&golden), "{model}: {ids:?} instead of {golden:?}");
    }
}

/// The first list of ids in a golden file: those of the story, as far as the model can read.
fn golden_ids(json: &str) -> Vec<u32> {
    let (_, list) = json.split_once("\"token_ids\": [").expect("there are ids");
    let (list, _) = list.split_once(']').expect("the list ends");
    list.split(',').map(|id| id.trim().parse().expect("an id")).collect()
}
