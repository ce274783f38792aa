//! How fast a corpus becomes batches, and how much memory that takes:
//! `cargo run --release -p hotloop-training --example corpus -- FILE bpe|characters|words [TOKENS] [lines|chunks|windows]`

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::path::Path;
use std::time::Instant;

use training::data::{Corpus, CorpusRequest, CorpusRole, DataSettings, Feed, FeedOptions, Sources, VocabularySettings};
use training::vocabulary::{VocabularyRequest, prepare};

/// Batches that are read at the end.
const BATCHES: u64 = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |at: usize| arguments.get(at).map(String::as_str);
    let word = |text: &str| serde_json::Value::String(text.to_owned());
    let data = DataSettings {
        input_file: given(0).ok_or("a file is needed")?.into(),
        sequences: serde_json::from_value(word(given(3).unwrap_or("chunks")))?,
        ..DataSettings::default()
    };
    let settings = VocabularySettings {
        kind: serde_json::from_value(word(given(1).unwrap_or("bpe")))?,
        vocab_size: given(2).map(str::parse).transpose()?,
        ..VocabularySettings::default()
    };
    let folder = std::env::temp_dir().join(format!("hotloop-corpus-{}", std::process::id()));
    let shown = show(&data, &settings, &folder);
    std::fs::remove_dir_all(&folder).ok();
    shown
}

fn show(data: &DataSettings, settings: &VocabularySettings, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new("");
    let sources = Sources::find(data, CorpusRole::Training, here, folder)?;
    let megabytes = sources.bytes() as f64 / 1e6;
    let since = Instant::now();
    let request = VocabularyRequest { settings, data, sources: &sources, base: here };
    let vocabulary = prepare(&request, folder, &mut |_| true)?;
    let seconds = since.elapsed().as_secs_f64();
    println!("vocabulary: {} tokens from {megabytes:.1} MB in {seconds:.2} s{}", vocabulary.len(), peak());
    let request = CorpusRequest { settings: data, sources: &sources, validation: None, max_length: 128, seed: 1 };
    for what in ["encoded", "found again"] {
        let since = Instant::now();
        let corpus = Corpus::build(&request, &vocabulary, folder, &mut |_| true)?;
        let (seconds, tokens) = (since.elapsed().as_secs_f64(), corpus.facts().tokens);
        println!("{what}: {tokens} tokens in {seconds:.3} s, {:.1} MB/s{}", megabytes / seconds, peak());
    }
    let corpus = Corpus::build(&request, &vocabulary, folder, &mut |_| true)?;
    let options = FeedOptions { batch: 8, shuffle: true, ..FeedOptions::default() };
    let mut feed = Feed::new(corpus.training(), options)?;
    let since = Instant::now();
    let mut predicted = 0;
    for _ in 0..BATCHES {
        predicted += feed.next()?.map_or(0, |batch| batch.predicted);
    }
    let each = since.elapsed().as_secs_f64() / BATCHES as f64;
    println!(
        "batches of 8: {:.1} us each, {:.1} M tokens/s",
        each * 1e6,
        predicted as f64 / BATCHES as f64 / each / 1e6
    );
    Ok(())
}

/// The most memory so far, where the system tells it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(String::new, |line| format!(", {} at most", line.trim()))
}
