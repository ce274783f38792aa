//! Budgets: absolute limits, and whether values keep them with enough confidence.

use record::{Budget, BudgetState, Duel, Metric, Per, Phase};

use crate::meaning::per;
use crate::quantiles::{cumulative, quantile, sorted};
use crate::rules::{BUDGET_ALPHA, is_summed};

/// Whether the calls of an arm keep a limit: its state and its figures are filled in.
///
/// What is beyond the limit is counted, and the count compared with what chance would give where the quantile lies just at
/// the limit. That is exact for every distribution of values that do not depend on one another. Sums, means and medians of several
/// calls say nothing about a quantile of calls: a limit is refused where nothing else was measured.
#[must_use]
pub fn budget(duel: &Duel, arm: &str, asked: &Budget) -> Budget {
    let metric = duel.metrics.get(&asked.metric).cloned().unwrap_or_default();
    match values(duel, arm, &asked.metric, &metric) {
        Ok(values) => judged(&values, metric.exact, asked),
        Err(why) => Budget { state: BudgetState::NotMeasured, refused: Some(why), ..asked.clone() },
    }
}

/// The values of single calls, of rounds that count, in ascending order; or why they are not known.
fn values(duel: &Duel, arm: &str, name: &str, metric: &Metric) -> Result<Vec<f64>, String> {
    let counts = |sample: &&record::Sample| sample.phase == Phase::Timed && sample.arm.as_deref() == Some(arm);
    let calls = duel.design.calls.max(1);
    let divisor = if is_summed(name, metric) { calls as f64 } else { 1.0 };
    let mut found = Vec::new();
    for sample in duel.samples.iter().filter(counts) {
        if let Some(series) = sample.series.get(name) {
            found.extend(series);
        } else if let Some(value) = sample.values.get(name) {
            let of = match per(name, metric) {
                // Exact work gives every call the same value, so the mean of the calls is that of each.
                _ if calls == 1 || metric.exact => None,
                // The largest value, such as the peak of a process, is what a limit is about.
                Per::Call | Per::MaximumOfCalls => None,
                Per::Sample => Some("the sum"),
                Per::MeanOfCalls => Some("the mean"),
                Per::MedianOfCalls => Some("the median"),
            };
            if let Some(of) = of {
                return Err(format!(
                    "each value of `{name}` is {of} of {calls} calls, but a budget applies to one call; lower the \
                     cell's `round_s` until a round has one call"
                ));
            }
            found.push(value / divisor);
        }
    }
    found.retain(|value| value.is_finite());
    Ok(sorted(&found))
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
        let metric = Metric::default();
        assert_eq!(values(&duel, "B", "ttft_s", &metric), Ok(vec![3.0, 4.0, 5.0]));
        assert_eq!(budget(&duel, "B", &at_most(4.5, 0.5)).beyond, 1);
    }

    /// Ten rounds of ten calls, of which the last takes ten times as long, and a limit for the time of one.
    fn tail(per: Per, has_series: bool, asked: &Budget) -> Budget {
        let one_in_ten: Vec<f64> = (0..10).map(|call| if call == 9 { 60.0 } else { 6.0 }).collect();
        let round = |_| record::Sample {
            arm: Some("B".to_owned()),
            values: [("ttft_s".to_owned(), one_in_ten.iter().sum())].into(),
            series: has_series.then(|| ("ttft_s".to_owned(), one_in_ten.clone())).into_iter().collect(),
            ..record::Sample::default()
        };
        let mut duel = Duel { samples: (0..10).map(round).collect(), ..Duel::default() };
        duel.design.calls = 10;
        duel.metrics.insert("ttft_s".to_owned(), Metric { per: Some(per), ..Metric::default() });
        budget(&duel, "B", asked)
    }

    #[test]
    fn quantiles_are_those_of_calls_and_never_of_sums_or_means() {
        // The mean of ten calls is 11.4: below the limit of the tail, and above that of the median.
        let (slow, usual) = (at_most(40.0, 0.95), at_most(8.0, 0.5));
        let found = tail(Per::Sample, true, &slow);
        assert_eq!((found.state, found.values, found.beyond), (BudgetState::Broken, 100, 10));
        assert_eq!(tail(Per::Sample, true, &usual).state, BudgetState::Kept);
        for (per, word) in [
            (Per::Sample, "the sum of 10"),
            (Per::MeanOfCalls, "the mean of 10"),
            (Per::MedianOfCalls, "the median of 10"),
        ] {
            for asked in [&slow, &usual] {
                let found = tail(per, false, asked);
                assert_eq!((found.state, found.value), (BudgetState::NotMeasured, None), "{per:?}");
                let why = found.refused.expect("it says why");
                assert!(why.contains(word) && why.contains("`round_s`"), "{why}");
            }
        }
        let of_one_call = tail(Per::Call, false, &at_most(200.0, 0.5));
        assert_eq!((of_one_call.state, of_one_call.value), (BudgetState::Kept, Some(114.0)));
    }

    #[test]
    fn exact_sums_are_divided() {
        let sample = record::Sample {
            arm: Some("B".to_owned()),
            values: [("allocs".to_owned(), 30.0)].into(),
            ..record::Sample::default()
        };
        let exact = Metric { exact: true, per: Some(Per::Sample), ..Metric::default() };
        let mut duel = Duel { samples: vec![sample], ..Duel::default() };
        duel.metrics.insert("allocs".to_owned(), exact);
        duel.design.calls = 3;
        let found = budget(&duel, "B", &Budget { metric: "allocs".to_owned(), ..at_most(10.0, 0.5) });
        assert_eq!((found.state, found.value), (BudgetState::Kept, Some(10.0)));
    }
}
