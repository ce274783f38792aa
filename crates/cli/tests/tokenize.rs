//! `hotloop tokenize` as it is used: ids that are known, texts there and back, and refusals.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use record::Tokens;

/// The bundled model as a file.
const STORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/model/stories.gguf");

fn run(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hotloop"))
        .arg("tokenize")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // Not every command reads it.
    let _ = child.stdin.take().expect("it is piped").write_all(input);
    child.wait_with_output().expect("the program ends")
}

#[track_caller]
fn stdout_of(arguments: &[&str], input: &str) -> String {
    let output = run(arguments, input.as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

/// Checks that a run is refused, writes nothing, and says why.
#[track_caller]
fn refused(arguments: &[&str], input: &[u8], why: &[&str]) {
    let output = run(arguments, input);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    for part in why.iter().chain(&["error: "]) {
        assert!(error.contains(part), "{arguments:?}: {part} is missing: {error}");
    }
}

fn numbers(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|id| id.parse().expect("an id")).collect()
}

/// A file of the data beside the workspace.
fn shared(name: &str) -> Option<String> {
    testing::shared(name).map(|file| file.display().to_string())
}

/// Position, id and piece; the same tokens in every form.
#[test]
fn every_form_has_the_same_tokens() {
    let text = "Once upon a time there was a girl.\n";
    let ids = stdout_of(&[STORIES, text, "--ids"], "");
    let tokens = Tokens::from_json(&stdout_of(&[STORIES, text, "--json"], "")).expect("a document");
    assert_eq!(numbers(&ids), tokens.tokens.iter().map(|token| token.id).collect::<Vec<_>>());
    assert_eq!((tokens.text.as_str(), tokens.special, tokens.vocab), (text, Some(true), 1024));
    assert_eq!(stdout_of(&[STORIES, text, "--count"], ""), format!("{}\n", tokens.count));
    let lines = stdout_of(&[STORIES, text], "");
    assert_eq!(lines.lines().count() as u64, tokens.count);
    for ((position, line), token) in lines.lines().enumerate().zip(&tokens.tokens) {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..2], [position.to_string(), token.id.to_string()], "{line}");
        assert_eq!(words[2].starts_with('"'), !token.control, "{line}");
    }
    assert!(lines.ends_with("\\n\"\n") && lines.contains("\"Once\""), "{lines}");
}

#[test]
fn a_text_comes_from_anywhere() {
    let text = "The cat sat.";
    let ids = stdout_of(&[STORIES, text, "--ids"], "");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tokenize.txt");
    std::fs::write(&file, text).expect("it can be written");
    let file = file.display().to_string();
    for (arguments, input) in [
        (vec!["--ids"], text),
        (vec!["-", "--ids"], text),
        (vec!["--file", "-", "--ids"], text),
        (vec!["--file", &file, "--ids"], "something else"),
    ] {
        assert_eq!(stdout_of(&[&[STORIES], &arguments[..]].concat(), input), ids, "{arguments:?}");
    }
    assert_eq!(stdout_of(&[STORIES, "--count", "--no-special"], ""), "0\n", "an empty text has no tokens");
}

/// The bundled model begins texts with no token, this one with BOS.
#[test]
fn special_tokens_can_be_left_out() {
    let Some(model) = shared("models/stories260K-f32.gguf") else { return };
    let with = numbers(&stdout_of(&[&model, "a dog", "--ids"], ""));
    let without = numbers(&stdout_of(&[&model, "a dog", "--ids", "--no-special"], ""));
    assert_eq!(with[1..], without, "BOS is in front");
    let begin = Tokens::from_json(&stdout_of(&[&model, "a dog", "--json"], "")).expect("a document").tokens.remove(0);
    assert!(begin.control, "{begin:?}");
    // The name of a control token in a text is that token, or as many letters as it has.
    let named = numbers(&stdout_of(&[&model, &begin.text, "--ids"], ""));
    assert_eq!(named, [begin.id, begin.id]);
    let plain = numbers(&stdout_of(&[&model, &begin.text, "--ids", "--no-special"], ""));
    assert!(plain.len() > 1 && !plain.contains(&begin.id), "{plain:?}");
}

#[test]
fn tokens_become_the_text_again() {
    for text in ["Once upon a time", " two  spaces ", "naïve café — “quotes” 🙂\n\tend\n", ""] {
        let ids = stdout_of(&[STORIES, "--ids"], text);
        assert_eq!(stdout_of(&[STORIES, "--decode", ids.trim_end()], ""), text);
        assert_eq!(stdout_of(&[STORIES, "--decode", "-"], &ids), text, "from standard input");
        let list = format!("[{}]", ids.trim_end().replace(' ', ", "));
        let tokens = Tokens::from_json(&stdout_of(&[STORIES, "--decode", &list, "--json"], "")).expect("a document");
        assert_eq!((tokens.text.as_str(), tokens.special), (text, None));
    }
}

/// A vocabulary can name its tokens as it likes; this text has characters that would speak to a terminal.
#[test]
fn control_characters_are_escaped() {
    let lines = stdout_of(&[STORIES, "--no-special"], "\u{1b}[31m\u{7}\u{9b}x");
    assert!(!lines.chars().any(|character| character.is_control() && character != '\n'), "{lines:?}");
    assert!(lines.contains("\\u{1b}") || lines.contains("\\x1b"), "{lines}");
}

#[test]
fn what_cannot_be_done_is_refused() {
    refused(&[STORIES, "--decode", "1,1024"], b"", &["token 1024 is not in the vocabulary, which has 1024 tokens"]);
    refused(&[STORIES, "--decode", "one"], b"", &["--decode takes token ids, not `one`", "hint: "]);
    refused(&[STORIES, "-"], b"\xff", &["cannot read standard input: not UTF-8: ", "hint: "]);
    refused(&[STORIES, "--file", "/no/such/file"], b"", &["cannot read /no/such/file: "]);
    refused(&["/no/such/model.gguf", "x"], b"", &["/no/such/model.gguf", "hint: "]);
    refused(&[STORIES, "x", "--idz"], b"", &["'--idz'", "'--ids'"]);
}

/// The ids that llama.cpp's own tests expect. These files are vocabularies without weights.
#[test]
fn ids_are_those_of_the_reference() {
    for name in ["gpt-2", "llama-bpe", "llama-spm"] {
        let file = |ending: &str| shared(&format!("vocab/ggml-vocab-{name}.gguf{ending}"));
        let (Some(model), Some(inputs), Some(outputs)) = (file(""), file(".inp"), file(".out")) else { return };
        let read = |file: &str| std::fs::read_to_string(file).expect("the file can be read");
        let (inputs, outputs) = (read(&inputs), read(&outputs));
        let inputs: Vec<&str> = inputs.split_terminator("\n__ggml_vocab_test__\n").collect();
        let cases: Vec<(&str, &str)> = inputs.into_iter().zip(outputs.lines()).collect();
        assert!(cases.len() > 30, "{}", cases.len());
        // A process for each of them would take long.
        for (input, output) in cases.into_iter().step_by(7) {
            let ids = stdout_of(&[&model, "--ids", "--no-special"], input);
            assert_eq!(numbers(&ids), numbers(output), "{name}: {input:?}");
        }
    }
}
