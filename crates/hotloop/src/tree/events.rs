//! The ring of a thread's last timed exits, and what is made of it: timeline, percentiles, budget.

use std::sync::atomic::{AtomicU64, Ordering::*};

use super::histogram::Histogram;
use super::local::Local;
use super::measure;
use super::mode;
use super::node::{Counter, Node};
use super::registry;
use super::switch;
use super::thread::Thread;

/// Events between two folds. 8 KiB of them: they and the nodes stay in the first-level cache.
const FOLD: u64 = 512;
/// The smallest ring: what was not folded yet is still there when the next fold begins.
const MIN_CAPACITY: usize = 2 * FOLD as usize;
/// Entries of sampled scopes in a row at which the clock is read: one is timed, and the next only ends the time between
/// them, which is then known too.
pub(super) const BURST: u16 = 2;
/// The most entries that are only counted between two bursts, on average: rarer timing would save less than counting
/// costs, and be blind for longer when short calls turn into long ones.
pub(super) const MAX_STRETCH: u16 = 126;
/// Events kept of threads that have ended.
pub(super) const ENDED_EVENTS: usize = 1 << 16;

const NODE_BITS: u32 = 20;
/// About two hours; longer ones are kept as this long.
const MAX_TICKS: u64 = (1 << (64 - NODE_BITS)) - 1;

/// The last timed exits of one thread; the oldest is overwritten.
pub(super) struct Ring {
    slots: Box<[Slot]>,
    /// Events ever pushed.
    head: Counter,
    /// Events that were there before the last reset.
    start: Counter,
    /// Events that are in the histograms already.
    folded: Counter,
    /// The modes it was last fitted for.
    modes: Counter,
    /// What a timed call of a sampled scope stands for, in [`WEIGHT_UNIT`]s.
    weight: Counter,
}

/// A call that stands for itself alone, in a histogram.
pub(super) const WEIGHT_UNIT: u32 = 8;

/// One exit: when it began; in the upper bits how long it took, in the lower the node.
#[derive(Default)]
struct Slot {
    start: AtomicU64,
    ticks_and_node: AtomicU64,
}

/// One exit, as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    /// The node while in its thread's ring, the path once collected.
    pub(crate) path: u32,
    pub(crate) start: u64,
    pub(crate) ticks: u64,
}

impl Ring {
    /// A node with fewer timings may have none of them in a histogram yet.
    pub(super) const UNFOLDED: u64 = 2 * FOLD;

    fn leak(capacity: usize) -> *mut Ring {
        let slots = (0..capacity).map(|_| Slot::default()).collect();
        let zero = || Counter::new(0);
        let weight = Counter::new(WEIGHT_UNIT.into());
        Box::into_raw(Box::new(Ring { slots, head: zero(), start: zero(), folded: zero(), modes: zero(), weight }))
    }

    /// Pushes an event and returns how many there were ever. Owner only.
    #[inline(always)]
    fn push(&self, node: u32, start: u64, ticks: u64) -> u64 {
        let head = self.head.get();
        let place = head as usize & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the masked index lies below it.
        let slot = unsafe { self.slots.get_unchecked(place) };
        // Release keeps these after the previous head, so that a reader can tell which slots are being overwritten.
        slot.start.store(start, Release);
        slot.ticks_and_node.store(ticks.min(MAX_TICKS) << NODE_BITS | u64::from(node), Release);
        self.head.set(head + 1);
        head + 1
    }

    fn at(&self, position: u64) -> Event {
        let slot = &self.slots[position as usize & (self.slots.len() - 1)];
        let packed = slot.ticks_and_node.load(Acquire);
        let path = (packed & ((1 << NODE_BITS) - 1)) as u32;
        Event { path, start: slot.start.load(Acquire), ticks: packed >> NODE_BITS }
    }

    /// The node and the duration of an event that is surely there. Owner only.
    #[inline(always)]
    fn timing(&self, position: u64) -> (u32, u64) {
        let packed = self.slots[position as usize & (self.slots.len() - 1)].ticks_and_node.load(Relaxed);
        ((packed & ((1 << NODE_BITS) - 1)) as u32, packed >> NODE_BITS)
    }

    /// The events from `first` on that were not overwritten while they were read, and how many there ever were.
    fn read_from(&self, first: u64) -> (Vec<Event>, u64) {
        let head = self.head.get();
        let oldest = first.max(head.saturating_sub(self.slots.len() as u64 - 1));
        let mut events: Vec<Event> = (oldest..head).map(|position| self.at(position)).collect();
        // The slot at the present head may be half-written, and what it held is gone.
        let safe = self.head.get().saturating_sub(self.slots.len() as u64 - 1);
        events.drain(..usize::try_from(safe.saturating_sub(oldest)).unwrap_or(usize::MAX).min(events.len()));
        (events, head)
    }

    /// The events kept since the last reset, and how many were overwritten.
    pub(super) fn read(&self) -> (Vec<Event>, u64) {
        let start = self.start.get();
        let (events, head) = self.read_from(start);
        let lost = (head - start).saturating_sub(events.len() as u64);
        (events, lost)
    }

    /// Forgets all events.
    pub(super) fn forget(&self) {
        self.start.set(self.head.get());
        self.folded.set(self.head.get());
    }

    /// The events that no fold has seen.
    pub(super) fn pending(&self) -> Vec<Event> {
        self.read_from(self.folded.get()).0
    }

    /// What a timed call of a sampled scope stands for since the last fold.
    pub(super) fn weight(&self) -> u32 {
        u32::try_from(self.weight.get()).unwrap_or(WEIGHT_UNIT)
    }

    /// The modes it was last fitted for.
    pub(super) fn modes(&self) -> u64 {
        self.modes.get()
    }
}

/// Gives the thread a ring of the size asked for, if it has none or another.
pub(super) fn fit_ring(local: &Local, thread: &'static Thread, capacity: usize, flags: u64) {
    let capacity = capacity.max(MIN_CAPACITY).next_power_of_two();
    if let Some(ring) = thread.ring() {
        if ring.slots.len() == capacity {
            return ring.modes.set(flags);
        }
        // What it holds goes into the histograms; as a timeline it is lost.
        fold(local, thread, ring.modes.get() & mode::PERCENTILES | cost_kept(ring.modes.get()), ring);
        if ring.modes.get() & mode::TIMELINE != 0 {
            thread.lost.events.add(ring.head.get() - ring.start.get());
        }
    }
    let new = local.quietly(|| Ring::leak(capacity));
    // SAFETY: just made.
    unsafe { &*new }.modes.set(flags);
    registry::with_registry(|_| {
        let old = thread.ring.swap(new, AcqRel);
        if !old.is_null() {
            // SAFETY: made by `leak`; readers hold the registry's lock as we do, and the owner is here.
            drop(unsafe { Box::from_raw(old) });
        }
    });
}

/// A timed activation that has ended.
pub(super) struct Exit<'a> {
    pub(super) node: &'a Node,
    pub(super) start: u64,
    pub(super) ticks: u64,
}

/// Records a timed exit.
#[inline(always)]
pub(super) fn record(local: &Local, ring: &Ring, flags: u64, exit: &Exit) {
    let node = exit.node;
    // In the time that recording was on, so that pauses leave no gap in the timeline.
    let pushed = ring.push(node.id, exit.start.wrapping_sub(local.paused.get()), exit.ticks);
    if pushed.is_multiple_of(FOLD) {
        fold_now(local, flags, ring);
    }
}

#[cold]
#[inline(never)]
pub(super) fn fold_now(local: &Local, flags: u64, ring: &Ring) {
    if let Some(thread) = local.thread() {
        fold(local, thread, flags, ring);
    }
}

/// A scope begins at which the clock was read, under a budget: its parent's own time before it is known if the clock was
/// read at the boundary before this one too. Whether it is to be timed; if not, it is only counted.
#[inline(always)]
pub(super) fn sample_entry(local: &Local, node: &Node, parent: &Node, now: u64) -> bool {
    let sampling = &local.sampling;
    if let Some(own) = own_time(local, parent, now) {
        parent.before_entries.add(own, sampling.stands_for.get());
    }
    let is_sampled = node.is_sampled() && sampling.stretch.get() != 0;
    let is_timed = !is_sampled || sampling.burst.get() != 1;
    if !is_timed {
        begin_stretch(local);
    } else if is_sampled {
        sampling.pace.set(0);
        sampling.burst.set(1);
    }
    note_reading(local, node, now);
    sampling.unfinished.set(u8::from(!is_timed));
    is_timed
}

/// A timed scope ends, under a budget: likewise its own time since its last child.
#[inline(always)]
pub(super) fn sample_exit(local: &Local, node: &Node, end: u64, parent: *const Node) {
    let sampling = &local.sampling;
    if node.is_leaf() {
        let ticks = end.saturating_sub(node.open_since.get());
        if node.is_sampled() && ticks > sampling.pace.get() {
            sampling.pace.set(ticks);
        }
    } else if let Some(own) = own_time(local, node, end) {
        node.before_exits.add(own, sampling.stands_for.get());
    } else {
        limit_tail(local, node, end);
    }
    note_reading(local, parent, end);
}

/// The own time before this exit is not known alone: it is what has passed since the clock was read last, less what was
/// entered since at the pace of the last burst.
#[inline(never)]
fn limit_tail(local: &Local, node: &Node, end: u64) {
    let sampling = &local.sampling;
    let counted = u64::from(sampling.last_countdown.get().saturating_sub(sampling.countdown.get()));
    let counted = counted + u64::from(sampling.unfinished.get());
    let passed = end.saturating_sub(local.last_reading.get());
    node.tail_limit.add(passed.saturating_sub(counted.saturating_mul(sampling.pace.get())));
    node.tails.add(1);
}

/// The time since the clock was read last, if the thread was in `node` itself all the while.
#[inline(always)]
fn own_time(local: &Local, node: &Node, now: u64) -> Option<u64> {
    let sampling = &local.sampling;
    let undivided =
        std::ptr::eq(local.last_node.get(), node) && sampling.last_countdown.get() == sampling.countdown.get();
    undivided.then(|| now.saturating_sub(local.last_reading.get()))
}

#[inline(always)]
fn note_reading(local: &Local, node: *const Node, now: u64) {
    local.last_reading.set(now);
    local.last_node.set(node);
    local.sampling.last_countdown.set(local.sampling.countdown.get());
    local.sampling.unfinished.set(0);
}

/// A burst has ended, by an entry that is only counted itself: draws how many entries are only counted before the next, between two and four thirds of the mean, so
/// that sampling cannot fall in step with the program.
fn begin_stretch(local: &Local) {
    let sampling = &local.sampling;
    let mean = u32::from(sampling.stretch.get()).saturating_sub(1);
    let width = ((2 * mean).div_ceil(3) | 1).max(3);
    let next = if mean > 0 { mean - width / 2 + local.draw() % width } else { 0 };
    // The entry that ended the burst is only counted too, but the countdown does not know of it.
    sampling.counted.set(sampling.counted.get() + u64::from(next) + 1);
    sampling.readings.set(sampling.readings.get() + 1);
    sampling.countdown.set(next);
    sampling.burst.set(BURST);
    sampling.stands_for.set(u16::try_from(next).unwrap_or(MAX_STRETCH) + BURST);
}

/// Moves the events since the last fold into the histograms and looks after the budget.
fn fold(local: &Local, thread: &'static Thread, flags: u64, ring: &Ring) {
    let to = ring.head.get();
    let mut seen = Seen { nodes: [0; FOLD as usize], len: 0 };
    let mut run = Run::default();
    // SAFETY: this is the owning thread, and the result is not kept.
    let mut cleaner = Cleaner::new(unsafe { thread.nesting() }, flags, ring.weight());
    for position in ring.folded.get()..to {
        let (node, ticks) = ring.timing(position);
        if node != run.id {
            run.end(thread, &mut seen, &mut cleaner, flags);
            run = Run::begin(local, thread, node, flags);
            run.prepare(&mut cleaner);
        }
        run.add(ticks);
    }
    run.end(thread, &mut seen, &mut cleaner, flags);
    ring.folded.set(to);
    if flags & (mode::BUDGET | mode::KEEP_COST) == mode::BUDGET {
        keep_budget(local, thread, &seen);
        ring.weight.set(u64::from(WEIGHT_UNIT) * local.sampling.mean_weight());
    }
    seen.forget(thread);
}

/// Moves what this thread's ring holds into the histograms, for a snapshot that this thread takes.
pub(super) fn fold_rest(local: &Local) {
    // SAFETY: null or this thread's ring, which only this thread frees, and replaces here then.
    if let (Some(thread), Some(ring)) = (local.thread(), unsafe { local.ring.get().as_ref() }) {
        // Without the budget, which is a matter of whole folds.
        let modes = ring.modes.get();
        fold(local, thread, modes & !mode::BUDGET | cost_kept(modes), ring);
    }
}

/// Under a budget calls keep the cost of those inside them, of which only the mean is known.
fn cost_kept(modes: u64) -> u64 {
    if modes & mode::BUDGET == 0 { 0 } else { mode::KEEP_COST }
}

/// Timed calls inside the calls that are open, by depth.
pub(super) type Nesting = [u32; DEEPEST + 2];
/// Nodes lie no deeper.
pub(super) const DEEPEST: usize = 256;

/// Takes the cost of timing out of single calls.
pub(super) struct Cleaner<'a> {
    inside: &'a mut Nesting,
    /// What each timed call costs the calls around it, in ticks; 0 where calls that are only counted lie among them, so
    /// that only the mean is known.
    per_call: f64,
    weight: u32,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(inside: &'a mut Nesting, modes: u64, weight: u32) -> Self {
        let per_call = if modes & (mode::BUDGET | mode::KEEP_COST) == 0 { measure::cost().timed } else { 0.0 };
        Cleaner { inside, per_call, weight }
    }

    /// The duration of a call at this depth without the cost of the timed calls inside it. Calls come in the order of
    /// their ends, so those inside it came since the last at its depth.
    pub(super) fn clean(&mut self, depth: u16, ticks: u64) -> u64 {
        let (inside, cost) = self.take_inside(depth);
        self.count(depth, inside + 1);
        ticks.saturating_sub(cost)
    }

    /// The timed calls inside the next call at this depth, and what they cost it.
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration, never negative")]
    fn take_inside(&mut self, depth: u16) -> (u32, u64) {
        if self.per_call == 0.0 {
            return (0, 0);
        }
        let inside = std::mem::take(&mut self.inside[usize::from(depth).min(DEEPEST) + 1]);
        (inside, (f64::from(inside) * self.per_call) as u64)
    }

    /// So many timed calls have ended at this depth or below.
    #[inline(always)]
    fn count(&mut self, depth: u16, calls: u32) {
        let inside = &mut self.inside[usize::from(depth).min(DEEPEST)];
        *inside = inside.saturating_add(calls);
    }

    #[inline(always)]
    pub(super) fn weight(&self, node: &Node) -> u32 {
        if node.is_sampled() { self.weight } else { WEIGHT_UNIT }
    }
}

/// Events of one node in a row: it is looked up once for all of them.
struct Run<'a> {
    id: u32,
    node: Option<&'a Node>,
    histogram: Option<&'a Histogram>,
    length: u16,
    /// Timed calls inside the first of them, and what is still to be taken out for them. The others have none inside.
    inside: u32,
    cost: u64,
    weight: u32,
    min: u64,
    max: u64,
}

impl Default for Run<'_> {
    fn default() -> Self {
        let (id, min) = (u32::MAX, u64::MAX);
        Run { id, node: None, histogram: None, length: 0, inside: 0, cost: 0, weight: WEIGHT_UNIT, min, max: 0 }
    }
}

impl<'a> Run<'a> {
    #[inline(always)]
    fn begin(local: &Local, thread: &'a Thread, id: u32, flags: u64) -> Self {
        let node = thread.nodes.get(id);
        let histogram = node.filter(|_| flags & mode::PERCENTILES != 0).and_then(|node| histogram_of(local, node));
        Run { id, node, histogram, ..Run::default() }
    }

    #[inline(always)]
    fn prepare(&mut self, cleaner: &mut Cleaner) {
        if let Some(node) = self.node {
            (self.inside, self.cost) = cleaner.take_inside(node.depth);
            self.weight = cleaner.weight(node);
        }
    }

    #[inline(always)]
    fn add(&mut self, ticks: u64) {
        let ticks = ticks.saturating_sub(std::mem::take(&mut self.cost));
        self.length += 1;
        self.min = self.min.min(ticks);
        self.max = self.max.max(ticks);
        if let Some(histogram) = self.histogram {
            histogram.record(ticks, self.weight);
        }
    }

    #[inline(always)]
    fn end(self, thread: &Thread, seen: &mut Seen, cleaner: &mut Cleaner, flags: u64) {
        let Some(node) = self.node else { return };
        if self.histogram.is_none() && flags & mode::PERCENTILES != 0 {
            thread.lost.histograms.add(u64::from(self.length));
        }
        cleaner.count(node.depth, self.inside + u32::from(self.length));
        if self.min < node.clean_min.get() {
            node.clean_min.set(self.min);
        }
        node.clean_max.raise_to(self.max);
        seen.count(node, self.length);
    }
}

#[inline(always)]
fn histogram_of<'a>(local: &Local, node: &'a Node) -> Option<&'a Histogram> {
    if node.histogram().is_none() {
        let new = local.quietly(Histogram::allocate)?;
        node.histogram.store(new.as_ptr(), Release);
    }
    node.histogram()
}

/// The nodes that one fold met; how often stands in [`Node::seen_in_fold`].
struct Seen {
    nodes: [u32; FOLD as usize],
    len: usize,
}

impl Seen {
    #[inline(always)]
    fn count(&mut self, node: &Node, events: u16) {
        let before = node.seen_in_fold.load(Relaxed);
        node.seen_in_fold.store(before.saturating_add(events), Relaxed);
        if before == 0
            && let Some(slot) = self.nodes.get_mut(self.len)
        {
            *slot = node.id;
            self.len += 1;
        }
    }

    fn iter<'a>(&'a self, thread: &'a Thread) -> impl Iterator<Item = &'a Node> {
        self.nodes[..self.len].iter().filter_map(|id| thread.nodes.get(*id))
    }

    fn forget(&self, thread: &Thread) {
        self.iter(thread).for_each(|node| node.seen_in_fold.store(0, Relaxed));
    }
}

/// Decides after each fold which scopes are sampled and how often, so that the profiler takes no more than its share of
/// the thread's CPU time.
fn keep_budget(local: &Local, thread: &Thread, seen: &Seen) {
    let (window, counted) = (thread.next_window(crate::clock::now()), local.sampling.take_counted());
    thread.readings.add(local.sampling.readings.take());
    let (cost, budget) = (measure::cost(), switch::budget());
    let count = |node: &Node| f64::from(node.seen_in_fold.load(Relaxed));
    let sampled: f64 = seen.iter(thread).filter(|node| node.is_sampled()).map(count).sum();
    let all: f64 = seen.iter(thread).map(count).sum();
    let weight = if sampled > 0.0 { (sampled + counted) / sampled } else { 1.0 };
    let allowed = PLANNED * budget * window;
    if all * cost.timed + sampled * cost.reading + counted * cost.untimed > allowed {
        let is_short = |node: &Node| node.mean_ticks() * budget < SHORT * cost.timed;
        let calls = |node: &Node| count(node) * if node.is_sampled() { weight } else { 1.0 };
        choose_sampled(thread, seen, is_short, calls, allowed / cost.timed / 4.0);
    }
    let always: f64 = seen.iter(thread).filter(|node| !node.is_sampled()).map(count).sum();
    let entries = all + counted - always;
    // Counting has to be paid whatever is timed; timing gets an eighth of the budget where counting leaves nothing.
    let left = (allowed - always * cost.timed - entries * cost.untimed).max(allowed / 8.0);
    // Of each burst one entry is timed, and at one the clock is read.
    let share = left / (cost.timed + cost.reading - cost.untimed).max(1.0) / entries.max(1.0);
    local.sampling.set_stretch(share);
}

/// The part of the budget that is planned with: what scopes cost varies with the code around them.
const PLANNED: f64 = 0.95;

/// Only nodes shorter than this many times what timing may cost them are ever sampled. Timing a longer one takes an
/// eighth of the budget.
const SHORT: f64 = 8.0;

/// Marks which short nodes are sampled: the frequent ones. The rarest, together no more than `rare` calls, are always
/// timed.
fn choose_sampled(
    thread: &Thread,
    seen: &Seen,
    is_short: impl Fn(&Node) -> bool,
    calls: impl Fn(&Node) -> f64,
    rare: f64,
) {
    // On the stack: this runs inside the program's scopes, where the profiler must not allocate.
    let (mut counts, mut len) = ([0.0; FOLD as usize], 0);
    for node in seen.iter(thread).filter(|node| is_short(node)) {
        counts[len] = calls(node);
        len += 1;
    }
    let most = rarest(&mut counts[..len], rare);
    for node in seen.iter(thread) {
        // A node stays as it is while it is near the border.
        let border = if node.is_sampled() { most / 2.0 } else { most };
        node.set_sampled(is_short(node) && calls(node) > border);
    }
}

/// The largest of the smallest counts that together do not exceed `sum`.
fn rarest(counts: &mut [f64], sum: f64) -> f64 {
    counts.sort_unstable_by(f64::total_cmp);
    let mut left = sum;
    let mut most = 0.0;
    for count in counts.iter() {
        left -= count;
        if left < 0.0 {
            break;
        }
        most = *count;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_nodes_are_always_timed() {
        assert_eq!(rarest(&mut [500.0, 6.0, 6.0], 30.0), 6.0);
        assert_eq!(rarest(&mut [100.0, 100.0], 20.0), 0.0);
        assert_eq!(rarest(&mut [5.0, 5.0], 20.0), 5.0);
    }

    #[test]
    fn calls_are_cleaned_of_the_timed_calls_inside_them() {
        let mut nesting = [0; DEEPEST + 2];
        let mut cleaner = Cleaner { inside: &mut nesting, per_call: 10.0, weight: WEIGHT_UNIT };
        // Three leaves in the first call of a parent, none in the second, and the grandparent around both.
        assert_eq!([3, 3, 3].map(|depth| cleaner.clean(depth, 5)), [5, 5, 5]);
        assert_eq!([2, 2, 1].map(|depth| cleaner.clean(depth, 100)), [70, 100, 50]);
        assert_eq!(cleaner.clean(1, 100), 100);
    }

    #[test]
    fn a_full_ring_overwrites_the_oldest_and_counts_it() {
        // SAFETY: just made, and freed only at the end of the test.
        let ring = unsafe { Box::from_raw(Ring::leak(8)) };
        for n in 0..20 {
            ring.push(n, u64::from(n) * 10, 3);
        }
        let (events, lost) = ring.read();
        assert_eq!(events.iter().map(|event| event.path).collect::<Vec<_>>(), [13, 14, 15, 16, 17, 18, 19]);
        assert_eq!((events[0].start, events[0].ticks, lost), (130, 3, 13));
        ring.forget();
        assert_eq!((ring.read().0.len(), ring.read().1), (0, 0));
    }
}
