//! Where a change comes from: the own time of every path, before and after.

use std::collections::{BTreeMap, BTreeSet};

use record::{Duel, LaunchProfile, TimeDifference, Waterfall, WaterfallPart};

use crate::stats::mean_interval;

/// What the intervals of parts are sure of.
const CONFIDENCE: f64 = 0.95;

/// Breaks the change of an arm down over the call tree, by the rounds that were profiled. Base and placebo count together. `None` where
/// no launch has profiles of both sides.
///
/// Parts are the own times of paths and, with an empty path, what lies in no scope: time by the clock less all own times, so it may be
/// below 0 where several threads worked at once. They sum to the total.
#[must_use]
pub fn waterfall(duel: &Duel, arm: &str) -> Option<Waterfall> {
    let base = &duel.arms.first()?.name;
    let is_base = |name: &str| name == base || name.strip_suffix('\'') == Some(base);
    let before = by_launch(&duel.profiles, is_base);
    let after = by_launch(&duel.profiles, |name| name == arm);
    let pairs: Vec<(&Times, &Times)> =
        before.iter().filter_map(|(launch, before)| Some((before, after.get(launch)?))).collect();
    if pairs.is_empty() {
        return None;
    }
    let paths: BTreeSet<&[String]> = pairs
        .iter()
        .flat_map(|(before, after)| before.own.keys().chain(after.own.keys()))
        .map(|path| &**path)
        .collect();
    let mut parts: Vec<WaterfallPart> = paths.into_iter().map(|path| part(path, &pairs)).collect();
    let total = difference(pairs.iter().map(|(before, after)| (before.wall_s, after.wall_s)));
    parts.push(rest(&pairs, total.estimate - parts.iter().map(|part| part.change.estimate).sum::<f64>()));
    parts.sort_by(|a, b| b.change.estimate.abs().total_cmp(&a.change.estimate.abs()));
    Some(Waterfall {
        base_s: mean(pairs.iter().map(|(before, _)| before.wall_s)),
        candidate_s: mean(pairs.iter().map(|(_, after)| after.wall_s)),
        total,
        parts,
    })
}

/// Times of one launch, for each round.
#[derive(Default)]
struct Times {
    wall_s: f64,
    /// By paths: seconds and calls.
    own: BTreeMap<Vec<String>, (f64, f64)>,
}

impl Times {
    fn rest_s(&self) -> f64 {
        self.wall_s - self.own.values().map(|(seconds, _)| seconds).sum::<f64>()
    }
}

fn by_launch(profiles: &[LaunchProfile], is_side: impl Fn(&str) -> bool) -> BTreeMap<u64, Times> {
    let mut launches: BTreeMap<u64, Vec<&LaunchProfile>> = BTreeMap::new();
    for profile in profiles.iter().filter(|profile| is_side(&profile.arm) && profile.rounds > 0) {
        launches.entry(profile.launch).or_default().push(profile);
    }
    launches.into_iter().map(|(launch, profiles)| (launch, times(&profiles))).collect()
}

/// The mean of several profiles, each by its rounds.
fn times(profiles: &[&LaunchProfile]) -> Times {
    let mut times = Times::default();
    for profile in profiles {
        let share = 1.0 / (profile.rounds as f64 * profiles.len() as f64);
        times.wall_s += profile.wall_ns as f64 * 1e-9 * share;
        for path in &profile.paths {
            let (seconds, calls) = times.own.entry(path.path.clone()).or_default();
            *seconds += path.self_ns as f64 * 1e-9 * share;
            *calls += path.calls as f64 * share;
        }
    }
    times
}

fn part(path: &[String], pairs: &[(&Times, &Times)]) -> WaterfallPart {
    let of = |times: &Times| times.own.get(path).copied();
    let seconds = |times: &Times| of(times).map_or(0.0, |(seconds, _)| seconds);
    let calls = |times: &Times| of(times).map_or(0.0, |(_, calls)| calls);
    let is_before = pairs.iter().any(|(before, _)| of(before).is_some());
    let is_after = pairs.iter().any(|(_, after)| of(after).is_some());
    WaterfallPart {
        path: path.to_vec(),
        base_s: is_before.then(|| mean(pairs.iter().map(|(before, _)| seconds(before)))),
        candidate_s: is_after.then(|| mean(pairs.iter().map(|(_, after)| seconds(after)))),
        change: difference(pairs.iter().map(|(before, after)| (seconds(before), seconds(after)))),
        base_calls: is_before.then(|| mean(pairs.iter().map(|(before, _)| calls(before)))),
        candidate_calls: is_after.then(|| mean(pairs.iter().map(|(_, after)| calls(after)))),
        // Intervals over launches contain what sampling leaves uncertain.
        ..WaterfallPart::default()
    }
}

/// What has no scope. Its estimate is what is left of the total, so that no rounding stands between the parts and the whole.
fn rest(pairs: &[(&Times, &Times)], left: f64) -> WaterfallPart {
    let change = difference(pairs.iter().map(|(before, after)| (before.rest_s(), after.rest_s())));
    WaterfallPart {
        base_s: Some(mean(pairs.iter().map(|(before, _)| before.rest_s()))),
        candidate_s: Some(mean(pairs.iter().map(|(_, after)| after.rest_s()))),
        change: TimeDifference { estimate: left, ..change },
        ..WaterfallPart::default()
    }
}

/// The mean of the differences of launches, with its interval where there are two and more.
fn difference(pairs: impl Iterator<Item = (f64, f64)>) -> TimeDifference {
    let differences: Vec<f64> = pairs.map(|(before, after)| after - before).collect();
    let interval = mean_interval(&differences, 1.0 - CONFIDENCE);
    TimeDifference {
        estimate: mean(differences.iter().copied()),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    sum / count
}
