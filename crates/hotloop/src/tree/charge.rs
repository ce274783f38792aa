//! Charging allocations to scopes.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::*, compiler_fence};

use super::local::{Local, ancestors};
use super::mode;
use super::node::Node;

/// Allocations and frees of threads that have no tree: counts and bytes of each. Locked additions, because any thread
/// may come here.
pub(super) static OUTSIDE: Outside = Outside([const { AtomicU64::new(0) }; 5]);

/// Allocations, their bytes, frees, their bytes, reallocations.
pub(super) struct Outside([AtomicU64; 5]);

impl Outside {
    fn add(&self, amounts: [u64; 5]) {
        for (sum, amount) in self.0.iter().zip(amounts).filter(|(_, amount)| *amount > 0) {
            sum.fetch_add(amount, Relaxed);
        }
    }

    pub(super) fn get(&self) -> [u64; 5] {
        self.0.each_ref().map(|sum| sum.load(Relaxed))
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|sum| sum.store(0, Relaxed));
    }
}

impl Local {
    /// Writes down the level at which `node` begins, which is current now.
    pub(super) fn begin_peak(&self, node: &Node) {
        node.entry_live.set(self.live.get());
        node.entry_peak.set(self.peak.get());
        self.peak.set(self.live.get());
    }

    /// The innermost of the [`settled`](Self::settled) scopes has ended.
    #[inline(never)]
    pub(super) fn end_peak(&self, node: &Node) {
        self.peak.set(raise_peak(node, self.peak.get()));
        self.settled.set(node.parent);
    }

    /// Ends the settled scopes inside `node`, which stays open.
    pub(super) fn end_peaks_inside(&self, node: *const Node) {
        if ancestors(self.settled.get()).any(|above| ptr::eq(above, node)) {
            ancestors(self.settled.get()).take_while(|open| !ptr::eq(*open, node)).for_each(|open| self.end_peak(open));
        }
    }

    /// Writes down the levels at which the scopes began that were entered since something was last allocated or freed:
    /// as nothing was, that is the level of now. So a scope that allocates nothing touches none of this.
    #[cold]
    #[inline(never)]
    fn settle_slowly(&self) {
        let live = self.live.get();
        let settled = self.settled.get();
        let mut outermost = None;
        for node in ancestors(self.current.get()).take_while(|node| !ptr::eq(*node, settled)) {
            node.entry_live.set(live);
            node.entry_peak.set(live);
            outermost = Some(node);
        }
        if let Some(outermost) = outermost {
            outermost.entry_peak.set(self.peak.get());
            self.peak.set(live);
        }
        self.settled.set(self.current.get());
    }

    /// Before something is allocated or freed.
    #[inline(always)]
    pub(super) fn settle(&self) {
        if !ptr::eq(self.settled.get(), self.current.get()) {
            self.settle_slowly();
        }
    }

    /// Lets the scopes that are open count their peaks from now, when allocations begin to be counted.
    pub(super) fn restart_peaks(&self) {
        self.peak.set(self.live.get());
        self.settled.set(self.current.get());
        for node in ancestors(self.current.get()) {
            node.entry_live.set(self.live.get());
            node.entry_peak.set(self.live.get());
        }
    }

    /// Writes the peaks of the scopes that are still open on this thread, for a snapshot that this thread takes.
    pub(super) fn publish_peaks(&self) {
        self.settle();
        let mut peak = self.peak.get();
        for node in ancestors(self.current.get()) {
            peak = raise_peak(node, peak);
        }
    }

    #[inline(always)]
    pub(crate) fn charge_alloc(&self, flags: u64, bytes: u64) {
        let Some(node) = self.payer(flags, true) else { return self.charge_outside(flags, [1, bytes, 0, 0, 0]) };
        node.allocs.add(1);
        node.alloc_bytes.add(bytes);
        self.grow_live(bytes);
    }

    #[inline(always)]
    pub(crate) fn charge_free(&self, flags: u64, bytes: u64) {
        let Some(node) = self.payer(flags, false) else { return self.charge_outside(flags, [0, 0, 1, bytes, 0]) };
        node.frees.add(1);
        node.free_bytes.add(bytes);
        self.live.set(self.live.get().wrapping_sub(bytes));
    }

    /// A reallocation is charged for the difference: growth as allocated bytes, shrinkage as freed ones.
    #[inline(always)]
    pub(crate) fn charge_realloc(&self, flags: u64, old: u64, new: u64) {
        let Some(node) = self.payer(flags, true) else {
            return self.charge_outside(flags, [0, new.saturating_sub(old), 0, old.saturating_sub(new), 1]);
        };
        node.reallocs.add(1);
        if new >= old {
            node.alloc_bytes.add(new - old);
            self.grow_live(new - old);
        } else {
            node.free_bytes.add(old - new);
            self.live.set(self.live.get().wrapping_sub(old - new));
        }
    }

    #[inline(always)]
    fn grow_live(&self, bytes: u64) {
        let live = self.live.get().wrapping_add(bytes);
        self.live.set(live);
        if live.wrapping_sub(self.peak.get()).cast_signed() > 0 {
            self.peak.set(live);
        }
    }

    /// The node that pays for an allocation now.
    #[inline(always)]
    fn payer(&self, flags: u64, is_new: bool) -> Option<&Node> {
        if self.seen.get() == flags {
            self.settle();
            // SAFETY: in step means registered, so `current` is a node, and nodes are never freed.
            return Some(unsafe { &*self.current.get() });
        }
        self.payer_slowly(flags, is_new)
    }

    #[cold]
    #[inline(never)]
    fn payer_slowly(&self, flags: u64, is_new: bool) -> Option<&Node> {
        if self.busy.get() {
            return None;
        }
        if flags & mode::WATCH != 0 && is_new {
            self.watched.set(self.watched.get() + 1);
        }
        // A thread that never opened a scope is not registered from within an allocator: that would allocate.
        if flags & mode::ALLOCATIONS == 0 || self.thread().is_none() || !self.fall_in_step(flags) {
            return None;
        }
        self.settle();
        // SAFETY: in step means registered, so `current` is a node, which is never freed.
        unsafe { self.current.get().as_ref() }
    }

    /// A thread without a tree, as every thread is before its first scope, pays into a common account.
    #[cold]
    #[inline(never)]
    fn charge_outside(&self, flags: u64, account: [u64; 5]) {
        if !self.busy.get() && flags & mode::ALLOCATIONS != 0 {
            OUTSIDE.add(account);
        }
    }

    /// Allocations and reallocations on this thread while [`mode::WATCH`] was set.
    pub(crate) fn watched(&self) -> u64 {
        // The compiler takes it that an allocation writes no memory of the program, and would read this only once.
        compiler_fence(SeqCst);
        let watched = self.watched.get();
        compiler_fence(SeqCst);
        watched
    }
}

/// Raises a node's peak to what was live at most while it was open, and returns what that makes for the node around it.
#[inline(always)]
fn raise_peak(node: &Node, peak: u64) -> u64 {
    let above_entry = peak.wrapping_sub(node.entry_live.get()).cast_signed();
    node.peak.raise_to(above_entry.max(0).cast_unsigned());
    higher(peak, node.entry_peak.get())
}

/// The higher of two levels of live bytes, which wrap below zero when a thread frees what others allocated.
fn higher(a: u64, b: u64) -> u64 {
    if a.wrapping_sub(b).cast_signed() >= 0 { a } else { b }
}
