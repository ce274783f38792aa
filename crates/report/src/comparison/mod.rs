//! Two stored runs side by side, for people.

mod head;
mod rows;
mod scopes;
mod smallmind;
pub(crate) mod words;

use record::{Comparison, Verdict};

use crate::RunOptions;
use crate::run;
use crate::run::document::{Block, Document, Section};

pub use head::verdict_line;
pub use smallmind::text as smallmind;

/// A comparison for the terminal, in lines of at most 120 columns; the last one is the verdict.
#[must_use]
pub fn text(comparison: &Comparison, options: &RunOptions) -> String {
    let text = run::terminal::write(&document(comparison, options.top.max(1)), options.page());
    format!("{text}\n{}\n", verdict_line(comparison))
}

/// A comparison as GitHub shows it. The same as on the terminal.
#[must_use]
pub fn markdown(comparison: &Comparison, options: &RunOptions) -> String {
    let text = run::markdown::write(&document(comparison, options.top.max(1)));
    format!("{text}\n{}\n", verdict_line(comparison))
}

fn document(comparison: &Comparison, top: usize) -> Document {
    let mut sections = vec![head::verdict(comparison)];
    sections.extend(head::differences(comparison));
    sections.extend(head::facts(comparison));
    sections.extend(rows::totals(comparison));
    sections.extend(rows::models(comparison));
    sections.extend(rows::kernels(comparison, top));
    sections.extend(rows::times(comparison));
    sections.extend(rows::others(comparison, top));
    sections.extend(scopes::sections(comparison, top));
    sections.push(head::settle(comparison));
    if !comparison.notes.is_empty() {
        let notes = Block::List(comparison.notes.clone());
        sections.push(Section::new("NOTES", "what has to be known to understand the figures").with(notes));
    }
    let title = format!("{} before, {} after", comparison.base.name, comparison.candidate.name);
    Document { kind: "HOTLOOP COMPARISON", title, warnings: warnings(comparison), sections }
}

/// Before everything else: that there is no verdict.
fn warnings(comparison: &Comparison) -> Vec<String> {
    let warning = match comparison.verdict {
        Verdict::Incomparable => "These runs cannot be compared. Their figures stand side by side, and mean no change.",
        Verdict::WrongOutput => {
            "These runs did not compute the same. Whatever is faster here, it is not the same work."
        }
        _ => return Vec::new(),
    };
    vec![warning.to_owned()]
}

/// Whether the figures of both sides may be set against each other.
fn is_comparable(comparison: &Comparison) -> bool {
    !matches!(comparison.verdict, Verdict::Incomparable | Verdict::WrongOutput)
}
