//! From what was counted to what it means: scales what was sampled, takes the profiler's own cost out, and makes parts
//! sum to wholes. Pure.

use super::measure::Cost;

/// Everything counted for one path; ticks as they were read, and the times made of them.
#[derive(Clone, Debug)]
pub(crate) struct Counters {
    pub(crate) entries: u64,
    pub(crate) reentries: u64,
    pub(crate) folded: u64,
    pub(crate) timed: u64,
    pub(crate) ticks: u64,
    /// Activations since the last timed one, which no time stands for yet.
    pub(crate) skipped: u64,
    /// Activations that are open and timed, and for how long by now.
    pub(crate) open: u64,
    pub(crate) open_ticks: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
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
    /// Settled: the same with the cost of what happened inside, but without that of its own calls.
    pub(crate) raw: f64,
    /// Settled: the same without the cost of what happened inside. Not the total, which also gives way where estimates
    /// exceed their whole: one long call that stands for many may then shrink the total to a fraction of the calls.
    pub(crate) clean: f64,
    /// Settled: the time of this path and all below it, without the profiler's own.
    pub(crate) total: f64,
    /// Settled: the profiler's own cost below this path.
    pub(crate) own_cost: f64,
    /// Threads that entered this path.
    pub(crate) threads: u64,
    /// Which, as far as their numbers fit; to tell them apart where paths are summed.
    pub(crate) thread_set: u128,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            min: u64::MAX,
            entries: 0,
            reentries: 0,
            folded: 0,
            timed: 0,
            ticks: 0,
            skipped: 0,
            open: 0,
            open_ticks: 0,
            max: 0,
            allocs: 0,
            alloc_bytes: 0,
            frees: 0,
            free_bytes: 0,
            reallocs: 0,
            peak: 0,
            flops: 0,
            bytes: 0,
            tokens: 0,
            elapsed: 0,
            attached: 0,
            raw: 0.0,
            clean: 0.0,
            total: 0.0,
            own_cost: 0.0,
            threads: 0,
            thread_set: 0,
        }
    }
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
    fn raw_total(&self) -> f64 {
        let closed = self.closed();
        let stood_for = closed.saturating_sub(self.skipped).max(1);
        let scale = if self.skipped > 0 { float(closed) / float(stood_for) } else { 1.0 };
        float(self.ticks) * scale + float(self.open_ticks) + float(self.attached)
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
        self.timed += other.timed;
        self.ticks = self.ticks.saturating_add(other.ticks);
        self.open += other.open;
        self.open_ticks = self.open_ticks.saturating_add(other.open_ticks);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.allocs += other.allocs;
        self.alloc_bytes += other.alloc_bytes;
        self.frees += other.frees;
        self.free_bytes += other.free_bytes;
        self.reallocs += other.reallocs;
        self.peak = self.peak.max(other.peak);
        self.skipped += other.skipped;
        self.flops = self.flops.saturating_add(other.flops);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.elapsed = self.elapsed.saturating_add(other.elapsed);
        self.attached = self.attached.saturating_add(other.attached);
        self.raw += other.raw;
        self.clean += other.clean;
        self.total += other.total;
        self.own_cost += other.own_cost;
        self.threads += other.threads;
        self.thread_set |= other.thread_set;
    }
}

#[expect(clippy::cast_precision_loss, reason = "15 digits are enough for a time")]
fn float(n: u64) -> f64 {
    n as f64
}

/// Settles one thread's tree: `parents[i]` is the parent of node `i` and comes before it; node 0 is the root.
pub(super) fn settle(nodes: &mut [Counters], parents: &[usize], cost: &Cost) {
    subtract_own_cost(nodes, parents, cost);
    raise_estimates(nodes, parents);
    fit_into_parents(nodes, parents);
    for node in nodes.iter_mut() {
        node.threads = u64::from(node.entries > 0 || node.attached > 0);
    }
}

fn subtract_own_cost(nodes: &mut [Counters], parents: &[usize], cost: &Cost) {
    for i in (0..nodes.len()).rev() {
        let allocating = nodes[i].allocator_calls() * cost.alloc;
        nodes[i].raw = (nodes[i].raw_total() - float(nodes[i].closed()) * cost.inside).max(0.0);
        nodes[i].clean = (nodes[i].raw - allocating - nodes[i].own_cost).max(0.0);
        nodes[i].total = nodes[i].clean;
        nodes[i].own_cost += allocating;
        if i > 0 {
            nodes[parents[i]].own_cost += nodes[i].own_cost + nodes[i].cost_of_calls(cost);
        }
    }
}

/// A path whose time is an estimate, or which was never entered itself, took at least as long as its parts.
fn raise_estimates(nodes: &mut [Counters], parents: &[usize]) {
    let mut parts = vec![0.0; nodes.len()];
    for i in (0..nodes.len()).rev() {
        if nodes[i].is_sampled() || nodes[i].entries == 0 {
            nodes[i].total = nodes[i].total.max(parts[i]);
        }
        if i > 0 {
            parts[parents[i]] += nodes[i].total;
        }
    }
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
        let sampled = nodes[i].is_sampled();
        nodes[i].total *= if fixed >= whole {
            whole / (fixed + loose)
        } else if sampled {
            (whole - fixed) / loose
        } else {
            1.0
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Cost = Cost { timed: 0.0, inside: 0.0, untimed: 0.0, alloc: 0.0 };

    fn node(entries: u64, timed: u64, ticks: u64) -> Counters {
        Counters { entries, timed, ticks, ..Counters::default() }
    }

    fn totals(nodes: &[Counters]) -> Vec<f64> {
        nodes.iter().map(|node| node.total).collect()
    }

    #[test]
    fn sampled_time_is_scaled_by_the_exact_count() {
        let mut nodes = [node(1, 1, 10_000), node(100, 10, 450)];
        nodes[1].skipped = 10;
        settle(&mut nodes, &[0, 0], &FREE);
        assert_eq!(totals(&nodes), [10_000.0, 500.0]);
        assert!(nodes[1].is_sampled() && !nodes[0].is_sampled());
    }

    #[test]
    fn own_cost_leaves_the_scope_and_all_above_it() {
        let cost = Cost { timed: 25.0, inside: 10.0, untimed: 3.0, alloc: 1.0 };
        let mut nodes = [node(1, 1, 10_000), node(1, 1, 5_000), node(100, 100, 1_000)];
        nodes[2].allocs = 100;
        settle(&mut nodes, &[0, 0, 1], &cost);
        // 100 empty scopes that read 10 each took nothing; their parent paid 25 for each, and 1 per allocation.
        assert_eq!(totals(&nodes), [10_000.0 - 10.0 - 2_600.0 - 25.0, 5_000.0 - 10.0 - 2_600.0, 0.0]);
        assert_eq!(nodes[0].own_cost, 2_625.0);
    }

    #[test]
    fn estimates_give_way_before_measurements() {
        let mut nodes = [node(1, 1, 100), node(1, 1, 60), node(10, 1, 100)];
        settle(&mut nodes, &[0, 0, 0], &FREE);
        assert_eq!(totals(&nodes), [100.0, 60.0, 40.0]);
    }

    #[test]
    fn an_estimate_that_gives_way_keeps_the_share_of_its_calls() {
        let mut nodes = [node(1, 1, 1_000), node(1_000, 10, 50_000)];
        nodes[1].allocs = 1_000;
        settle(&mut nodes, &[0, 0], &Cost { alloc: 5.0, ..FREE });
        assert!(nodes[1].total <= 1_000.0);
        assert_eq!((nodes[1].raw, nodes[1].clean), (50_000.0, 45_000.0));
    }

    #[test]
    fn a_sampled_parent_holds_its_measured_children() {
        let mut nodes = [node(1, 1, 1_000), node(10, 1, 5), node(10, 10, 80)];
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
