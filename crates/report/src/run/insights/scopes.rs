//! What the profile says.

use super::super::document::quoted;
use super::super::limits::InWords as _;
use super::super::tree::Sum;
use super::super::view::View;
use super::Insight;
use crate::units::{
    bytes, count, digits, mean_bytes, mean_count, nanos, percent, plural, seconds, share, whole_percent,
};

/// A share of the time that is worth a sentence.
const NOTABLE: f64 = 0.05;
/// Calls from which on an allocation in each of them is a habit.
const ENOUGH_CALLS: u64 = 100;
/// The slowest index beside the mean of all, from where on it stands out.
const UNEVEN: f64 = 1.25;

/// The share of the wall time; nothing where threads overlap, because then nothing follows for the run.
fn of_wall(view: &View<'_>, ns: u64) -> Option<f64> {
    let is_one = view.tree.as_ref().is_some_and(|tree| tree.thread_count() <= 1);
    share(ns, view.wall_ns()).filter(|part| is_one && *part <= 1.0)
}

/// The scope by whose distance from the machine's limit most time could be saved.
pub(super) fn below_limit(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let savings = tree.names.iter().filter_map(|sum| {
        let (reached, roof) = view.scope_share(sum)?;
        let part = of_wall(view, sum.total_ns)?;
        Some((part * (1.0 - reached.min(1.0)), part, reached, roof, sum))
    });
    let (saved, part, reached, roof, sum) = savings.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let sentence = format!(
        "{} takes {} of the wall time at {} of the limit, {}: at the limit the run would be {} shorter.",
        name(sum),
        whole_percent(part),
        whole_percent(reached),
        roof.in_words(),
        whole_percent(saved)
    );
    (saved >= NOTABLE).then_some(Insight { worth: saved, sentence })
}

fn name(sum: &Sum<'_>) -> String {
    quoted(sum.name)
}

/// The scope that spends most in its own code, where it declares no work that could be set beside a limit.
pub(super) fn hottest(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let own = tree.names.iter().filter(|sum| !sum.is_of_lab());
    let sum = own.max_by_key(|sum| sum.self_ns).filter(|sum| view.scope_share(sum).is_none())?;
    let part = share(sum.self_ns, view.wall_ns())?;
    let sentence = match of_wall(view, sum.self_ns) {
        Some(part) => format!(
            "{} spends {} of the wall time in its own code: twice as fast there, the run would be {} shorter.",
            name(sum),
            whole_percent(part),
            whole_percent(part / 2.0)
        ),
        None => format!(
            "{} spends the most time in its own code: {} on {}.",
            name(sum),
            nanos(sum.self_ns),
            plural(sum.threads, "thread")
        ),
    };
    (part >= 2.0 * NOTABLE).then_some(Insight { worth: part.min(1.0) / 2.0, sentence })
}

/// Time that no scope explains.
pub(super) fn outside(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let (outside, whole) = (tree.idle_ns(), tree.accounted_ns());
    let part = share(outside, whole)?;
    let sentence = format!(
        "{} of the threads' time, {} of {}, lies in no scope: idle, or code that has none yet.",
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
        "{} makes {} per call, {} per call and {} in all.",
        name(sum),
        if per_call == 1.0 { "1 allocation".to_owned() } else { format!("{} allocations", mean_count(per_call)) },
        mean_bytes(own.alloc_bytes as f64 / sum.calls as f64),
        bytes(own.alloc_bytes)
    );
    let worth = (cost / view.wall_ns().max(1) as f64).min(1.0);
    (per_call >= 1.0).then_some(Insight { worth, sentence })
}

/// An index that takes longer than the others.
pub(super) fn uneven_index(view: &View<'_>) -> Option<Insight> {
    let tree = view.tree.as_ref()?;
    let family = tree.families.first().filter(|family| family.members.len() > 2)?;
    let means = family.members.iter().filter_map(|(index, member)| {
        Some(((*index)?, member.total_ns as f64 * 1e-9 / (member.calls > 0).then_some(member.calls as f64)?))
    });
    let means: Vec<(u64, f64)> = means.collect();
    let middle =
        compare::median(&means.iter().map(|(_, mean)| *mean).collect::<Vec<_>>()).filter(|mean| *mean > 0.0)?;
    let (index, slowest) = means.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let member = family.members.get(&Some(index))?;
    let more = member.total_ns as f64 * (1.0 - middle / slowest) / view.wall_ns().max(1) as f64;
    let sentence = format!(
        "{} takes {} per call, {} times the median of its {}, {}.",
        quoted(&format!("{}[{index}]", family.name)),
        seconds(slowest),
        digits(slowest / middle),
        plural(family.members.len() as u64, "index").replace("indexs", "indices"),
        seconds(middle)
    );
    (slowest >= UNEVEN * middle).then_some(Insight { worth: more.min(1.0), sentence })
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
    let sentence = format!(
        "The profiler took {} of the wall time, more than the {} it may; most calls, {}, are of {}.",
        percent(cost.share_of_wall),
        percent(limit),
        count(most.calls),
        name(most)
    );
    (cost.share_of_wall > limit).then_some(Insight { worth: cost.share_of_wall, sentence })
}
