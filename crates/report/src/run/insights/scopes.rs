//! What the profile says.

use std::cmp::Reverse;

use compare::Estimate;

use super::super::document::quoted;
use super::super::estimates::{Time, in_words, tied_groups, whole_percents};
use super::super::limits::InWords as _;
use super::super::tree::Sum;
use super::super::trust::judged_cost;
use super::super::view::View;
use super::Insight;
use super::machine::is_attribution_unreliable;
use crate::units::{
    bytes, count, digits, mean_bytes, mean_count, nanos, percent, plural, seconds, seconds_within, share, whole_percent,
};

/// A share of the time that is worth a sentence.
const NOTABLE: f64 = 0.05;
/// Calls from which on an allocation in each of them is a habit.
const ENOUGH_CALLS: u64 = 100;
/// The slowest index beside the mean of all, from where on it stands out.
const UNEVEN: f64 = 1.25;
/// Scopes of a tie that are named.
const TIED: usize = 3;

/// The share of the time on a CPU; nothing where threads overlap, because then nothing follows for the run.
fn of_run(view: &View<'_>, time: Time) -> Option<Estimate> {
    let is_one = view.tree.as_ref().is_some_and(|tree| tree.thread_count() <= 1);
    time.share_of(view.on_cpu_ns()).filter(|part| is_one && part.value <= 1.0)
}

/// The scope by whose distance from the machine's limit most time could be saved.
pub(super) fn below_limit(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref().filter(|_| !is_attribution_unreliable(view))?;
    let savings = tree.names.iter().filter_map(|sum| {
        let (reached, roof) = view.scope_share(sum)?;
        let part = of_run(view, sum.total())?;
        // At the lower end of its time it is nearer to the limit, and less can be saved.
        let reached_at = |end: f64| (reached * part.value / end).min(1.0);
        let saved_at = |end: f64| if end > 0.0 { end * (1.0 - reached_at(end)) } else { 0.0 };
        Some((saved_at(part.value), saved_at(part.low()), part, reached, roof, sum))
    });
    let (saved, least, part, reached, roof, sum) = savings.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let sentence = format!(
        "{} takes {} of {} at {} of {}: reaching the limit would save up to {}.",
        name(sum),
        whole_percents(part, sum.is_sampled),
        view.whole(),
        whole_percent(reached),
        roof.in_words(),
        whole_percent(saved)
    );
    (least >= NOTABLE).then_some(Insight { worth: saved, sentence })
}

fn name(sum: &Sum<'_>) -> String {
    quoted(sum.name)
}

/// The scope that spends most in its own code, where it declares no work that could be set beside a limit; all of them where
/// nobody can tell which one that is.
pub(super) fn hottest(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref().filter(|_| !is_attribution_unreliable(view))?;
    let mut by_self: Vec<&Sum<'_>> = tree.names.iter().filter(|sum| !sum.is_of_lab()).collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    let group = tied_groups(by_self, |sum| sum.own().estimate()).into_iter().next()?;
    let sum = group.first().filter(|sum| view.scope_share(sum).is_none())?;
    let part = sum.own().share_of(view.on_cpu_ns())?;
    let sentence = match (group.len(), of_run(view, sum.own())) {
        (1, Some(part)) => format!(
            "{} spends {} of {} in its own code: making it twice as fast would save {}.",
            name(sum),
            whole_percents(part, sum.is_self_estimated),
            view.whole(),
            whole_percent(part.value / 2.0)
        ),
        (1, None) => {
            format!("{} has the most self time: {} on {}.", name(sum), sum.own().text(), plural(sum.threads, "thread"))
        }
        (tied, _) => {
            let shown = group.iter().take(TIED).filter_map(|sum| {
                let share = sum.own().share_of(view.on_cpu_ns())?;
                Some((sum.name, whole_percents(share, sum.is_self_estimated)))
            });
            let shown: Vec<(&str, String)> = shown.collect();
            format!("Most self time: {}.", in_words(&shown, tied - shown.len()))
        }
    };
    (part.low() >= 2.0 * NOTABLE).then_some(Insight { worth: part.value.min(1.0) / 2.0, sentence })
}

/// Time that no scope explains.
pub(super) fn outside(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let (outside, whole) = (tree.idle_ns(), tree.accounted_ns());
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
pub(super) fn allocating(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let often = tree.names.iter().filter(|sum| sum.calls >= ENOUGH_CALLS && !sum.is_of_lab());
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
    let worth = (cost / view.on_cpu_ns().max(1) as f64).min(1.0);
    (per_call >= 1.0).then_some(Insight { worth, sentence })
}

/// An index that takes longer than the others for certain: by the lower end of its interval, beside the upper ends of theirs.
pub(super) fn uneven_index(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref().filter(|_| !is_attribution_unreliable(view))?;
    let family = tree.families.first().filter(|family| family.members.len() > 2)?;
    let means = family.members.iter().filter_map(|(index, member)| {
        let calls = (member.calls > 0).then_some(member.calls as f64)?;
        Some(((*index)?, member.total.estimate().times(1e-9 / calls)))
    });
    let means: Vec<(u64, Estimate)> = means.collect();
    let median = |of: fn(Estimate) -> f64| {
        compare::median(&means.iter().map(|(_, mean)| of(*mean)).collect::<Vec<_>>()).filter(|mean| *mean > 0.0)
    };
    let (middle, upper) = (median(|mean| mean.value)?, median(Estimate::high)?);
    let (index, slowest) = means.iter().copied().max_by(|a, b| a.1.low().total_cmp(&b.1.low()))?;
    let member = family.members.get(&Some(index))?;
    let more = member.total.ns as f64 * (1.0 - middle / slowest.value) / view.on_cpu_ns().max(1) as f64;
    let time = match slowest.half_width() {
        Some(half) => seconds_within(slowest.value, half),
        None => seconds(slowest.value),
    };
    let sentence = format!(
        "{} takes {time} per call, {} times the median of its {}, {}.",
        quoted(&format!("{}[{index}]", family.name)),
        digits(slowest.value / middle),
        plural(family.members.len() as u64, "index").replace("indexs", "indices"),
        seconds(middle)
    );
    (slowest.low() >= UNEVEN * upper).then_some(Insight { worth: more.clamp(0.0, 1.0), sentence })
}

/// Threads of which one did less than half of what another did.
pub(super) fn uneven_threads(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    // A thread that lived for a short time has its reasons to have done less.
    let lasting = tree.threads().filter(|thread| thread.count == 1 && thread.wall_ns > view.wall_ns() / 2);
    let lasting: Vec<&record::Thread> = lasting.collect();
    let most = lasting.iter().max_by_key(|thread| thread.in_scopes_ns)?;
    let least = lasting.iter().min_by_key(|thread| thread.in_scopes_ns)?;
    let called =
        |thread: &record::Thread| quoted(&thread.name.clone().unwrap_or_else(|| format!("thread {}", thread.id)));
    let sentence = format!(
        "{} was in scopes for {}, {} for {}.",
        called(most),
        nanos(most.in_scopes_ns),
        called(least),
        nanos(least.in_scopes_ns)
    );
    let apart = share(most.in_scopes_ns - least.in_scopes_ns, view.wall_ns())?;
    (least.in_scopes_ns < most.in_scopes_ns / 2 && apart >= 2.0 * NOTABLE)
        .then_some(Insight { worth: apart.min(1.0) / 2.0, sentence })
}

/// The profiler took more than it may.
pub(super) fn own_cost(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let cost = &tree.profile.own_cost;
    let (limit, most) = (cost.budget?, tree.names.iter().max_by_key(|sum| sum.calls)?);
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
