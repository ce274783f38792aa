//! Vocabularies as llama.cpp reads them. `HOTLOOP_LLAMA_TOKENIZE` names its program `llama-tokenize`.

use std::process::Command;

use engine::{Encode, Value, gguf};
use training::vocabulary::Vocabulary;

use super::learned;
use crate::folder::{Folder, shared};

/// The ids of a text, by llama.cpp.
fn ids(program: &str, folder: &Folder, vocabulary: &Vocabulary, text: &str) -> Vec<u32> {
    let mut metadata = vocabulary.metadata().clone();
    metadata.set("general.architecture", Value::Text("llama".to_owned()));
    let model = folder.path("vocabulary.gguf");
    gguf::Writer::create(&model, true, &metadata, Vec::new()).expect("a file").finish().expect("a file");
    let prompt = folder.write("prompt", text);
    let output = Command::new(program)
        .args(["--ids", "--no-bos", "--no-parse-special", "--no-escape", "--log-disable", "-m"])
        .arg(&model)
        .arg("-f")
        .arg(&prompt)
        .output()
        .expect("llama-tokenize can be run");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let list = shown.trim().trim_start_matches('[').trim_end_matches(']');
    list.split(',').map(|id| id.trim().parse().expect("an id")).collect()
}

#[test]
#[allow(clippy::print_stdout, reason = "what is skipped should be seen")]
fn llama_cpp_encodes_the_same() {
    let Ok(program) = std::env::var("HOTLOOP_LLAMA_TOKENIZE") else {
        println!("skipped: HOTLOOP_LLAMA_TOKENIZE is not set");
        return;
    };
    let Some(path) = shared("text/pride_and_prejudice.txt") else { return };
    let book = std::fs::read_to_string(path).expect("a text");
    let folder = Folder::new();
    let plain = "Some text,\n\n  with \"marks\", 123 numbers and what's more: é€😶 äöü\t\n";
    for (kind, size) in [("bpe", Some(1024)), ("characters", None)] {
        let vocabulary = learned(kind, size, &format!("{book}{plain}"));
        for text in [plain, &book[..100_000]] {
            let own = vocabulary.tokenizer().encode(text, Encode::default());
            assert!(ids(&program, &folder, &vocabulary, text) == own, "{kind}");
        }
    }
}
