//! Where a change comes from, part by part.

use record::{Duel, Finding, Part, Seconds};

use super::figures::{seconds_interval, signed_seconds};
use crate::run::document::{Block, Section, Table};
use crate::units::{mean_count, plural, seconds};

pub(super) fn section(duel: &Duel, finding: &Finding, top: usize) -> Option<Section> {
    let waterfall = finding.why.as_ref()?;
    let base = duel.arms.first().map_or("base", |arm| arm.name.as_str());
    let mut table =
        Table::new(&["part", base, &finding.arm, "difference", "it lies between", "calls"]).least_important(&["calls"]);
    let (shown, rest) = waterfall.parts.split_at(waterfall.parts.len().min(top));
    for part in shown {
        table.row(cells(part));
    }
    if !rest.is_empty() {
        let sum = |of: fn(&Part) -> f64| rest.iter().map(of).sum::<f64>();
        table.row([
            plural(rest.len() as u64, "other part"),
            seconds(sum(|part| part.base_s.unwrap_or(0.0))),
            seconds(sum(|part| part.candidate_s.unwrap_or(0.0))),
            signed_seconds(sum(|part| part.change.estimate)),
        ]);
    }
    let Seconds { estimate, .. } = waterfall.total;
    table.row([
        "all of it".to_owned(),
        seconds(waterfall.base_s),
        seconds(waterfall.candidate_s),
        signed_seconds(estimate),
        seconds_interval(&waterfall.total),
    ]);
    let explanation = "each part's own time in a round, without what it called, from rounds that were profiled; the differences sum to \
                       that of all";
    Some(Section::new("WHY", explanation).with(Block::Table(table)))
}

fn cells(part: &Part) -> [String; 6] {
    let name =
        if part.path.is_empty() { "in no scope, or waiting for a CPU".to_owned() } else { part.path.join(" > ") };
    let time = |time: Option<f64>| time.map_or_else(|| "not there".to_owned(), seconds);
    let calls = match (part.base_calls, part.candidate_calls) {
        (Some(before), Some(after)) if before == after => mean_count(before),
        (Some(before), Some(after)) => format!("{} to {}", mean_count(before), mean_count(after)),
        (Some(only), None) | (None, Some(only)) => mean_count(only),
        (None, None) => String::new(),
    };
    [
        name,
        time(part.base_s),
        time(part.candidate_s),
        signed_seconds(part.change.estimate),
        seconds_interval(&part.change),
        calls,
    ]
}
