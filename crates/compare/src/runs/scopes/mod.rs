//! Two call trees, laid over each other: what is there before and after, what only once, and what has another name.

mod align;
mod merged;
mod renamed;
mod why;

use record::{Run, ScopeChange, WorkloadKind};

use crate::workload_kind;
pub use merged::without_indices;
pub(super) use why::why;

/// The scopes of both runs, parents before children, the longest siblings first; and what has to be said about them.
pub(super) fn scopes(base: &Run, candidate: &Run) -> (Vec<ScopeChange>, Vec<String>) {
    let (Some(old), Some(new)) = (&base.profile, &candidate.profile) else { return (Vec::new(), Vec::new()) };
    align::align([&old.scopes, &new.scopes], &Repeats::of(base, candidate))
}

/// How often rows were repeated before and after, where that differs: what is repeated until it is known well enough is
/// repeated as often as there was time for, which says nothing about the program.
#[derive(Debug, Default)]
struct Repeats(Vec<(u64, u64)>);

impl Repeats {
    fn of(base: &Run, candidate: &Run) -> Self {
        // The profile of a command is that of one launch, however many there were.
        if [base, candidate].iter().any(|run| workload_kind(&run.workload) == WorkloadKind::Command) {
            return Self::default();
        }
        let counts = [base, candidate].map(super::rows::sample_counts);
        let mut ratios: Vec<(u64, u64)> = Vec::new();
        for row in &base.rows {
            let Some(other) = candidate.rows.iter().find(|other| other.name == row.name) else { continue };
            let count = |side: usize| counts[side].get(row.name.as_str()).copied().unwrap_or_default();
            let (old, new) = (count(0), count(1));
            ratios.push((old.timed, new.timed));
            ratios.push((old.all, new.all));
            ratios.push((old.timed.saturating_mul(row.calls), new.timed.saturating_mul(other.calls)));
        }
        ratios.retain(|(old, new)| old != new && *old > 0 && *new > 0);
        ratios.sort_unstable();
        ratios.dedup();
        Self(ratios)
    }

    /// Whether calls differ only because something was repeated more often.
    fn explain(&self, old: u64, new: u64) -> bool {
        let is_it = |(a, b): &(u64, u64)| u128::from(*a) * u128::from(new) == u128::from(*b) * u128::from(old);
        old > 0 && new > 0 && old != new && self.0.iter().any(is_it)
    }
}
