//! One thread's tree and what belongs to it. Kept for ever; handed to the next thread when its own has ended.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};

use super::events::{DEEPEST, Nesting, Ring};
use super::grow::Lookup;
use super::interruptions::Waits;
use super::local::Local;
use super::node::{Arena, Counter, NO_INDEX, Node};
use super::registry;
use super::switch::Intervals;
use crate::site::Site;

static ROOT: Site = Site::new("", "(outside any scope)", "", 0);

/// The epoch of a tree that nothing was counted in yet.
pub(super) const FRESH: u64 = 0;
/// The epoch of a tree while its counts are being cleared.
const CLEARING: u64 = u64::MAX;

/// One thread's tree. Written by that thread; read by any under the registry's lock.
pub(super) struct Thread {
    pub(super) nodes: Arena,
    /// The epoch its counts belong to, or [`FRESH`] or [`CLEARING`].
    pub(super) epoch: AtomicU64,
    /// How much of all pauses is already taken out of the activations that are open.
    pub(super) paused_seen: AtomicU64,
    /// Exchanged only under the registry's lock.
    pub(super) ring: AtomicPtr<Ring>,
    pub(super) label: Mutex<Label>,
    /// When the budget was looked at last.
    pub(super) window_start: Counter,
    /// Ticks that it was ready to run but had no CPU; they are in no node's time.
    pub(super) waited: Counter,
    /// What finding that out took, likewise.
    pub(super) reading_waits: Counter,
    /// Entries that were only counted, but at which the clock was read.
    pub(super) readings: Counter,
    /// When it waited, for the timeline.
    pub(super) waits: Mutex<Waits>,
    /// Ticks that it was blocked, as far as interruptions tell: part of its nodes' time.
    pub(super) blocked: Counter,
    pub(super) lost: Lost,
    /// Used by the owning thread only.
    lookup: UnsafeCell<Lookup>,
    nesting: UnsafeCell<Nesting>,
    set_aside: UnsafeCell<SetAside>,
}

/// Activations that wait for one of the same node to end, and when they began. Used by the owning thread only.
type SetAside = Vec<(*const Node, u64)>;

/// What the owning thread alone knows.
pub(super) struct Owner {
    /// Whether it has a scope open, timed or not, or may refer to a node otherwise.
    pub(super) holds_nodes: bool,
    /// Its live bytes.
    pub(super) live: u64,
    /// When its first scope since a reset began.
    pub(super) first_scope_at: u64,
}

/// Who a thread is, to people.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    pub(super) id: u64,
    pub(super) name: Option<String>,
}

/// What a thread could not record as asked.
#[derive(Default)]
pub(super) struct Lost {
    /// Calls that found no room in the tree, or lay too deep below it.
    pub(super) no_room: Counter,
    /// Calls with an index beyond what its parent keeps apart.
    pub(super) indices: Counter,
    /// Scopes that ended in another order than they began.
    pub(super) unbalanced: Counter,
    /// Timings that are in no percentile, because the histograms' memory was used up.
    pub(super) histograms: Counter,
    /// Events that went with a ring of another size.
    pub(super) events: Counter,
    /// Calls beyond the depth limit whose index has no row.
    pub(super) folded_indices: Counter,
    /// Scopes that were never ended.
    pub(super) leaked: Counter,
}

impl Lost {
    fn clear(&self) {
        let Lost { no_room, indices, unbalanced, histograms, events, folded_indices, leaked } = self;
        for lost in [no_room, indices, unbalanced, histograms, events, folded_indices, leaked] {
            lost.set(0);
        }
    }
}

// SAFETY: all but `lookup`, `nesting` and `set_aside` are atomics or behind a lock, and those are touched by the owning
// thread only.
unsafe impl Sync for Thread {}
// SAFETY: as above; the pointers in it lead to memory that is never freed.
unsafe impl Send for Thread {}

impl Thread {
    /// A thread with its root node, on the heap for ever.
    pub(super) fn leak() -> Option<&'static Thread> {
        let thread = Box::leak(Box::new(Thread {
            nodes: Arena::new(),
            epoch: AtomicU64::new(FRESH),
            paused_seen: AtomicU64::new(0),
            ring: AtomicPtr::new(ptr::null_mut()),
            label: Mutex::default(),
            window_start: Counter::new(0),
            waited: Counter::new(0),
            reading_waits: Counter::new(0),
            blocked: Counter::new(0),
            readings: Counter::new(0),
            waits: Mutex::default(),
            lost: Lost::default(),
            lookup: UnsafeCell::new(Lookup::default()),
            nesting: UnsafeCell::new([0; DEEPEST + 2]),
            set_aside: UnsafeCell::new(Vec::new()),
        }));
        thread.nodes.push(|id| Node::new(&raw const ROOT, NO_INDEX, ptr::null(), id, 0))?;
        Some(thread)
    }

    pub(super) fn root(&self) -> &Node {
        self.nodes.get(0).expect("made with the thread")
    }

    /// Whether its counts cannot be read just now.
    pub(super) fn is_clearing(&self) -> bool {
        self.epoch.load(Acquire) == CLEARING
    }

    pub(super) fn all_nodes(&self) -> impl DoubleEndedIterator<Item = &Node> {
        (0..self.nodes.len()).filter_map(|id| self.nodes.get(id))
    }

    pub(super) fn ring(&self) -> Option<&Ring> {
        // SAFETY: only freed under the registry's lock, which every reader but the owner holds; the owner frees it
        // only between its own uses.
        unsafe { self.ring.load(Acquire).as_ref() }
    }

    /// The owner's index of nodes.
    ///
    /// # Safety
    /// Only the owning thread may call this, and not while it holds an earlier result.
    #[expect(clippy::mut_from_ref, reason = "one owner, one use at a time")]
    pub(super) unsafe fn lookup(&self) -> &mut Lookup {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.lookup.get() }
    }

    /// The owner's count of timed calls inside those that are open.
    ///
    /// # Safety
    /// As for [`lookup`](Self::lookup).
    #[expect(clippy::mut_from_ref, reason = "one owner, one use at a time")]
    pub(super) unsafe fn nesting(&self) -> &mut Nesting {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.nesting.get() }
    }

    /// The owner's activations that wait for an inner one of the same node.
    ///
    /// # Safety
    /// As for [`lookup`](Self::lookup).
    #[expect(clippy::mut_from_ref, reason = "one owner, one use at a time")]
    pub(super) unsafe fn set_aside(&self) -> &mut SetAside {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.set_aside.get() }
    }

    /// Brings the counts into step with a reset or pauses that happened since the thread looked last. Owner only.
    pub(super) fn catch_up(&self, epoch: u64, owner: &Owner, intervals: &Intervals) {
        let was_reset = self.epoch.load(Relaxed) != epoch;
        if was_reset {
            self.clear(intervals.reset_at, owner);
            self.paused_seen.store(intervals.paused_at_reset, Release);
        }
        let paused = intervals.paused.saturating_sub(self.paused_seen.load(Relaxed));
        if paused > 0 {
            self.take_out_of_open(paused, u64::MAX);
            self.paused_seen.store(intervals.paused, Release);
        }
        if was_reset {
            if !owner.holds_nodes {
                self.root().open_since.set(owner.first_scope_at);
            }
            self.epoch.store(epoch, Release);
        }
    }

    /// The thread waited for a CPU, and took some time to find out for how long: neither belongs to a scope. Owner only.
    pub(super) fn take_out(&self, waited: u64, finding_out: u64, now: u64) {
        self.take_out_of_open(waited + finding_out, now);
        self.waited.add(waited);
        self.reading_waits.add(finding_out);
    }

    /// The thread was blocked: that is its scopes' time, but takes no CPU that a budget could be a share of. Owner only.
    pub(super) fn add_blocked(&self, ticks: u64) {
        self.blocked.add(ticks);
        self.window_start.set(self.window_start.get().saturating_add(ticks));
    }

    /// Lets activations that are open begin later, but not later than `now`: they may have begun within that time.
    fn take_out_of_open(&self, ticks: u64, now: u64) {
        let later = |since: u64| since.saturating_add(ticks).min(now.max(since));
        let open = self.all_nodes().filter(|node| node.open_since.get() != 0);
        open.for_each(|node| node.open_since.set(later(node.open_since.get())));
        // SAFETY: this is the owning thread, and the result is not kept.
        unsafe { self.set_aside() }.iter_mut().for_each(|(_, since)| *since = later(*since));
        // The budget is a share of the time that recording was on.
        self.window_start.set(self.window_start.get().saturating_add(ticks));
    }

    /// The CPU time since this was last called, in ticks. Owner only.
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    pub(super) fn next_window(&self, now: u64) -> f64 {
        let window = now.saturating_sub(self.window_start.get());
        self.window_start.set(now);
        window as f64
    }

    /// Forgets all counts, and the paths too unless something refers to one of them.
    fn clear(&self, reset_at: u64, owner: &Owner) {
        if owner.holds_nodes {
            self.epoch.store(CLEARING, Release);
        } else {
            // Marked under the lock: a reader that holds it must not wait for a thread that waits for the lock.
            registry::with_registry(|_| {
                self.epoch.store(CLEARING, Release);
                self.forget_paths();
            });
        }
        for node in self.all_nodes() {
            node.clear(reset_at, owner.live);
        }
        // SAFETY: this is the owning thread, and the result is not kept.
        for (node, since) in unsafe { self.set_aside() } {
            *since = reset_at;
            // SAFETY: a node, which is never freed.
            unsafe { &**node }.folded.add(1);
        }
        self.lost.clear();
        self.waited.set(0);
        self.reading_waits.set(0);
        self.blocked.set(0);
        self.readings.set(0);
        // Freed quietly: a free that is charged would come here again.
        Local::with(|local| local.quietly(|| *registry::lock(&self.waits) = Waits::default()));
        if let Some(ring) = self.ring() {
            ring.forget();
        }
    }

    /// Forgets all paths but the root's. For the owner without an open scope, or anyone once it has ended; under the
    /// registry's lock.
    pub(super) fn forget_paths(&self) {
        // SAFETY: no scope is open and no reader has the lock, so nothing refers to a node.
        unsafe { self.nodes.keep_first() };
        self.root().forget_children();
        // SAFETY: the owner is here, or has ended.
        unsafe { self.lookup() }.clear();
        // SAFETY: as above.
        unsafe { self.set_aside() }.clear();
        // SAFETY: as above.
        unsafe { self.nesting() }.fill(0);
    }
}
