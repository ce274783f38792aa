//! A gate: for the terminal, for a comment below a change, and for the programs that run it.

mod annotations;
mod badge;
mod comment;
mod figures;
mod junit;
mod terminal;

use record::{Finding, Gate, GateCell, Judgement, Reason, ReasonSubject, Verdict};

use crate::document::printable;
use crate::duel::change_for_programs;

pub use annotations::write as annotations;
pub use badge::write as badge;
pub use comment::write as comment;
pub use junit::write as junit;
pub use terminal::document;

/// The last line of what is printed, for programs that never see the exit code.
#[must_use]
pub fn verdict_line(gate: &Gate) -> String {
    format!("VERDICT {} {}", headline(gate), printable(&gist(gate)))
}

/// The one word for a gate. What failed is named even where the rest was judged well.
fn headline(gate: &Gate) -> &'static str {
    match gate.reasons.first().map(|reason| reason.code) {
        Some(1) => "fault",
        Some(130) => "interrupted",
        _ => gate.verdict.map_or("none", word),
    }
}

/// What stands behind the word: the figures of the gravest reason, or how many passed.
fn gist(gate: &Gate) -> String {
    let Some(reason) = gate.reasons.first() else {
        let advisory = gate.cells.iter().filter(|cell| cell.verdict.is_none()).count();
        let aside = if advisory == 0 { String::new() } else { format!(", {advisory} advisory only") };
        return format!("{} of {} cells passed{aside}", gate.cells.len(), gate.cells.len());
    };
    match found(gate, reason) {
        Some((cell, judgement)) => {
            format!("{}/{}", cell.name, change_for_programs(judgement))
        }
        None => place(reason) + &reason.sentence,
    }
}

/// Where a reason is found, in front of its sentence.
fn place(reason: &Reason) -> String {
    match (&reason.cell, &reason.metric) {
        (Some(cell), Some(metric)) => format!("{cell}/{metric}: "),
        (Some(cell), None) => format!("{cell}: "),
        (None, Some(metric)) => format!("{metric}: "),
        (None, None) => String::new(),
    }
}

/// The cell and the judgement that a reason comes from; nothing where it is no matter of figures.
fn found<'a>(gate: &'a Gate, reason: &Reason) -> Option<(&'a GateCell, &'a Judgement)> {
    let cell = gate.cells.iter().find(|cell| Some(&cell.name) == reason.cell.as_ref())?;
    let judgements = cell.findings.iter().flat_map(|finding| &finding.judgements);
    let judgement = judgements.into_iter().find(|judgement| Some(&judgement.metric) == reason.metric.as_ref())?;
    (reason.about == ReasonSubject::Metric && judgement.change.is_some()).then_some((cell, judgement))
}

/// A verdict as it is written.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "regressed",
        Verdict::Improved => "improved",
        Verdict::Same => "same",
        Verdict::LeaningWorse => "leaning-worse",
        Verdict::LeaningBetter => "leaning-better",
        Verdict::Unresolved => "unresolved",
        Verdict::Unstable => "unstable",
        Verdict::Incomparable => "incomparable",
        Verdict::WrongOutput => "wrong-output",
        Verdict::Mixed => "mixed",
    }
}

/// Whether two sides answer the same question, so that their speeds mean something.
fn is_compared(finding: &Finding) -> bool {
    !matches!(finding.verdict, Verdict::WrongOutput | Verdict::Incomparable)
}

/// What was compared.
fn sides(gate: &Gate) -> String {
    let short = |commit: &str| commit.chars().take(COMMIT_DIGITS).collect::<String>();
    match (&gate.base, &gate.head) {
        (Some(base), Some(head)) => {
            format!("{} ({}) vs. {} ({})", short(&head.commit), head.name, short(&base.commit), base.name)
        }
        _ => "sides as named by each cell".to_owned(),
    }
}

/// Digits of a commit that people read.
const COMMIT_DIGITS: usize = 10;
