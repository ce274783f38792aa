//! Documents as text.

use report::{Document, Page};

use super::terminal;
use crate::args::TextFormat;

/// A document in the format that was asked for.
pub fn text(document: &Document, format: TextFormat, page: Page) -> String {
    match format {
        TextFormat::Terminal => document.terminal(page),
        TextFormat::Markdown => document.markdown(),
    }
}

/// A document for standard output.
pub fn on_stdout(document: &Document) -> String {
    document.terminal(terminal::page(&std::io::stdout()))
}
