//! What a thread knows of itself, and the hot path: entering and leaving a scope, charging an allocation.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::events;
use super::grow::{Place, find_child};
use super::node::Node;
use super::registry;
use super::thread::Thread;
use super::{FLAGS, mode};
use crate::clock;
use crate::site::Site;

/// What a thread knows of itself. Constant initial value and no destructor, so that reaching it is one instruction
/// and works while a thread starts, ends and allocates.
pub(crate) struct Local {
    /// The innermost open scope; null before the thread is registered.
    current: Cell<*const Node>,
    /// The value of [`FLAGS`] this thread is in step with.
    seen: Cell<u64>,
    /// Bytes allocated less bytes freed on this thread, and the most since the innermost open scope began.
    live: Cell<u64>,
    peak: Cell<u64>,
    thread: Cell<*const Thread>,
    /// The profiler itself is at work on this thread: nothing is recorded.
    busy: Cell<bool>,
    /// The thread is ending: its tree was handed over.
    ended: Cell<bool>,
    /// Allocations counted for an assertion.
    watched: Cell<u64>,
    random: Cell<u32>,
    /// The path this thread attached to last, and its node.
    linked: Cell<(u32, *const Node)>,
}

thread_local! {
    static LOCAL: Local = const {
        Local {
            current: Cell::new(ptr::null()),
            seen: Cell::new(0),
            live: Cell::new(0),
            peak: Cell::new(0),
            thread: Cell::new(ptr::null()),
            busy: Cell::new(false),
            ended: Cell::new(false),
            watched: Cell::new(0),
            random: Cell::new(0x9e37_79b9),
            linked: Cell::new((0, ptr::null())),
        }
    };
    /// Its destructor hands the thread's tree to the registry.
    static FAREWELL: Farewell = const { Farewell };
}

struct Farewell;

impl Drop for Farewell {
    fn drop(&mut self) {
        Local::with(Local::retire);
    }
}

/// Scopes opened while their thread was being torn down: nothing could take them.
pub(super) static AFTER_END: AtomicU64 = AtomicU64::new(0);

/// Allocations and frees of threads that have no tree: counts and bytes of each. Locked additions, because any thread
/// may come here.
pub(super) static OUTSIDE: Outside = Outside([const { AtomicU64::new(0) }; 4]);

pub(super) struct Outside([AtomicU64; 4]);

impl Outside {
    fn add(&self, amounts: [u64; 4]) {
        for (sum, amount) in self.0.iter().zip(amounts).filter(|(_, amount)| *amount > 0) {
            sum.fetch_add(amount, Relaxed);
        }
    }

    pub(super) fn get(&self) -> [u64; 4] {
        self.0.each_ref().map(|sum| sum.load(Relaxed))
    }

    pub(super) fn clear(&self) {
        self.0.iter().for_each(|sum| sum.store(0, Relaxed));
    }
}

/// An entered scope: the address of its node, and in the low bits how it has to be left. 0: not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

/// A token and what was current before. Its node knows its parent too, but a scope that keeps it at hand spares the
/// chain of loads from one scope to the next: a fifth of the cost of counting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entered {
    pub(crate) token: Token,
    parent: *const Node,
}

impl Entered {
    pub(crate) const NOTHING: Entered = Entered { token: Token::NONE, parent: ptr::null() };

    #[inline(always)]
    fn new(node: &Node, parent: &Node, how: u64) -> Entered {
        Entered { token: Token(ptr::from_ref(node).expose_provenance() as u64 | how), parent }
    }

    /// From a token alone, as it comes back from C.
    pub(crate) fn from_token(token: Token) -> Entered {
        if token == Token::NONE { Entered::NOTHING } else { Entered { token, parent: token.node().parent } }
    }
}

impl Token {
    pub(crate) const NONE: Token = Token(0);
    /// Counted, not timed.
    const UNTIMED: u64 = 1;
    /// Counted with an activation that is already open.
    const FOLDED: u64 = 2;

    #[inline(always)]
    fn node<'a>(self) -> &'a Node {
        let address = (self.0 & !63) as usize;
        // SAFETY: a token other than NONE is made from a node's address, and nodes are never freed. Tokens that went
        // through C are trusted as far as `hotloop_exit` documents.
        unsafe { &*ptr::with_exposed_provenance(address) }
    }

    /// Adds declared work; the token must not be NONE.
    #[inline(always)]
    pub(crate) fn add_work(self, flops: u64, bytes: u64, tokens: u64) {
        let node = self.node();
        node.flops.add(flops);
        node.bytes.add(bytes);
        node.tokens.add(tokens);
    }

    /// Adds time between the first poll and the last; the token must not be NONE.
    #[inline(always)]
    pub(crate) fn add_elapsed(self, ticks: u64) {
        self.node().elapsed.add(ticks);
    }

    /// This entry was not a call of its own; the token must not be NONE.
    #[inline(always)]
    pub(crate) fn mark_reentry(self) {
        self.node().reentries.add(1);
    }
}

#[inline(always)]
pub(crate) fn flags_now() -> u64 {
    FLAGS.load(Relaxed)
}

/// Enters a scope; `flags` is what [`flags_now`] said, and says that the profiler is started.
///
/// Not inlined, nor is [`exit`]: a call hides behind the clock's latency, and a scope stays two calls in the code.
#[inline(never)]
pub(crate) fn enter(flags: u64, site: &'static Site, index: u64) -> Entered {
    Local::with(|local| local.enter(flags, site, index))
}

/// Leaves a scope that [`enter`] entered on this thread; not for [`Entered::NOTHING`].
#[inline(never)]
pub(crate) fn exit(entered: Entered) {
    Local::with(|local| local.exit(flags_now(), entered));
}

impl Local {
    #[inline(always)]
    pub(crate) fn with<R>(f: impl FnOnce(&Local) -> R) -> R {
        // Two steps, because the compiler does not inline `with` around a large closure.
        let local = LOCAL.with(ptr::from_ref);
        // SAFETY: this thread's, which has no destructor and so lives as long as the thread runs code.
        f(unsafe { &*local })
    }

    #[inline(always)]
    pub(super) fn enter(&self, flags: u64, site: &'static Site, index: u64) -> Entered {
        if self.seen.get() != flags && !self.fall_in_step(flags) {
            return Entered::NOTHING;
        }
        // SAFETY: in step means registered, so `current` is a node, and nodes are never freed.
        let parent = unsafe { &*self.current.get() };
        // SAFETY: `hot_child` is a node or NOBODY, never null, never freed.
        let hot = unsafe { &*parent.hot_child.load(Relaxed) };
        let node = if hot.is(site, index) {
            hot
        } else {
            match find_child(self, parent, site, index) {
                Place::Node(node) => node,
                Place::Folded(node) => return Entered::new(node, parent, Token::FOLDED),
            }
        };
        self.open(flags, node, parent)
    }

    #[inline(always)]
    fn open(&self, flags: u64, node: &Node, parent: &Node) -> Entered {
        node.entries.add(1);
        self.current.set(node);
        if flags & mode::ALLOCATIONS != 0 {
            self.begin_peak(node);
        }
        let skip = node.skip.load(Relaxed);
        if skip != 0 {
            node.skip.store(skip - 1, Relaxed);
            return Entered::new(node, parent, Token::UNTIMED);
        }
        node.open_since.set(clock::now());
        Entered::new(node, parent, 0)
    }

    #[inline(always)]
    pub(super) fn exit(&self, flags: u64, entered: Entered) {
        let node = entered.token.node();
        if entered.token.0 & (Token::UNTIMED | Token::FOLDED) != 0 {
            return self.exit_untimed(flags, entered);
        }
        let end = clock::now();
        if self.seen.get() != flags || !ptr::eq(self.current.get(), node) {
            return self.exit_slowly(flags, node, end);
        }
        let start = node.open_since.get();
        let ticks = end.saturating_sub(start);
        node.close(ticks);
        self.current.set(entered.parent);
        if flags & (mode::EVENTS | mode::ALLOCATIONS) != 0 {
            self.after_exit(flags, node, start, ticks);
        }
    }

    #[inline(never)]
    fn after_exit(&self, flags: u64, node: &Node, start: u64, ticks: u64) {
        if flags & mode::ALLOCATIONS != 0 {
            self.end_peak(node);
        }
        if flags & mode::EVENTS != 0
            && let Some(thread) = self.thread()
        {
            events::record(self, thread, flags, &events::Exit { node, start, ticks });
        }
    }

    #[inline(always)]
    fn exit_untimed(&self, flags: u64, entered: Entered) {
        if entered.token.0 & Token::FOLDED != 0 {
            return;
        }
        let node = entered.token.node();
        if !ptr::eq(self.current.get(), node) {
            return self.unwind_to(node, clock::now());
        }
        self.current.set(entered.parent);
        if flags & mode::ALLOCATIONS != 0 {
            self.end_peak(node);
        }
    }

    /// The profiler was stopped, started or reset since this thread looked last, or scopes end out of order.
    #[cold]
    #[inline(never)]
    fn exit_slowly(&self, flags: u64, node: &Node, end: u64) {
        if self.seen.get() != flags && !self.fall_in_step(flags) {
            return;
        }
        if !ptr::eq(self.current.get(), node) {
            return self.unwind_to(node, end);
        }
        // While stopped, falling in step has moved the start by the pause so far, which ended after `end` was read.
        node.close(end.saturating_sub(node.open_since.get()));
        self.current.set(node.parent);
        if flags & mode::ALLOCATIONS != 0 {
            self.end_peak(node);
        }
    }

    /// `node` ends though scopes opened inside it have not: they end with it, and their own ends find nothing to do.
    #[cold]
    #[inline(never)]
    fn unwind_to(&self, node: &Node, end: u64) {
        let Some(thread) = self.thread() else { return };
        thread.lost.unbalanced.add(1);
        let current = self.current.get();
        if !ancestors(current).any(|above| ptr::eq(above, node)) {
            return;
        }
        for open in ancestors(current) {
            let since = open.open_since.get();
            if since != 0 {
                open.close(end.saturating_sub(since));
            }
            if ptr::eq(open, node) {
                break;
            }
        }
        self.current.set(node.parent);
    }

    #[inline(always)]
    fn begin_peak(&self, node: &Node) {
        node.entry_live.set(self.live.get());
        node.entry_peak.set(self.peak.get());
        self.peak.set(self.live.get());
    }

    #[inline(always)]
    fn end_peak(&self, node: &Node) {
        let above_entry = (self.peak.get().wrapping_sub(node.entry_live.get())).cast_signed();
        node.peak.raise_to(above_entry.max(0).cast_unsigned());
        self.peak.set(higher(self.peak.get(), node.entry_peak.get()));
    }

    /// Writes the peaks of the scopes that are still open on this thread, for a snapshot that this thread takes.
    pub(super) fn publish_peaks(&self) {
        let mut peak = self.peak.get();
        for node in ancestors(self.current.get()) {
            let above_entry = peak.wrapping_sub(node.entry_live.get()).cast_signed();
            node.peak.raise_to(above_entry.max(0).cast_unsigned());
            peak = higher(peak, node.entry_peak.get());
        }
    }

    #[inline(always)]
    pub(crate) fn charge_alloc(&self, flags: u64, bytes: u64) {
        let Some(node) = self.payer(flags, true) else { return self.charge_outside(flags, [1, bytes, 0, 0]) };
        node.allocs.add(1);
        node.alloc_bytes.add(bytes);
        self.grow_live(bytes);
    }

    #[inline(always)]
    pub(crate) fn charge_free(&self, flags: u64, bytes: u64) {
        let Some(node) = self.payer(flags, false) else { return self.charge_outside(flags, [0, 0, 1, bytes]) };
        node.frees.add(1);
        node.free_bytes.add(bytes);
        self.live.set(self.live.get().wrapping_sub(bytes));
    }

    /// A reallocation is charged for the difference: growth as allocated bytes, shrinkage as freed ones.
    #[inline(always)]
    pub(crate) fn charge_realloc(&self, flags: u64, old: u64, new: u64) {
        let Some(node) = self.payer(flags, true) else {
            return self.charge_outside(flags, [0, new.saturating_sub(old), 0, old.saturating_sub(new)]);
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
        // SAFETY: in step means registered, so `current` is a node, which is never freed.
        unsafe { self.current.get().as_ref() }
    }

    /// A thread without a tree, as every thread is before its first scope, pays into a common account.
    #[cold]
    #[inline(never)]
    fn charge_outside(&self, flags: u64, account: [u64; 4]) {
        if !self.busy.get() && flags & mode::ALLOCATIONS != 0 {
            OUTSIDE.add(account);
        }
    }

    /// Allocations and reallocations on this thread while [`mode::WATCH`] was set.
    pub(crate) fn watched(&self) -> u64 {
        self.watched.get()
    }

    pub(super) fn thread(&self) -> Option<&'static Thread> {
        // SAFETY: null or a thread's record, which is never freed.
        unsafe { self.thread.get().as_ref() }
    }

    pub(super) fn current_node(&self) -> Option<&'static Node> {
        // SAFETY: null or a node, which is never freed.
        unsafe { self.current.get().as_ref() }
    }

    pub(super) fn set_current(&self, node: *const Node) {
        self.current.set(node);
    }

    pub(super) fn is_in_step(&self, flags: u64) -> bool {
        self.seen.get() == flags
    }

    /// The node of the path this thread attached to last, if it is this one.
    pub(super) fn linked(&self, path: u32) -> Option<&'static Node> {
        let (last, node) = self.linked.get();
        // SAFETY: null or a node, which is never freed.
        if last == path { unsafe { node.as_ref() } } else { None }
    }

    pub(super) fn link(&self, path: u32, node: &'static Node) -> Option<&'static Node> {
        self.linked.set((path, node));
        Some(node)
    }

    /// Puts another thread's record in place of this thread's, and gives back what was there.
    pub(super) fn exchange(&self, other: Standing) -> Standing {
        Standing {
            thread: self.thread.replace(other.thread),
            current: self.current.replace(other.current),
            seen: self.seen.replace(other.seen),
        }
    }

    /// Does the profiler's own work: nothing it opens or allocates is recorded.
    pub(super) fn quietly<R>(&self, work: impl FnOnce() -> R) -> R {
        // Out of step, so that scopes and allocations come to the slow paths, which look at `busy`.
        let (seen, busy) = (self.seen.replace(0), self.busy.replace(true));
        let result = work();
        self.seen.set(seen);
        self.busy.set(busy);
        result
    }

    /// Brings this thread into step with [`FLAGS`]: registers it, clears its tree after a reset, takes pauses out of
    /// the scopes that are open. `false`: nothing can be recorded now.
    #[cold]
    #[inline(never)]
    pub(super) fn fall_in_step(&self, flags: u64) -> bool {
        if self.busy.get() || (self.thread().is_none() && !self.register()) {
            return false;
        }
        let Some(thread) = self.thread() else { return false };
        let intervals = registry::intervals();
        thread.catch_up(flags >> 32, self.live.get(), &intervals);
        if flags & mode::EVENTS != 0 {
            events::fit_ring(self, thread);
        }
        if flags & mode::BUDGET == 0 {
            thread.all_nodes().for_each(Node::time_always);
        }
        // Stay out of step while stopped, because a pause is going on, and while allocations are watched: then all
        // that happens has to come to the slow paths.
        let in_step = flags & (mode::STARTED | mode::WATCH) == mode::STARTED;
        self.seen.set(if in_step { flags } else { 0 });
        true
    }

    /// This thread's record, made if need be.
    pub(super) fn registered(&self) -> Option<&'static Thread> {
        if self.thread().is_none() && !self.busy.get() {
            self.register();
        }
        self.thread()
    }

    fn register(&self) -> bool {
        if self.ended.get() || FAREWELL.try_with(|_| ()).is_err() {
            AFTER_END.fetch_add(1, Relaxed);
            return false;
        }
        let Some(thread) = self.quietly(registry::adopt) else { return false };
        self.random.set(self.random.get() ^ (ptr::from_ref(thread).addr() >> 4) as u32 | 1);
        self.thread.set(thread);
        self.current.set(thread.root());
        true
    }

    fn retire(&self) {
        self.ended.set(true);
        let Some(thread) = self.thread() else { return };
        self.fall_in_step(flags_now());
        self.publish_peaks();
        self.quietly(|| registry::retire(thread));
        self.thread.set(ptr::null());
        self.current.set(ptr::null());
        self.seen.set(0);
        self.linked.set((0, ptr::null()));
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
    pub(super) seen: u64,
}

/// The higher of two levels of live bytes, which wrap below zero when a thread frees what others allocated.
fn higher(a: u64, b: u64) -> u64 {
    if a.wrapping_sub(b).cast_signed() >= 0 { a } else { b }
}

/// A node, its parent, and so on up to the root.
pub(super) fn ancestors<'a>(node: *const Node) -> impl Iterator<Item = &'a Node> {
    // SAFETY: null above the root, otherwise a node, which is never freed.
    let next = |node: *const Node| unsafe { node.as_ref() };
    std::iter::successors(next(node), move |node| next(node.parent))
}
