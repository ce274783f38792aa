//! The verdict, as a line for programs and as a section.

use record::{Duel, Finding, Judgement, Verdict};

use super::{deciding, word};
use crate::document::{Block, Section, Table};

/// One line for programs: the word, the metric it comes from, its change with bounds in percent, and the floor.
#[must_use]
pub fn verdict_line(duel: &Duel) -> String {
    if duel.interrupted {
        return "VERDICT interrupted".to_owned();
    }
    let verdict = crate::gate::word(duel.verdict);
    let Some(finding) = deciding(duel) else { return format!("VERDICT {verdict}") };
    let about = match finding.verdict {
        Verdict::Incomparable => {
            let fields: Vec<&str> = finding.differences.iter().map(|difference| difference.field.as_str()).collect();
            fields.join(", ")
        }
        Verdict::WrongOutput => "output".to_owned(),
        _ => gate(finding).map_or_else(String::new, change_for_programs),
    };
    let aside = if finding.confirmed == Some(false) { " (did not reproduce)" } else { "" };
    let arm = if duel.findings.len() > 1 { format!(" arm {}", finding.arm) } else { String::new() };
    let about = crate::document::printable(&about);
    format!("VERDICT {verdict} {about}{aside}{arm}").trim_end().to_owned()
}

/// The gate that a finding comes from.
pub(super) fn gate(finding: &Finding) -> Option<&Judgement> {
    let gates = || finding.judgements.iter().filter(|judgement| judgement.gate);
    let worst = if finding.verdict == Verdict::Mixed { Verdict::Regressed } else { finding.verdict };
    gates().find(|gate| gate.verdict == worst).or_else(|| gates().next())
}

/// A metric with its change and the floor, in plain signs because programs read it.
pub(crate) fn change_for_programs(judgement: &Judgement) -> String {
    let percent = |share: f64| share * 100.0;
    let change = match (judgement.change, judgement.estimate) {
        (Some(change), _) => {
            format!(" {:+.1}% [{:.1},{:.1}]", percent(change.estimate), percent(change.low), percent(change.high))
        }
        (None, Some(estimate)) => format!(" {:+.1}%", percent(estimate)),
        (None, None) => String::new(),
    };
    let floor = judgement.floor.map_or_else(String::new, |floor| format!(" floor {:.1}%", percent(floor)));
    format!("{}{change}{floor}", judgement.metric)
}

pub(super) fn verdict(duel: &Duel) -> Section {
    let mut facts = Vec::new();
    for finding in &duel.findings {
        let confirmed = match finding.confirmed {
            Some(true) => " Confirmed by a second measurement.",
            Some(false) => "",
            None => "",
        };
        facts.push((format!("{} {}", finding.arm, word(finding)), format!("{}{confirmed}", finding.sentence)));
    }
    if duel.findings.len() > 1 {
        facts.push(("all".to_owned(), format!("{} overall", crate::gate::word(duel.verdict))));
    }
    let base = duel.arms.first().map_or("", |arm| arm.name.as_str());
    Section::new("VERDICT", &format!("each side compared with {base}")).with(Block::Facts(facts))
}

pub(super) fn differences(finding: &Finding) -> Option<Section> {
    let mut table = Table::new(&["field", "base", &finding.arm]);
    table.columns.iter_mut().for_each(|column| column.is_text = true);
    let cell = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    for difference in &finding.differences {
        table.row([difference.field.clone(), cell(&difference.base), cell(&difference.candidate)]);
    }
    let explanation = "these have to be equal for a fair comparison; nothing was measured";
    (!table.is_empty()).then(|| Section::new("DIFFERENCES", explanation).with(Block::Table(table)))
}
