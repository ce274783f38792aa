//! Limits that hold whatever was there before: whether values keep them, and how sure that is.

use record::{Budget, BudgetState, Duel, Phase};

use crate::quantiles::{cumulative, quantile, sorted};
use crate::rules::{BUDGET_ALPHA, is_summed};

/// Whether the values of an arm keep a limit: its state and its figures are filled in.
///
/// What is beyond the limit is counted, and the count compared with what chance would give where the quantile lies just at
/// the limit. That is exact for every distribution of values that do not depend on one another.
#[must_use]
pub fn budget(duel: &Duel, arm: &str, asked: &Budget) -> Budget {
    let metric = duel.metrics.get(&asked.metric).cloned().unwrap_or_default();
    // A limit is for one call.
    let calls = if is_summed(&asked.metric, &metric) { duel.design.calls.max(1) as f64 } else { 1.0 };
    let values: Vec<f64> = values(duel, arm, &asked.metric).iter().map(|value| value / calls).collect();
    judged(&values, metric.exact, asked)
}

/// The values of rounds that count; those that come several to a round one by one.
fn values(duel: &Duel, arm: &str, metric: &str) -> Vec<f64> {
    let counts = |sample: &&record::Sample| sample.phase == Phase::Timed && sample.arm.as_deref() == Some(arm);
    let samples = duel.samples.iter().filter(counts);
    let values = samples.flat_map(|sample| match sample.series.get(metric) {
        Some(series) => series.clone(),
        None => sample.values.get(metric).copied().into_iter().collect(),
    });
    sorted(&values.filter(|value| value.is_finite()).collect::<Vec<_>>())
}

fn judged(sorted: &[f64], is_exact: bool, asked: &Budget) -> Budget {
    let is_beyond = |value: &&f64| {
        asked.at_most.is_some_and(|limit| **value > limit) || asked.at_least.is_some_and(|limit| **value < limit)
    };
    let beyond = sorted.iter().filter(is_beyond).count();
    // The share of endless values that may be beyond the limit.
    let allowed = if asked.at_most.is_some() { 1.0 - asked.quantile } else { asked.quantile };
    let needed = (BUDGET_ALPHA.ln() / (1.0 - allowed).ln()).ceil() as u64;
    let state = match (is_exact, beyond) {
        _ if sorted.is_empty() => BudgetState::NotMeasured,
        (true, 0) => BudgetState::Kept,
        (true, _) => BudgetState::Broken,
        (false, _) => by_count(sorted.len(), beyond, allowed),
    };
    Budget {
        state,
        value: quantile(sorted, asked.quantile),
        values: sorted.len() as u64,
        beyond: beyond as u64,
        needed: (state == BudgetState::Unresolved && (sorted.len() as u64) < needed).then_some(needed),
        ..asked.clone()
    }
}

/// What `beyond` of `count` values say of the share that is beyond.
fn by_count(count: usize, beyond: usize, allowed: f64) -> BudgetState {
    let no_more = cumulative(count, allowed);
    let fewer = beyond.checked_sub(1).map_or(0.0, |before| no_more[before]);
    if no_more[beyond] <= BUDGET_ALPHA {
        BudgetState::Kept
    } else if 1.0 - fewer <= BUDGET_ALPHA {
        BudgetState::Broken
    } else {
        BudgetState::Unresolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_most(limit: f64, quantile: f64) -> Budget {
        Budget { metric: "ttft_s".to_owned(), quantile, at_most: Some(limit), ..Budget::default() }
    }

    fn counted(count: usize) -> Vec<f64> {
        (1..=count).map(|value| value as f64).collect()
    }

    #[track_caller]
    fn check(values: &[f64], asked: &Budget, state: BudgetState, beyond: u64) {
        let found = judged(values, false, asked);
        assert_eq!((found.state, found.beyond, found.values), (state, beyond, values.len() as u64));
    }

    #[test]
    fn a_median_needs_five_values_and_a_tail_more() {
        check(&counted(5), &at_most(5.0, 0.5), BudgetState::Kept, 0);
        check(&counted(4), &at_most(5.0, 0.5), BudgetState::Unresolved, 0);
        check(&counted(5), &at_most(0.5, 0.5), BudgetState::Broken, 5);
        // The chance that 58 values stay below p95 by luck is 5.1 %.
        check(&counted(59), &at_most(59.0, 0.95), BudgetState::Kept, 0);
        check(&counted(58), &at_most(58.0, 0.95), BudgetState::Unresolved, 0);
        assert_eq!(judged(&counted(58), false, &at_most(58.0, 0.95)).needed, Some(59));
        assert_eq!(judged(&counted(59), false, &at_most(59.0, 0.95)).needed, None);
        // Two of five beyond p95 are what chance gives in 2.3 % of cases, one of five in 22.6 %.
        check(&counted(5), &at_most(3.0, 0.95), BudgetState::Broken, 2);
        check(&counted(5), &at_most(4.0, 0.95), BudgetState::Unresolved, 1);
    }

    #[test]
    fn least_values_are_the_mirror() {
        let at_least = |limit, quantile| Budget { at_least: Some(limit), at_most: None, ..at_most(0.0, quantile) };
        check(&counted(59), &at_least(1.0, 0.05), BudgetState::Kept, 0);
        check(&counted(58), &at_least(1.0, 0.05), BudgetState::Unresolved, 0);
        check(&counted(5), &at_least(3.0, 0.05), BudgetState::Broken, 2);
        check(&counted(5), &at_least(9.0, 0.5), BudgetState::Broken, 5);
    }

    #[test]
    fn exact_values_need_no_number_and_none_are_not_measured() {
        assert_eq!(judged(&[7.0], true, &at_most(7.0, 0.5)).state, BudgetState::Kept);
        assert_eq!(judged(&[8.0], true, &at_most(7.0, 0.5)).state, BudgetState::Broken);
        let nothing = judged(&[], true, &at_most(7.0, 0.5));
        assert_eq!((nothing.state, nothing.value), (BudgetState::NotMeasured, None));
    }

    #[test]
    fn values_are_those_that_count() {
        let sample = |arm: &str, phase, values: &[(&str, f64)]| record::Sample {
            arm: Some(arm.to_owned()),
            phase,
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..record::Sample::default()
        };
        let mut several = sample("B", Phase::Timed, &[("ttft_s", 9.0)]);
        several.series.insert("ttft_s".to_owned(), vec![4.0, f64::NAN, 3.0]);
        let samples = vec![
            sample("A", Phase::Timed, &[("ttft_s", 1.0)]),
            sample("B", Phase::Warmup, &[("ttft_s", 2.0)]),
            sample("B", Phase::Timed, &[("ttft_s", 5.0)]),
            sample("B", Phase::Timed, &[("wall_s", 6.0)]),
            several,
        ];
        let duel = Duel { samples, ..Duel::default() };
        assert_eq!(values(&duel, "B", "ttft_s"), [3.0, 4.0, 5.0]);
        assert_eq!(budget(&duel, "B", &at_most(4.5, 0.5)).beyond, 1);
        let mut duel = duel;
        duel.design.calls = 3;
        let wall = Budget { metric: "wall_s".to_owned(), ..at_most(2.0, 0.5) };
        assert_eq!(budget(&duel, "B", &wall).value, Some(2.0), "of one call");
        assert_eq!(budget(&duel, "B", &at_most(4.5, 0.5)).value, Some(4.0), "these are of one call already");
    }
}
