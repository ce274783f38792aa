//! A node of a thread's call tree, and the arena it lives in.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering::*};

use super::histogram::Histogram;
use super::hot::Work;
use super::settle::Counters;
use crate::clock;
use crate::site::Site;

/// The index of a scope that has none.
pub(crate) const NO_INDEX: u64 = u64::MAX;
/// The index that stands for all those a parent had no room for.
pub(crate) const OTHER_INDEX: u64 = u64::MAX - 1;

/// [`Node::open_since`] while its exit writes the sums; readers wait for it to pass.
const CLOSING: u64 = 1;

/// A number that one thread writes and any thread reads.
///
/// `add` is a load and a store, not a locked instruction: with one writer nothing can come between. The stores are
/// `Release` so that readers see a node's fields change in program order; on x86-64 that is free.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) const fn new(value: u64) -> Self {
        Counter(AtomicU64::new(value))
    }
    #[inline(always)]
    pub(super) fn add(&self, n: u64) {
        self.set(self.0.load(Relaxed).wrapping_add(n));
    }
    #[inline(always)]
    pub(super) fn set(&self, value: u64) {
        self.0.store(value, Release);
    }
    #[inline(always)]
    pub(super) fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
    #[inline(always)]
    pub(super) fn raise_to(&self, value: u64) {
        if value > self.0.load(Relaxed) {
            self.set(value);
        }
    }
}

/// A sum of floating-point numbers that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(super) struct Sum(AtomicU64);

impl Sum {
    const fn zero() -> Self {
        Sum(AtomicU64::new(0))
    }
    #[inline(always)]
    fn add(&self, value: f64) {
        self.0.store((self.get() + value).to_bits(), Release);
    }
    pub(super) fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Acquire))
    }
}

/// A weighted sample of durations: what is needed for their mean and its error.
#[derive(Debug)]
pub(super) struct Sample {
    count: Counter,
    weight: Counter,
    ticks: Counter,
    squares: Sum,
}

/// A [`Sample`] as it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SampleRead {
    pub(crate) count: f64,
    /// The sum of the weights, of the weighted durations and of their weighted squares.
    pub(crate) weight: f64,
    pub(crate) ticks: f64,
    pub(crate) squares: f64,
}

impl SampleRead {
    /// The standard deviation of the durations.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.ticks / self.weight.max(f64::MIN_POSITIVE);
        (self.squares / self.weight.max(f64::MIN_POSITIVE) - mean * mean).max(0.0).sqrt()
    }
}

impl Sample {
    const fn new() -> Self {
        Sample { count: Counter::new(0), weight: Counter::new(0), ticks: Counter::new(0), squares: Sum::zero() }
    }

    #[inline(always)]
    pub(super) fn add(&self, ticks: u64, weight: u16) {
        let weight = u64::from(weight);
        self.count.add(1);
        self.weight.add(weight);
        self.ticks.add(ticks.wrapping_mul(weight));
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        self.squares.add(weight as f64 * (ticks as f64) * (ticks as f64));
    }

    /// The sum of the durations, where each stood for itself alone.
    pub(super) fn ticks_of_timed(&self) -> u64 {
        self.ticks.get()
    }

    fn clear(&self) {
        [&self.count, &self.weight, &self.ticks].into_iter().for_each(|counter| counter.set(0));
        self.squares.0.store(0, Relaxed);
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn read(&self) -> SampleRead {
        SampleRead {
            count: self.count.get() as f64,
            weight: self.weight.get() as f64,
            ticks: self.ticks.get() as f64,
            squares: self.squares.get(),
        }
    }
}

/// One path of the call tree: a site (and index) below its parent.
///
/// Six cache lines: what an entry that is only counted needs, what one that is timed needs besides, its allocations, the
/// rest, and what the budget samples. Among work that fills the caches each line is worth some 10 ns, so nothing else may find its way into the first.
#[repr(C, align(64))]
pub(super) struct Node {
    // What every entry needs: who it is, who comes next, how often, what it was said to do.
    pub(super) site: *const Site,
    pub(super) index: u64,
    /// The first guess for the child that is entered next: see [`Node::follower`].
    pub(super) next_child: AtomicPtr<Node>,
    /// The sibling that was made after this one; the first one after the last.
    pub(super) next_sibling: AtomicPtr<Node>,
    /// Work that was declared for it.
    pub(super) flops: Counter,
    pub(super) bytes: Counter,
    pub(super) tokens: Counter,
    /// Entries that were only counted since one was last timed, in units of [`COUNTED`]; below them [`SAMPLED`] and
    /// [`REPEATS`].
    pub(super) counted: AtomicU32,
    /// The stack frame that it was entered from last: see [`Frame`](super::frame::Frame).
    pub(super) frame: AtomicU32,

    // Its time.
    /// Entries that were only counted, but for those in [`counted`](Self::counted). All
    /// entries are these, those timed and the one that is open: so a timed entry need not be counted when it begins.
    pub(super) untimed: Counter,
    /// When the timed activation that is open now began; 0 when none is, [`CLOSING`] while one ends.
    pub(super) open_since: Counter,
    /// Time of the activations that were timed and closed while there was no budget.
    pub(super) ticks: Counter,
    /// Activations timed and closed.
    pub(super) timed: Counter,
    pub(super) min: Counter,
    pub(super) max: Counter,
    pub(super) parent: *const Node,
    pub(super) id: u32,
    pub(super) depth: u16,
    /// Children that carry an index.
    pub(super) indexed_children: AtomicU16,

    // Its allocations.
    pub(super) allocs: Counter,
    pub(super) alloc_bytes: Counter,
    pub(super) frees: Counter,
    pub(super) free_bytes: Counter,
    pub(super) reallocs: Counter,
    /// The most bytes that were live above the level at its entry, over all activations.
    pub(super) peak: Counter,
    /// The thread's live bytes at the entry of the open activation, and the peak to restore at its exit.
    pub(super) entry_live: Counter,
    pub(super) entry_peak: Counter,

    // The rest.
    /// The child made last, whose next sibling is the first.
    pub(super) last_child: AtomicPtr<Node>,
    /// Entries that were not calls of their own: later polls of a future, a span entered again.
    pub(super) reentries: Counter,
    /// First poll to last, summed over the futures.
    pub(super) elapsed: Counter,
    /// Time spent below this node on a thread that was attached to it, without entering it.
    pub(super) attached: Counter,
    /// Calls beyond the depth limit, counted here because their outer activation is already being timed; and those set
    /// aside for an inner one.
    pub(super) folded: Counter,
    pub(super) histogram: AtomicPtr<Histogram>,
    /// The id of this path in the registry's tree, plus one; 0 when not looked up yet. And when it was looked up.
    pub(super) path: AtomicU32,
    pub(super) path_generation: AtomicU16,
    /// How many events of this node the fold in progress saw.
    pub(super) seen_in_fold: AtomicU16,
    /// Time in it, not below, that its thread was ready to run but had no CPU.
    pub(super) waited: Counter,

    // What the budget samples.
    /// Activations that were timed and closed while there was a budget.
    pub(super) calls: Sample,
    /// Its own time before its exit and before the entry of a child, where both ends were timed.
    pub(super) before_exits: Sample,
    pub(super) before_entries: Sample,
    /// The most that its own time before its exits can have been, where only the exit was timed; and how often.
    pub(super) tail_limit: Counter,
    pub(super) tails: Counter,
    /// The shortest and the longest timed activation, without the profiler's own cost inside it.
    pub(super) clean_min: Counter,
    pub(super) clean_max: Counter,
}

const _: () = assert!(size_of::<Node>() == 6 * 64, "a node is six cache lines");

/// Below [`Node::counted`]: not every entry is timed.
pub(super) const SAMPLED: u32 = 1;
/// Below [`Node::counted`]: it was entered twice in a row once.
const REPEATS: u32 = 2;
/// One entry in [`Node::counted`]. Scopes that are sampled are timed often enough that it never overflows.
pub(super) const COUNTED: u32 = 4;

impl Node {
    pub(super) const fn new(site: *const Site, index: u64, parent: *const Node, id: u32, depth: u16) -> Self {
        Node {
            site,
            index,
            parent,
            next_child: AtomicPtr::new((&raw const NOBODY).cast::<Node>().cast_mut()),
            last_child: AtomicPtr::new(ptr::null_mut()),
            next_sibling: AtomicPtr::new((&raw const NOBODY).cast::<Node>().cast_mut()),
            id,
            depth,
            indexed_children: AtomicU16::new(0),
            untimed: Counter::new(0),
            open_since: Counter::new(0),
            ticks: Counter::new(0),
            timed: Counter::new(0),
            min: Counter::new(u64::MAX),
            max: Counter::new(0),
            counted: AtomicU32::new(0),
            frame: AtomicU32::new(0),
            calls: Sample::new(),
            before_entries: Sample::new(),
            before_exits: Sample::new(),
            tail_limit: Counter::new(0),
            tails: Counter::new(0),
            clean_min: Counter::new(u64::MAX),
            clean_max: Counter::new(0),
            waited: Counter::new(0),
            reentries: Counter::new(0),
            allocs: Counter::new(0),
            alloc_bytes: Counter::new(0),
            frees: Counter::new(0),
            free_bytes: Counter::new(0),
            reallocs: Counter::new(0),
            peak: Counter::new(0),
            entry_live: Counter::new(0),
            entry_peak: Counter::new(0),
            flops: Counter::new(0),
            bytes: Counter::new(0),
            tokens: Counter::new(0),
            elapsed: Counter::new(0),
            attached: Counter::new(0),
            folded: Counter::new(0),
            histogram: AtomicPtr::new(ptr::null_mut()),
            path: AtomicU32::new(0),
            path_generation: AtomicU16::new(0),
            seen_in_fold: AtomicU16::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn is(&self, site: &'static Site, index: u64) -> bool {
        ptr::eq(self.site, site) && self.index == index
    }

    /// The sibling to be guessed for the entry after one of this node: itself where that was so before, else the next.
    #[inline(always)]
    pub(super) fn follower(&self) -> *mut Node {
        let next = self.next_sibling.load(Relaxed);
        if self.counted.load(Relaxed) & REPEATS != 0 { ptr::from_ref(self).cast_mut() } else { next }
    }

    /// It was entered twice in a row.
    pub(super) fn note_repeat(&self) {
        self.counted.store(self.counted.load(Relaxed) | REPEATS, Relaxed);
    }

    /// Closes the timed activation that is open. Readers that see the sums half-written see [`CLOSING`] too.
    #[inline(always)]
    pub(super) fn close(&self, ticks: u64) {
        self.open_since.set(CLOSING);
        self.ticks.add(ticks);
        self.add_timing(ticks);
        self.open_since.set(0);
    }

    /// The same under a budget, for one that stands for so many if the node is sampled.
    #[inline(always)]
    pub(super) fn close_weighted(&self, ticks: u64, stands_for: u16) {
        self.open_since.set(CLOSING);
        let counted = self.counted.load(Relaxed);
        self.untimed.add(u64::from(counted / COUNTED));
        self.counted.store(counted % COUNTED, Release);
        self.calls.add(ticks, if counted & SAMPLED != 0 { stands_for } else { 1 });
        self.add_timing(ticks);
        self.open_since.set(0);
    }

    /// Sets the open activation aside for an inner one, and gives back when it began. It is counted with the folded ones
    /// meanwhile.
    pub(super) fn set_aside(&self, now: u64) -> u64 {
        let since = self.open_since.get();
        self.open_since.set(CLOSING);
        self.folded.add(1);
        self.open_since.set(now);
        since
    }

    /// Closes the inner activation, which has the weight of one because it was not drawn, and goes on with the outer.
    pub(super) fn close_inner(&self, ticks: u64, outer_since: u64) {
        self.open_since.set(CLOSING);
        self.ticks.add(ticks);
        self.add_timing(ticks);
        self.folded.add(u64::MAX);
        self.open_since.set(outer_since);
    }

    #[inline(always)]
    pub(super) fn add_work(&self, work: Work) {
        if work.flops | work.bytes | work.tokens != 0 {
            self.flops.add(work.flops);
            self.bytes.add(work.bytes);
            self.tokens.add(work.tokens);
        }
    }

    #[inline(always)]
    fn add_timing(&self, ticks: u64) {
        self.timed.add(1);
        if ticks < self.min.get() {
            self.min.set(ticks);
        }
        self.max.raise_to(ticks);
    }

    /// Whether nothing was ever entered in it.
    #[inline(always)]
    pub(super) fn is_leaf(&self) -> bool {
        self.next_child.load(Relaxed).addr() == (&raw const NOBODY).addr()
    }

    /// Whether entries may only be counted.
    #[inline(always)]
    pub(super) fn is_sampled(&self) -> bool {
        self.counted.load(Relaxed) & SAMPLED != 0
    }

    /// Begins or ends sampling.
    pub(super) fn set_sampled(&self, sampled: bool) {
        let counted = self.counted.load(Relaxed) & !SAMPLED;
        self.counted.store(counted | if sampled { SAMPLED } else { 0 }, Relaxed);
    }

    /// Ends sampling.
    pub(super) fn time_always(&self) {
        self.set_sampled(false);
    }

    /// The mean of its timed activations, in ticks.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn mean_ticks(&self) -> f64 {
        let (exact, sample) = (self.ticks.get() as f64, self.calls.read());
        let weight = (self.timed.get() as f64 - sample.count).max(0.0) + sample.weight;
        if weight > 0.0 { (exact + sample.ticks) / weight } else { 0.0 }
    }

    /// Everything counted here, at one moment: read again while an exit falls between.
    pub(super) fn read(&self) -> Counters {
        // A writer that is never overtaken would have to exit this very node within each of these readings.
        for _ in 0..10_000 {
            if let Some(counters) = self.try_read() {
                return counters;
            }
            std::hint::spin_loop();
        }
        self.read_once(0)
    }

    fn try_read(&self) -> Option<Counters> {
        let (open, timed) = (self.open_since.get(), self.timed.get());
        if open == CLOSING {
            return None;
        }
        let counters = self.read_once(open);
        (self.open_since.get() == open && self.timed.get() == timed).then_some(counters)
    }

    fn read_once(&self, open_since: u64) -> Counters {
        let timed = self.timed.get();
        let open = u64::from(open_since != 0);
        let counted = u64::from(self.counted.load(Acquire) / COUNTED);
        Counters {
            ticks: self.ticks.get(),
            calls: self.calls.read(),
            before_entries: self.before_entries.read(),
            before_exits: self.before_exits.read(),
            tail_limit: self.tail_limit.get(),
            tails: self.tails.get(),
            timed,
            min: self.min.get(),
            max: self.max.get(),
            clean_min: self.clean_min.get(),
            clean_max: self.clean_max.get(),
            waited: self.waited.get(),
            entries: self.untimed.get() + timed + open + counted,
            open,
            open_ticks: if open_since == 0 { 0 } else { clock::now().saturating_sub(open_since) },
            reentries: self.reentries.get(),
            allocs: self.allocs.get(),
            alloc_bytes: self.alloc_bytes.get(),
            frees: self.frees.get(),
            free_bytes: self.free_bytes.get(),
            reallocs: self.reallocs.get(),
            peak: self.peak.get(),
            flops: self.flops.get(),
            bytes: self.bytes.get(),
            tokens: self.tokens.get(),
            elapsed: self.elapsed.get(),
            attached: self.attached.get(),
            folded: self.folded.get(),
            ..Counters::default()
        }
    }

    /// Forgets all that was counted, but not the structure. An activation that is open counts from `now`.
    pub(super) fn clear(&self, now: u64, live: u64) {
        self.time_always();
        self.counted.store(self.counted.load(Relaxed) % COUNTED, Relaxed);
        [&self.calls, &self.before_entries, &self.before_exits].into_iter().for_each(Sample::clear);
        self.clean_min.set(u64::MAX);
        for counter in [
            &self.untimed,
            &self.ticks,
            &self.timed,
            &self.max,
            &self.reentries,
            &self.allocs,
            &self.alloc_bytes,
            &self.frees,
            &self.free_bytes,
            &self.reallocs,
            &self.peak,
            &self.flops,
            &self.bytes,
            &self.tokens,
            &self.elapsed,
            &self.attached,
            &self.folded,
            &self.tail_limit,
            &self.tails,
            &self.clean_max,
            &self.waited,
        ] {
            counter.set(0);
        }
        self.min.set(u64::MAX);
        self.path.store(0, Relaxed);
        self.entry_live.set(live);
        self.entry_peak.set(live);
        if self.open_since.get() != 0 {
            self.open_since.set(now);
        }
        if let Some(histogram) = self.histogram() {
            histogram.clear();
        }
    }

    /// Forgets the children.
    pub(super) fn forget_children(&self) {
        self.next_child.store((&raw const NOBODY).cast::<Node>().cast_mut(), Relaxed);
        self.last_child.store(ptr::null_mut(), Relaxed);
        self.indexed_children.store(0, Relaxed);
    }

    pub(super) fn histogram(&self) -> Option<&Histogram> {
        // SAFETY: a histogram is never freed once a node points to it.
        unsafe { self.histogram.load(Acquire).as_ref() }
    }
}

/// What [`Node::next_child`] points to before there is a child: a node that no site equals, so that entering needs no
/// null check. Nothing is ever written to it.
pub(super) static NOBODY: Nobody = Nobody(Node {
    next_child: AtomicPtr::new(ptr::null_mut()),
    ..Node::new(ptr::null(), NO_INDEX, ptr::null(), u32::MAX, 0)
});

#[repr(transparent)]
pub(super) struct Nobody(Node);

// SAFETY: its pointers are null and nobody writes to it.
unsafe impl Sync for Nobody {}

/// The nodes of one thread, in the order of their making (a parent before its children), at addresses that never change.
///
/// Chunk `k` holds `FIRST << k` nodes. Memory comes from the system allocator, so that a profiled allocator never sees
/// it, and is kept for the thread that comes next.
pub(super) struct Arena {
    chunks: [AtomicPtr<Node>; CHUNKS],
    len: AtomicU32,
}

const FIRST: usize = 32;
const CHUNKS: usize = 13;
/// The most nodes a thread may have: paths beyond are counted at their parent. About 48 MiB.
pub(super) const MAX_NODES: u32 = 1 << 17;
const _: () = assert!(FIRST * ((1 << CHUNKS) - 1) > MAX_NODES as usize);

impl Arena {
    pub(super) const fn new() -> Self {
        Arena { chunks: [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS], len: AtomicU32::new(0) }
    }

    pub(super) fn len(&self) -> u32 {
        self.len.load(Acquire)
    }

    /// The node with this id, if it was made.
    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<&Node> {
        if id >= self.len() {
            return None;
        }
        let (chunk, offset) = place(id);
        // SAFETY: ids below `len` were initialised before `len` was stored, and chunks are never freed.
        unsafe { self.chunks[chunk].load(Acquire).add(offset).as_ref() }
    }

    /// Forgets all nodes but the first; their histograms are used again.
    ///
    /// # Safety
    /// Nobody may hold a reference to any of them: the owner has no scope open, and holds the registry's lock against
    /// readers.
    pub(super) unsafe fn keep_first(&self) {
        for node in (1..self.len()).filter_map(|id| self.get(id)) {
            if let Some(histogram) = NonNull::new(node.histogram.load(Relaxed)) {
                Histogram::give_back(histogram);
            }
        }
        self.len.store(self.len().min(1), Release);
    }

    /// Makes the next node; `None` when there is no room or memory. Only the owning thread calls this.
    pub(super) fn push(&self, make: impl FnOnce(u32) -> Node) -> Option<NonNull<Node>> {
        let id = self.len();
        if id >= MAX_NODES {
            return None;
        }
        let (chunk, offset) = place(id);
        if self.chunks[chunk].load(Relaxed).is_null() {
            let layout = Layout::array::<Node>(FIRST << chunk).ok()?;
            // SAFETY: the layout is not of size zero.
            let memory = unsafe { System.alloc(layout) }.cast::<Node>();
            NonNull::new(memory)?;
            self.chunks[chunk].store(memory, Release);
        }
        // SAFETY: `offset` lies within the chunk by `place`, and no reader looks at it before `len` says so.
        let node = unsafe { NonNull::new_unchecked(self.chunks[chunk].load(Relaxed).add(offset)) };
        // SAFETY: as above; the place is allocated and aligned for a node.
        unsafe { node.write(make(id)) };
        self.len.store(id + 1, Release);
        Some(node)
    }
}

fn place(id: u32) -> (usize, usize) {
    let shifted = id as usize + FIRST;
    let chunk = (shifted.ilog2() - FIRST.ilog2()) as usize;
    (chunk, shifted - (FIRST << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_fill_the_chunks_in_order() {
        let mut expected = (0, 0);
        for id in 0..10_000 {
            assert_eq!(place(id), expected);
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn arena_keeps_addresses_and_refuses_to_grow_without_bound() {
        let arena = Arena::new();
        let first = arena.push(|id| Node::new(ptr::null(), 0, ptr::null(), id, 0)).unwrap();
        for _ in 1..MAX_NODES {
            arena.push(|id| Node::new(ptr::null(), 0, ptr::null(), id, 0)).unwrap();
        }
        assert!(arena.push(|id| Node::new(ptr::null(), 0, ptr::null(), id, 0)).is_none());
        assert!(ptr::eq(arena.get(0).unwrap(), first.as_ptr()));
        assert_eq!(arena.get(MAX_NODES - 1).unwrap().id, MAX_NODES - 1);
        assert!(arena.get(MAX_NODES).is_none());
    }
}
