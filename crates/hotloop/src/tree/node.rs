//! A node of a thread's call tree, and the arena it lives in.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering::*};

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

/// One path of the call tree: a site (and index) below its parent.
///
/// Four cache lines: what an entry that is only counted needs, what one that is timed needs besides, its allocations, the
/// rest. Among work that fills the caches each line is worth some 10 ns, so nothing else may find its way into the first.
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
    /// Entries still to be counted only, before the next is timed.
    pub(super) skip: AtomicU16,
    /// What [`skip`](Self::skip) counted down from: how many entries the next timing stands for besides itself.
    pub(super) drawn: AtomicU16,
    /// One entry in about this many is timed.
    pub(super) period: AtomicU16,
    /// Whether it was ever entered twice in a row.
    pub(super) repeats: AtomicBool,

    // Its time.
    /// Entries that were only counted, but for those that [`skip`](Self::skip) has counted since the last timing. All
    /// entries are these, those timed and the one that is open: so a timed entry need not be counted when it begins.
    pub(super) untimed: Counter,
    /// When the timed activation that is open now began; 0 when none is, [`CLOSING`] while one ends.
    pub(super) open_since: Counter,
    /// Time of the closed activations; those that were only counted are in it as the timed one after them.
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
}

const _: () = assert!(size_of::<Node>() == 4 * 64, "a node is four cache lines");

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
            skip: AtomicU16::new(0),
            drawn: AtomicU16::new(0),
            period: AtomicU16::new(1),
            repeats: AtomicBool::new(false),
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
        if self.repeats.load(Relaxed) { ptr::from_ref(self).cast_mut() } else { next }
    }

    /// Closes the timed activation that is open. Readers that see the sums half-written see [`CLOSING`] too.
    #[inline(always)]
    pub(super) fn close(&self, ticks: u64) {
        self.open_since.set(CLOSING);
        self.add_timing(ticks, ticks);
        self.open_since.set(0);
    }

    /// The same for a node that is sampled: this timing stands for the entries before it that were only counted, and
    /// `next` entries will only be counted before the next.
    pub(super) fn close_sampled(&self, ticks: u64, next: u16) {
        self.open_since.set(CLOSING);
        let skipped = u64::from(self.drawn.load(Relaxed));
        self.untimed.add(skipped);
        self.add_timing(ticks, ticks.saturating_mul(1 + skipped));
        self.drawn.store(next, Relaxed);
        self.skip.store(next, Relaxed);
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
        self.add_timing(ticks, ticks);
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
    fn add_timing(&self, ticks: u64, weighted: u64) {
        self.ticks.add(weighted);
        self.timed.add(1);
        if ticks < self.min.get() {
            self.min.set(ticks);
        }
        self.max.raise_to(ticks);
    }

    /// Whether entries were, or are to be, only counted.
    #[inline(always)]
    pub(super) fn is_sampled(&self) -> bool {
        self.drawn.load(Relaxed) != 0 || self.period.load(Relaxed) > 1
    }

    /// Entries only counted since the last timing.
    fn skipped(&self) -> u64 {
        u64::from(self.drawn.load(Acquire).saturating_sub(self.skip.load(Acquire)))
    }

    /// Ends sampling.
    pub(super) fn time_always(&self) {
        self.untimed.add(self.skipped());
        self.period.store(1, Relaxed);
        self.skip.store(0, Relaxed);
        self.drawn.store(0, Relaxed);
    }

    /// Entries whose time is known or stood for.
    pub(super) fn represented(&self) -> u64 {
        self.untimed.get() + self.timed.get()
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
        let (open, skipped) = (u64::from(open_since != 0), self.skipped());
        Counters {
            ticks: self.ticks.get(),
            timed,
            min: self.min.get(),
            max: self.max.get(),
            entries: self.untimed.get() + timed + open + skipped,
            open,
            open_ticks: if open_since == 0 { 0 } else { clock::now().saturating_sub(open_since) },
            skipped,
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
/// The most nodes a thread may have: paths beyond are counted at their parent. About 40 MiB.
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
