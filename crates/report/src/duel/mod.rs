//! A duel for people: the answer in one line, then the figures, their cause and how they were measured.

mod figures;
mod headline;
mod method;
mod metrics;
mod verdict;
mod why;

use record::{Duel, Finding, Verdict};

use crate::RunOptions;
use crate::document::{Block, Document, Section};

pub(crate) use verdict::change_for_programs;
pub use verdict::verdict_line;

/// A whole duel. Its first line is the answer, its last one the verdict for programs.
#[must_use]
pub fn document(duel: &Duel, options: &RunOptions) -> Document {
    let top = options.top.max(1);
    let mut sections = vec![verdict::verdict(duel)];
    sections.extend(duel.findings.iter().filter_map(verdict::differences));
    sections.extend(duel.findings.iter().filter_map(|finding| metrics::section(duel, finding)));
    sections.extend(duel.findings.iter().filter_map(|finding| why::section(duel, finding, top)));
    sections.extend(metrics::confirmation(duel));
    sections.extend(method::missing(duel));
    sections.push(method::sides(duel));
    sections.push(method::design(duel));
    sections.push(method::surroundings(duel));
    if !duel.notes.is_empty() {
        let notes = Block::List(duel.notes.clone());
        sections.push(Section::new("NOTES", "").with(notes));
    }
    sections.extend(method::again(duel));
    Document {
        answers: headline::lines(duel),
        kind: "HOTLOOP DUEL",
        title: title(duel),
        warnings: warnings(duel),
        sections,
        verdict_line: Some(verdict_line(duel)),
    }
}

fn title(duel: &Duel) -> String {
    let labels: Vec<&str> =
        duel.arms.iter().filter(|arm| !is_placebo(&arm.name)).map(|arm| arm.label.as_str()).collect();
    let against = labels.join(" vs. ");
    duel.name.as_ref().map_or(against.clone(), |name| format!("{name}: {against}"))
}

fn warnings(duel: &Duel) -> Vec<String> {
    let mut warnings = Vec::new();
    if duel.interrupted {
        warnings.push("The duel was interrupted: less was measured than planned.".to_owned());
    }
    warnings.extend(duel.failures.iter().map(|failure| format!("Failed: {failure}")));
    for arm in duel.arms.iter().filter(|arm| arm.output_varies == Some(true)) {
        warnings.push(format!("The output of {} varies from round to round, so it cannot be checked.", arm.name));
    }
    warnings
}

/// Whether an arm is the base once more.
fn is_placebo(name: &str) -> bool {
    name.ends_with('\'')
}

/// The word for a candidate, with a remark where a second measurement did not confirm it.
fn word(finding: &Finding) -> String {
    let word = crate::gate::word(finding.verdict);
    match (finding.verdict, finding.confirmed) {
        (Verdict::Unresolved, Some(false)) => format!("{word} (did not reproduce)"),
        _ => word.to_owned(),
    }
}

/// The candidate that the whole is judged by.
fn deciding(duel: &Duel) -> Option<&Finding> {
    let is_it = |finding: &&Finding| finding.verdict == duel.verdict;
    // Mixed may be made of two candidates, of which the one that regressed matters.
    let regressed = |finding: &&Finding| finding.verdict == Verdict::Regressed;
    duel.findings.iter().find(is_it).or_else(|| duel.findings.iter().find(regressed)).or(duel.findings.first())
}
