//! From what the tree collected to a snapshot: ticks to nanoseconds, paths to scopes.

use std::collections::{BTreeMap, HashMap};

use super::{
    AllocStats, InterruptionInfo, InterruptionSource, OwnCost, ScopeStats, ThreadStats, ThreadTimeline, TimelineEvent,
};
use crate::clock::{self, ClockInfo};
use crate::tree::{self, Collected, Counters, HistogramCopy, OTHER_INDEX, ThreadRecord};

pub(super) fn alloc_stats(counters: &Counters) -> AllocStats {
    AllocStats {
        allocs: counters.allocs,
        alloc_bytes: counters.alloc_bytes,
        frees: counters.frees,
        free_bytes: counters.free_bytes,
        reallocs: counters.reallocs,
    }
}

pub(super) fn own_cost(collected: &Collected, scale: &Scale) -> OwnCost {
    let most =
        collected.threads.iter().filter(|thread| thread.count == 1).map(|thread| thread.own_cost).fold(0.0, f64::max);
    let total: f64 = collected.threads.iter().map(|thread| thread.own_cost).sum();
    let wall = collected.wall_ticks.max(1) as f64;
    let measured = scale.interruptions.source == InterruptionSource::Rseq;
    let share = |thread: &ThreadRecord| thread.own_cost / thread.cpu_ticks().max(1.0);
    let shares = collected.threads.iter().filter(|thread| thread.count == 1).map(share);
    OwnCost {
        per_scope_ns: scale.cost.timed / scale.rate(),
        inside_scope_ns: scale.inside_ns(),
        per_sampled_scope_ns: scale.cost.untimed / scale.rate(),
        per_alloc_ns: scale.cost.alloc / scale.rate(),
        total_ns: scale.ns(total),
        share_of_wall: most / wall,
        share_of_cpu: measured.then(|| shares.fold(0.0, f64::max)),
        budget: tree::budget_in_force(),
    }
}

/// From ticks to nanoseconds.
pub(super) struct Scale {
    pub(super) clock: ClockInfo,
    pub(super) interruptions: InterruptionInfo,
    cost: tree::Cost,
}

impl Scale {
    pub(super) fn new() -> Self {
        Scale { clock: clock::info(), interruptions: tree::interruptions(), cost: tree::cost() }
    }

    pub(super) fn rate(&self) -> f64 {
        self.clock.ticks_per_ns
    }

    fn inside_ns(&self) -> f64 {
        self.cost.inside / self.rate()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time, never negative")]
    pub(super) fn ns(&self, ticks: f64) -> u64 {
        (ticks / self.rate()).round().max(0.0) as u64
    }

    /// A single duration in nanoseconds without the own cost inside the call: of its two readings of the clock, and of
    /// what happened between them as far as only the mean of that is known.
    fn call_ns(&self, ticks: f64, counters: &Counters) -> u64 {
        let is_clean = tree::budget_in_force().is_none();
        let mean = if is_clean { counters.other_cost_per_call } else { counters.cost_per_call };
        self.ns(ticks - self.cost.inside - mean)
    }

    pub(super) fn thread(&self, record: &ThreadRecord) -> ThreadStats {
        let measured = self.interruptions.source == InterruptionSource::Rseq;
        ThreadStats {
            id: record.id,
            name: record.name.clone(),
            is_alive: record.alive,
            count: record.count,
            calls: record.calls,
            wall_ns: self.ns(record.ticks),
            in_scopes_ns: self.ns(record.in_scopes),
            own_cost_ns: self.ns(record.own_cost),
            waiting_ns: measured.then(|| self.ns(record.waited as f64)),
            cpu_ns: measured.then(|| self.ns(record.cpu_ticks())),
            allocs: record.allocs,
            alloc_bytes: record.alloc_bytes,
        }
    }

    fn scope(&self, counters: &Counters, histogram: &HistogramCopy) -> ScopeStats {
        let calls = counters.entries.saturating_sub(counters.reentries) + counters.folded;
        let (min_ns, max_ns) = self.extremes(counters);
        let clean = |ticks| self.call_ns(ticks, counters).clamp(min_ns, max_ns.max(min_ns));
        let weight: u64 = histogram.durations().map(|(_, weight)| weight).sum();
        // What a timed call stands for is known only roughly; the number of calls is known exactly.
        let scale = counters.closed() as f64 / weight.max(1) as f64;
        let error = |variance: f64| (variance > 0.0).then(|| self.ns(variance.sqrt()));
        ScopeStats {
            calls,
            timed_calls: counters.timed,
            is_sampled: counters.is_sampled(),
            open_calls: counters.open,
            total_ns: self.ns(counters.total),
            total_se_ns: error(counters.total_variance),
            self_se_ns: error(counters.self_variance),
            waiting_ns: self.ns(counters.waited as f64),
            attached_ns: self.ns(counters.attached as f64),
            min_ns,
            max_ns,
            allocs: alloc_stats(counters),
            allocs_total: alloc_stats(counters),
            peak_live_bytes: counters.peak,
            flops: counters.flops,
            bytes: counters.bytes,
            tokens: counters.tokens,
            polls: if counters.reentries > 0 || counters.elapsed > 0 { counters.entries } else { 0 },
            elapsed_ns: self.ns(counters.elapsed as f64),
            threads: counters.threads,
            thread_set: counters.thread_set,
            durations: Durations::new(
                histogram.durations().map(|(ticks, weight)| (clean(ticks), (weight as f64 * scale).round() as u64)),
            ),
            ..ScopeStats::default()
        }
    }

    /// The shortest and the longest timed call.
    fn extremes(&self, counters: &Counters) -> (u64, u64) {
        if counters.timed == 0 {
            return (0, 0);
        }
        if counters.clean_min <= counters.clean_max {
            return (
                self.call_ns(counters.clean_min as f64, counters),
                self.call_ns(counters.clean_max as f64, counters),
            );
        }
        // No percentiles were asked for, so that calls were not looked at one by one.
        let clean = |ticks: u64| self.ns(ticks as f64 - self.cost.inside - counters.cost_per_call);
        (clean(counters.min), clean(counters.max))
    }

    pub(super) fn timeline(&self, collected: &Collected, places: &[Option<usize>]) -> Vec<ThreadTimeline> {
        let event = |event: &tree::Event| {
            Some(TimelineEvent {
                scope: (*places.get(event.path as usize)?)?,
                start_ns: self.ns(event.start.saturating_sub(collected.zero) as f64),
                duration_ns: self.ns(event.ticks as f64),
            })
        };
        let threads = collected.events.iter().filter(|(_, events)| !events.is_empty());
        threads
            .map(|(thread, events)| ThreadTimeline {
                thread: *thread,
                events: events.iter().filter_map(event).collect(),
            })
            .collect()
    }
}

/// The calls by their time, in nanoseconds and without the own cost: each path has a cost of its own to take
/// out, so only clean times of several paths can be counted together.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations(BTreeMap<u64, u64>);

impl Durations {
    fn new(counted: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut durations = Durations::default();
        counted.for_each(|(ns, count)| durations.count(ns, count));
        durations
    }

    fn count(&mut self, ns: u64, count: u64) {
        *self.0.entry(ns).or_default() += count;
    }

    pub(super) fn add(&mut self, other: &Durations) {
        other.0.iter().for_each(|(ns, count)| self.count(*ns, *count));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + Clone {
        self.0.iter().map(|(ns, count)| (*ns, *count))
    }

    fn quantile(&self, q: f64) -> Option<u64> {
        tree::quantile(self.iter(), q)
    }
}

pub(super) fn set_percentiles(scope: &mut ScopeStats) {
    let percentile = |q| scope.durations.quantile(q);
    (scope.p50_ns, scope.p90_ns, scope.p99_ns) = (percentile(0.5), percentile(0.9), percentile(0.99));
}

/// The paths as people know them: sites of the same name below the same parent are one scope.
#[derive(Default)]
pub(super) struct Merged {
    known: HashMap<(Option<usize>, String, u64), usize>,
    scopes: Vec<ScopeStats>,
    children: Vec<Vec<usize>>,
    /// From path to scope; `None` for the root and for paths nothing happened on.
    of_path: Vec<Option<usize>>,
}

impl Merged {
    pub(super) fn new(collected: &Collected, scale: &Scale) -> Self {
        let used = used_paths(collected);
        let mut merged = Merged::default();
        for (path, step) in collected.paths.iter().enumerate() {
            if path == 0 || !used[path] {
                merged.of_path.push(None);
                continue;
            }
            let mut scope = scale.scope(&collected.counters[path], &collected.histograms[path]);
            scope.name = step.site.qualified_name();
            scope.index = (step.index < OTHER_INDEX).then_some(step.index);
            scope.is_other_index = step.index == OTHER_INDEX;
            (scope.file, scope.line) = (step.site.file(), step.site.line());
            let parent = merged.place_of(step.parent as usize);
            merged.add(parent, step.index, scope);
        }
        merged.scopes.iter_mut().for_each(set_percentiles);
        merged
    }

    /// Where the scope of a path added earlier went.
    pub(super) fn place_of(&self, path: usize) -> Option<usize> {
        self.of_path[path]
    }

    /// Adds the scope of the next path below `parent`, to one of the same name and index if there is one.
    pub(super) fn add(&mut self, parent: Option<usize>, index: u64, scope: ScopeStats) {
        let place = *self.known.entry((parent, scope.name.clone(), index)).or_insert(self.scopes.len());
        self.of_path.push(Some(place));
        if let Some(known) = self.scopes.get_mut(place) {
            known.absorb(&scope);
            return;
        }
        let depth = parent.map_or(0, |parent| self.scopes[parent].depth + 1);
        self.scopes.push(ScopeStats { parent, depth, ..scope });
        self.children.push(Vec::new());
        if let Some(parent) = parent {
            self.children[parent].push(place);
        }
    }

    /// Self times from totals, total allocations from own ones; children come after their parents.
    pub(super) fn sum_up(&mut self) {
        for place in (0..self.scopes.len()).rev() {
            let (mut below, mut allocs) = (0, self.scopes[place].allocs);
            for child in &self.children[place] {
                below += self.scopes[*child].total_ns;
                allocs.add(&self.scopes[*child].allocs_total);
            }
            let scope = &mut self.scopes[place];
            // Rounding to whole nanoseconds may leave the parts a few above their whole.
            scope.total_ns = scope.total_ns.max(below);
            scope.self_ns = scope.total_ns - below;
            scope.allocs_total = allocs;
        }
    }

    /// Parents before children, siblings by total; and where each path's scope went.
    pub(super) fn into_order(self) -> (Vec<ScopeStats>, Vec<Option<usize>>) {
        let Merged { scopes, mut children, of_path, .. } = self;
        let by_total = |places: &mut Vec<usize>| places.sort_by_key(|place| scopes[*place].total_ns);
        children.iter_mut().for_each(by_total);
        let mut stack: Vec<usize> = (0..scopes.len()).filter(|place| scopes[*place].parent.is_none()).collect();
        by_total(&mut stack);
        let mut new_place = vec![usize::MAX; scopes.len()];
        let mut order = Vec::with_capacity(scopes.len());
        while let Some(place) = stack.pop() {
            new_place[place] = order.len();
            order.push(place);
            stack.extend(&children[place]);
        }
        let mut scopes: Vec<Option<ScopeStats>> = scopes.into_iter().map(Some).collect();
        let in_order = order.into_iter().filter_map(|place| scopes[place].take());
        let moved = |scope: ScopeStats| ScopeStats { parent: scope.parent.map(|parent| new_place[parent]), ..scope };
        let in_order = in_order.map(moved).collect();
        (in_order, of_path.into_iter().map(|place| Some(new_place[place?])).collect())
    }
}

/// Which paths something happened on, or below.
fn used_paths(collected: &Collected) -> Vec<bool> {
    let mut used: Vec<bool> = collected.counters.iter().map(|counters| !counters.is_empty()).collect();
    for path in (1..collected.paths.len()).rev() {
        if used[path] {
            used[collected.paths[path].parent as usize] = true;
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::super::Snapshot;
    use super::*;

    /// A path whose calls took so many nanoseconds each, and whose settled time is this share of them.
    fn path(scale: &Scale, nanoseconds: impl Iterator<Item = u64>, fitted: f64) -> ScopeStats {
        let (mut counters, mut histogram) = (Counters::default(), HistogramCopy::default());
        for ns in nanoseconds {
            let ticks = (ns as f64 * scale.rate() + scale.cost.inside) as u64;
            histogram.record(ticks, 1);
            counters.entries += 1;
            counters.timed += 1;
            counters.min = if counters.timed == 1 { ticks } else { counters.min.min(ticks) };
            counters.max = counters.max.max(ticks);
            counters.total += fitted * ns as f64 * scale.rate();
        }
        (counters.clean_min, counters.clean_max) = (counters.min, counters.max);
        let mut scope = scale.scope(&counters, &histogram);
        scope.name = "same".into();
        set_percentiles(&mut scope);
        scope
    }

    fn percentiles(scope: &ScopeStats) -> [u64; 3] {
        [scope.p50_ns, scope.p90_ns, scope.p99_ns].map(Option::unwrap)
    }

    #[test]
    fn one_long_call_of_one_path_leaves_the_percentiles_of_all() {
        let scale = Scale::new();
        // 4.9 ms that stood for several calls and had to give way: the path's total is a tenth of its timed calls.
        let disturbed = path(&scale, (0..500).map(|n| 650 + n / 10).chain([4_900_000]), 0.1);
        let quiet = path(&scale, (0..540).map(|n| 710 + n / 2), 1.0);
        let mut snapshot = Snapshot::empty(scale.clock);
        snapshot.scopes = vec![disturbed, quiet];
        let together = &snapshot.by_name()[0];
        let [one, other] = [&snapshot.scopes[0], &snapshot.scopes[1]].map(percentiles);
        let mut truth: Vec<u64> = (0..500).map(|n| 650 + n / 10).chain((0..540).map(|n| 710 + n / 2)).collect();
        truth.push(4_900_000);
        truth.sort_unstable();
        for (i, (found, q)) in percentiles(together).into_iter().zip([0.5, 0.9, 0.99]).enumerate() {
            assert!(
                one[i].min(other[i]) <= found && found <= one[i].max(other[i]),
                "{found}: {} and {}",
                one[i],
                other[i]
            );
            let exact = truth[(truth.len() as f64 * q).ceil() as usize - 1] as f64;
            assert!((found as f64 / exact - 1.0).abs() <= 2.0 * Snapshot::PERCENTILE_ERROR, "{found} for {exact}");
        }
        assert_eq!((together.min_ns, together.calls), (snapshot.scopes[0].min_ns, 1041));
        assert!(together.min_ns.abs_diff(650) <= 2, "{}", together.min_ns);
    }
}
