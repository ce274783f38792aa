//! The report of a run: [`document()`] is the whole of it, [`summary`] its first screen.

pub(crate) mod command_line;
mod figures;
mod first_screen;
mod generated_text;
mod insights;
mod lab_scopes;
pub(crate) mod limits;
mod memory;
mod originals;
mod overview;
mod process;
pub(crate) mod rows;
mod scope_limits;
mod summary;
pub(crate) mod system;
mod training;
mod variants;
mod view;

use record::Run;

use crate::document::{Block, Document, Page, Section};
use view::View;

pub use originals::{loopos, smallmind};

/// How a report is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOptions {
    /// Rows of each ranking.
    pub top: usize,
    /// Whether headings and warnings stand out by colour; without it there is no escape in the text.
    pub color: bool,
    /// Columns of the terminal; 120 where there is none.
    pub width: usize,
    /// The run's id in the store.
    pub id: Option<String>,
}

impl RunOptions {
    /// The page for [`Document::terminal`].
    #[must_use]
    pub fn page(&self) -> Page {
        Page { color: self.color, width: self.width }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        let Page { color, width } = Page::default();
        RunOptions { top: 12, color, width, id: None }
    }
}

/// The first screen of a run: speed, top scopes, insights and warnings in at most 35 lines.
#[must_use]
pub fn first_screen(run: &Run, options: &RunOptions) -> String {
    first_screen::write(&View::new(run, options.top.max(1)), options)
}

/// The whole report of a run.
#[must_use]
pub fn document(run: &Run, options: &RunOptions) -> Document {
    let view = View::new(run, options.top.max(1));
    let process = process::section(&view);
    // A program that was run as it is has little else to show.
    let (first, last) = if view::is_command(run) { (process, None) } else { (None, process) };
    let mut sections: Vec<Section> = Vec::new();
    sections.extend(first);
    sections.push(overview::section(run, options.id.as_deref()));
    sections.extend(summary::section(&view));
    sections.extend(generated_text::section(run));
    sections.extend(figures::sections(&view));
    sections.extend(training::sections(&view));
    let is_foreign = view.is_foreign();
    if !is_foreign {
        sections.push(insights::section(&view));
    }
    sections.push(system::section(run));
    sections.extend(rows::section(&view).filter(|_| !is_foreign));
    sections.extend(variants::section(&view));
    if let Some(profile) = view.profile() {
        sections.extend(profile::sections(&profile));
        sections.push(profile::trust(&profile));
    }
    sections.extend(memory::sections(&view));
    sections.extend(last);
    sections.extend(notes(run));
    sections.extend(metrics(run).filter(|_| !is_foreign));
    let (title, warnings) = (overview::title(run), overview::warnings(run));
    Document { kind: "HOTLOOP RUN", title, warnings, sections, ..Document::default() }
}

fn notes(run: &Run) -> Option<Section> {
    let notes = run.notes.clone();
    (!notes.is_empty()).then(|| Section::new("NOTES", "").with(Block::List(notes)))
}

/// What the names of values mean: other tools use the same names for other things.
fn metrics(run: &Run) -> Option<Section> {
    let meaning = |(name, metric): (&String, &record::Metric)| {
        let exact = metric.exact.then_some("deterministic");
        let unit = Some(metric.unit.as_str()).filter(|unit| !unit.is_empty());
        let said: Vec<&str> = unit.into_iter().chain(exact).collect();
        let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
        (name.clone(), format!("{}{said}", metric.definition))
    };
    let facts: Vec<(String, String)> = run.metrics.iter().map(meaning).collect();
    (!facts.is_empty()).then(|| Section::new("DEFINITIONS", "of the metrics").with(Block::Facts(facts)))
}
