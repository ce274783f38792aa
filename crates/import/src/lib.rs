//! What other programs measured, as runs. Text comes in, runs go out, and with them all that was not read: nothing is dropped
//! silently. There is a file per format, and one table of them ([`Format::all`]); a format is recognised by what a text says.
//!
//! What the other program did not write is absent in the run, never zero and never guessed. Totals that hold other totals are
//! turned into a tree with self times where the names show how they nest.

mod calls;
mod chrome;
mod criterion;
mod draft;
mod error;
mod folded;
mod format;
mod go_bench;
mod google_benchmark;
mod gzip;
mod hyperfine;
mod json;
mod lines;
mod llama_bench;
mod loopos;
mod numbers;
mod pytest_benchmark;
mod smallmind;
mod speedscope;
mod stacks;
mod tree;

use record::{Run, Tool, Unread};

pub use criterion::{File as CriterionFile, folder as criterion_folder};
pub use error::{Error, Result};
pub use format::Format;
pub use gzip::unpacked;

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Source {
    /// What it is called, usually its file.
    pub name: String,
    /// When it was written, in seconds since 1970, where that is known: formats that do not say when they measured take this.
    pub modified_s: Option<u64>,
    /// Who writes the run.
    pub tool: Tool,
}

/// What was read of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// What it was read as.
    pub format: Format,
    /// The runs, in the order in which they stand there; at least one.
    pub runs: Vec<Run>,
    /// What is in none of them.
    pub unread: Vec<Unread>,
}

/// Reads a text as the format that it is of, or as the one that is named.
///
/// # Errors
/// What is wrong and where, if there is nothing in it that could be a run.
pub fn import(text: &str, source: &Source, format: Option<Format>) -> Result<Imported> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = match format {
        Some(format) => format,
        None => Format::of(text).ok_or_else(Error::unknown_format)?,
    };
    format.read(text, source)
}
