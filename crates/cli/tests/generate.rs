//! `hotloop generate` as it is used: the built program, its text, its figures and its refusals.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use record::Generation;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.arg("generate").args(arguments).stdin(Stdio::null()).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

#[track_caller]
fn stdout(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[track_caller]
fn document(arguments: &[&str]) -> Generation {
    Generation::from_json(&stdout(&[arguments, &["--json"]].concat())).expect("a document")
}

/// Checks that a run is refused, writes nothing, and says why.
#[track_caller]
fn refused(arguments: &[&str], why: &[&str]) {
    let output = run(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
    for part in why.iter().chain(&["error: "]) {
        assert!(error.contains(part), "{arguments:?}: {part} is missing: {error}");
    }
}

/// A trained model of the data beside the workspace.
fn trained() -> Option<String> {
    testing::shared("models/stories260K-f32.gguf").map(|model| model.display().to_string())
}

#[test]
fn the_bundled_model_writes_text_and_figures() {
    let output = run(&["--prompt", "Once upon a time", "--tokens", "12", "--seed", "3"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).ends_with('\n') && text(&output.stdout).trim_end().chars().count() > 3);
    let figures = text(&output.stderr);
    for part in
        ["model", "bundled stories: llama", "prompt", "tok/s", "first token", "12 tokens", "KV cache", "scratch"]
    {
        assert!(figures.contains(part), "{part} is missing:\n{figures}");
    }
}

/// Without a text it begins as stories begin, and ends where they end.
#[test]
fn the_bundled_model_tells_stories() {
    let told = document(&["--tokens", "250", "--batch", "8"]);
    let ended = told.sequences.iter().filter(|sequence| sequence.ended == "end").count();
    assert!(ended >= 6, "{told:?}");
    for sequence in &told.sequences {
        let text = sequence.text.trim();
        assert!(text.split(' ').count() > 30 && text.is_ascii(), "{text}");
    }
    assert!(stdout(&["--tokens", "9"]).starts_with("Once upon a time there"), "the beginning is shown too");
    assert!(stdout(&["--tokens", "9", "--batch", "2"]).contains("--- text 2 ---\nOnce upon a time there"));
    let other = document(&["--tokens", "250", "--batch", "8", "--seed", "8"]);
    assert!(told.sequences.iter().all(|one| other.sequences.iter().all(|other| one.text != other.text)));
}

/// What `generate` does with words and a text on standard input.
fn with_stdin(arguments: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.arg("generate").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("it is a pipe"), stdin.as_bytes()).expect("it is read");
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_prompt_may_come_in_every_usual_way() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("prompt.txt");
    std::fs::write(&file, "abc").expect("it can be written");
    let usual = ["--synthetic", "small", "--tokens", "8", "--json"];
    let prompt_of = |output: &Output| {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let generation = Generation::from_json(text(&output.stdout)).expect("a document");
        (generation.sequences[0].prompt_tokens.clone(), generation.sequences[0].tokens.clone())
    };
    let expected = prompt_of(&run(&[&usual[..], &["--prompt", "abc"]].concat()));
    assert_eq!(expected.0.len(), 3);
    assert_eq!(prompt_of(&run(&[&usual[..], &["abc"]].concat())), expected);
    for words in [&[][..], &["-"], &["--prompt", "-"], &["--prompt-file", "-"]] {
        assert_eq!(prompt_of(&with_stdin(&[&usual[..], words].concat(), "abc\n")), expected, "{words:?}");
    }
    let from_file = std::fs::File::open(&file).expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    let redirected = command.arg("generate").args(usual).stdin(from_file).output().expect("the program starts");
    assert_eq!(prompt_of(&redirected), expected);
    let given = with_stdin(&[&usual[..], &["abc"]].concat(), "something else");
    assert_eq!(prompt_of(&given), expected, "a prompt on the command line comes first");
    let story = with_stdin(&["--tokens", "4"], "");
    assert!(text(&story.stdout).starts_with("Once upon a time"), "an empty pipe is no prompt");
}

#[test]
fn a_model_file_needs_no_option() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/model/stories.gguf");
    let words = ["--tokens", "8", "--temperature", "0"];
    let named = stdout(&[&["--model", model, "--prompt", "Once upon a time"], &words[..]].concat());
    assert_eq!(stdout(&[&[model, "Once upon a time"], &words[..]].concat()), named);
    refused(&["no-such.gguf", "Once"], &["no-such.gguf", "No such file", "hint: check the path"]);
    refused(&[model, "Once", "--model", model], &["name two models"]);
}

#[test]
fn more_threads_than_cpus_are_warned_of() {
    let output = run(&["--synthetic", "small", "--tokens", "4", "abc", "--threads", "999"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.starts_with("warning: 999 threads are more than the "), "{error}");
}

#[test]
fn a_seed_gives_one_text_and_another_seed_another() {
    let of = |seed| stdout(&["--synthetic", "small", "--prompt", "abc", "--tokens", "20", "--seed", seed]);
    assert_eq!(of("1"), of("1"));
    assert_ne!(of("1"), of("2"));
}

#[test]
fn the_document_says_what_happened() {
    let settings = "--synthetic small --prompt hello --tokens 9 --threads 1 --temperature 0";
    let generation = document(&settings.split(' ').collect::<Vec<_>>());
    assert_eq!(generation.model.active_parameters, 128 * (12 * 128 * 2) + 128 * 2 * 9 + 256 * 128);
    assert_eq!((generation.settings.threads, generation.settings.context), (1, 5 + 9));
    let [sequence] = &generation.sequences[..] else { panic!("one sequence") };
    assert_eq!((sequence.prompt_tokens.len(), sequence.tokens.len()), (5, 9));
    assert_eq!(sequence.ended, "limit");
    let speed = &generation.speed;
    assert!(
        speed.prompt_tokens_per_s.is_some_and(|speed| speed > 0.0)
            && speed.tokens_per_s.is_some_and(|speed| speed > 0.0)
    );
    // Keys and values of two layers, in halves.
    assert_eq!(generation.memory.cache_per_token, 2 * 2 * 128 * 2);
    assert_eq!(generation.memory.cache, generation.memory.cache_per_token * 14);
}

#[test]
fn every_text_of_a_batch_is_the_one_its_seed_gives() {
    let batch = document(&["--prompt", "abc", "--tokens", "15", "--seed", "5", "--batch", "3"]);
    for (number, sequence) in batch.sequences.iter().enumerate() {
        let seed = (5 + number).to_string();
        let single = document(&["--prompt", "abc", "--tokens", "15", "--seed", &seed]);
        assert_eq!(single.sequences[0].tokens, sequence.tokens, "seed {seed}");
    }
    let shown = stdout(&["--prompt", "abc", "--tokens", "15", "--seed", "5", "--batch", "3"]);
    assert_eq!(shown.matches("--- text ").count(), 3, "{shown}");
}

#[test]
fn taking_an_idea_away_changes_no_token() {
    let Some(model) = trained() else { return };
    let usual =
        ["--model", &model, "--prompt", "Once upon a time", "--tokens", "40", "--temperature", "0", "--cache", "f32"];
    let expected = document(&usual).sequences[0].tokens.clone();
    for without in [&["--no-kv-cache"][..], &["--no-pooling"], &["--naive"], &["--in-place"], &["--threads", "1"]] {
        let tokens = document(&[&usual[..], without].concat()).sequences[0].tokens.clone();
        assert_eq!(tokens, expected, "{without:?}");
    }
}

#[test]
fn a_stop_text_ends_it_and_is_not_shown() {
    let Some(model) = trained() else { return };
    let usual = ["--model", &model, "--prompt", "Once upon a time", "--tokens", "40", "--temperature", "0"];
    let whole = document(&usual).sequences[0].text.clone();
    let stop = whole.split_whitespace().nth(6).expect("some words").to_owned();
    let cut = document(&[&usual[..], &["--stop", &stop, "--stop", "never there"]].concat());
    assert_eq!(cut.sequences[0].ended, "stop");
    assert_eq!(cut.sequences[0].text, whole.split(&stop).next().unwrap());
}

#[test]
fn a_full_context_ends_it_or_shifts() {
    let usual = ["--synthetic", "small", "--prompt", "abcdef", "--tokens", "40", "--context", "16"];
    let ended = document(&usual);
    assert_eq!((ended.sequences[0].ended.as_str(), ended.sequences[0].tokens.len()), ("context", 16 - 6 + 1));
    let shifted = document(&[&usual[..], &["--context-shift"]].concat());
    assert_eq!((shifted.sequences[0].ended.as_str(), shifted.sequences[0].tokens.len()), ("limit", 40));
    assert_eq!(shifted.sequences[0].tokens[..11], ended.sequences[0].tokens[..]);
}

#[test]
fn text_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    let output = command.args(["generate", "--prompt", "x", "--tokens", "20"]).stdout(full).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("cannot write to standard output"), "{}", text(&output.stderr));
}

#[test]
fn what_has_no_end_is_no_prompt_and_what_has_no_file_must_fit() {
    if PathBuf::from("/dev/zero").exists() {
        refused(&["--prompt-file", "/dev/zero"], &["/dev/zero", "longer than 64 MiB", "hint: "]);
    }
    let huge = ["--synthetic", "d=65536,layers=1000", "--prompt", "x", "--tokens", "3"];
    if cfg!(target_os = "linux") {
        refused(&huge, &["the weights would take"]);
        refused(&[&huge[..], &["--in-place"]].concat(), &["the weights would take"]);
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    refused(&["--model", "no/such/file.gguf"], &["no/such/file.gguf", "No such file"]);
    refused(&["--model", "Cargo.toml", "--prompt", "x"], &["Cargo.toml", "looks like text"]);
    refused(&["--synthetic", "d=100,layers=2,heads=3", "--prompt", "x"], &["d=100", "3 heads"]);
    refused(&["--synthetic", "large", "--prompt", "x"], &["`large` is not a size"]);
    refused(&["--synthetic", "small", "--model", "x"], &["--synthetic", "--model"]);
    refused(&["--synthetic", "small"], &["the prompt is empty", "hint: "]);
    refused(&["--prompt-file", "no-such-file.txt"], &["no-such-file.txt"]);
    refused(&["--synthetic", "small", "--prompt", "0123456789", "--context", "5"], &["10 tokens", "the context 5"]);
    refused(&["--synthetic", "small", "--prompt", "x", "--context", "65"], &["this model has 64 learned positions"]);
    refused(&["--prompt", "x", "--temperature", "-1"], &["unexpected argument '-1'"]);
    refused(&["--prompt", "x", "--cache", "q4_0"], &["invalid value 'q4_0'", "[possible values: f32, f16, q8_0]"]);
    refused(&["--prompt", "x", "--batch", "0"], &["0 is not in 1..=256"]);
}
