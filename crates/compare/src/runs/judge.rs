//! Judges one metric of two stored runs: a direction at most.

use record::{Better, Change, Judgement, Metric, Verdict};

use crate::{Interval, median, quantile_interval, rules, sorted};

/// The confidence level of intervals.
pub(super) const CONFIDENCE: f64 = 0.95;
/// Samples that an interval of that confidence needs.
const ENOUGH: usize = 6;

/// How every metric is judged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RunQuestion {
    /// The threshold, if one was given.
    pub(super) threshold: Option<f64>,
    /// Why nothing is said of any metric, where the runs cannot be compared or computed something else.
    pub(super) withheld: Option<Verdict>,
    /// Why samples of one side are none: another program told of it once, or of means only.
    pub(super) no_samples: Option<&'static str>,
    /// Whether both are the same program, so that no change is one of the program.
    pub(super) same_subject: bool,
}

impl RunQuestion {
    /// The change that matters; of what is exact any.
    fn threshold(&self, name: &str, metric: &Metric) -> f64 {
        let usual = rules::threshold(name, metric);
        if metric.exact { usual } else { self.threshold.unwrap_or(usual) }
    }
}

/// Judges the values of one metric before and after.
pub(super) fn judged((name, metric): (&str, &Metric), values: [&[f64]; 2], question: &RunQuestion) -> Judgement {
    let middle = values.map(median);
    let estimate = middle[0].zip(middle[1]).and_then(|(before, after)| ratio(before, after)).map(|ratio| ratio - 1.0);
    let threshold = question.threshold(name, metric);
    let rounds = values.map(<[f64]>::len).into_iter().min().unwrap_or(0) as u64;
    let mut found = Judgement {
        metric: name.to_owned(),
        base: middle[0],
        candidate: middle[1],
        threshold,
        launches: u64::from(rounds > 0),
        rounds,
        ..Judgement::default()
    };
    if let Some(verdict) = question.withheld {
        found.verdict = verdict;
        return found;
    }
    found.estimate = estimate;
    if let (true, Some([before, after])) = (metric.exact, each_same(values)) {
        (found.verdict, found.sentence) = exact([before, after], metric.better);
        // What differs is a fact; that it is the program's doing needs more.
        let why_not = match () {
            () if question.no_samples.is_some() => question.no_samples,
            () if rounds < 2 => Some("1 sample; nothing can be concluded"),
            () if question.same_subject => Some("the program is the same"),
            () => None,
        };
        if let Some(why_not) = why_not {
            found.verdict = Verdict::Unresolved;
            found.sentence = format!("{}; {why_not}", found.sentence);
        }
        return found;
    }
    found.change = change(values).filter(|_| question.no_samples.is_none());
    if found.change.is_some() {
        found.estimate = None;
    }
    found.visible = found.change.map(|change| (change.high - change.low) / 2.0 + threshold);
    (found.verdict, found.sentence) = noisy(&found, values, metric.better, question);
    found
}

/// What one is of the other, where both are more than nothing.
fn ratio(before: f64, after: f64) -> Option<f64> {
    (before > 0.0 && after > 0.0).then(|| after / before).filter(|ratio| ratio.is_finite())
}

/// The value of each side, where all of its samples have the same.
fn each_same(values: [&[f64]; 2]) -> Option<[f64; 2]> {
    let same = |values: &[f64]| values.first().copied().filter(|first| values.iter().all(|value| value == first));
    Some([same(values[0])?, same(values[1])?])
}

/// What was not measured in turns leans at most, though it be exact.
fn exact([before, after]: [f64; 2], better: Better) -> (Verdict, String) {
    if before == after {
        return (Verdict::Unresolved, "exactly the same".to_owned());
    }
    let is_worse = (after > before) == (better == Better::Lower);
    let verdict = if is_worse { Verdict::LeaningWorse } else { Verdict::LeaningBetter };
    (verdict, format!("exactly {before} before and {after} after"))
}

/// Where the change of the medians lies, by the intervals of both.
fn change(values: [&[f64]; 2]) -> Option<Change> {
    let interval = |values: &[f64]| quantile_interval(&sorted(values), 0.5, CONFIDENCE);
    let [before, after]: [Interval; 2] = [interval(values[0])?, interval(values[1])?];
    let estimate = ratio(median(values[0])?, median(values[1])?)? - 1.0;
    Some(Change { estimate, low: ratio(before.high, after.low)? - 1.0, high: ratio(before.low, after.high)? - 1.0 })
}

fn noisy(found: &Judgement, values: [&[f64]; 2], better: Better, question: &RunQuestion) -> (Verdict, String) {
    let fewest = values.map(<[f64]>::len).into_iter().min().unwrap_or(0);
    let unresolved = |sentence: &str| (Verdict::Unresolved, sentence.to_owned());
    let Some(change) = found.change else {
        return match fewest {
            _ if question.no_samples.is_some() => unresolved(question.no_samples.unwrap_or_default()),
            0 => unresolved("not measured on both sides"),
            1 => unresolved("1 sample; nothing can be concluded"),
            few if few < ENOUGH => {
                unresolved(&format!("{few} samples; fewer than {ENOUGH} on each side are not conclusive"))
            }
            _ => unresolved("these values have no ratio"),
        };
    };
    let (least, most) = match better {
        Better::Lower => (change.low, change.high),
        Better::Higher => (1.0 / (1.0 + change.high) - 1.0, 1.0 / (1.0 + change.low) - 1.0),
    };
    let said = format!("{}, between {} and {}", percent(change.estimate), percent(change.low), percent(change.high));
    if question.same_subject {
        return unresolved(&format!("{said}; the program is the same, so the cause is the machine or chance"));
    }
    match () {
        () if least > found.threshold => (Verdict::LeaningWorse, said),
        () if most < -found.threshold => (Verdict::LeaningBetter, said),
        () => unresolved(&format!(
            "{said}; not certainly above the {} threshold",
            percent(found.threshold).trim_start_matches('+')
        )),
    }
}

/// A share with its sign, as people write it.
pub(super) fn percent(share: f64) -> String {
    let sign = if share < 0.0 { "\u{2212}" } else { "+" };
    format!("{sign}{:.1} %", (share * 100.0).abs())
}
