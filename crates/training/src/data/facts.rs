//! What a corpus turned out to be.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Replaced;

/// So many names of files are kept; of the others their number.
const NAMED: usize = 8;

/// What was read, and what is worth telling about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CorpusFacts {
    /// Files that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Some of the files without a byte, which were left out.
    pub empty: Vec<PathBuf>,
    /// How many those are.
    pub empty_files: u64,
    /// Files beyond `data.max_files`.
    pub left_out: u64,
    /// Bytes that were no text.
    pub replaced: Option<Replaced>,
    /// Tokens in all.
    pub tokens: u64,
    /// Those of them that stand for what is not in the vocabulary.
    pub unknown: u64,
    /// Sequences of one token, from which nothing can be learned; they were left out.
    pub single: u64,
}

impl CorpusFacts {
    /// Takes over what is known of the files.
    pub(super) fn set_empty(&mut self, empty: &[PathBuf]) {
        self.empty_files = empty.len() as u64;
        self.empty = empty.iter().take(NAMED).cloned().collect();
    }

    /// What people should know, in sentences.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(Replaced { places, file, offset }) = &self.replaced {
            notes.push(format!(
                "{places} {} not UTF-8 and became U+FFFD; the first is at byte {offset} of {}",
                if *places == 1 { "place in the corpus was" } else { "places in the corpus were" },
                file.display()
            ));
        }
        if self.empty_files > 0 {
            let names: Vec<String> = self.empty.iter().map(|path| path.display().to_string()).collect();
            let more = self.empty_files - self.empty.len() as u64;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            notes.push(format!("skipped empty files: {}{more}", names.join(", ")));
        }
        if self.left_out > 0 {
            notes.push(format!("skipped {} files: data.max_files is {}", self.left_out, self.files));
        }
        if self.unknown > 0 {
            let share = self.unknown as f64 / self.tokens.max(1) as f64 * 100.0;
            notes.push(format!(
                "{} of {} tokens ({share:.1} %) are not in the vocabulary and count as the unknown token",
                self.unknown, self.tokens
            ));
        }
        if self.single > 0 {
            notes.push(format!("skipped {} sequences of a single token", self.single));
        }
        notes
    }
}
