//! How the profile was made: clock, own cost, what was sampled, what was lost.

use crate::document::{Block, Section};
use crate::units::{count, nanos, percent, plural, seconds, share, whole_percent};
use crate::view::ProfileView;
use crate::{CallTree, OwnCost, PERCENTILE_ERROR, Profile};

/// Sampled scopes that are named.
const SAMPLED_SHOWN: usize = 6;

/// How far the profile can be trusted.
#[must_use]
pub fn trust(view: &ProfileView<'_>) -> Section {
    let tree = view.tree;
    let profile = tree.profile;
    let section = Section::new("THE PROFILER", "how far to trust the profile");
    if profile.scopes.is_empty() {
        return section.with(Block::Text("No scope was recorded.".to_owned()));
    }
    if view.context.is_imported() {
        let text = "Another program measured this: its clock, its own cost and what it lost are not known.";
        return section.with(Block::Text(text.to_owned()));
    }
    let lost = losses(profile);
    section.with_facts([
        ("clock", Some(clock(profile))),
        ("own cost", Some(own_cost(tree))),
        ("budget", Some(budget(profile))),
        ("interruptions", interruptions(tree)),
        ("sampled", sampled(tree)),
        ("percentiles", percentiles(tree)),
        ("timeline", timeline(profile)),
        ("lost", Some(if lost.is_empty() { "nothing".to_owned() } else { lost.join("; ") })),
    ])
}

fn clock(profile: &Profile) -> String {
    let clock = &profile.clock;
    let which = if clock.source == "counter" { "the CPU's counter" } else { "the operating system's" };
    let why = if clock.why.is_empty() { String::new() } else { format!(" ({})", clock.why) };
    format!("{which}{why}; resolution {}, shorter calls read as 0", seconds(clock.resolution_ns * 1e-9))
}

fn own_cost(tree: &CallTree<'_>) -> String {
    let cost = &tree.profile.own_cost;
    let short = |ns: f64| seconds(ns * 1e-9);
    let alloc = match tree.counts_allocations() {
        true => format!(", {} per allocation", short(cost.per_alloc_ns)),
        false => String::new(),
    };
    // Earlier versions measured it in a tight loop, and recorded nothing about interruptions.
    let how = if tree.profile.interruptions.is_some() { ", measured between pieces of work" } else { "" };
    format!(
        "{} per timed call, {} per counted one{alloc}{how}: {} in all; taken out of the times above",
        short(cost.per_scope_ns),
        short(cost.per_sampled_scope_ns),
        short(cost.total_ns as f64)
    )
}

/// `own cost 1.3 % of CPU time (budget 2 %): kept`.
fn budget(profile: &Profile) -> String {
    let cost = &profile.own_cost;
    let (share, whole) = judged_cost(cost);
    let took = format!("own cost {} of {whole}", percent(share));
    match cost.budget {
        None => format!("none: every call was timed; {took} on the thread where it took most"),
        Some(limit) => {
            let verdict = if share > limit { "exceeded" } else { "kept" };
            format!("{took} (budget {}): {verdict}", whole_percent(limit))
        }
    }
}

/// The share that the budget limits, and of what it is: of CPU time, which other programs do not change; of wall time where
/// CPU time is not known.
#[must_use]
pub fn judged_cost(cost: &OwnCost) -> (f64, &'static str) {
    cost.share_of_cpu.map_or((cost.share_of_wall, "wall time"), |share| (share, "CPU time"))
}

/// How interruptions were recognised, and how long threads waited for a CPU.
fn interruptions(tree: &CallTree<'_>) -> Option<String> {
    let found = tree.profile.interruptions.as_ref()?;
    let why = if found.why.is_empty() { String::new() } else { format!(" ({})", found.why) };
    let waited = tree.waiting_ns().map_or_else(String::new, |ns| {
        let part = share(ns, tree.threads_wall_ns());
        let part = part.map_or_else(String::new, |part| format!(", {} of their time", whole_percent(part)));
        format!("; threads waited {} for a CPU{part}: measured, and in no scope's time", nanos(ns))
    });
    Some(match found.source.as_str() {
        "rseq" => format!("rseq: the kernel marks each one{why}{waited}"),
        _ => format!("not recognised{why}: time without a CPU is part of the scopes' times{waited}"),
    })
}

fn sampled(tree: &CallTree<'_>) -> Option<String> {
    let sampled: Vec<_> = tree.names.iter().filter(|sum| sum.is_sampled).collect();
    let named = sampled.iter().take(SAMPLED_SHOWN);
    let mut parts: Vec<String> = named
        .map(|sum| {
            let entered = sum.polls().max(sum.calls);
            format!("{} (timed {} of {})", sum.name, count(sum.timed_calls()), count(entered))
        })
        .collect();
    if sampled.len() > SAMPLED_SHOWN {
        parts.push(format!("{} more", sampled.len() - SAMPLED_SHOWN));
    }
    let most = sampled.iter().max_by_key(|sum| sum.calls)?;
    let all = most.mean_s().filter(|mean| *mean > 0.0).map_or_else(String::new, |mean| {
        let more = whole_percent(tree.profile.own_cost.per_scope_ns * 1e-9 / mean);
        format!("; timing every call of {} would add {more} to its time", most.name)
    });
    Some(format!("times are estimates for {}{all}", parts.join(", ")))
}

fn percentiles(tree: &CallTree<'_>) -> Option<String> {
    let has_some = tree.profile.scopes.iter().any(|scope| scope.p50_ns.is_some());
    has_some.then(|| format!("within {} of the timed calls", percent(PERCENTILE_ERROR)))
}

fn timeline(profile: &Profile) -> Option<String> {
    let kept: usize = profile.timeline.iter().map(|thread| thread.scopes.len()).sum();
    let lost = profile.lost.timeline_events;
    (kept > 0 || lost > 0)
        .then(|| format!("the last {} timed calls were kept, {} overwritten", count(kept as u64), count(lost)))
}

fn losses(profile: &Profile) -> Vec<String> {
    let lost = &profile.lost;
    let kinds = [
        (lost.calls_without_room, "did not fit into the tree (too many paths, or too deep)"),
        (lost.calls_with_other_index, "had an index beyond those kept apart and share one entry"),
        (lost.unbalanced_scopes, "ended in another order than they began"),
        (lost.scopes_after_thread_end, "were opened or closed while their thread was being torn down"),
        (lost.timings_without_percentile, "are in no percentile, because the memory for histograms was used up"),
        (lost.calls_with_folded_index, "with an index were too deep for a row of their own and are in none"),
        (lost.leaked_scopes, "never ended; the profiler closed them"),
    ];
    let happened = kinds.iter().filter(|(number, _)| *number > 0);
    happened.map(|(number, what)| format!("{} {what}", plural(*number, "call"))).collect()
}
