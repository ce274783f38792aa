//! What a gate says of what it found.

use record::{Acceptance, Budget, BudgetState, Drift, GateCell};

pub(super) fn expired(acceptance: &Acceptance) -> String {
    let Acceptance { reason, until, .. } = acceptance;
    format!(
        "this regression was accepted until {until} ({reason}), which is over: fix it, set a later day, or remove \
         the entry"
    )
}

pub(super) fn not_measured(cell: &GateCell) -> String {
    let names: Vec<&str> = cell.metrics.keys().map(String::as_str).collect();
    let measured = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    format!("not measured, although the cell is judged by it; measured: {measured}")
}

pub(super) fn drifted(drift: &Drift) -> String {
    format!(
        "{} of {} cells changed in the same way (median {:+.1} %). Both sides were measured in turns, so a slow \
         machine is not the cause: check what all cells have in common, such as compiler flags, link-time \
         optimisation or a shared library.",
        drift.moved,
        drift.cells,
        drift.estimate * 100.0
    )
}

pub(super) fn budget(cell: &GateCell, budget: &Budget) -> String {
    let unit = cell.metrics.get(&budget.metric).map_or("", |metric| metric.unit.as_str());
    let (bound, limit) = match (budget.at_most, budget.at_least) {
        (Some(limit), _) => ("at most", limit),
        (None, limit) => ("at least", limit.unwrap_or_default()),
    };
    let asked = format!("{} must be {bound} {}", quantile(budget.quantile), amount(limit, unit));
    let counted = format!("{} of {} values exceed the limit", budget.beyond, budget.values);
    let found = budget.value.map_or_else(String::new, |value| amount(value, unit));
    match budget.state {
        BudgetState::Kept | BudgetState::Broken => format!("{asked} and is {found}: {counted}"),
        BudgetState::Unresolved => {
            let needed = budget.needed.map_or_else(String::new, |needed| format!("; {needed} values are needed"));
            format!("{asked}; measured {found}, which is not conclusive: {counted}{needed}")
        }
        BudgetState::NotMeasured => match &budget.refused {
            Some(why) => format!("{asked}, which cannot be checked: {why}"),
            None => format!("{asked}, and {}", not_measured(cell)),
        },
    }
}

/// A quantile by the name that people have for it.
fn quantile(quantile: f64) -> String {
    if quantile == 0.5 { "the median".to_owned() } else { format!("p{}", rounded(quantile * 100.0)) }
}

fn amount(value: f64, unit: &str) -> String {
    format!("{} {unit}", rounded(value)).trim_end().to_owned()
}

/// Four digits, and never fewer than are whole.
fn rounded(value: f64) -> String {
    let whole = if value == 0.0 { 1 } else { value.abs().log10().floor() as i32 + 1 };
    let text = format!("{value:.0$}", (4 - whole).clamp(0, 12) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [(0.5, "0.5"), (0.0, "0"), (99.9, "99.9"), (1_234_567.0, "1234567"), (0.001_234_56, "0.001235")];
        for (value, text) in cases {
            assert_eq!(rounded(value), text);
        }
        assert_eq!([quantile(0.5), quantile(0.95), quantile(0.999)], ["the median", "p95", "p99.9"]);
    }
}
