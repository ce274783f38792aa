//! Every metric, and what a second measurement says.

use record::{Duel, Finding, Judgement, Verdict};

use super::figures::{change, interval, value};
use crate::gate::word;
use crate::run::document::{Block, Section, Table};
use crate::units::percent;

pub(super) fn section(duel: &Duel, finding: &Finding) -> Option<Section> {
    if matches!(finding.verdict, Verdict::Incomparable) || finding.judgements.is_empty() {
        return None;
    }
    let base = duel.arms.first().map_or("base", |arm| arm.name.as_str());
    let mut table =
        Table::new(&["metric", base, &finding.arm, "change", "it lies between", "floor", "visible from", "verdict"])
            .least_important(&["visible from"])
            .with_words_last();
    for judgement in &finding.judgements {
        table.row(cells(duel, judgement));
    }
    let explanation = "medians of a round; change: the middle of all rounds, each against the base in the same round; floor: what the base differs by from itself; visible from: \
        changes from here on would have had a verdict. Gates decide; what else was measured is a hint.";
    let title = "METRICS";
    Some(Section::new(title, explanation).with(Block::Table(table)))
}

fn cells(duel: &Duel, judgement: &Judgement) -> [String; 8] {
    let share = |share: Option<f64>| share.map_or_else(String::new, percent);
    let is_judged = !matches!(judgement.verdict, Verdict::WrongOutput | Verdict::Incomparable);
    let said = match (judgement.gate, judgement.verdict) {
        (true, verdict) => format!("{} (gate, {})", word(verdict), percent(judgement.threshold)),
        (false, Verdict::Unresolved) => String::new(),
        (false, verdict) => word(verdict).to_owned(),
    };
    let judged = |text: String| if is_judged { text } else { String::new() };
    [
        judgement.metric.clone(),
        value(duel, &judgement.metric, judgement.base),
        value(duel, &judgement.metric, judgement.candidate),
        judged(change(judgement)),
        judged(interval(judgement.change)),
        judged(share(judgement.floor)),
        judged(share(judgement.visible)),
        said,
    ]
}

/// What regressed, measured once more.
pub(super) fn confirmation(duel: &Duel) -> Option<Section> {
    let second = duel.confirmation.as_ref()?;
    let mut table =
        Table::new(&["side", "metric", "first", "it lies between", "second", "it lies between", "together"])
            .with_words_last();
    table.columns[1].is_text = true;
    for finding in duel.findings.iter().filter(|finding| finding.confirmed.is_some()) {
        let again = second.findings.iter().find(|other| other.arm == finding.arm);
        for judgement in finding.judgements.iter().filter(|judgement| judgement.gate) {
            let other = again.and_then(|again| again.judgements.iter().find(|other| other.metric == judgement.metric));
            table.row([
                finding.arm.clone(),
                judgement.metric.clone(),
                change(judgement),
                interval(judgement.change),
                other.map_or_else(|| "not measured".to_owned(), change),
                interval(other.and_then(|other| other.change)),
                word(judgement.verdict).to_owned(),
            ]);
        }
    }
    let explanation =
        "what regressed, measured once more with fresh processes and in other orders; only what both say is believed";
    (!table.is_empty()).then(|| Section::new("SECOND MEASUREMENT", explanation).with(Block::Table(table)))
}
