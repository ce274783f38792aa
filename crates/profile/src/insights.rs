//! What follows from a profile by arithmetic, in sentences. Each has its evidence; none is a verdict.

use std::cmp::Reverse;

use crate::sections::judged_cost;
use crate::units::{
    bytes, count, digits, mean_bytes, mean_count, nanos, percent, plural, quoted, seconds, seconds_within, share,
    whole_percent,
};
use crate::view::ProfileView;
use crate::{Estimate, ScopeSum, Thread, TimeEstimate, in_words, rests_on_few, tied_groups, whole_percents};

/// A share of the time that is worth a sentence.
pub const NOTABLE: f64 = 0.05;
/// Calls from which on what happens in each of them is a habit, and their distribution means something.
const ENOUGH_CALLS: u64 = 100;
/// Allocations of this size in each call dominate a scope.
const LARGE_BYTES: u64 = 1 << 20;
/// The slowest index relative to the others, from where on it stands out.
const UNEVEN_INDEX: f64 = 1.25;
/// The 99th percentile relative to the median, from where on a scope is uneven.
const UNEVEN_CALLS: f64 = 5.0;
/// Scopes of a tie that are named.
const TIED: usize = 3;

/// A sentence, and how much of the run it concerns.
#[derive(Debug, Clone, PartialEq)]
pub struct Insight {
    /// The share of the run's time that could be saved or is concerned, from 0 to 1; the largest comes first.
    pub worth: f64,
    /// The sentence.
    pub sentence: String,
}

/// A rule that has something to say of a profile, or not.
pub type Rule = fn(&ProfileView<'_>) -> Option<Insight>;

/// Every rule on scopes and threads.
pub const RULES: &[Rule] = &[
    hottest,
    outside,
    allocating,
    large_allocations,
    uneven_index,
    uneven_calls,
    uneven_threads,
    idle_future,
    own_cost,
];

/// The share of the time on a CPU; nothing where threads overlap, because then nothing follows for the run.
#[must_use]
pub fn share_of_run(view: &ProfileView<'_>, time: TimeEstimate) -> Option<Estimate> {
    let is_one = view.tree.thread_count() <= 1;
    time.share_of(view.tree.on_cpu_ns()).filter(|part| is_one && part.value <= 1.0)
}

fn name(sum: &ScopeSum<'_>) -> String {
    quoted(sum.name)
}

fn is_unreliable(view: &ProfileView<'_>) -> bool {
    view.context.is_attribution_unreliable(view.tree)
}

/// The scope with the most self time, unless its declared work can be compared with a limit; all of them where their order is
/// not certain.
pub fn hottest(view: &ProfileView<'_>) -> Option<Insight> {
    let tree = view.tree;
    if is_unreliable(view) {
        return None;
    }
    let mut by_self: Vec<&ScopeSum<'_>> = tree.names.iter().filter(|sum| !view.context.is_frame(sum)).collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    let group = tied_groups(by_self, |sum| sum.own().estimate()).into_iter().next()?;
    let sum = group.first().filter(|sum| view.context.limit(sum).is_none())?;
    let part = sum.own().share_of(tree.on_cpu_ns())?;
    let sentence = match (group.len(), share_of_run(view, sum.own())) {
        (1, Some(part)) => format!(
            "{} spends {} of {} in its own code: making it twice as fast would save {}.",
            name(sum),
            whole_percents(part, sum.is_self_estimated),
            tree.whole(),
            whole_percent(part.value / 2.0)
        ),
        (1, None) => {
            format!("{} has the most self time: {} on {}.", name(sum), sum.own().text(), plural(sum.threads, "thread"))
        }
        (tied, _) => {
            let shown = group.iter().take(TIED).filter_map(|sum| {
                let share = sum.own().share_of(tree.on_cpu_ns())?;
                Some((sum.name, whole_percents(share, sum.is_self_estimated)))
            });
            let shown: Vec<(&str, String)> = shown.collect();
            format!("Most self time: {}.", in_words(&shown, tied - shown.len()))
        }
    };
    (part.low() >= 2.0 * NOTABLE).then_some(Insight { worth: part.value.min(1.0) / 2.0, sentence })
}

/// Time that no scope explains.
pub fn outside(view: &ProfileView<'_>) -> Option<Insight> {
    let (outside, whole) = (view.tree.idle_ns(), view.tree.accounted_ns());
    let part = share(outside, whole)?;
    let sentence = format!(
        "{} of the threads' time, {} of {}, is outside all scopes: idle, or code without scopes.",
        whole_percent(part),
        nanos(outside),
        nanos(whole)
    );
    (part >= 2.0 * NOTABLE).then_some(Insight { worth: part, sentence })
}

/// The scope with the most allocations, where it makes some in every call.
pub fn allocating(view: &ProfileView<'_>) -> Option<Insight> {
    let tree = view.tree;
    let often = tree.names.iter().filter(|sum| sum.calls >= ENOUGH_CALLS && !view.context.is_frame(sum));
    let (sum, own) = often.filter_map(|sum| Some((sum, sum.allocs?))).max_by_key(|(_, own)| own.allocs)?;
    let per_call = own.allocs as f64 / sum.calls as f64;
    let cost = own.allocs as f64 * tree.profile.own_cost.per_alloc_ns;
    let sentence = format!(
        "{} makes {} per call, {} per call, {} in total.",
        name(sum),
        if per_call == 1.0 { "1 allocation".to_owned() } else { format!("{} allocations", mean_count(per_call)) },
        mean_bytes(own.alloc_bytes as f64 / sum.calls as f64),
        bytes(own.alloc_bytes)
    );
    let worth = (cost / tree.on_cpu_ns().max(1) as f64).min(1.0);
    (per_call >= 1.0).then_some(Insight { worth, sentence })
}

/// Scopes that allocate much in each of several calls.
fn large_allocations(view: &ProfileView<'_>) -> Option<Insight> {
    let is_large = |sum: &&ScopeSum<'_>| {
        let per_call = sum.allocs.map_or(0, |own| own.alloc_bytes / sum.calls.max(1));
        sum.calls > 1 && per_call >= LARGE_BYTES && !view.context.is_frame(sum)
    };
    let large: Vec<String> = view.tree.names.iter().filter(is_large).take(TIED).map(name).collect();
    let sentence = format!("{} allocate 1 MiB or more per call.", large.join(", "));
    let sentence = if large.len() == 1 { sentence.replace(" allocate ", " allocates ") } else { sentence };
    (!large.is_empty()).then_some(Insight { worth: 0.0, sentence })
}

/// An index that certainly takes longer than the others: the lower end of its interval against the upper ends of theirs.
pub fn uneven_index(view: &ProfileView<'_>) -> Option<Insight> {
    let tree = view.tree;
    let scope = tree.indexed.first().filter(|scope| scope.indices.len() > 2 && !is_unreliable(view))?;
    let means = scope.indices.iter().filter_map(|(index, sum)| {
        let calls = (sum.calls > 0).then_some(sum.calls as f64)?;
        Some(((*index)?, sum.total.estimate().times(1e-9 / calls)))
    });
    let means: Vec<(u64, Estimate)> = means.collect();
    let median_of = |of: fn(Estimate) -> f64| median(means.iter().map(|(_, mean)| of(*mean)).collect());
    let (middle, upper) = (median_of(|mean| mean.value)?, median_of(Estimate::high)?);
    let (index, slowest) = means.iter().copied().max_by(|a, b| a.1.low().total_cmp(&b.1.low()))?;
    let sum = scope.indices.get(&Some(index))?;
    let more = sum.total.ns as f64 * (1.0 - middle / slowest.value) / tree.on_cpu_ns().max(1) as f64;
    let time = match slowest.half_width() {
        Some(half) => seconds_within(slowest.value, half),
        None => seconds(slowest.value),
    };
    let sentence = format!(
        "{} takes {time} per call, {} times the median of its {} indices, {}.",
        quoted(&format!("{}[{index}]", scope.name)),
        digits(slowest.value / middle),
        count(scope.indices.len() as u64),
        seconds(middle)
    );
    (slowest.low() >= UNEVEN_INDEX * upper).then_some(Insight { worth: more.clamp(0.0, 1.0), sentence })
}

/// The median of times, where it is above zero.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*low, *high)).filter(|median| *median > 0.0)
}

/// A scope of which some calls take much longer than most.
fn uneven_calls(view: &ProfileView<'_>) -> Option<Insight> {
    let tree = view.tree;
    let rule = |sum: &&ScopeSum<'_>| {
        let timed = sum.timed_calls();
        let is_long = share(sum.total_ns, tree.on_cpu_ns()).is_some_and(|part| part > NOTABLE / 5.0);
        is_long && timed >= ENOUGH_CALLS && !rests_on_few(0.99, timed, sum.is_sampled) && sum.polls() == 0
    };
    let percentiles = |sum: &ScopeSum<'_>| Some((sum.percentile(0.5)?.0, sum.percentile(0.99)?.0));
    let ratio = |(p50, p99): (u64, u64)| p99 as f64 / p50.max(1) as f64;
    let found = tree.names.iter().filter(rule).filter_map(|sum| Some((percentiles(sum)?, sum)));
    let (found, sum) = found.max_by(|a, b| ratio(a.0).total_cmp(&ratio(b.0)))?;
    let sentence = format!(
        "{} has uneven calls: half take at most {}, one in a hundred {} or more.",
        name(sum),
        nanos(found.0),
        nanos(found.1)
    );
    // One call in a hundred takes that much more.
    let more = 0.01 * sum.calls as f64 * (found.1 - found.0.min(found.1)) as f64;
    let worth = (more / tree.on_cpu_ns().max(1) as f64).min(1.0);
    (!is_unreliable(view) && ratio(found) >= UNEVEN_CALLS).then_some(Insight { worth, sentence })
}

/// Threads of which one did less than half of what another did.
pub fn uneven_threads(view: &ProfileView<'_>) -> Option<Insight> {
    let (tree, wall) = (view.tree, view.tree.profile.wall_ns);
    // A thread that ran for a short time has its reasons to have done less.
    let lasting = tree.threads().filter(|thread| thread.count == 1 && thread.wall_ns > wall / 2);
    let lasting: Vec<&Thread> = lasting.collect();
    let most = lasting.iter().max_by_key(|thread| thread.in_scopes_ns)?;
    let least = lasting.iter().min_by_key(|thread| thread.in_scopes_ns)?;
    let called = |thread: &Thread| quoted(&thread.name.clone().unwrap_or_else(|| format!("thread {}", thread.id)));
    let sentence = format!(
        "{} was in scopes for {}, {} for {}.",
        called(most),
        nanos(most.in_scopes_ns),
        called(least),
        nanos(least.in_scopes_ns)
    );
    let apart = share(most.in_scopes_ns - least.in_scopes_ns, wall)?;
    (least.in_scopes_ns < most.in_scopes_ns / 2 && apart >= 2.0 * NOTABLE)
        .then_some(Insight { worth: apart.min(1.0) / 2.0, sentence })
}

/// A future that mostly waits.
fn idle_future(view: &ProfileView<'_>) -> Option<Insight> {
    let sum = view.tree.names.iter().filter(|sum| sum.polls() > 0).max_by_key(|sum| sum.elapsed_ns)?;
    let waiting = share(sum.elapsed_ns.saturating_sub(sum.total_ns), sum.elapsed_ns)?;
    let sentence = format!(
        "{} waits for {} of the {} between first and last poll.",
        name(sum),
        whole_percent(waiting),
        nanos(sum.elapsed_ns)
    );
    (waiting > 0.5).then_some(Insight { worth: 0.0, sentence })
}

/// The profiler took more than its budget.
pub fn own_cost(view: &ProfileView<'_>) -> Option<Insight> {
    let cost = &view.tree.profile.own_cost;
    let (limit, most) = (cost.budget?, view.tree.names.iter().max_by_key(|sum| sum.calls)?);
    let (share, whole) = judged_cost(cost);
    let sentence = format!(
        "The profiler took {} of the {whole}, above its budget of {}; most calls, {}, are of {}.",
        percent(share),
        whole_percent(limit),
        count(most.calls),
        name(most)
    );
    (share > limit).then_some(Insight { worth: share.min(1.0), sentence })
}

#[cfg(test)]
mod tests;
