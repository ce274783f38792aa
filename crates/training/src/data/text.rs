//! Reading files as text, piece by piece: what is no UTF-8 is replaced and counted.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Sources;
use super::sources::{Source, cannot_read};
use crate::{Error, Result};

/// So many bytes are read at once.
const PIECE: usize = 1 << 20;
/// What some editors put before a text.
const MARK: &str = "\u{FEFF}";

/// Bytes that were no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// How many places were replaced by U+FFFD.
    pub places: u64,
    /// The first file that has one.
    pub file: PathBuf,
    /// Where in that file the first is, in bytes.
    pub offset: u64,
}

/// A part of the corpus, as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Some text, cut anywhere between two characters.
    Text(&'t str),
    /// The end of a file.
    End,
}

/// CorpusRole parts of large corpora are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Of every so many pieces one is read.
    pub(crate) every: u64,
}

impl Sample {
    /// All of it.
    pub(crate) const ALL: Self = Self { every: 1 };

    /// As much as there is room for, evenly spread.
    pub(crate) fn at_most(most: u64, sources: &Sources) -> Self {
        Self { every: sources.bytes().div_ceil(most.max(PIECE as u64)).max(1) }
    }
}

/// Hands the texts of all files to `piece`; returns what was no text.
pub(crate) fn read(
    sources: &Sources,
    sample: Sample,
    mut piece: impl FnMut(Piece<'_>) -> Result<()>,
) -> Result<Option<Replaced>> {
    let mut replaced = None;
    let mut reader = Reader { bytes: vec![0; PIECE + 4], sample, number: 0 };
    for source in &sources.files {
        reader.read_file(source, &mut replaced, &mut piece)?;
        piece(Piece::End)?;
    }
    Ok(replaced)
}

struct Reader {
    bytes: Vec<u8>,
    sample: Sample,
    /// Of the next piece, over all files.
    number: u64,
}

impl Reader {
    fn read_file(
        &mut self,
        source: &Source,
        replaced: &mut Option<Replaced>,
        piece: &mut impl FnMut(Piece<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut file = File::open(&source.path).map_err(|error| cannot_read(&source.path, &error))?;
        // `kept`: bytes of a character whose end has not been read yet, at the beginning of the buffer.
        let (mut offset, mut kept) = (0u64, 0);
        loop {
            let read = fill(&mut file, &mut self.bytes[kept..kept + PIECE])
                .map_err(|error| cannot_read(&source.path, &error))?;
            let wanted = self.number.is_multiple_of(self.sample.every);
            self.number += 1;
            let length = kept + read;
            let at_end = read < PIECE;
            let mut note = |at: usize| {
                let first = Replaced { places: 0, file: source.path.clone(), offset: offset + at as u64 };
                replaced.get_or_insert(first).places += 1;
            };
            let mut give = |text: &str, at: usize| {
                let text = if offset + at as u64 == 0 { text.strip_prefix(MARK).unwrap_or(text) } else { text };
                if wanted && !text.is_empty() { piece(Piece::Text(text)) } else { Ok(()) }
            };
            let rest = valid(&self.bytes[..length], at_end, &mut give, &mut note)?;
            self.bytes.copy_within(rest..length, 0);
            kept = length - rest;
            offset += rest as u64;
            if at_end {
                break;
            }
        }
        if offset != source.bytes {
            let message =
                format!("{}: changed while being read: from {} bytes to {offset}", source.path.display(), source.bytes);
            return Err(Error::new(message, "start again when nothing writes to the corpus"));
        }
        Ok(())
    }
}

/// Hands on what is text, with U+FFFD for what is not; returns where a character begins that is not complete.
fn valid(
    bytes: &[u8],
    at_end: bool,
    give: &mut impl FnMut(&str, usize) -> Result<()>,
    note: &mut impl FnMut(usize),
) -> Result<usize> {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        give(chunk.valid(), at)?;
        at += chunk.valid().len();
        let wrong = chunk.invalid();
        if wrong.is_empty() {
            continue;
        }
        let unfinished = std::str::from_utf8(wrong).is_err_and(|error| error.error_len().is_none());
        if !at_end && unfinished && at + wrong.len() == bytes.len() {
            return Ok(at);
        }
        note(at);
        give("\u{FFFD}", at)?;
        at += wrong.len();
    }
    Ok(at)
}

/// Reads until the buffer is full or the file is at its end.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
