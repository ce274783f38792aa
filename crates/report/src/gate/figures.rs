//! The figures of a gate, as all its writers show them.

use record::{Budget, BudgetState, Change, Gate, GateCell, Judgement};

use crate::units::in_unit;

pub(super) use crate::units::percent;

/// A change without its interval: `+7.1 %`; where no interval is known it is an estimate.
pub(super) fn change(judgement: &Judgement) -> String {
    match (judgement.change, judgement.estimate) {
        (Some(Change { estimate, .. }), _) => format!("{} %", signed(estimate)),
        (None, Some(estimate)) => format!("~{} %", signed(estimate)),
        (None, None) => "unknown".to_owned(),
    }
}

/// The bounds of a change: `+5.2 to +9.0 %`.
pub(super) fn interval(judgement: &Judgement) -> Option<String> {
    judgement.change.map(|Change { low, high, .. }| format!("{} to {} %", signed(low), signed(high)))
}

/// A change with its bounds: `+7.1 % (95 % CI +5.2 to +9.0 %)`.
pub(super) fn change_with_interval(judgement: &Judgement) -> String {
    let interval = interval(judgement).map_or_else(String::new, |interval| format!(" (95 % CI {interval})"));
    change(judgement) + &interval
}

/// A share in percent with its sign; nothing has none.
fn signed(share: f64) -> String {
    let text = format!("{:.1}", share.abs() * 100.0);
    match share {
        _ if !share.is_finite() => "NaN".to_owned(),
        _ if text == "0.0" => text,
        ..0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// A value in the unit of its metric.
pub(super) fn value(cell: &GateCell, metric: &str, value: Option<f64>) -> String {
    in_unit(cell.metrics.get(metric).map_or("", |metric| metric.unit.as_str()), value)
}

/// What a budget asks for: p95 at most 500 ms.
pub(super) fn bound(cell: &GateCell, budget: &Budget) -> String {
    let quantile =
        if budget.quantile == 0.5 { "median".to_owned() } else { format!("p{}", round(budget.quantile * 100.0)) };
    match (budget.at_most, budget.at_least) {
        (Some(limit), _) => format!("{quantile} at most {}", value(cell, &budget.metric, Some(limit))),
        (None, limit) => format!("{quantile} at least {}", value(cell, &budget.metric, limit)),
    }
}

/// What became of a budget.
pub(super) fn budget(cell: &GateCell, budget: &Budget) -> String {
    let state = match budget.state {
        BudgetState::Kept => "kept",
        BudgetState::Broken => "broken",
        BudgetState::Unresolved => "unresolved",
        BudgetState::NotMeasured if budget.refused.is_some() => return "not judged".to_owned(),
        BudgetState::NotMeasured => return "not measured".to_owned(),
    };
    let needed = budget.needed.map_or_else(String::new, |needed| format!("; {needed} values needed"));
    let found = value(cell, &budget.metric, budget.value);
    format!("{state}: {found}, {} of {} values outside the limit{needed}", budget.beyond, budget.values)
}

/// A percentage without digits that say nothing: 95, 99.9.
fn round(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

/// Where a figure of all that is judged lies: 1.1 %, or 0.5 % to 1.1 %.
pub(super) fn range(gate: &Gate, figure: fn(&Judgement) -> Option<f64>) -> Option<String> {
    let findings = gate.cells.iter().flat_map(|cell| &cell.findings).filter(|finding| super::is_compared(finding));
    let judged = findings.flat_map(|finding| &finding.judgements).filter(|judgement| judgement.gate);
    let mut figures: Vec<f64> = judged.filter_map(figure).filter(|figure| figure.is_finite()).collect();
    figures.sort_by(f64::total_cmp);
    let (first, last) = (percent(*figures.first()?), percent(*figures.last()?));
    Some(if first == last { first } else { format!("{first} to {last}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign() {
        assert_eq!([signed(0.071), signed(-0.05), signed(-0.0001), signed(f64::NAN)], ["+7.1", "−5.0", "0.0", "NaN"]);
        let change = Some(Change { estimate: 0.071, low: 0.052, high: 0.09 });
        assert_eq!(
            change_with_interval(&Judgement { change, ..Judgement::default() }),
            "+7.1 % (95 % CI +5.2 to +9.0 %)"
        );
        assert_eq!(change_with_interval(&Judgement { estimate: Some(-0.07), ..Judgement::default() }), "~−7.0 %");
    }
}
