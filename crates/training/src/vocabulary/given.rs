//! Vocabularies that are there: GGUF files and other models, a `tokenizer.json`, or LoopOS's list of words.

use std::fs;
use std::io;
use std::path::Path;

use engine::Metadata;

use super::words::{self, LONGEST, SPECIAL};
use crate::{Error, Result};

/// Larger lists and larger JSON are no vocabulary.
const MOST_BYTES: u64 = 1 << 28;

/// The keys of a vocabulary file.
pub(super) fn read(path: &Path) -> Result<Metadata> {
    let wrong = |what: &str| {
        Error::new(format!("{}: {what}", path.display()), "supported are GGUF, tokenizer.json and LoopOS vocabularies")
    };
    let there = fs::metadata(path).map_err(|error| wrong(&error.to_string()))?;
    if there.is_dir() || begins_with(path, b"GGUF").map_err(|error| wrong(&error.to_string()))? {
        return Ok(engine::open(path)?.metadata().clone());
    }
    if there.len() > MOST_BYTES {
        return Err(wrong(&format!("{} bytes: too large for a vocabulary", there.len())));
    }
    let bytes = fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{') {
        let config = path.with_file_name("tokenizer_config.json");
        let config = fs::metadata(&config).is_ok_and(|there| there.len() <= MOST_BYTES).then(|| fs::read(config));
        let config = config.and_then(io::Result::ok);
        let metadata = engine::safetensors::tokens(&bytes, config.as_deref());
        return Ok(metadata.map_err(|error| error.in_file(path))?);
    }
    let text = String::from_utf8(bytes).map_err(|error| wrong(&format!("not text: {error}")))?;
    list(&text).map_err(|what| wrong(&what))
}

/// The words of a list: LoopOS's, whose entries follow a line `---`, or one word in each line.
pub(super) fn list(text: &str) -> Result<Metadata, String> {
    let mut lines = (1..).zip(text.lines());
    let mut listed = Vec::new();
    if lines.clone().any(|(_, line)| line == "---") {
        lines.find(|(_, line)| *line == "---");
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            listed.push(entry(line).ok_or_else(|| format!("line {number}: expected a number, a tab and a word"))?);
        }
        return numbered(listed);
    }
    let words = lines.map(|(_, line)| line.trim_end()).filter(|line| !line.is_empty());
    let words = words.filter(|word| SPECIAL.iter().all(|(name, _)| name != word));
    let words: Vec<String> = words.map(str::to_owned).collect();
    check(&words)?;
    Ok(words::keys(words.into_iter()))
}

fn entry(line: &str) -> Option<(u64, &str)> {
    let (id, word) = line.split_once('\t')?;
    Some((id.trim().parse().ok()?, word))
}

/// Words with numbers, which have to be all numbers from 0 on, the first six being those that steer.
fn numbered(mut listed: Vec<(u64, &str)>) -> Result<Metadata, String> {
    listed.sort_by_key(|(id, _)| *id);
    if let Some((place, (id, _))) = (0u64..).zip(&listed).find(|(place, (id, _))| place != id) {
        return Err(format!("word numbers must be consecutive; found {id}, expected {place}"));
    }
    for ((name, _), place) in SPECIAL.iter().zip(0..) {
        match listed.get(place) {
            Some((_, word)) if word == name => {}
            other => {
                let found = other.map_or("nothing", |(_, word)| *word);
                return Err(format!("word {place} must be {name}, not {found:?}"));
            }
        }
    }
    let words: Vec<String> = listed.into_iter().skip(SPECIAL.len()).map(|(_, word)| word.to_owned()).collect();
    check(&words)?;
    Ok(words::keys(words.into_iter()))
}

fn check(words: &[String]) -> Result<(), String> {
    if words.is_empty() {
        return Err("it has no words".to_owned());
    }
    match words.iter().find(|word| word.len() > LONGEST) {
        None => Ok(()),
        Some(word) => Err(format!("a word of {} bytes; the limit is {LONGEST}", word.len())),
    }
}

fn begins_with(path: &Path, start: &[u8]) -> io::Result<bool> {
    let mut first = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, start.len() as u64), &mut first)?;
    Ok(first == start)
}
