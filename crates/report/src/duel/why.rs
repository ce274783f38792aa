//! Where a change comes from, part by part.

use record::{Duel, Finding, TimeDifference, Waterfall, WaterfallPart};

use super::figures::{calls, seconds_interval, signed_seconds};
use crate::document::{Block, Section, Table};
use crate::units::{mean_count, plural, seconds};

pub(super) fn section(duel: &Duel, finding: &Finding, top: usize) -> Option<Section> {
    let waterfall = &per_call(finding.why.clone()?, calls(duel));
    let base = duel.arms.first().map_or("base", |arm| arm.name.as_str());
    let mut table =
        Table::new(&["part", base, &finding.arm, "difference", "95 % CI", "calls"]).least_important(&["calls"]);
    let (shown, rest) = waterfall.parts.split_at(waterfall.parts.len().min(top));
    for part in shown {
        table.row(cells(part));
    }
    if !rest.is_empty() {
        let sum = |of: fn(&WaterfallPart) -> f64| rest.iter().map(of).sum::<f64>();
        table.row([
            plural(rest.len() as u64, "other part"),
            seconds(sum(|part| part.base_s.unwrap_or(0.0))),
            seconds(sum(|part| part.candidate_s.unwrap_or(0.0))),
            signed_seconds(sum(|part| part.change.estimate)),
        ]);
    }
    let TimeDifference { estimate, .. } = waterfall.total;
    table.row([
        "total".to_owned(),
        seconds(waterfall.base_s),
        seconds(waterfall.candidate_s),
        signed_seconds(estimate),
        seconds_interval(&waterfall.total),
    ]);
    let explanation = "self time per call, from separate profiled rounds; the differences sum to the total";
    Some(Section::new("WHY", explanation).with(Block::Table(table)))
}

/// Times and counts of a call instead of a round.
fn per_call(mut waterfall: Waterfall, calls: f64) -> Waterfall {
    let scale = |change: &mut TimeDifference| {
        change.estimate /= calls;
        [&mut change.low, &mut change.high].into_iter().flatten().for_each(|bound| *bound /= calls);
    };
    waterfall.base_s /= calls;
    waterfall.candidate_s /= calls;
    scale(&mut waterfall.total);
    for part in &mut waterfall.parts {
        scale(&mut part.change);
        let values = [&mut part.base_s, &mut part.candidate_s, &mut part.base_calls, &mut part.candidate_calls];
        values.into_iter().flatten().for_each(|value| *value /= calls);
    }
    waterfall
}

fn cells(part: &WaterfallPart) -> [String; 6] {
    let name = if part.path.is_empty() { "(no scope, or waiting for a CPU)".to_owned() } else { part.path.join(" > ") };
    let time = |time: Option<f64>| time.map_or_else(|| "absent".to_owned(), seconds);
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
