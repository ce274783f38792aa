//! From texts to a file of tokens.

use std::path::{Path, PathBuf};

use engine::{Encoder, Tokenizer};

use super::out::Out;
use super::text::{self, Piece, Sample};
use super::{CorpusFacts, Progress, ProgressCallback, SequenceForm, Sources, Stage};
use crate::{Error, Result};

/// How texts become tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan<'a> {
    pub(super) form: SequenceForm,
    /// Tokens of a line at most.
    pub(super) max_length: usize,
    pub(super) end_lines: bool,
    pub(super) separator: Option<&'a str>,
}

/// Encodes all sources into a file of this name; returns where it is.
pub(super) fn write(
    sources: &Sources,
    tokenizer: &Tokenizer,
    plan: Plan<'_>,
    (folder, name): (&Path, &str),
    watcher: ProgressCallback<'_>,
) -> Result<PathBuf> {
    let out = Out::create(folder, tokenizer.vocab_len(), plan.form == SequenceForm::Lines)?;
    let mut encoding = Encoding {
        plan,
        tokenizer,
        encoder: tokenizer.encoder(),
        out,
        ids: Vec::new(),
        line: Line::default(),
        document_ends: false,
        document_has_tokens: false,
        unknown: 0,
        single: 0,
    };
    let total = sources.bytes();
    let mut done = 0;
    let replaced = text::read(sources, Sample::ALL, |piece| {
        match piece {
            Piece::Text(text) => {
                done += text.len() as u64;
                encoding.push(text)?;
            }
            Piece::End => encoding.end()?,
        }
        watcher(Progress { stage: Stage::Encoding, done, total }).then_some(()).ok_or_else(Error::interrupted)
    })?;
    let mut facts = CorpusFacts { files: sources.files() as u64, bytes: total, replaced, ..CorpusFacts::default() };
    facts.set_empty(&sources.empty);
    facts.left_out = sources.left_out as u64;
    encoding.finish(facts, name)
}

/// A text that is being encoded.
struct Encoding<'a> {
    plan: Plan<'a>,
    tokenizer: &'a Tokenizer,
    encoder: Encoder<'a>,
    out: Out,
    /// Tokens that are not written yet: those of the line, where lines are sequences.
    ids: Vec<u32>,
    line: Line,
    /// A document has ended, and the end token is written when another follows.
    document_ends: bool,
    document_has_tokens: bool,
    unknown: u64,
    single: u64,
}

/// What is known of a line that has not ended.
#[derive(Default)]
struct Line {
    /// The beginning of a line that may be the separator.
    begun: String,
    /// Whether something is in it that is no white space.
    has_text: bool,
    /// A carriage return that may belong to the end of the line.
    carriage: bool,
    /// Whether it is too long for the separator, or begins in another way.
    is_text: bool,
}

impl Encoding<'_> {
    fn push(&mut self, text: &str) -> Result<()> {
        match (self.plan.form, self.plan.separator) {
            (SequenceForm::Lines, _) => self.push_lines(text),
            (_, Some(separator)) => self.push_documents(text, separator),
            (_, None) => self.push_text(text),
        }
    }

    fn push_text(&mut self, text: &str) -> Result<()> {
        self.encoder.push(text, &mut self.ids);
        self.flush()
    }

    /// Text whose lines are sequences.
    fn push_lines(&mut self, text: &str) -> Result<()> {
        for part in text.split_inclusive('\n') {
            let (part, ends) = part.strip_suffix('\n').map_or((part, false), |part| (part, true));
            if std::mem::take(&mut self.line.carriage) && !(ends && part.is_empty()) {
                self.encoder.push("\r", &mut self.ids);
            }
            let (part, carriage) = part.strip_suffix('\r').map_or((part, false), |part| (part, true));
            self.line.carriage = carriage && !ends;
            self.line.has_text |= !part.trim().is_empty();
            self.encoder.push(part, &mut self.ids);
            if ends {
                self.end_line()?;
            } else {
                self.flush_long_line(self.plan.max_length)?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<()> {
        self.encoder.finish(&mut self.ids);
        let line = std::mem::take(&mut self.line);
        if !line.has_text {
            self.ids.clear();
            return Ok(());
        }
        if self.plan.end_lines {
            self.ids.extend(self.tokenizer.eos());
        }
        self.flush_long_line(self.plan.max_length)?;
        let rest = std::mem::take(&mut self.ids);
        let written = self.sequence(&rest);
        self.ids = rest;
        self.ids.clear();
        written
    }

    /// Writes what a line has beyond the longest sequence, and keeps what may still grow.
    fn flush_long_line(&mut self, most: usize) -> Result<()> {
        if self.ids.len() <= most {
            return Ok(());
        }
        let ids = std::mem::take(&mut self.ids);
        let whole = (ids.len() - 1) / most * most;
        for sequence in ids[..whole].chunks(most) {
            self.sequence(sequence)?;
        }
        self.ids = ids;
        self.ids.drain(..whole);
        Ok(())
    }

    fn sequence(&mut self, ids: &[u32]) -> Result<()> {
        match ids.len() {
            0 => Ok(()),
            1 => {
                self.single += 1;
                Ok(())
            }
            _ => {
                self.count_unknown(ids);
                self.out.sequence(ids)
            }
        }
    }

    /// Text in which a line parts documents.
    fn push_documents(&mut self, text: &str, separator: &str) -> Result<()> {
        for part in text.split_inclusive('\n') {
            if self.line.is_text {
                self.encoder.push(part, &mut self.ids);
                self.line.is_text = !part.ends_with('\n');
                continue;
            }
            self.line.begun.push_str(part);
            let line = self.line.begun.trim_end_matches(['\n', '\r']);
            let ends = self.line.begun.ends_with('\n');
            if ends && line == separator {
                self.line.begun.clear();
                self.end_document()?;
            } else if ends || !separator.starts_with(line) {
                self.line.is_text = !ends;
                self.encoder.push(&self.line.begun, &mut self.ids);
                self.line.begun.clear();
            }
        }
        self.flush()
    }

    /// The end of a file.
    fn end(&mut self) -> Result<()> {
        if self.plan.form == SequenceForm::Lines {
            return self.end_line();
        }
        let line = std::mem::take(&mut self.line);
        if self.plan.separator.is_none_or(|separator| line.begun.trim_end() != separator) {
            self.encoder.push(&line.begun, &mut self.ids);
        }
        self.end_document()
    }

    /// The end token is written before the next document, so that none stands behind the last.
    fn end_document(&mut self) -> Result<()> {
        self.encoder.finish(&mut self.ids);
        self.flush()?;
        self.document_ends |= std::mem::take(&mut self.document_has_tokens);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.ids.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.document_ends) {
            let end = self.tokenizer.eos();
            self.out.tokens(end.as_slice())?;
        }
        self.document_has_tokens = true;
        let ids = std::mem::take(&mut self.ids);
        self.count_unknown(&ids);
        let written = self.out.tokens(&ids);
        self.ids = ids;
        self.ids.clear();
        written
    }

    fn count_unknown(&mut self, ids: &[u32]) {
        if let Some(unknown) = self.tokenizer.unknown() {
            self.unknown += ids.iter().filter(|id| **id == unknown).count() as u64;
        }
    }

    fn finish(self, mut facts: CorpusFacts, name: &str) -> Result<PathBuf> {
        (facts.tokens, facts.unknown, facts.single) = (self.out.count(), self.unknown, self.single);
        let vocabulary = self.tokenizer.vocab_len() as u64;
        self.out.finish(facts, vocabulary, name)
    }
}
