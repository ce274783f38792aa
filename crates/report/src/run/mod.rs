//! What a run came to, for people. [`document()`] says it once; the terminal and Markdown write it.

mod call_tree;
pub(crate) mod document;
pub(crate) mod estimates;
mod figures;
mod first_screen;
mod head;
mod insights;
pub(crate) mod limits;
pub(crate) mod markdown;
mod memory;
mod originals;
mod process;
mod profile;
pub(crate) mod rows;
pub(crate) mod shell;
mod short;
pub(crate) mod system;
pub(crate) mod terminal;
mod training;
pub(crate) mod tree;
mod trust;
mod variants;
mod view;
mod written;

use record::Run;

use document::{Block, Document, Section};
use view::View;

pub(crate) use document::printable;
pub(crate) use markdown::escaped;
pub use originals::{loopos, smallmind};

/// Tables need this many columns.
const NARROWEST: usize = 80;

/// How a report is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Rows of each ranking.
    pub top: usize,
    /// Whether headings and warnings stand out by colour; without it there is no escape in the text.
    pub color: bool,
    /// Columns of the terminal; 120 where there is none.
    pub width: usize,
    /// What the run is called where it is kept.
    pub id: Option<String>,
}

impl RunOptions {
    pub(crate) fn page(&self) -> terminal::Page {
        terminal::Page { color: self.color, width: self.width.max(NARROWEST) }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions { top: 12, color: false, width: terminal::WIDTH, id: None }
    }
}

/// A run for the terminal.
#[must_use]
pub fn text(run: &Run, options: &RunOptions) -> String {
    terminal::write(&document(run, options), options.page())
}

/// The first screen of a run: speed, top scopes, insights and warnings in at most 35 lines.
#[must_use]
pub fn summary(run: &Run, options: &RunOptions) -> String {
    first_screen::write(&View::new(run, options.top.max(1)), options)
}

/// A run as GitHub shows it. The same as on the terminal.
#[must_use]
pub fn markdown(run: &Run, options: &RunOptions) -> String {
    markdown::write(&document(run, options))
}

fn document(run: &Run, options: &RunOptions) -> Document {
    let view = View::new(run, options.top.max(1));
    let process = process::section(&view);
    // A program that was run as it is has little else to show.
    let (first, last) = if view::is_command(run) { (process, None) } else { (None, process) };
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(first);
    sections.push(head::section(run, options.id.as_deref()));
    sections.extend(short::section(&view));
    sections.extend(written::section(run));
    sections.extend(figures::sections(&view));
    sections.extend(training::sections(&view));
    let is_foreign = view.is_foreign();
    if !is_foreign {
        sections.push(insights::section(&view));
    }
    sections.push(system::section(run));
    sections.extend(rows::section(&view).filter(|_| !is_foreign));
    sections.extend(variants::section(&view));
    sections.extend(profile::sections(&view));
    sections.extend(trust::section(&view));
    sections.extend(memory::sections(&view));
    sections.extend(last);
    sections.extend(notes(run));
    sections.extend(metrics(run).filter(|_| !is_foreign));
    Document { kind: "HOTLOOP RUN", title: head::title(run), warnings: head::warnings(run), sections }
}

fn notes(run: &Run) -> Option<Section> {
    let notes = run.notes.clone();
    (!notes.is_empty())
        .then(|| Section::new("NOTES", "what has to be known to understand the figures").with(Block::List(notes)))
}

/// What the names of values mean: other tools use the same names for other things.
fn metrics(run: &Run) -> Option<Section> {
    let meaning = |(name, metric): (&String, &record::Metric)| {
        let exact = metric.exact.then_some("the same work gives the same value");
        let unit = Some(metric.unit.as_str()).filter(|unit| !unit.is_empty());
        let said: Vec<&str> = unit.into_iter().chain(exact).collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
        (name.clone(), format!("{}{said}", metric.definition))
    };
    let facts: Vec<(String, String)> = run.metrics.iter().map(meaning).collect();
    (!facts.is_empty()).then(|| Section::new("DEFINITIONS", "what was measured, by name").with(Block::Facts(facts)))
}
