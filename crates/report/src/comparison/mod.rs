//! Two stored runs side by side.

mod rows;
mod scopes;
mod smallmind;
pub(crate) mod values;
mod verdict;

use record::{Comparison, Verdict};

use crate::RunOptions;
use crate::document::{Block, Document, Section};

pub use smallmind::text as smallmind;
pub use verdict::verdict_line;

/// A whole comparison; its last line is the verdict.
#[must_use]
pub fn document(comparison: &Comparison, options: &RunOptions) -> Document {
    let top = options.top.max(1);
    let mut sections = vec![verdict::verdict(comparison)];
    sections.extend(verdict::differences(comparison));
    sections.extend(verdict::facts(comparison));
    sections.extend(rows::totals(comparison));
    sections.extend(rows::models(comparison));
    sections.extend(rows::kernels(comparison, top));
    sections.extend(rows::times(comparison));
    sections.extend(rows::others(comparison, top));
    sections.extend(scopes::sections(comparison, top));
    sections.push(verdict::settle(comparison));
    if !comparison.notes.is_empty() {
        let notes = Block::List(comparison.notes.clone());
        sections.push(Section::new("NOTES", "").with(notes));
    }
    let title = format!("{} before, {} after", comparison.base.name, comparison.candidate.name);
    let (warnings, verdict_line) = (warnings(comparison), Some(verdict_line(comparison)));
    Document { kind: "HOTLOOP COMPARISON", title, warnings, sections, verdict_line, ..Document::default() }
}

/// Before everything else: that there is no verdict.
fn warnings(comparison: &Comparison) -> Vec<String> {
    let warning = match comparison.verdict {
        Verdict::Incomparable => "These runs are not comparable: differences between their figures mean nothing.",
        Verdict::WrongOutput => "These runs generated different output: the faster one did different work.",
        _ => return Vec::new(),
    };
    vec![warning.to_owned()]
}

/// Whether the figures of both sides may be set against each other.
fn is_comparable(comparison: &Comparison) -> bool {
    !matches!(comparison.verdict, Verdict::Incomparable | Verdict::WrongOutput)
}
