//! Calls with their beginnings and ends become a call tree: what lies within another call on the same thread is called by it.

use std::collections::HashMap;

use record::{Losses, Profile, Scope, Thread, Timeline};

/// Calls of each thread that a timeline keeps, as those of our own profiler.
const TIMELINE: usize = 1 << 16;
/// Paths of the tree that are kept apart; beyond them calls are counted as lost.
pub(crate) const MOST_PATHS: usize = 1 << 20;
/// The deepest nesting that is kept apart.
pub(crate) const DEEPEST: usize = 1 << 10;
/// Times are written as floating-point microseconds: near 10^15 of them, two that were one differ by a quarter of one.
const SLACK_NS: u64 = 1_000;

/// A call with its beginning and end, in nanoseconds since the first of all.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) name: &'a str,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// How many calls it lies in, where that is told: such calls come in the order in which they began.
    pub(crate) depth: Option<usize>,
}

/// What is known of a path while calls are added.
struct Path {
    scope: Scope,
    durations_ns: Vec<u64>,
    last_thread: Option<u64>,
}

/// A call tree that is being made, thread by thread.
#[derive(Default)]
pub(crate) struct Builder<'a> {
    paths: Vec<Path>,
    numbers: HashMap<(Option<usize>, &'a str), usize>,
    /// Calls that overlap another one without lying in it.
    pub(crate) overlaps: u64,
    lost: Losses,
}

impl<'a> Builder<'a> {
    /// The calls of one thread.
    pub(crate) fn thread(&mut self, profile: &mut Profile, id: u64, name: Option<String>, mut calls: Vec<Call<'a>>) {
        if calls.iter().any(|call| call.depth.is_none()) {
            // Those that begin together lie in the longest of them.
            calls.sort_by(|a, b| a.start_ns.cmp(&b.start_ns).then(b.end_ns.cmp(&a.end_ns)));
        }
        let start_ns = calls.first().map_or(0, |call| call.start_ns);
        let end_ns = calls.iter().map(|call| call.end_ns).max().unwrap_or(0);
        let mut stack: Vec<(usize, u64)> = Vec::new();
        let mut ended: Vec<(u64, usize, u64)> = Vec::new();
        let mut in_scopes_ns = 0_u64;
        let count = calls.len() as u64;
        for mut call in calls {
            self.leave(&mut stack, &call);
            call.end_ns = stack.last().map_or(call.end_ns, |(_, end)| call.end_ns.min(*end)).max(call.start_ns);
            let parent = stack.last().map(|(path, _)| *path);
            let length = call.end_ns - call.start_ns;
            if parent.is_none() {
                in_scopes_ns = in_scopes_ns.saturating_add(length);
            }
            let has_parent = call.depth.is_none_or(|depth| depth == stack.len());
            let Some(path) = self.path(parent, call.name, stack.len()).filter(|_| has_parent) else {
                self.lost.calls_without_room += 1;
                continue;
            };
            self.count(path, parent, length, id);
            ended.push((call.end_ns, path, call.start_ns));
            stack.push((path, call.end_ns));
        }
        let wall_ns = end_ns - start_ns;
        profile.wall_ns = profile.wall_ns.max(end_ns);
        profile.outside_ns = profile.outside_ns.saturating_add(wall_ns.saturating_sub(in_scopes_ns));
        profile.threads.push(Thread { id, name, count: 1, calls: count, wall_ns, in_scopes_ns, ..Thread::default() });
        profile.timeline.extend(self.timeline(id, ended));
    }

    /// Takes the calls from the stack in which this one does not lie.
    fn leave(&mut self, stack: &mut Vec<(usize, u64)>, call: &Call<'_>) {
        if let Some(depth) = call.depth {
            return stack.truncate(depth);
        }
        while stack.last().is_some_and(|(_, end)| *end <= call.start_ns && call.end_ns > *end) {
            stack.pop();
        }
        while let Some((_, end)) = stack.last().copied().filter(|(_, end)| end.saturating_add(SLACK_NS) < call.end_ns) {
            self.overlaps += u64::from(end > call.start_ns.saturating_add(SLACK_NS));
            stack.pop();
        }
    }

    /// The path of a name below another; nothing where there is no room for it.
    fn path(&mut self, parent: Option<usize>, name: &'a str, depth: usize) -> Option<usize> {
        if let Some(known) = self.numbers.get(&(parent, name)) {
            return Some(*known);
        }
        if self.paths.len() >= MOST_PATHS || depth >= DEEPEST {
            return None;
        }
        let number = self.paths.len();
        self.numbers.insert((parent, name), number);
        let scope = Scope { name: name.to_owned(), parent, min_ns: u64::MAX, ..Scope::default() };
        self.paths.push(Path { scope, durations_ns: Vec::new(), last_thread: None });
        Some(number)
    }

    fn count(&mut self, path: usize, parent: Option<usize>, length: u64, thread: u64) {
        let Path { scope, durations_ns, last_thread } = &mut self.paths[path];
        scope.calls += 1;
        scope.timed_calls += 1;
        scope.total_ns = scope.total_ns.saturating_add(length);
        scope.self_ns = scope.self_ns.saturating_add(length);
        scope.min_ns = scope.min_ns.min(length);
        scope.max_ns = scope.max_ns.max(length);
        scope.threads += u64::from(*last_thread != Some(thread));
        *last_thread = Some(thread);
        durations_ns.push(length);
        if let Some(parent) = parent {
            let above = &mut self.paths[parent].scope;
            above.self_ns = above.self_ns.saturating_sub(length);
        }
    }

    /// The last calls, in the order in which they ended.
    fn timeline(&mut self, thread: u64, mut ended: Vec<(u64, usize, u64)>) -> Option<Timeline> {
        ended.sort_by_key(|(end, _, start)| (*end, std::cmp::Reverse(*start)));
        let dropped = ended.len().saturating_sub(TIMELINE);
        self.lost.timeline_events += dropped as u64;
        let kept = &ended[dropped..];
        (!kept.is_empty()).then(|| Timeline {
            thread,
            scopes: kept.iter().map(|(_, path, _)| *path).collect(),
            starts_ns: kept.iter().map(|(_, _, start)| *start).collect(),
            durations_ns: kept.iter().map(|(end, _, start)| end - start).collect(),
        })
    }

    /// Parents before children, siblings by total time; the timelines follow.
    pub(crate) fn finish(mut self, profile: &mut Profile) {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.paths.len()];
        let mut roots = Vec::new();
        for (at, path) in self.paths.iter().enumerate() {
            path.scope.parent.map_or(&mut roots, |parent| &mut below[parent]).push(at);
        }
        let paths = &self.paths;
        let by_time = |list: &mut Vec<usize>| list.sort_by_key(|at| std::cmp::Reverse(paths[*at].scope.total_ns));
        by_time(&mut roots);
        below.iter_mut().for_each(by_time);
        let mut places = vec![0; self.paths.len()];
        let mut pending: Vec<usize> = roots.into_iter().rev().collect();
        while let Some(at) = pending.pop() {
            places[at] = profile.scopes.len();
            let path = &mut self.paths[at];
            path.durations_ns.sort_unstable();
            // The shortest that so many did not exceed.
            let quantile = |q: f64| {
                let rank = (path.durations_ns.len() as f64 * q).ceil() as usize;
                path.durations_ns.get(rank.saturating_sub(1)).copied()
            };
            let mut scope = path.scope.clone();
            scope.parent = scope.parent.map(|parent| places[parent]);
            (scope.p50_ns, scope.p90_ns, scope.p99_ns) = (quantile(0.5), quantile(0.9), quantile(0.99));
            profile.scopes.push(scope);
            pending.extend(below[at].iter().rev());
        }
        for place in profile.timeline.iter_mut().flat_map(|timeline| &mut timeline.scopes) {
            *place = places[*place];
        }
        profile.lost = self.lost;
    }
}
