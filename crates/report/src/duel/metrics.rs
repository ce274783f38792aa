//! Every metric, and what a second measurement showed.

use record::{Duel, Finding, Judgement, Verdict};

use super::figures::{change, interval, value};
use crate::document::{Block, Section, Table};
use crate::gate::word;
use crate::units::percent;

pub(super) fn section(duel: &Duel, finding: &Finding) -> Option<Section> {
    if matches!(finding.verdict, Verdict::Incomparable) || finding.judgements.is_empty() {
        return None;
    }
    let base = duel.arms.first().map_or("base", |arm| arm.name.as_str());
    let mut table = Table::new(&["metric", base, &finding.arm, "change", INTERVAL, "placebo", "detectable", "verdict"])
        .least_important(&["detectable"])
        .with_words_last();
    let mut judgements: Vec<&Judgement> = finding.judgements.iter().collect();
    judgements.sort_by_key(|judgement| rank(judgement));
    for judgement in &judgements {
        table.row(cells(duel, judgement));
    }
    let mut explanation = "medians per call; change: median of all rounds, each side against the base in the same round; placebo: \
        largest likely difference between two runs of the base; detectable: smallest change that would have been decided. Gates \
        decide, other rows are hints."
        .to_owned();
    if judgements.iter().any(|judgement| is_against_medians(judgement)) {
        explanation.push_str(AGAINST);
    }
    Some(Section::new("METRICS", &explanation).with(Block::Table(table)))
}

/// Gates first, then the two clocks that people look for.
fn rank(judgement: &Judgement) -> (bool, usize) {
    let known = ["wall_s", "cpu_s"].iter().position(|name| *name == judgement.metric);
    (!judgement.gate, if judgement.gate { 0 } else { known.unwrap_or(usize::MAX) })
}

/// Whether the change has another sign than the difference of the medians, which are of all rounds and not of pairs.
fn is_against_medians(judgement: &Judgement) -> bool {
    let estimate = judgement.change.map(|change| change.estimate).or(judgement.estimate);
    let medians = judgement.candidate.zip(judgement.base).map(|(candidate, base)| candidate - base);
    estimate.zip(medians).is_some_and(|(estimate, medians)| estimate * medians < 0.0)
}

const INTERVAL: &str = "95 % CI";
const AGAINST: &str = " *: pairs of the same round differ the other way than the medians of all rounds.";

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
        judged(change(judgement) + if is_against_medians(judgement) { "*" } else { "" }),
        judged(interval(judgement.change)),
        judged(share(judgement.floor)),
        judged(share(judgement.visible)),
        said,
    ]
}

/// Changes, measured a second time.
pub(super) fn confirmation(duel: &Duel) -> Option<Section> {
    let second = duel.confirmation.as_ref()?;
    let mut table = Table::new(&["side", "metric", "first", INTERVAL, "second", INTERVAL, "verdict"]).with_words_last();
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
    let explanation = "changes are measured again with fresh processes in other orders; only what both show counts";
    (!table.is_empty()).then(|| Section::new("SECOND MEASUREMENT", explanation).with(Block::Table(table)))
}
