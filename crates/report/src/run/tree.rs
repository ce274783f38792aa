//! The call tree, summed up in three ways: by name, without indices, by index.

mod percentiles;

use std::collections::{BTreeMap, HashMap};

use record::{Allocations, Profile, Scope, Thread};

use super::estimates::Time;
use crate::units::{raise, sum_of};

/// A profile and its sums.
pub(super) struct Tree<'a> {
    pub(super) profile: &'a Profile,
    interned: Interned<'a>,
    /// By name, over the whole tree; longest total first.
    pub(super) names: Vec<Sum<'a>>,
    /// Paths without their indices, parents before children.
    pub(super) paths: Vec<Path<'a>>,
    /// Names that carry indices; longest total first.
    pub(super) families: Vec<Family<'a>>,
}

/// Names by number: they are compared often, and hashed once.
struct Interned<'a> {
    /// Of each scope the number of its name.
    of_scope: Vec<usize>,
    /// The names by number, and what is shown of them.
    names: Vec<&'a str>,
    shown: Vec<&'a str>,
}

/// Scopes that belong together, summed.
#[derive(Debug, Default)]
pub(super) struct Sum<'a> {
    /// As much of the name as tells it from others.
    pub(super) name: &'a str,
    /// With its modules.
    full: &'a str,
    /// Without calls that lie within calls of the same name.
    pub(super) total_ns: u64,
    pub(super) self_ns: u64,
    /// Standard errors of both, where the record tells.
    total_se_ns: Option<f64>,
    self_se_ns: Option<f64>,
    /// With them: the mean of a call is made of it.
    in_calls_ns: u64,
    pub(super) calls: u64,
    pub(super) is_sampled: bool,
    /// What lies below was estimated, so that what is left for itself is an estimate too.
    pub(super) is_self_estimated: bool,
    pub(super) allocs: Option<Allocations>,
    pub(super) allocs_total: Option<Allocations>,
    pub(super) peak_live_bytes: u64,
    pub(super) flops: u64,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    pub(super) threads: u64,
    members: Vec<&'a Scope>,
    /// The places of those in the profile.
    pub(super) places: Vec<usize>,
}

/// A path of the tree, its indices made one.
#[derive(Debug)]
pub(super) struct Path<'a> {
    pub(super) sum: Sum<'a>,
    pub(super) parent: Option<usize>,
    /// By total time, longest first.
    pub(super) children: Vec<usize>,
}

/// A name that carries indices, such as the layers of a model.
#[derive(Debug)]
pub(super) struct Family<'a> {
    pub(super) name: &'a str,
    pub(super) total_ns: u64,
    /// By index; `None` for those beyond what was kept apart.
    pub(super) members: BTreeMap<Option<u64>, Member>,
}

/// One index of a family.
#[derive(Debug, Default)]
pub(super) struct Member {
    pub(super) total: Time,
    pub(super) own: Time,
    pub(super) calls: u64,
    /// The time of what it calls, by the number of the name.
    pub(super) steps: BTreeMap<usize, Time>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let interned = Interned::new(&profile.scopes);
        let nested = nested(&profile.scopes, &interned);
        let estimated = self_estimated(&profile.scopes);
        Tree {
            profile,
            names: by_name(&profile.scopes, &interned, &nested, &estimated),
            paths: without_indices(&profile.scopes, &interned, &estimated),
            families: families(&profile.scopes, &interned, &nested, &estimated),
            interned,
        }
    }

    /// A name by its number, as it is shown.
    pub(super) fn name(&self, number: usize) -> &'a str {
        self.interned.shown[number]
    }

    /// The number of a scope's name.
    pub(super) fn name_of(&self, scope: usize) -> usize {
        self.interned.of_scope[scope]
    }

    /// The time of all threads, as far as it is known what it was spent on.
    pub(super) fn accounted_ns(&self) -> u64 {
        let waiting = self.waiting_ns().unwrap_or(0);
        sum_of([self.in_scopes_ns(), self.idle_ns(), self.profile.own_cost.total_ns, waiting].into_iter())
    }

    /// The self times of all scopes.
    pub(super) fn in_scopes_ns(&self) -> u64 {
        sum_of(self.names.iter().map(|sum| sum.self_ns))
    }

    /// Threads whose time is the run's. One that was hardly ever in a scope waits for work, such as the one that reads ahead: its idle
    /// time would double that of the run.
    pub(super) fn threads(&self) -> impl Iterator<Item = &'a Thread> {
        let threads = &self.profile.threads;
        let least = self.profile.wall_ns / 100;
        let is_alone = threads.iter().filter(|thread| thread.in_scopes_ns >= least).count() == 0;
        threads.iter().filter(move |thread| is_alone || thread.in_scopes_ns >= least)
    }

    /// Whether some threads' idle time is left out.
    pub(super) fn has_bystanders(&self) -> bool {
        self.threads().count() < self.profile.threads.len()
    }

    /// Time of those threads outside any scope.
    pub(super) fn idle_ns(&self) -> u64 {
        let idle = |thread: &Thread| {
            let spent = [thread.in_scopes_ns, thread.own_cost_ns, thread.waiting_ns.unwrap_or(0)];
            spent.into_iter().fold(thread.wall_ns, u64::saturating_sub)
        };
        self.profile.outside_ns.saturating_sub(self.of_bystanders(idle))
    }

    /// Time in which those threads were ready to run but had no CPU; nothing where it was not measured.
    pub(super) fn waiting_ns(&self) -> Option<u64> {
        let all = self.profile.waiting_ns?;
        Some(all.saturating_sub(self.of_bystanders(|thread| thread.waiting_ns.unwrap_or(0))))
    }

    /// What the threads have that are left out.
    fn of_bystanders(&self, part: impl Fn(&Thread) -> u64) -> u64 {
        sum_of(self.profile.threads.iter().map(&part)).saturating_sub(sum_of(self.threads().map(&part)))
    }

    /// The wall time without waiting for a CPU, of which scopes have their shares: of several threads without the part that
    /// they waited in the mean.
    pub(super) fn on_cpu_ns(&self) -> u64 {
        let (wall, threads) = (self.profile.wall_ns, self.threads_wall_ns());
        let waited = self.waiting_ns().unwrap_or(0).min(threads);
        if waited == 0 { wall } else { (wall as f64 * (threads - waited) as f64 / threads as f64) as u64 }
    }

    /// The time in which the threads could have run: on a CPU or waiting for one; their wall time where that is not known.
    pub(super) fn runnable_ns(&self) -> u64 {
        let runnable = |thread: &Thread| Some(thread.cpu_ns?.saturating_add(thread.waiting_ns?));
        let known: Option<Vec<u64>> = self.threads().map(runnable).collect();
        known.map_or_else(|| self.threads_wall_ns(), |times| sum_of(times.into_iter()))
    }

    pub(super) fn thread_count(&self) -> u64 {
        sum_of(self.threads().map(|thread| thread.count))
    }

    pub(super) fn threads_wall_ns(&self) -> u64 {
        sum_of(self.threads().map(|thread| thread.wall_ns))
    }

    /// Whether anything counted allocations.
    pub(super) fn counts_allocations(&self) -> bool {
        self.profile.outside_allocs.is_some() || self.profile.scopes.iter().any(|scope| scope.allocs.is_some())
    }
}

/// What the lab calls the scopes around a whole workload.
const ROOTS_OF_LAB: [&str; 5] = ["standard", "deep", "enhanced", "memory", "lab"];

impl<'a> Sum<'a> {
    /// Whether it only stands around the work that the lab asked for: nothing can be gained in it.
    pub(super) fn is_of_lab(&self) -> bool {
        self.full.starts_with("lab::") && ROOTS_OF_LAB.contains(&end(self.full, 0))
    }

    /// With all that it calls.
    pub(super) fn total(&self) -> Time {
        Time { ns: self.total_ns, se: self.total_se_ns, is_estimate: self.is_sampled }
    }

    /// In its own code: what is left of a total beside estimated parts is an estimate too.
    pub(super) fn own(&self) -> Time {
        Time { ns: self.self_ns, se: self.self_se_ns, is_estimate: self.is_self_estimated }
    }

    fn add(&mut self, scope: &'a Scope, is_nested: bool) {
        let error = |sum: Option<f64>, more: Option<u64>| compare::error_of_sum(sum, more.map(|se| se as f64));
        self.self_se_ns = error(self.self_se_ns, scope.self_se_ns);
        raise(&mut self.self_ns, scope.self_ns);
        raise(&mut self.in_calls_ns, scope.total_ns);
        raise(&mut self.calls, scope.calls);
        self.is_sampled |= scope.is_sampled;
        self.peak_live_bytes = self.peak_live_bytes.max(scope.peak_live_bytes);
        raise(&mut self.flops, scope.flops);
        raise(&mut self.bytes, scope.bytes);
        raise(&mut self.tokens, scope.tokens);
        self.threads = self.threads.max(scope.threads);
        add_allocations(&mut self.allocs, scope.allocs);
        if !is_nested {
            raise(&mut self.total_ns, scope.total_ns);
            self.total_se_ns = error(self.total_se_ns, scope.total_se_ns);
            add_allocations(&mut self.allocs_total, scope.allocs_total);
        }
        self.members.push(scope);
    }

    /// The mean time of a call, in seconds. Where calls lie within calls of the same name, more than the total by the calls.
    pub(super) fn mean_s(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.in_calls_ns as f64 * 1e-9 / self.calls as f64)
    }

    /// The time that its declared work took, in seconds for each call.
    pub(super) fn work_s(&self) -> Option<f64> {
        (self.calls > 0 && self.total_ns > 0).then(|| self.total_ns as f64 * 1e-9 / self.calls as f64)
    }

    pub(super) fn timed_calls(&self) -> u64 {
        sum_of(self.members.iter().map(|scope| scope.timed_calls))
    }

    /// Entered more often than called: a future, of which only polls are timed.
    pub(super) fn is_future(&self) -> bool {
        self.members.iter().any(|scope| scope.polls > scope.calls)
    }

    pub(super) fn polls(&self) -> u64 {
        sum_of(self.members.iter().map(|scope| scope.polls))
    }

    /// From first poll to last; 0 where it is no future.
    pub(super) fn elapsed_ns(&self) -> u64 {
        sum_of(self.members.iter().map(|scope| scope.elapsed_ns))
    }

    pub(super) fn min_ns(&self) -> Option<u64> {
        self.timed().map(|scope| scope.min_ns).min()
    }

    pub(super) fn max_ns(&self) -> Option<u64> {
        self.timed().map(|scope| scope.max_ns).max()
    }

    fn timed(&self) -> impl Iterator<Item = &'a Scope> {
        self.members.iter().copied().filter(|scope| scope.timed_calls > 0)
    }

    /// The percentile of all calls, and whether it is that of their durations: where older runs have only each path's
    /// percentiles, values between those are taken to be spread evenly.
    pub(super) fn percentile(&self, q: f64) -> Option<(u64, bool)> {
        let timed: Vec<&Scope> = self.timed().collect();
        let own = |scope: &Scope| match q {
            0.5 => scope.p50_ns,
            0.9 => scope.p90_ns,
            _ => scope.p99_ns,
        };
        match &timed[..] {
            [] => None,
            [only] => own(only).map(|ns| (ns, true)),
            several => percentiles::of_all(several, q),
        }
    }
}

impl Member {
    /// Both together.
    pub(super) fn plus(mut self, other: &Member) -> Self {
        self.total = self.total.plus(other.total);
        self.own = self.own.plus(other.own);
        raise(&mut self.calls, other.calls);
        for (name, time) in &other.steps {
            let sum = self.steps.entry(*name).or_default();
            *sum = sum.plus(*time);
        }
        self
    }
}

fn add_allocations(sum: &mut Option<Allocations>, more: Option<Allocations>) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_default();
    raise(&mut sum.allocs, more.allocs);
    raise(&mut sum.alloc_bytes, more.alloc_bytes);
    raise(&mut sum.frees, more.frees);
    raise(&mut sum.free_bytes, more.free_bytes);
    raise(&mut sum.reallocs, more.reallocs);
}

fn children(scopes: &[Scope]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut below = vec![Vec::new(); scopes.len()];
    let mut roots = Vec::new();
    for (place, scope) in scopes.iter().enumerate() {
        match scope.parent.filter(|parent| *parent < place) {
            Some(parent) => below[parent].push(place),
            None => roots.push(place),
        }
    }
    (roots, below)
}

/// For each scope whether one of the same name lies above it. In one walk: a tree may be as deep as it has scopes.
fn nested(scopes: &[Scope], interned: &Interned<'_>) -> Vec<bool> {
    let (roots, below) = children(scopes);
    let mut nested = vec![false; scopes.len()];
    let mut open = vec![0_usize; interned.names.len()];
    let mut steps: Vec<(usize, bool)> = roots.into_iter().map(|root| (root, true)).collect();
    while let Some((place, enters)) = steps.pop() {
        let count = &mut open[interned.of_scope[place]];
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

/// For each scope whether the time of its own code is an estimate: the calls were sampled, or those of a scope below it.
fn self_estimated(scopes: &[Scope]) -> Vec<bool> {
    let mut estimated: Vec<bool> = scopes.iter().map(|scope| scope.is_sampled).collect();
    for (at, scope) in scopes.iter().enumerate() {
        if let Some(parent) = scope.parent.filter(|parent| *parent < at && scope.is_sampled) {
            estimated[parent] = true;
        }
    }
    estimated
}

fn by_name<'a>(scopes: &'a [Scope], interned: &Interned<'a>, nested: &[bool], estimated: &[bool]) -> Vec<Sum<'a>> {
    let names = interned.shown.iter().zip(&interned.names);
    let mut sums: Vec<Sum<'a>> = names.map(|(name, full)| Sum { name, full, ..Sum::default() }).collect();
    for (at, scope) in scopes.iter().enumerate() {
        let sum = &mut sums[interned.of_scope[at]];
        sum.add(scope, nested[at]);
        sum.is_self_estimated |= estimated[at];
        sum.places.push(at);
    }
    sums.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(b.name)));
    sums
}

fn without_indices<'a>(scopes: &'a [Scope], interned: &Interned<'a>, estimated: &[bool]) -> Vec<Path<'a>> {
    let mut places: HashMap<(Option<usize>, usize), usize> = HashMap::new();
    let mut paths: Vec<Path<'a>> = Vec::new();
    let mut place_of: Vec<usize> = Vec::with_capacity(scopes.len());
    for (at, scope) in scopes.iter().enumerate() {
        let parent = scope.parent.filter(|parent| *parent < at).map(|parent| place_of[parent]);
        let number = interned.of_scope[at];
        let place = *places.entry((parent, number)).or_insert(paths.len());
        if place == paths.len() {
            let sum = Sum { name: interned.shown[number], full: interned.names[number], ..Sum::default() };
            paths.push(Path { sum, parent, children: Vec::new() });
            if let Some(parent) = parent {
                paths[parent].children.push(place);
            }
        }
        paths[place].sum.add(scope, false);
        paths[place].sum.is_self_estimated |= estimated[at];
        paths[place].sum.places.push(at);
        place_of.push(place);
    }
    let totals: Vec<u64> = paths.iter().map(|path| path.sum.total_ns).collect();
    for path in &mut paths {
        path.children.sort_by_key(|child| std::cmp::Reverse(totals[*child]));
    }
    paths
}

fn families<'a>(scopes: &'a [Scope], interned: &Interned<'a>, nested: &[bool], estimated: &[bool]) -> Vec<Family<'a>> {
    let new = |name: &&'a str| Family { name, total_ns: 0, members: BTreeMap::new() };
    let mut families: Vec<Family<'a>> = interned.shown.iter().map(new).collect();
    let mut counts = vec![false; scopes.len()];
    for (at, scope) in scopes.iter().enumerate() {
        let number = interned.of_scope[at];
        if let Some(parent) = scope.parent.filter(|parent| *parent < at && counts[*parent]) {
            let members = &mut families[interned.of_scope[parent]].members;
            let member = members.entry(scopes[parent].index).or_default();
            member.steps.entry(number).or_default().add(scope.total_ns, scope.total_se_ns, scope.is_sampled);
        }
        counts[at] = (scope.index.is_some() || scope.is_other_index) && !nested[at];
        if counts[at] {
            let family = &mut families[number];
            raise(&mut family.total_ns, scope.total_ns);
            let member = family.members.entry(scope.index).or_default();
            member.total.add(scope.total_ns, scope.total_se_ns, scope.is_sampled);
            member.own.add(scope.self_ns, scope.self_se_ns, estimated[at]);
            raise(&mut member.calls, scope.calls);
        }
    }
    families.retain(|family| !family.members.is_empty());
    families.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(b.name)));
    families
}

impl<'a> Interned<'a> {
    fn new(scopes: &'a [Scope]) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut names: Vec<&'a str> = Vec::new();
        let mut of_scope = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let number = *numbers.entry(&scope.name).or_insert(names.len());
            if number == names.len() {
                names.push(&scope.name);
            }
            of_scope.push(number);
        }
        let shown = short_names(&names);
        Interned { of_scope, names, shown }
    }
}

/// More modules than this are not tried.
const MODULES: usize = 8;

/// For each name its shortest end, in whole modules, that no other name has.
pub(crate) fn short_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut shown: Vec<&'a str> = names.to_vec();
    let mut open: Vec<usize> = (0..names.len()).collect();
    for modules in 0..MODULES {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for place in &open {
            *counts.entry(end(names[*place], modules)).or_default() += 1;
        }
        open.retain(|place| {
            let (name, end) = (names[*place], end(names[*place], modules));
            // `<A as B>::c` is not only made of modules.
            let is_found = counts[end] == 1 && !name.contains(['<', ' ', '(']);
            if is_found {
                shown[*place] = end;
            }
            !is_found && end.len() < name.len()
        });
    }
    shown.iter().map(|name| if name.is_empty() { "(no name)" } else { name }).collect()
}

/// The last part of a name, with so many modules before it.
fn end(name: &str, modules: usize) -> &str {
    name.rmatch_indices("::").nth(modules).map_or(name, |(at, _)| &name[at + 2..])
}

#[cfg(test)]
mod tests;
