//! A gate as it is printed.

use record::{AcceptanceState, Gate, GateCell, Judgement, Reason};

use super::figures::{self, change, interval, percent, value};
use super::{is_compared, place, sides, verdict_line, word};
use crate::document::{Block, Document, Section, Table, not_measured};

/// The whole report; its last line is the verdict.
#[must_use]
pub fn document(gate: &Gate) -> Document {
    let sentences =
        |reasons: &[Reason]| -> Vec<String> { reasons.iter().map(|reason| place(reason) + &reason.sentence).collect() };
    let lists = [
        ("FAILURES", sentences(&gate.reasons)),
        ("WARNINGS", sentences(&gate.warnings)),
        ("ACCEPTED REGRESSIONS", acceptances(gate)),
        ("NOT MEASURED", gate.not_measured.clone()),
    ];
    let lists = lists.into_iter().filter(|(_, sentences)| !sentences.is_empty());
    let lists = lists.map(|(heading, sentences)| Section::new(heading, "").with(Block::List(sentences)));
    let sections = cells(gate).into_iter().chain(budgets(gate)).chain(lists).collect();
    let title = format!("{}: {}", gate.config, sides(gate));
    let verdict_line = Some(verdict_line(gate));
    Document { kind: "HOTLOOP GATE", title, sections, verdict_line, ..Document::default() }
}

fn cells(gate: &Gate) -> Option<Section> {
    let headings = ["cell", "metric", "verdict", "before", "after", "change", "95 % CI", "noise floor", "detectable"];
    let mut table = Table::new(&headings).least_important(&["noise floor", "detectable"]);
    (1..3).for_each(|column| table.columns[column].is_text = true);
    for cell in &gate.cells {
        if cell.failure.is_some() {
            table.row([cell.name.clone(), String::new(), not_measured()]);
        }
        for finding in &cell.findings {
            if is_compared(finding) {
                let judged = finding.judgements.iter().filter(|judgement| judgement.gate);
                judged.for_each(|judgement| table.row(row(cell, judgement)));
            } else {
                table.row([cell.name.clone(), String::new(), word(finding.verdict).to_owned()]);
            }
        }
    }
    (!table.is_empty())
        .then(|| Section::new("CELLS", "detectable: smallest detectable change").with(Block::Table(table)))
}

fn row(cell: &GateCell, judgement: &Judgement) -> [String; 9] {
    let of = |side| value(cell, &judgement.metric, side);
    let share = |share: Option<f64>| share.map_or_else(not_measured, percent);
    let is_advisory = cell.advisory || cell.advisory_metrics.contains(&judgement.metric);
    let aside = if is_advisory { " (advisory)" } else { "" };
    [
        cell.name.clone(),
        judgement.metric.clone(),
        format!("{}{aside}", word(judgement.verdict)),
        of(judgement.base),
        of(judgement.candidate),
        change(judgement),
        interval(judgement).unwrap_or_default(),
        share(judgement.floor),
        share(judgement.visible),
    ]
}

fn budgets(gate: &Gate) -> Option<Section> {
    let mut table = Table::of_words(&["cell", "metric", "budget", "result"]);
    for cell in &gate.cells {
        for budget in &cell.budgets {
            let (bound, result) = (figures::bound(cell, budget), figures::budget(cell, budget));
            table.row([cell.name.clone(), budget.metric.clone(), bound, result]);
        }
    }
    (!table.is_empty()).then(|| Section::new("BUDGETS", "").with(Block::Table(table)))
}

fn acceptances(gate: &Gate) -> Vec<String> {
    let sentence = |one: &record::Acceptance| {
        let state = acceptance_state(one.state);
        format!("{}/{} until {}: {} ({state})", one.cell, one.metric, one.until, one.reason)
    };
    gate.accepted.iter().map(sentence).collect()
}

pub(super) fn acceptance_state(state: AcceptanceState) -> &'static str {
    match state {
        AcceptanceState::Used => "used",
        AcceptanceState::NotNeeded => "not needed",
        AcceptanceState::Expired => "expired",
    }
}
