//! Every figure of a scope path, by the names of the record.

use record::{Allocations, Scope};

/// All of them, always the same and in the same order; none where it was not measured or not declared.
pub(super) fn figures(scope: &Scope) -> Vec<(&'static str, Option<u64>)> {
    let timed = |value: u64| (scope.timed_calls > 0).then_some(value);
    let allocs = |pick: fn(&Allocations) -> u64| scope.allocs.as_ref().map(pick);
    let allocs_total = |pick: fn(&Allocations) -> u64| scope.allocs_total.as_ref().map(pick);
    vec![
        ("calls", Some(scope.calls)),
        ("timed_calls", Some(scope.timed_calls)),
        ("open_calls", positive(scope.open_calls)),
        ("threads", Some(scope.threads)),
        ("total_ns", Some(scope.total_ns)),
        ("total_se_ns", scope.total_se_ns),
        ("self_ns", Some(scope.self_ns)),
        ("self_se_ns", scope.self_se_ns),
        ("waiting_ns", positive(scope.waiting_ns)),
        ("attached_ns", positive(scope.attached_ns)),
        ("min_ns", timed(scope.min_ns)),
        ("p50_ns", scope.p50_ns),
        ("p90_ns", scope.p90_ns),
        ("p99_ns", scope.p99_ns),
        ("max_ns", timed(scope.max_ns)),
        ("flops", positive(scope.flops)),
        ("bytes", positive(scope.bytes)),
        ("tokens", positive(scope.tokens)),
        ("allocs", allocs(|count| count.allocs)),
        ("alloc_bytes", allocs(|count| count.alloc_bytes)),
        ("frees", allocs(|count| count.frees)),
        ("free_bytes", allocs(|count| count.free_bytes)),
        ("reallocs", allocs(|count| count.reallocs)),
        ("allocs_total", allocs_total(|count| count.allocs)),
        ("alloc_bytes_total", allocs_total(|count| count.alloc_bytes)),
        ("frees_total", allocs_total(|count| count.frees)),
        ("free_bytes_total", allocs_total(|count| count.free_bytes)),
        ("reallocs_total", allocs_total(|count| count.reallocs)),
        ("peak_live_bytes", scope.allocs.map(|_| scope.peak_live_bytes)),
        ("polls", positive(scope.polls)),
        ("elapsed_ns", positive(scope.elapsed_ns)),
    ]
}

/// Those that are known.
pub(super) fn known(scope: &Scope) -> impl Iterator<Item = (&'static str, u64)> {
    figures(scope).into_iter().filter_map(|(name, value)| Some((name, value?)))
}

/// The record writes zero where nothing was declared.
fn positive(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}
