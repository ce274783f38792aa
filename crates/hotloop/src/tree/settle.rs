//! From what was counted to what it means: takes the profiler's own cost out, estimates what was sampled, and makes parts
//! sum to wholes. Pure.

use super::estimate::{self, Estimate};
use super::measure::Cost;
use super::node::SampleRead;

/// Everything counted for one path; ticks as they were read, and the times made of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) entries: u64,
    pub(crate) reentries: u64,
    pub(crate) folded: u64,
    pub(crate) timed: u64,
    pub(crate) ticks: u64,
    /// What was timed under a budget: activations, and own time before children's entries and before its own exits.
    pub(crate) calls: SampleRead,
    pub(crate) before_entries: SampleRead,
    pub(crate) before_exits: SampleRead,
    /// Own time before exits that was not timed alone: at most this, in so many activations.
    pub(crate) tail_limit: u64,
    pub(crate) tails: u64,
    /// Time in it that its thread was ready to run but had no CPU; settled, in all below it too. In no other time here.
    pub(crate) waited: u64,
    /// Activations that are open and timed, and for how long by now.
    pub(crate) open: u64,
    pub(crate) open_ticks: u64,
    /// Least and greatest duration; meaningless where nothing was timed.
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// The same without the cost of timed calls inside, where that is known call by call.
    pub(crate) clean_min: u64,
    pub(crate) clean_max: u64,
    pub(crate) allocs: u64,
    pub(crate) alloc_bytes: u64,
    pub(crate) frees: u64,
    pub(crate) free_bytes: u64,
    pub(crate) reallocs: u64,
    pub(crate) peak: u64,
    pub(crate) flops: u64,
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
    pub(crate) elapsed: u64,
    pub(crate) attached: u64,
    /// Settled: the profiler's own cost inside an activation, on average: what single durations still have to lose. The
    /// first of all that happens inside, the second without what timed calls inside cost.
    pub(crate) cost_per_call: f64,
    pub(crate) other_cost_per_call: f64,
    /// Settled: the time of this path and all below it, without the profiler's own; and its variance.
    pub(crate) total: f64,
    pub(crate) total_variance: f64,
    /// Settled: the variance of the time in it and not below.
    pub(crate) self_variance: f64,
    /// Settled: the profiler's own cost below this path.
    pub(crate) own_cost: f64,
    /// Threads that entered this path.
    pub(crate) threads: u64,
    /// Which, as far as their numbers fit; to tell them apart where paths are summed.
    pub(crate) thread_set: u128,
}

impl Counters {
    /// Activations that have ended.
    pub(crate) fn closed(&self) -> u64 {
        self.entries.saturating_sub(self.open)
    }

    /// Whether some activations were counted but not timed.
    pub(crate) fn is_sampled(&self) -> bool {
        self.timed < self.closed()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries == 0 && self.attached == 0 && self.total == 0.0 && self.allocs == 0 && self.frees == 0
    }

    fn allocator_calls(&self) -> f64 {
        float(self.allocs + self.frees + self.reallocs)
    }

    /// The time as read, as if every activation had been timed.
    fn raw_total(&self) -> Estimate {
        let plain = float(self.timed) - self.calls.count;
        let unknown = float(self.closed()) - plain;
        let fallback = if plain > 0.0 { float(self.ticks) / plain } else { 0.0 };
        let sampled = estimate::of_sample(&self.calls, unknown).unwrap_or(Estimate::exact(unknown * fallback));
        sampled.plus(Estimate::exact(float(self.ticks) + float(self.open_ticks) + float(self.attached)))
    }

    /// What recording this path's own activations cost.
    fn cost_of_calls(&self, cost: &Cost) -> f64 {
        float(self.timed) * cost.timed + float(self.entries - self.timed) * cost.untimed
    }

    /// Adds what another thread counted for the same path.
    pub(crate) fn add(&mut self, other: &Counters) {
        self.entries += other.entries;
        self.reentries += other.reentries;
        self.folded += other.folded;
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.open += other.open;
        self.open_ticks = self.open_ticks.saturating_add(other.open_ticks);
        self.add_extremes(other);
        self.timed += other.timed;
        self.allocs += other.allocs;
        self.alloc_bytes += other.alloc_bytes;
        self.frees += other.frees;
        self.free_bytes += other.free_bytes;
        self.reallocs += other.reallocs;
        self.peak = self.peak.max(other.peak);
        self.waited += other.waited;
        self.flops = self.flops.saturating_add(other.flops);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.elapsed = self.elapsed.saturating_add(other.elapsed);
        self.attached = self.attached.saturating_add(other.attached);
        self.total += other.total;
        self.total_variance += other.total_variance;
        self.self_variance += other.self_variance;
        self.own_cost += other.own_cost;
        self.threads += other.threads;
        self.thread_set |= other.thread_set;
    }

    /// The extremes and mean costs of both, before their timings are added up.
    fn add_extremes(&mut self, other: &Counters) {
        if other.timed == 0 {
            return;
        }
        if self.timed == 0 {
            (self.min, self.clean_min) = (other.min, other.clean_min);
        }
        self.min = self.min.min(other.min);
        self.clean_min = self.clean_min.min(other.clean_min);
        self.max = self.max.max(other.max);
        self.clean_max = self.clean_max.max(other.clean_max);
        let share = float(other.timed) / float(self.timed + other.timed);
        self.cost_per_call += share * (other.cost_per_call - self.cost_per_call);
        self.other_cost_per_call += share * (other.other_cost_per_call - self.other_cost_per_call);
    }
}

#[expect(clippy::cast_precision_loss, reason = "15 digits are enough for a time")]
fn float(n: u64) -> f64 {
    n as f64
}

/// Settles one thread's tree: `parents[i]` is the parent of node `i` and comes before it; node 0 is the root.
pub(super) fn settle(nodes: &mut [Counters], parents: &[usize], cost: &Cost) {
    for i in (1..nodes.len()).rev() {
        nodes[parents[i]].waited += nodes[i].waited;
    }
    let direct = subtract_own_cost(nodes, parents, cost);
    let own: Vec<Option<Estimate>> = own_times(nodes, parents, cost);
    let settled = estimate::reconcile(&direct, &own, parents);
    for (node, settled) in nodes.iter_mut().zip(settled) {
        node.total = settled.total.value;
        node.total_variance = settled.total.variance;
        node.self_variance = settled.own_variance;
        // What was taken out is known only roughly, also once wholes and parts agree: both may be off by the same.
        if node.calls.count > 0.0 {
            let error = (COST_ERROR * (float(node.closed()) * cost.inside + node.own_cost)).powi(2);
            node.total_variance += error;
            node.self_variance += error;
        }
        node.threads = u64::from(node.entries > 0 || node.attached > 0);
    }
    fit_into_parents(nodes, parents);
}

/// The time of each node from its own timings alone, without the profiler's cost.
fn subtract_own_cost(nodes: &mut [Counters], parents: &[usize], cost: &Cost) -> Vec<Estimate> {
    let mut direct = vec![Estimate::default(); nodes.len()];
    // What timed calls cost, of the cost below each node.
    let mut timed_below = vec![0.0; nodes.len()];
    for i in (0..nodes.len()).rev() {
        let node = &mut nodes[i];
        let (closed, allocating) = (float(node.closed()), node.allocator_calls() * cost.alloc);
        node.own_cost += allocating;
        let raw = node.raw_total();
        direct[i] = raw.minus(closed * cost.inside + node.own_cost);
        if raw.variance > 0.0 {
            direct[i].variance += (COST_ERROR * closed * cost.inside).powi(2);
        }
        node.cost_per_call = node.own_cost / closed.max(1.0);
        node.other_cost_per_call = (node.own_cost - timed_below[i]).max(0.0) / closed.max(1.0);
        if i > 0 {
            let (below, calls) = (nodes[i].own_cost, nodes[i].cost_of_calls(cost));
            nodes[parents[i]].own_cost += below + calls;
            timed_below[parents[i]] += timed_below[i] + float(nodes[i].timed) * cost.timed;
        }
    }
    direct
}

/// How far the profiler's cost in a scope may be from the one that was measured, as a share of it.
const COST_ERROR: f64 = 0.2;

/// How far a mean of own times may be off though many were timed, as a share of their standard deviation: some places of
/// a scope are timed more often than others.
const OWN_TIME_ERROR: f64 = 0.05;

/// What each node's own time was by the samples of it; `None` where there are none to tell.
fn own_times(nodes: &[Counters], parents: &[usize], cost: &Cost) -> Vec<Option<Estimate>> {
    let mut entries_below = vec![0; nodes.len()];
    for i in 1..nodes.len() {
        entries_below[parents[i]] += nodes[i].entries;
    }
    nodes.iter().zip(entries_below).map(|(node, below)| own_time(node, float(below), cost)).collect()
}

fn own_time(node: &Counters, entries_below: f64, cost: &Cost) -> Option<Estimate> {
    let between = cost.timed - cost.inside;
    let before_entries = estimate::of_sample(&node.before_entries, entries_below)?.minus(entries_below * between);
    let exits = float(node.closed());
    let before_exits = match estimate::of_sample(&node.before_exits, exits) {
        Some(known) => known.minus(exits * cost.inside),
        None if node.tails > 0 => {
            // Anything from nothing to the limit.
            let half = exits * float(node.tail_limit) / float(node.tails) / 2.0;
            Estimate { value: half, variance: half * half, stood_for: half }
        }
        None if exits == 0.0 => Estimate::default(),
        None => return None,
    };
    let mut own = before_entries.plus(before_exits);
    let cost_error = COST_ERROR * (entries_below * between + exits * cost.inside);
    let uneven = entries_below * node.before_entries.deviation() + exits * node.before_exits.deviation();
    own.variance += (OWN_TIME_ERROR * uneven).powi(2) + cost_error.powi(2);
    Some(own)
}

/// Parts that exceed their whole, by an estimate or by the clock's error, are scaled to it: estimates first.
fn fit_into_parents(nodes: &mut [Counters], parents: &[usize]) {
    let mut measured = vec![0.0; nodes.len()];
    let mut estimated = vec![0.0; nodes.len()];
    for i in 1..nodes.len() {
        let sums = if nodes[i].is_sampled() { &mut estimated } else { &mut measured };
        sums[parents[i]] += nodes[i].total;
    }
    for i in 1..nodes.len() {
        let (whole, fixed, loose) = (nodes[parents[i]].total, measured[parents[i]], estimated[parents[i]]);
        if fixed + loose <= whole {
            continue;
        }
        let is_estimate = nodes[i].is_sampled();
        nodes[i].total *= if fixed >= whole {
            whole / (fixed + loose)
        } else if is_estimate {
            (whole - fixed) / loose
        } else {
            1.0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Cost = Cost { timed: 0.0, inside: 0.0, untimed: 0.0, reading: 0.0, alloc: 0.0 };

    fn node(entries: u64, timed: u64, ticks: u64) -> Counters {
        Counters { entries, timed, ticks, ..Counters::default() }
    }

    /// So many calls, of which some were timed and took `mean` each.
    fn sampled(entries: u64, timed: u64, mean: f64) -> Counters {
        let (count, weight) = (float(timed), float(entries));
        let calls = SampleRead { count, weight, ticks: weight * mean, squares: weight * mean * mean };
        Counters { entries, timed, calls, ..Counters::default() }
    }

    fn totals(nodes: &[Counters]) -> Vec<f64> {
        nodes.iter().map(|node| node.total).collect()
    }

    #[test]
    fn sampled_time_is_scaled_by_the_exact_count() {
        let mut nodes = [node(1, 1, 10_000), sampled(100, 10, 5.0)];
        settle(&mut nodes, &[0, 0], &FREE);
        assert_eq!(totals(&nodes), [10_000.0, 500.0]);
        assert!(nodes[1].is_sampled() && !nodes[0].is_sampled());
        assert!(nodes[1].total_variance > 0.0 && nodes[0].total_variance == 0.0);
    }

    #[test]
    fn own_cost_leaves_the_scope_and_all_above_it() {
        let cost = Cost { timed: 25.0, inside: 10.0, untimed: 3.0, reading: 0.0, alloc: 1.0 };
        let mut nodes = [node(1, 1, 10_000), node(1, 1, 5_000), node(100, 100, 1_000)];
        nodes[2].allocs = 100;
        settle(&mut nodes, &[0, 0, 1], &cost);
        // 100 empty scopes that read 10 each took nothing; their parent paid 25 for each, and 1 per allocation.
        assert_eq!(totals(&nodes), [10_000.0 - 10.0 - 2_600.0 - 25.0, 5_000.0 - 10.0 - 2_600.0, 0.0]);
        assert_eq!(nodes[0].own_cost, 2_625.0);
    }

    #[test]
    fn estimates_give_way_before_measurements() {
        let mut nodes = [node(1, 1, 100), node(1, 1, 60), sampled(10, 1, 10.0)];
        settle(&mut nodes, &[0, 0, 0], &FREE);
        assert_eq!(totals(&nodes), [100.0, 60.0, 40.0]);
    }

    #[test]
    fn the_mean_cost_of_a_call_is_known_with_and_without_timed_calls_inside() {
        let cost = Cost { timed: 25.0, inside: 10.0, untimed: 3.0, reading: 0.0, alloc: 1.0 };
        let mut nodes = [node(1, 1, 100_000), node(10, 10, 50_000), node(100, 100, 1_000)];
        nodes[1].allocs = 50;
        settle(&mut nodes, &[0, 0, 1], &cost);
        assert_eq!((nodes[1].cost_per_call, nodes[1].other_cost_per_call), (255.0, 5.0));
    }

    #[test]
    fn waiting_counts_for_all_above_it() {
        let mut nodes = [node(1, 1, 1_000), node(1, 1, 500), node(1, 1, 100)];
        (nodes[1].waited, nodes[2].waited) = (7, 30);
        settle(&mut nodes, &[0, 0, 1], &FREE);
        assert_eq!(nodes.map(|node| node.waited), [37, 37, 30]);
    }

    #[test]
    fn a_sampled_parent_holds_its_measured_children() {
        let mut nodes = [node(1, 1, 1_000), sampled(10, 1, 0.5), node(10, 10, 80)];
        settle(&mut nodes, &[0, 0, 1], &FREE);
        assert_eq!(totals(&nodes), [1_000.0, 80.0, 80.0]);
    }

    #[test]
    fn open_and_attached_time_counts() {
        let mut nodes = [node(1, 0, 0), node(0, 0, 0), node(5, 5, 50)];
        nodes[0].open = 1;
        nodes[0].open_ticks = 500;
        nodes[1].attached = 70;
        settle(&mut nodes, &[0, 0, 1], &FREE);
        assert_eq!(totals(&nodes), [500.0, 70.0, 50.0]);
    }
}
