//! The ring of a thread's last timed exits, and what is made of it: timeline, percentiles, budget.

use std::sync::atomic::{AtomicU64, Ordering::*};

use super::histogram::{Histogram, HistogramCopy};
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
/// At least one entry in about this many is timed: rarer timing would save less than counting costs, and be blind for
/// longer when short calls turn into long ones.
const MAX_PERIOD: u16 = 64;
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
}

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
        Box::into_raw(Box::new(Ring { slots, head: zero(), start: zero(), folded: zero(), modes: zero() }))
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

    /// Adds the events that no fold has seen to the histograms `of` their nodes, where `complete` says that those hold
    /// all the others.
    pub(super) fn add_pending(&self, of: &mut [HistogramCopy], complete: impl Fn(usize) -> bool) {
        for event in self.read_from(self.folded.get()).0 {
            let node = event.path as usize;
            if let Some(histogram) = of.get_mut(node).filter(|_| complete(node)) {
                histogram.record(event.ticks);
            }
        }
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
        fold(local, thread, ring.modes.get() & mode::PERCENTILES, ring);
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
fn fold_now(local: &Local, flags: u64, ring: &Ring) {
    if let Some(thread) = local.thread() {
        fold(local, thread, flags, ring);
    }
}

/// How many entries are only counted before the next is timed: between half and one and a half periods, so that
/// sampling cannot fall in step with the program.
pub(super) fn next_skip(local: &Local, node: &Node) -> u16 {
    let period = u32::from(node.period.load(Relaxed));
    let next = if period > 1 { period / 2 + local.draw() % period } else { 0 };
    u16::try_from(next).unwrap_or(u16::MAX)
}

/// Moves the events since the last fold into the histograms and looks after the budget.
fn fold(local: &Local, thread: &'static Thread, flags: u64, ring: &Ring) {
    let to = ring.head.get();
    let mut seen = Seen { nodes: [0; FOLD as usize], len: 0 };
    let mut run = Run::default();
    for position in ring.folded.get()..to {
        let (node, ticks) = ring.timing(position);
        if node != run.id {
            run.end(thread, &mut seen, flags);
            run = Run::begin(local, thread, node, flags);
        }
        run.length += 1;
        if let Some(histogram) = run.histogram {
            histogram.record(ticks);
        }
    }
    run.end(thread, &mut seen, flags);
    ring.folded.set(to);
    if flags & mode::BUDGET != 0 {
        keep_budget(thread, &seen);
    }
    seen.forget(thread);
}

/// Events of one node in a row: it is looked up once for all of them.
struct Run<'a> {
    id: u32,
    node: Option<&'a Node>,
    histogram: Option<&'a Histogram>,
    length: u16,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Run { id: u32::MAX, node: None, histogram: None, length: 0 }
    }
}

impl<'a> Run<'a> {
    #[inline(always)]
    fn begin(local: &Local, thread: &'a Thread, id: u32, flags: u64) -> Self {
        let node = thread.nodes.get(id);
        let histogram = node.filter(|_| flags & mode::PERCENTILES != 0).and_then(|node| histogram_of(local, node));
        Run { id, node, histogram, length: 0 }
    }

    #[inline(always)]
    fn end(self, thread: &Thread, seen: &mut Seen, flags: u64) {
        let Some(node) = self.node else { return };
        if self.histogram.is_none() && flags & mode::PERCENTILES != 0 {
            thread.lost.histograms.add(u64::from(self.length));
        }
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

/// Times the most frequent nodes more rarely when the profiler took more than its share since the last fold, and more
/// often when it took much less.
fn keep_budget(thread: &Thread, seen: &Seen) {
    let now = crate::clock::now();
    let window = now.saturating_sub(thread.window_start.get());
    thread.window_start.set(now);
    let count = |node: &Node| f64::from(node.seen_in_fold.load(Relaxed));
    let entries: f64 = seen.iter(thread).map(|node| count(node) * f64::from(node.period.load(Relaxed))).sum();
    let (cost, budget) = (measure::cost().among_work(float(window) / entries.max(1.0)), switch::budget());
    let counting: f64 =
        seen.iter(thread).map(|node| count(node) * f64::from(node.period.load(Relaxed) - 1) * cost.untimed).sum();
    let allowed = budget * float(window);
    // Counting has to be paid whatever is timed. An eighth of the budget is for timing, and half of that where counting
    // leaves nothing. What a scope costs the code after it, in caches and predictions, is in no estimate, so to plan with
    // the whole budget is to miss it: a model with 50 scopes in 120 µs became 1.4 % slower by a budget of 1 %.
    let timings_allowed = (allowed - counting).clamp(allowed / 16.0, allowed / 8.0) / cost.timed;
    let timings: f64 = seen.iter(thread).map(count).sum();
    let is_short = |node: &&Node| float(node.ticks.get()) < float(node.represented()) * SHORT * cost.timed / budget;
    seen.iter(thread).filter(|node| !is_short(node)).for_each(|node| node.period.store(1, Relaxed));
    if timings > timings_allowed {
        let short = || seen.iter(thread).filter(is_short);
        let others = timings - short().map(count).sum::<f64>();
        // On the stack: this runs inside the program's scopes, where the profiler must not allocate.
        let (mut counts, mut len) = ([0.0; FOLD as usize], 0);
        for node in short() {
            counts[len] = count(node);
            len += 1;
        }
        let level = water_level(&mut counts[..len], (timings_allowed - others).max(0.0));
        short().for_each(|node| time_rarer(node, count(node) / level.max(0.5)));
    } else if timings < timings_allowed / 4.0 {
        for node in seen.iter(thread) {
            node.period.store((node.period.load(Relaxed) / 2).max(1), Relaxed);
        }
    }
}

/// Only nodes shorter than this many times what timing may cost them are ever sampled. Timing a longer one takes an
/// eighth of the budget: all that is for timing, but no more.
const SHORT: f64 = 8.0;

fn time_rarer(node: &Node, too_often: f64) {
    if too_often > 1.0 {
        // Eightfold at the most in one step: a burst is not a habit.
        let factor = (too_often.min(8.0).ceil() as u16).next_power_of_two();
        node.period.store((node.period.load(Relaxed) * factor).min(MAX_PERIOD), Relaxed);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a duration")]
fn float(ticks: u64) -> f64 {
    ticks as f64
}

/// The level at which counts cut off to it sum to `sum`: rare nodes keep all their timings, frequent ones share alike.
fn water_level(counts: &mut [f64], sum: f64) -> f64 {
    counts.sort_unstable_by(f64::total_cmp);
    let mut left = sum;
    for (position, count) in counts.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "at most 512")]
        let share = left / (counts.len() - position) as f64;
        if *count > share {
            return share;
        }
        left -= count;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_level_spares_the_rare() {
        assert_eq!(water_level(&mut [500.0, 6.0, 6.0], 30.0), 18.0);
        assert_eq!(water_level(&mut [100.0, 100.0], 20.0), 10.0);
        assert_eq!(water_level(&mut [5.0, 5.0], 20.0), f64::INFINITY);
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
