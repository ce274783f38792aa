//! What a thread knows of itself, and how it falls in step with what all threads are to record.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::*, compiler_fence};

use super::events::{self, BURST, MAX_STRETCH, Ring};
use super::fork;
use super::hot::flags_now;
use super::interruptions::{NEVER, WaitState};
use super::mode;
use super::node::Node;
use super::registry;
use super::switch;
use super::thread::{Owner, Thread};
use crate::clock;

/// What a thread knows of itself. Constant initial value and no destructor, so that reaching it is one instruction
/// and works while a thread starts, ends and allocates. What every scope and allocation touches comes first and shares
/// a cache line.
#[repr(C, align(64))]
pub(crate) struct Local {
    /// The innermost open scope; null before the thread is registered.
    pub(super) current: Cell<*const Node>,
    /// The innermost open scope whose level of live bytes at its beginning is written down. Something was allocated or freed
    /// since it began, and nothing since the scopes inside it did.
    pub(super) settled: Cell<*const Node>,
    /// The value of [`FLAGS`](super::FLAGS) this thread is in step with.
    pub(super) seen: Cell<u64>,
    /// Zero once the kernel took the CPU from this thread: see [`is_interrupted`](Local::is_interrupted).
    pub(super) interrupted: Cell<*const AtomicU64>,
    /// What the budget lets this thread time.
    pub(super) sampling: Sampling,
    /// Bytes allocated less bytes freed on this thread, and the most since the innermost settled scope began.
    pub(super) live: Cell<u64>,
    pub(super) peak: Cell<u64>,
    /// The thread's ring, where events are recorded.
    pub(super) ring: Cell<*const Ring>,
    /// When this thread read the clock last for a scope, and where it was then; while there is a budget.
    pub(super) last_reading: Cell<u64>,
    pub(super) last_node: Cell<*const Node>,
    /// How much of all pauses, and of this thread's own waiting, is taken out of what it records.
    pub(super) paused: Cell<u64>,
    thread: Cell<*const Thread>,
    pub(super) waiting: Cell<WaitState>,
    /// The profiler itself is at work on this thread: nothing is recorded.
    pub(super) busy: Cell<bool>,
    /// The thread is ending: its tree was handed over.
    ended: Cell<bool>,
    /// Allocations counted for an assertion.
    pub(super) watched: Cell<u64>,
    random: Cell<u32>,
    /// The link this thread attached to last, and its node.
    linked: Cell<(u64, *const Node)>,
    /// The modes, generation and epoch this thread has put into effect; 0 when it has to look again.
    in_effect: Cell<u64>,
    /// Attachments that were not undone yet.
    pub(super) attachments: Cell<u32>,
    /// Ticks spent in attachments that were undone, since the outermost one that was not.
    pub(super) away: Cell<u64>,
    /// [`away`](Self::away) at the last reset.
    pub(super) away_at_reset: Cell<u64>,
    /// Scopes have ended out of order, so some may still be held though `current` says otherwise.
    pub(super) loose: Cell<bool>,
}

/// Which entries of sampled scopes a thread times: so many are only counted, then a few in a row are timed.
///
/// In a row, so that the time between two calls is known too; and by the thread, not by the scope, so that what is
/// timed does not depend on what scopes do.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Sampling {
    /// Entries still to be counted only.
    pub(super) countdown: Cell<u32>,
    /// The value of [`countdown`](Self::countdown) when the clock was read last: the same means that nothing was entered
    /// uncounted since.
    pub(super) last_countdown: Cell<u32>,
    /// Entries still to read the clock at before some are only counted again.
    pub(super) burst: Cell<u16>,
    /// The entries that a timed one stands for now, itself included.
    pub(super) stands_for: Cell<u16>,
    /// One more than the entries that are only counted between bursts, on average; 0: every entry is timed.
    pub(super) stretch: Cell<u16>,
    /// 1 if the clock was read last at the entry of a call that was then only counted.
    pub(super) unfinished: Cell<u8>,
    /// How long the call took that was timed last.
    pub(super) pace: Cell<u64>,
    /// Entries that were only counted, but at which the clock was read, since the thread was told of them.
    pub(super) readings: Cell<u64>,
    /// Entries counted only, or to be so until [`countdown`](Self::countdown) ends, since they were last taken.
    pub(super) counted: Cell<u64>,
}

impl Sampling {
    const fn new() -> Self {
        Sampling {
            countdown: Cell::new(0),
            last_countdown: Cell::new(0),
            burst: Cell::new(BURST),
            stands_for: Cell::new(1),
            stretch: Cell::new(0),
            unfinished: Cell::new(0),
            pace: Cell::new(0),
            readings: Cell::new(0),
            counted: Cell::new(0),
        }
    }

    /// What it is, and from now on every entry is timed.
    pub(super) fn take(&self) -> Sampling {
        let taken = Sampling::new();
        taken.put_back(self);
        self.time_everything();
        taken
    }

    /// Becomes as `other` is.
    pub(super) fn put_back(&self, other: &Sampling) {
        self.countdown.set(other.countdown.get());
        self.last_countdown.set(other.last_countdown.get());
        self.burst.set(other.burst.get());
        self.stands_for.set(other.stands_for.get());
        self.stretch.set(other.stretch.get());
        self.readings.set(other.readings.get());
        self.unfinished.set(other.unfinished.get());
        self.pace.set(other.pace.get());
        self.counted.set(other.counted.get());
    }

    /// Every entry is timed from now on.
    pub(super) fn time_everything(&self) {
        self.countdown.set(0);
        self.burst.set(BURST);
        self.stands_for.set(1);
        self.stretch.set(0);
        self.counted.set(0);
    }

    /// The entries counted only since this was last called.
    pub(super) fn take_counted(&self) -> f64 {
        let left = u64::from(self.countdown.get());
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let counted = self.counted.get().saturating_sub(left) as f64;
        self.counted.set(left);
        counted
    }

    /// What a timed entry stands for on average.
    pub(super) fn mean_weight(&self) -> u64 {
        u64::from(self.stretch.get()) + 1
    }

    /// Times this share of all entries from the next stretch on; at most four times as many or as few as before, because
    /// a burst of calls is not a habit.
    pub(super) fn set_stretch(&self, share: f64) {
        let before = f64::from(self.stretch.get()) + 1.0;
        let entries = (1.0 / share.clamp(1e-6, 1.0)).clamp(before / 4.0, before * 4.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        match (entries.round() as u16).clamp(1, MAX_STRETCH) {
            1 => {
                let counted = self.counted.get();
                self.time_everything();
                self.counted.set(counted);
            }
            // At least one is only counted on average, or there would be nothing to draw.
            entries => self.stretch.set(entries.max(3) - 1),
        }
    }
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            current: Cell::new(ptr::null()),
            settled: Cell::new(ptr::null()),
            seen: Cell::new(0),
            interrupted: Cell::new(&raw const NEVER),
            sampling: Sampling::new(),
            last_reading: Cell::new(0),
            last_node: Cell::new(ptr::null()),
            waiting: Cell::new(WaitState::NONE),
            live: Cell::new(0),
            peak: Cell::new(0),
            thread: Cell::new(ptr::null()),
            ring: Cell::new(ptr::null()),
            busy: Cell::new(false),
            ended: Cell::new(false),
            watched: Cell::new(0),
            random: Cell::new(0x9e37_79b9),
            linked: Cell::new((0, ptr::null())),
            in_effect: Cell::new(0),
            paused: Cell::new(0),
            attachments: Cell::new(0),
            away: Cell::new(0),
            away_at_reset: Cell::new(0),
            loose: Cell::new(false),
        }
    };
    /// Its destructor hands the thread's tree to the registry.
    static THREAD_EXIT: ThreadExit = const { ThreadExit };
}

struct ThreadExit;

impl Drop for ThreadExit {
    fn drop(&mut self) {
        Local::with(Local::retire);
    }
}

/// Scopes opened while their thread was being torn down: nothing could take them.
pub(super) static AFTER_END: AtomicU64 = AtomicU64::new(0);

impl Local {
    #[inline(always)]
    pub(crate) fn with<R>(f: impl FnOnce(&Local) -> R) -> R {
        // Two steps, because the compiler does not inline `with` around a large closure.
        let local = LOCAL.with(ptr::from_ref);
        // SAFETY: this thread's, which has no destructor and so lives as long as the thread runs code.
        f(unsafe { &*local })
    }

    pub(super) fn thread(&self) -> Option<&'static Thread> {
        // SAFETY: null or a thread's record, which is never freed.
        unsafe { self.thread.get().as_ref() }
    }

    pub(super) fn current_node(&self) -> Option<&'static Node> {
        // SAFETY: null or a node, which is never freed.
        unsafe { self.current.get().as_ref() }
    }

    /// Makes a node current that is not just entered or left.
    pub(super) fn set_current(&self, node: *const Node) {
        self.settle();
        self.current.set(node);
        self.settled.set(node);
    }

    /// Makes a node current that was so before something else was made so.
    pub(super) fn go_back_to(&self, node: *const Node) {
        self.current.set(node);
        self.settled.set(node);
    }

    /// The same, also while allocations are watched.
    pub(super) fn is_in_effect(&self, flags: u64) -> bool {
        self.in_effect.get() == flags & !mode::WATCH
    }

    pub(super) fn is_in_step(&self, flags: u64) -> bool {
        self.seen.get() == flags
    }

    /// The node of the link this thread attached to last, if it is this one.
    pub(super) fn linked(&self, link: u64) -> Option<&'static Node> {
        let (last, node) = self.linked.get();
        // SAFETY: null or a node, which is never freed.
        if last == link { unsafe { node.as_ref() } } else { None }
    }

    pub(super) fn remember_link(&self, link: u64, node: &'static Node) {
        self.linked.set((link, node));
    }

    /// Scopes or attachments end in another order than they began: some may still be held that have ended.
    pub(super) fn note_disorder(&self) {
        self.loose.set(true);
        if let Some(thread) = self.thread() {
            thread.lost.unbalanced.add(1);
        }
    }

    /// A call has an index that is not one to keep apart.
    pub(super) fn note_other_index(&self) {
        if let Some(thread) = self.thread() {
            thread.lost.indices.add(1);
        }
    }

    /// Whether something may still refer to a node: then no path may be forgotten.
    fn holds_nodes(&self, thread: &Thread) -> bool {
        !ptr::eq(self.current.get(), thread.root()) || self.attachments.get() > 0 || self.loose.get()
    }

    /// Puts another thread's record in place of this thread's, and gives back what was there.
    pub(super) fn exchange(&self, other: Standing) -> Standing {
        Standing {
            thread: self.thread.replace(other.thread),
            current: self.current.replace(other.current),
            settled: self.settled.replace(other.settled),
            seen: self.seen.replace(other.seen),
            ring: self.ring.replace(other.ring),
        }
    }

    /// Does the profiler's own work: nothing it opens or allocates is recorded.
    pub(super) fn quietly<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Undoes it, also when `work` panics.
        struct Quiet<'a>(&'a Local, u64, bool);
        impl Drop for Quiet<'_> {
            fn drop(&mut self) {
                compiler_fence(SeqCst);
                self.0.seen.set(self.1);
                self.0.busy.set(self.2);
            }
        }
        // Out of step, so that scopes and allocations come to the slow paths, which look at `busy`.
        let _quiet = Quiet(self, self.seen.replace(0), self.busy.replace(true));
        // The compiler takes it that an allocation reads no memory of the program, and would drop these stores.
        compiler_fence(SeqCst);
        work()
    }

    /// Brings this thread into step with [`FLAGS`](super::FLAGS): registers it, clears its tree after a reset, takes
    /// pauses out of the scopes that are open. `false`: nothing can be recorded now.
    #[cold]
    #[inline(never)]
    pub(super) fn fall_in_step(&self, flags: u64) -> bool {
        self.fall_in_step_at(flags, clock::now())
    }

    /// The same for a thread whose first scope, if it has none open, counts as opened at `first_scope_at`.
    pub(super) fn fall_in_step_at(&self, flags: u64, first_scope_at: u64) -> bool {
        if self.busy.get() || (self.thread().is_none() && !self.register()) {
            return false;
        }
        let Some(thread) = self.thread() else { return false };
        if self.in_effect.get() != flags & !mode::WATCH {
            self.put_into_effect(thread, flags, first_scope_at);
        }
        // Stay out of step while stopped, because a pause is going on, and while allocations are watched: then all
        // that happens has to come to the slow paths.
        let in_step = flags & (mode::STARTED | mode::WATCH) == mode::STARTED;
        self.seen.set(if in_step { flags } else { 0 });
        true
    }

    fn put_into_effect(&self, thread: &'static Thread, flags: u64, first_scope_at: u64) {
        let was_reset = thread.epoch.load(Relaxed) != flags >> 32;
        if was_reset {
            // A reset may forget the paths, and this one with them.
            self.linked.set((0, ptr::null()));
            self.away_at_reset.set(self.away.get());
        }
        self.watch_interruptions();
        let owner = Owner { holds_nodes: self.holds_nodes(thread), live: self.live.get(), first_scope_at };
        thread.catch_up(flags >> 32, &owner, &switch::intervals());
        self.paused.set(thread.paused_seen.load(Relaxed) + thread.waited.get() + thread.reading_waits.get());
        self.last_node.set(ptr::null());
        if flags & mode::EVENTS != 0 {
            events::fit_ring(self, thread, switch::ring_capacity(), flags);
            self.ring.set(thread.ring.load(Relaxed));
        }
        if flags & mode::TIMELINE != 0 {
            self.quietly(|| registry::lock(&thread.waits).reserve());
        }
        if flags & mode::BUDGET == 0 {
            thread.all_nodes().for_each(Node::time_always);
            self.sampling.time_everything();
        }
        if flags & mode::ALLOCATIONS != 0 && (was_reset || self.in_effect.get() & mode::ALLOCATIONS == 0) {
            self.restart_peaks();
        }
        self.in_effect.set(if flags & mode::STARTED != 0 { flags & !mode::WATCH } else { 0 });
    }

    /// This thread's record, made if need be.
    pub(super) fn registered(&self) -> Option<&'static Thread> {
        if self.thread().is_none() && !self.busy.get() {
            self.register();
        }
        self.thread()
    }

    fn register(&self) -> bool {
        if !fork::may_lock() {
            return false;
        }
        if self.ended.get() || THREAD_EXIT.try_with(|_| ()).is_err() {
            AFTER_END.fetch_add(1, Relaxed);
            return false;
        }
        let Some(thread) = self.quietly(registry::adopt) else { return false };
        self.random.set(self.random.get() ^ (ptr::from_ref(thread).addr() >> 4) as u32 | 1);
        self.thread.set(thread);
        self.current.set(thread.root());
        self.settled.set(thread.root());
        true
    }

    fn retire(&self) {
        self.ended.set(true);
        let Some(thread) = self.thread() else { return };
        self.fall_in_step(flags_now());
        self.publish_peaks();
        self.note_interruptions();
        self.quietly(|| registry::retire(thread));
        self.leave_tree();
    }

    /// Leaves the tree behind unread, in a child of `fork`: what is open there finds nothing to close.
    #[cfg(all(feature = "enabled", unix, not(miri)))]
    pub(super) fn abandon(&self) {
        self.ended.set(true);
        self.leave_tree();
    }

    fn leave_tree(&self) {
        self.unwatch_interruptions();
        self.thread.set(ptr::null());
        self.current.set(ptr::null());
        self.settled.set(ptr::null());
        self.seen.set(0);
        self.linked.set((0, ptr::null()));
        self.ring.set(ptr::null());
        self.in_effect.set(0);
    }

    /// A pseudo-random number, for sampling without resonance.
    pub(super) fn draw(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        x
    }
}

/// Which tree a thread writes to; see [`Local::exchange`].
pub(super) struct Standing {
    pub(super) thread: *const Thread,
    pub(super) current: *const Node,
    pub(super) settled: *const Node,
    pub(super) seen: u64,
    pub(super) ring: *const Ring,
}

/// A node, its parent, and so on up to the root.
pub(super) fn ancestors<'a>(node: *const Node) -> impl Iterator<Item = &'a Node> {
    // SAFETY: null above the root, otherwise a node, which is never freed.
    let next = |node: *const Node| unsafe { node.as_ref() };
    std::iter::successors(next(node), move |node| next(node.parent))
}
