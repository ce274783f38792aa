//! The call tree of a profile, summed up in three ways: by name, by path without indices, and by index.

mod by_index;
mod names;
mod scope_sum;

use std::collections::HashMap;

pub use by_index::{IndexSum, IndexedScope};
pub use names::short_names;
pub use scope_sum::ScopeSum;

use crate::units::sum_of;
use crate::{Profile, Scope, Thread};
use names::Names;

/// A profile and its sums.
#[derive(Debug)]
pub struct CallTree<'a> {
    /// What was recorded.
    pub profile: &'a Profile,
    /// By name, over the whole tree; longest total first.
    pub names: Vec<ScopeSum<'a>>,
    /// Paths without their indices, parents before children.
    pub paths: Vec<CallPath<'a>>,
    /// Scopes that carry indices; longest total first.
    pub indexed: Vec<IndexedScope<'a>>,
    name_table: Names<'a>,
}

/// A path of the tree; paths that differ only by index are one.
#[derive(Debug)]
pub struct CallPath<'a> {
    /// All that was recorded on it.
    pub sum: ScopeSum<'a>,
    /// The place of its parent.
    pub parent: Option<usize>,
    /// By total time, longest first.
    pub children: Vec<usize>,
}

/// Facts about each scope of a profile that follow from the scopes around it.
struct Surroundings {
    /// Whether a scope of the same name is above it, so that its total is part of that one's.
    nested: Vec<bool>,
    /// Whether its self time is an estimate: its calls were sampled, or those of a scope directly below it.
    self_estimated: Vec<bool>,
}

impl<'a> CallTree<'a> {
    /// Sums up a profile.
    #[must_use]
    pub fn new(profile: &'a Profile) -> Self {
        let names = Names::new(&profile.scopes);
        let around =
            Surroundings { nested: nested(&profile.scopes, &names), self_estimated: self_estimated(&profile.scopes) };
        CallTree {
            profile,
            names: by_name(&profile.scopes, &names, &around),
            paths: without_indices(&profile.scopes, &names, &around),
            indexed: by_index::sums(&profile.scopes, &names, &around),
            name_table: names,
        }
    }

    /// A name by its number, as short as it can be without being mistaken for another.
    #[must_use]
    pub fn name(&self, number: usize) -> &'a str {
        self.name_table.short[number]
    }

    /// The number of the name of the scope at this place of the profile.
    #[must_use]
    pub fn name_of(&self, scope: usize) -> usize {
        self.name_table.of_scope[scope]
    }

    /// The time of all threads, as far as it is known what it was spent on.
    #[must_use]
    pub fn accounted_ns(&self) -> u64 {
        let waiting = self.waiting_ns().unwrap_or(0);
        sum_of([self.in_scopes_ns(), self.idle_ns(), self.profile.own_cost.total_ns, waiting].into_iter())
    }

    /// The self times of all scopes.
    #[must_use]
    pub fn in_scopes_ns(&self) -> u64 {
        sum_of(self.names.iter().map(|sum| sum.self_ns))
    }

    /// Threads that did the work of the run. A thread that was hardly ever in a scope waits for work, as one that reads
    /// ahead does: its idle time would double that of the run.
    pub fn threads(&self) -> impl Iterator<Item = &'a Thread> {
        let threads = &self.profile.threads;
        let least = self.profile.wall_ns / 100;
        let is_alone = threads.iter().filter(|thread| thread.in_scopes_ns >= least).count() == 0;
        threads.iter().filter(move |thread| is_alone || thread.in_scopes_ns >= least)
    }

    /// Whether the idle time of some threads is left out.
    #[must_use]
    pub fn leaves_threads_out(&self) -> bool {
        self.threads().count() < self.profile.threads.len()
    }

    /// Time of the working threads outside any scope.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        let idle = |thread: &Thread| {
            let spent = [thread.in_scopes_ns, thread.own_cost_ns, thread.waiting_ns.unwrap_or(0)];
            spent.into_iter().fold(thread.wall_ns, u64::saturating_sub)
        };
        self.profile.outside_ns.saturating_sub(self.of_other_threads(idle))
    }

    /// Time in which the working threads were ready to run but had no CPU; `None` where it was not measured.
    #[must_use]
    pub fn waiting_ns(&self) -> Option<u64> {
        let all = self.profile.waiting_ns?;
        Some(all.saturating_sub(self.of_other_threads(|thread| thread.waiting_ns.unwrap_or(0))))
    }

    /// What the threads have that are left out.
    fn of_other_threads(&self, amount: impl Fn(&Thread) -> u64) -> u64 {
        sum_of(self.profile.threads.iter().map(&amount)).saturating_sub(sum_of(self.threads().map(&amount)))
    }

    /// The time that shares of scopes refer to: wall time without waiting for a CPU. Of several threads, wall time without
    /// the average part that they waited.
    #[must_use]
    pub fn on_cpu_ns(&self) -> u64 {
        let (wall, threads) = (self.profile.wall_ns, self.threads_wall_ns());
        let waited = self.waiting_ns().unwrap_or(0).min(threads);
        if waited == 0 { wall } else { (wall as f64 * (threads - waited) as f64 / threads as f64) as u64 }
    }

    /// What shares of scopes refer to, in words.
    #[must_use]
    pub fn whole(&self) -> &'static str {
        if self.waiting_ns().is_some() { "the time on a CPU" } else { "the wall time" }
    }

    /// The time in which the threads could have run: on a CPU or waiting for one; their wall time where that is not known.
    #[must_use]
    pub fn runnable_ns(&self) -> u64 {
        let runnable = |thread: &Thread| Some(thread.cpu_ns?.saturating_add(thread.waiting_ns?));
        let known: Option<Vec<u64>> = self.threads().map(runnable).collect();
        known.map_or_else(|| self.threads_wall_ns(), |times| sum_of(times.into_iter()))
    }

    /// How many threads did the work.
    #[must_use]
    pub fn thread_count(&self) -> u64 {
        sum_of(self.threads().map(|thread| thread.count))
    }

    /// Their wall times together.
    #[must_use]
    pub fn threads_wall_ns(&self) -> u64 {
        sum_of(self.threads().map(|thread| thread.wall_ns))
    }

    /// Whether allocations were counted.
    #[must_use]
    pub fn counts_allocations(&self) -> bool {
        self.profile.outside_allocs.is_some() || self.profile.scopes.iter().any(|scope| scope.allocs.is_some())
    }
}

/// The parent of a scope, which has to be at an earlier place.
fn parent_of(scopes: &[Scope], place: usize) -> Option<usize> {
    scopes[place].parent.filter(|parent| *parent < place)
}

fn children(scopes: &[Scope]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut below = vec![Vec::new(); scopes.len()];
    let mut roots = Vec::new();
    for place in 0..scopes.len() {
        match parent_of(scopes, place) {
            Some(parent) => below[parent].push(place),
            None => roots.push(place),
        }
    }
    (roots, below)
}

/// For each scope whether one of the same name is above it. In one walk: a tree may be as deep as it has scopes.
fn nested(scopes: &[Scope], names: &Names<'_>) -> Vec<bool> {
    let (roots, below) = children(scopes);
    let mut nested = vec![false; scopes.len()];
    let mut open = vec![0_usize; names.full.len()];
    let mut steps: Vec<(usize, bool)> = roots.into_iter().map(|root| (root, true)).collect();
    while let Some((place, enters)) = steps.pop() {
        let count = &mut open[names.of_scope[place]];
        if !enters {
            *count -= 1;
            continue;
        }
        nested[place] = *count > 0;
        *count += 1;
        steps.push((place, false));
        steps.extend(below[place].iter().map(|child| (*child, true)));
    }
    nested
}

fn self_estimated(scopes: &[Scope]) -> Vec<bool> {
    let mut estimated: Vec<bool> = scopes.iter().map(|scope| scope.is_sampled).collect();
    for (place, scope) in scopes.iter().enumerate().filter(|(_, scope)| scope.is_sampled) {
        if let Some(parent) = scope.parent.filter(|parent| *parent < place) {
            estimated[parent] = true;
        }
    }
    estimated
}

fn by_name<'a>(scopes: &'a [Scope], names: &Names<'a>, around: &Surroundings) -> Vec<ScopeSum<'a>> {
    let mut sums: Vec<ScopeSum<'a>> = (0..names.full.len()).map(|number| names.empty_sum(number)).collect();
    for (place, scope) in scopes.iter().enumerate() {
        let sum = &mut sums[names.of_scope[place]];
        sum.add(place, scope, around.nested[place]);
        sum.is_self_estimated |= around.self_estimated[place];
    }
    sums.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(b.name)));
    sums
}

fn without_indices<'a>(scopes: &'a [Scope], names: &Names<'a>, around: &Surroundings) -> Vec<CallPath<'a>> {
    let mut known: HashMap<(Option<usize>, usize), usize> = HashMap::new();
    let mut paths: Vec<CallPath<'a>> = Vec::new();
    let mut path_of: Vec<usize> = Vec::with_capacity(scopes.len());
    for (place, scope) in scopes.iter().enumerate() {
        let parent = parent_of(scopes, place).map(|parent| path_of[parent]);
        let number = names.of_scope[place];
        let path = *known.entry((parent, number)).or_insert(paths.len());
        if path == paths.len() {
            paths.push(CallPath { sum: names.empty_sum(number), parent, children: Vec::new() });
            if let Some(parent) = parent {
                paths[parent].children.push(path);
            }
        }
        paths[path].sum.add(place, scope, false);
        paths[path].sum.is_self_estimated |= around.self_estimated[place];
        path_of.push(path);
    }
    let totals: Vec<u64> = paths.iter().map(|path| path.sum.total_ns).collect();
    for path in &mut paths {
        path.children.sort_by_key(|child| std::cmp::Reverse(totals[*child]));
    }
    paths
}

#[cfg(test)]
mod tests;
