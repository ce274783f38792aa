//! A gate as it is printed.

use record::{AcceptanceState, Gate, GateCell, Judgement, Reason};

use super::figures::{self, percent, signed_change, value};
use super::{is_compared, line, place, sides, word};
use crate::layout::{WIDTH, table, wrapped};
use crate::run::printable;

/// The whole report; its last line is the verdict.
pub fn write(gate: &Gate) -> String {
    let mut text = printable(&format!("gate of {}: {}", gate.config, sides(gate))) + "\n";
    text.push_str(&cells(gate));
    text.push_str(&budgets(gate));
    let reasons =
        |reasons: &[Reason]| -> Vec<String> { reasons.iter().map(|reason| place(reason) + &reason.sentence).collect() };
    text.push_str(&list("FAILS", &reasons(&gate.reasons)));
    text.push_str(&list("LOOK AT", &reasons(&gate.warnings)));
    text.push_str(&list("ACCEPTED", &acceptances(gate)));
    text.push_str(&list("NOT MEASURED", &gate.not_measured));
    text + "\n" + &line(gate)
}

fn cells(gate: &Gate) -> String {
    let headings = ["cell", "metric", "verdict", "before", "after", "change", "floor", "visible from"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    for cell in &gate.cells {
        if cell.failure.is_some() {
            rows.push(short(cell, "not measured"));
        }
        for finding in &cell.findings {
            if is_compared(finding) {
                let judged = finding.judgements.iter().filter(|judgement| judgement.gate);
                rows.extend(judged.map(|judgement| row(cell, judgement)));
            } else {
                rows.push(short(cell, word(finding.verdict)));
            }
        }
    }
    if rows.len() == 1 { String::new() } else { format!("\n{}", table(&rows)) }
}

fn short(cell: &GateCell, word: &str) -> Vec<String> {
    vec![printable(&cell.name), String::new(), word.to_owned()]
}

fn row(cell: &GateCell, judgement: &Judgement) -> Vec<String> {
    let of = |side| value(cell, &judgement.metric, side);
    let share = |share: Option<f64>| share.map_or_else(|| "not measured".to_owned(), percent);
    let is_advisory = cell.advisory || cell.advisory_metrics.contains(&judgement.metric);
    let aside = if is_advisory { " (advisory)" } else { "" };
    let cells = [
        cell.name.clone(),
        judgement.metric.clone(),
        format!("{}{aside}", word(judgement.verdict)),
        of(judgement.base),
        of(judgement.candidate),
        signed_change(judgement),
        share(judgement.floor),
        share(judgement.visible),
    ];
    cells.iter().map(|cell| printable(cell)).collect()
}

fn budgets(gate: &Gate) -> String {
    let rows = gate.cells.iter().flat_map(|cell| {
        cell.budgets.iter().map(|budget| {
            let cells = [&cell.name, &budget.metric, &figures::bound(cell, budget), &figures::budget(cell, budget)];
            cells.map(|text| printable(text)).to_vec()
        })
    });
    let rows: Vec<Vec<String>> = rows.collect();
    if rows.is_empty() { String::new() } else { format!("\n  BUDGETS\n{}", table(&rows)) }
}

fn acceptances(gate: &Gate) -> Vec<String> {
    let told = |one: &record::Acceptance| {
        let state = match one.state {
            AcceptanceState::Used => "used",
            AcceptanceState::NotNeeded => "not needed here",
            AcceptanceState::Expired => "its day is over",
        };
        format!("{}/{} until {}: {} ({state})", one.cell, one.metric, one.until, one.reason)
    };
    gate.accepted.iter().map(told).collect()
}

fn list(heading: &str, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let lines = sentences.iter().map(|sentence| {
        let lines = wrapped(&printable(sentence), WIDTH - 6);
        format!("  - {}\n", lines.join("\n    "))
    });
    format!("\n  {heading}\n{}", lines.collect::<String>())
}
