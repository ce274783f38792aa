//! The call tree, summed up in three ways: by name, without indices, by index.

use std::collections::{BTreeMap, HashMap};

use record::{Allocations, Profile, Scope};

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
    /// Without calls that lie within calls of the same name.
    pub(super) total_ns: u64,
    pub(super) self_ns: u64,
    /// With them: the mean of a call is made of it.
    in_calls_ns: u64,
    pub(super) calls: u64,
    pub(super) is_sampled: bool,
    pub(super) allocs: Option<Allocations>,
    pub(super) allocs_total: Option<Allocations>,
    pub(super) peak_live_bytes: u64,
    pub(super) flops: u64,
    pub(super) bytes: u64,
    pub(super) tokens: u64,
    pub(super) threads: u64,
    members: Vec<&'a Scope>,
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
    pub(super) total_ns: u64,
    pub(super) self_ns: u64,
    pub(super) calls: u64,
    /// The time of what it calls, by the number of the name.
    pub(super) steps: BTreeMap<usize, u64>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(profile: &'a Profile) -> Self {
        let interned = Interned::new(&profile.scopes);
        let nested = nested(&profile.scopes, &interned);
        Tree {
            profile,
            names: by_name(&profile.scopes, &interned, &nested),
            paths: without_indices(&profile.scopes, &interned),
            families: families(&profile.scopes, &interned, &nested),
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
        self.in_scopes_ns() + self.profile.outside_ns + self.profile.own_cost.total_ns
    }

    /// The self times of all scopes.
    pub(super) fn in_scopes_ns(&self) -> u64 {
        self.names.iter().map(|sum| sum.self_ns).sum()
    }

    pub(super) fn thread_count(&self) -> u64 {
        self.profile.threads.iter().map(|thread| thread.count).sum()
    }

    pub(super) fn threads_wall_ns(&self) -> u64 {
        self.profile.threads.iter().map(|thread| thread.wall_ns).sum()
    }

    /// Whether anything counted allocations.
    pub(super) fn counts_allocations(&self) -> bool {
        self.profile.outside_allocs.is_some() || self.profile.scopes.iter().any(|scope| scope.allocs.is_some())
    }
}

impl<'a> Sum<'a> {
    fn add(&mut self, scope: &'a Scope, is_nested: bool) {
        self.self_ns = self.self_ns.saturating_add(scope.self_ns);
        self.in_calls_ns = self.in_calls_ns.saturating_add(scope.total_ns);
        self.calls = self.calls.saturating_add(scope.calls);
        self.is_sampled |= scope.is_sampled;
        self.peak_live_bytes = self.peak_live_bytes.max(scope.peak_live_bytes);
        self.flops += scope.flops;
        self.bytes += scope.bytes;
        self.tokens += scope.tokens;
        self.threads = self.threads.max(scope.threads);
        add_allocations(&mut self.allocs, scope.allocs);
        if !is_nested {
            self.total_ns += scope.total_ns;
            add_allocations(&mut self.allocs_total, scope.allocs_total);
        }
        self.members.push(scope);
    }

    /// The mean time of a call, in seconds.
    pub(super) fn mean_s(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.in_calls_ns as f64 * 1e-9 / self.calls as f64)
    }

    pub(super) fn timed_calls(&self) -> u64 {
        self.members.iter().map(|scope| scope.timed_calls).sum()
    }

    /// Entered more often than called: a future, of which only polls are timed.
    pub(super) fn is_future(&self) -> bool {
        self.members.iter().any(|scope| scope.polls > scope.calls)
    }

    pub(super) fn polls(&self) -> u64 {
        self.members.iter().map(|scope| scope.polls).sum()
    }

    /// From first poll to last; 0 where it is no future.
    pub(super) fn elapsed_ns(&self) -> u64 {
        self.members.iter().map(|scope| scope.elapsed_ns).sum()
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

    /// The percentile of all calls, and whether it is exact: of several paths only each one's percentiles are known, and
    /// values between those are taken to be spread evenly.
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
            several => mixed(several, q).map(|ns| (ns, false)),
        }
    }
}

impl Member {
    /// Both together.
    pub(super) fn plus(mut self, other: &Member) -> Self {
        self.total_ns += other.total_ns;
        self.self_ns += other.self_ns;
        self.calls += other.calls;
        for (name, ns) in &other.steps {
            *self.steps.entry(*name).or_default() += ns;
        }
        self
    }
}

/// Times, each with the share of the calls below it: least, p50, p90, p99, most.
type Curve = [(f64, f64); 5];

/// Where the share `q` of the calls of all scopes lies below.
fn mixed(scopes: &[&Scope], q: f64) -> Option<u64> {
    let curves: Option<Vec<(f64, Curve)>> = scopes.iter().map(|scope| curve(scope)).collect();
    let curves = curves?;
    let calls: f64 = curves.iter().map(|(calls, _)| calls).sum();
    let below = |ns: f64| curves.iter().map(|(calls, points)| calls * share_below(points, ns)).sum::<f64>() / calls;
    let mut low = curves.iter().map(|(_, points)| points[0].0).fold(f64::INFINITY, f64::min);
    let mut high = curves.iter().map(|(_, points)| points[4].0).fold(0.0, f64::max);
    while high - low > (low / 1e3).max(0.5) {
        let middle = f64::midpoint(low, high);
        if below(middle) < q { low = middle } else { high = middle }
    }
    Some(high.round() as u64)
}

/// A scope's calls, and its percentiles as points of a rising line.
fn curve(scope: &Scope) -> Option<(f64, Curve)> {
    let (min, max) = (scope.min_ns as f64, scope.max_ns as f64);
    let at = |ns: Option<u64>| Some((ns? as f64).clamp(min, max.max(min)));
    let points =
        [(min, 0.0), (at(scope.p50_ns)?, 0.5), (at(scope.p90_ns)?, 0.9), (at(scope.p99_ns)?, 0.99), (max, 1.0)];
    Some((scope.timed_calls as f64, points))
}

fn share_below(points: &Curve, ns: f64) -> f64 {
    let Some(after) = points.iter().position(|(at, _)| *at > ns) else { return 1.0 };
    let Some(before) = after.checked_sub(1) else { return 0.0 };
    let ((x0, y0), (x1, y1)) = (points[before], points[after]);
    y0 + (y1 - y0) * (ns - x0) / (x1 - x0)
}

fn add_allocations(sum: &mut Option<Allocations>, more: Option<Allocations>) {
    let Some(more) = more else { return };
    let sum = sum.get_or_insert_default();
    sum.allocs += more.allocs;
    sum.alloc_bytes += more.alloc_bytes;
    sum.frees += more.frees;
    sum.free_bytes += more.free_bytes;
    sum.reallocs += more.reallocs;
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

fn by_name<'a>(scopes: &'a [Scope], interned: &Interned<'a>, nested: &[bool]) -> Vec<Sum<'a>> {
    let mut sums: Vec<Sum<'a>> = interned.shown.iter().map(|name| Sum { name, ..Sum::default() }).collect();
    for (at, scope) in scopes.iter().enumerate() {
        sums[interned.of_scope[at]].add(scope, nested[at]);
    }
    sums.sort_by(|a, b| b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(b.name)));
    sums
}

fn without_indices<'a>(scopes: &'a [Scope], interned: &Interned<'a>) -> Vec<Path<'a>> {
    let mut places: HashMap<(Option<usize>, usize), usize> = HashMap::new();
    let mut paths: Vec<Path<'a>> = Vec::new();
    let mut place_of: Vec<usize> = Vec::with_capacity(scopes.len());
    for (at, scope) in scopes.iter().enumerate() {
        let parent = scope.parent.filter(|parent| *parent < at).map(|parent| place_of[parent]);
        let number = interned.of_scope[at];
        let place = *places.entry((parent, number)).or_insert(paths.len());
        if place == paths.len() {
            let sum = Sum { name: interned.shown[number], ..Sum::default() };
            paths.push(Path { sum, parent, children: Vec::new() });
            if let Some(parent) = parent {
                paths[parent].children.push(place);
            }
        }
        paths[place].sum.add(scope, false);
        place_of.push(place);
    }
    let totals: Vec<u64> = paths.iter().map(|path| path.sum.total_ns).collect();
    for path in &mut paths {
        path.children.sort_by_key(|child| std::cmp::Reverse(totals[*child]));
    }
    paths
}

fn families<'a>(scopes: &'a [Scope], interned: &Interned<'a>, nested: &[bool]) -> Vec<Family<'a>> {
    let new = |name: &&'a str| Family { name, total_ns: 0, members: BTreeMap::new() };
    let mut families: Vec<Family<'a>> = interned.shown.iter().map(new).collect();
    let mut counts = vec![false; scopes.len()];
    for (at, scope) in scopes.iter().enumerate() {
        let number = interned.of_scope[at];
        if let Some(parent) = scope.parent.filter(|parent| *parent < at && counts[*parent]) {
            let members = &mut families[interned.of_scope[parent]].members;
            let member = members.entry(scopes[parent].index).or_default();
            *member.steps.entry(number).or_default() += scope.total_ns;
        }
        counts[at] = (scope.index.is_some() || scope.is_other_index) && !nested[at];
        if counts[at] {
            let family = &mut families[number];
            family.total_ns += scope.total_ns;
            let member = family.members.entry(scope.index).or_default();
            member.total_ns += scope.total_ns;
            member.self_ns += scope.self_ns;
            member.calls += scope.calls;
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
fn short_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
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
