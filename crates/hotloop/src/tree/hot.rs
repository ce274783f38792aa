//! The hot path: entering and leaving a scope.
//!
//! [`enter`] and [`exit`] are not inlined: a call hides behind the clock's latency, and a scope stays two calls in the
//! code. Within them, what is rare is left to functions called last, so that the usual way keeps no registers.

use std::ptr;
use std::sync::atomic::Ordering::*;

use super::events::{self, Exit};
use super::frame::Frame;
use super::grow::{self, Place};
use super::local::{Local, ancestors};
use super::node::{COUNTED, Node, SAMPLED};
use super::{FLAGS, mode};
use crate::clock;
use crate::site::Site;

/// An entered scope: the address of its node, and in the low bits how it has to be left. 0: not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u64);

/// The work that a scope declares as it begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) flops: u64,
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
}

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
    /// Counted with an activation further up; the current node stays current.
    const FOLDED: u64 = 2;
    /// Another activation of the same node is open further out.
    const AGAIN: u64 = 4;
    /// To be left in another way than most.
    const SPECIAL: u64 = Token::UNTIMED | Token::FOLDED | Token::AGAIN;

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
        if let Some(node) = self.own_node() {
            node.add_work(Work { flops, bytes, tokens });
        }
    }

    /// The node, unless this thread has ended: then its tree may be another thread's already.
    #[inline(always)]
    fn own_node<'a>(self) -> Option<&'a Node> {
        let node = self.node();
        // One that was folded does not hold its node, which may be another's since.
        let holds = |local: &Local| {
            self.0 & Token::FOLDED == 0 || ancestors(local.current.get()).any(|above| ptr::eq(above, node))
        };
        Local::with(|local| local.thread().is_some() && holds(local)).then_some(node)
    }

    /// Adds time between the first poll and the last; the token must not be NONE.
    #[inline(always)]
    pub(crate) fn add_elapsed(self, ticks: u64) {
        if let Some(node) = self.own_node() {
            node.elapsed.add(ticks);
        }
    }

    /// This entry was not a call of its own; the token must not be NONE.
    #[inline(always)]
    pub(crate) fn mark_reentry(self) {
        if let Some(node) = self.own_node() {
            // One that was folded is no entry, so it must not be taken off the entries either.
            node.reentries.add(u64::from(self.0 & Token::FOLDED == 0));
        }
    }
}

#[inline(always)]
pub(crate) fn flags_now() -> u64 {
    FLAGS.load(Relaxed)
}

/// Enters a scope and declares its work, if the profiler is started.
#[inline(never)]
pub(crate) fn enter(site: &'static Site, index: u64, flops: u64, bytes: u64, tokens: u64) -> Entered {
    Local::with(|local| local.enter(flags_now(), site, index, Work { flops, bytes, tokens }, Frame::UNKNOWN))
}

/// Enters a scope that ends with the function of this frame.
#[inline(never)]
pub(crate) fn enter_from(site: &'static Site, index: u64, frame: Frame) -> Entered {
    Local::with(|local| local.enter(flags_now(), site, index, Work::default(), frame))
}

/// Leaves a scope that [`enter`] entered on this thread; not for [`Entered::NOTHING`].
#[inline(never)]
pub(crate) fn exit(entered: Entered) {
    Local::with(|local| local.exit(flags_now(), entered));
}

impl Local {
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "six fit into registers, where a struct would not")]
    pub(super) fn enter(&self, flags: u64, site: &'static Site, index: u64, work: Work, frame: Frame) -> Entered {
        if self.seen.get() != flags || self.is_interrupted() {
            return enter_slowly(site, index, work.flops, work.bytes, work.tokens, frame);
        }
        // SAFETY: in step means registered, so `current` is a node, and nodes are never freed.
        let parent = unsafe { &*self.current.get() };
        match grow::guess_child(parent, site, index) {
            Some(node) => {
                if frame != Frame::UNKNOWN {
                    node.frame.store(frame.0, Relaxed);
                }
                self.open(node, parent, work)
            }
            None => enter_slowly(site, index, work.flops, work.bytes, work.tokens, frame),
        }
    }

    #[inline(always)]
    fn open(&self, node: &Node, parent: &Node, work: Work) -> Entered {
        let (left, counted) = (self.sampling.countdown.get(), node.counted.load(Relaxed));
        if left == 0 || counted & SAMPLED == 0 {
            return self.open_timed(node, parent, work);
        }
        self.sampling.countdown.set(left - 1);
        node.counted.store(counted.wrapping_add(COUNTED), Relaxed);
        self.current.set(node);
        node.add_work(work);
        Entered::new(node, parent, Token::UNTIMED)
    }

    #[inline(always)]
    fn open_timed(&self, node: &Node, parent: &Node, work: Work) -> Entered {
        node.add_work(work);
        if node.open_since.get() != 0 {
            return self.open_again(node, parent);
        }
        self.current.set(node);
        if self.seen.get() & mode::BUDGET != 0 {
            return open_for_budget(node, parent);
        }
        let Some(now) = clock::counter() else { return open_by_os_clock(node, parent) };
        node.open_since.set(now);
        Entered::new(node, parent, 0)
    }

    /// The same path is open on this thread already, because the thread is attached above it: a thread that waits for
    /// a pool and helps it does that. The outer call is set aside until this one has ended.
    #[cold]
    #[inline(never)]
    fn open_again(&self, node: &Node, parent: &Node) -> Entered {
        let Some(thread) = self.thread() else { return Entered::NOTHING };
        self.last_node.set(ptr::null());
        let since = node.set_aside(clock::now());
        // SAFETY: this is the owning thread, and the result is not kept.
        self.quietly(|| unsafe { thread.set_aside() }.push((ptr::from_ref(node), since)));
        self.set_current(node);
        Entered::new(node, parent, Token::AGAIN)
    }

    #[cold]
    #[inline(never)]
    fn exit_again(&self, flags: u64, entered: Entered) {
        if self.seen.get() != flags && !self.fall_in_step(flags) {
            return;
        }
        self.last_node.set(ptr::null());
        let (node, end) = (entered.token.node(), clock::now());
        let Some(thread) = self.thread() else { return };
        // SAFETY: this is the owning thread, and the result is not kept.
        let set_aside = unsafe { thread.set_aside() };
        let outer = set_aside.iter().rposition(|(other, _)| ptr::eq(*other, node)).map(|place| set_aside.remove(place));
        match outer {
            Some((_, since)) if ptr::eq(self.current.get(), node) && node.open_since.get() != 0 => {
                node.close_inner(end.saturating_sub(node.open_since.get()), since);
                self.set_current(entered.parent);
            }
            _ => self.unwind_to(node, end),
        }
    }

    #[inline(always)]
    pub(super) fn exit(&self, flags: u64, entered: Entered) {
        // By address: nothing of the node is touched.
        let (how, node) = (entered.token.0 & 63, (entered.token.0 & !63) as usize);
        if how == Token::UNTIMED
            && self.current.get().addr() == node
            && self.settled.get().addr() != node
            && !self.is_interrupted()
        {
            prefetch_after(node);
            return self.current.set(entered.parent);
        }
        self.exit_otherwise(flags, entered);
    }

    /// Leaves a scope that is not only counted, or in which something was allocated. Apart, so that the usual way is short.
    #[inline(never)]
    fn exit_otherwise(&self, flags: u64, entered: Entered) {
        if self.is_interrupted() {
            return self.exit_interrupted(flags, entered);
        }
        match entered.token.0 & Token::SPECIAL {
            0 => {}
            Token::UNTIMED => return self.exit_untimed(entered),
            Token::AGAIN => return self.exit_again(flags, entered),
            _ => return,
        }
        match clock::counter() {
            Some(end) => self.exit_at(flags, entered, end),
            None => self.exit_by_os_clock(flags, entered),
        }
    }

    #[cold]
    #[inline(never)]
    fn exit_interrupted(&self, flags: u64, entered: Entered) {
        self.note_interruption();
        self.exit_otherwise(flags, entered);
    }

    #[inline(always)]
    fn exit_at(&self, flags: u64, entered: Entered, end: u64) {
        let node = entered.token.node();
        let start = node.open_since.get();
        if self.seen.get() != flags || !ptr::eq(self.current.get(), node) || start == 0 {
            return self.exit_slowly(flags, entered, end);
        }
        let ticks = end.saturating_sub(start);
        if flags & mode::BUDGET != 0 {
            events::sample_exit(self, node, end, entered.parent);
            node.close_weighted(ticks, self.sampling.stands_for.get());
        } else {
            node.close(ticks);
        }
        self.current.set(entered.parent);
        if ptr::eq(self.settled.get(), node) {
            self.end_settled(flags, node, start, ticks);
        } else if flags & mode::EVENTS != 0 {
            self.keep_event(flags, node, start, ticks);
        }
    }

    #[cold]
    #[inline(never)]
    fn exit_by_os_clock(&self, flags: u64, entered: Entered) {
        self.exit_at(flags, entered, clock::now());
    }

    /// The end of a scope in which something was allocated or freed.
    #[inline(never)]
    fn end_settled(&self, flags: u64, node: &Node, start: u64, ticks: u64) {
        self.end_peak(node);
        if flags & mode::EVENTS != 0 {
            self.keep_event(flags, node, start, ticks);
        }
    }

    #[inline(always)]
    fn keep_event(&self, flags: u64, node: &Node, start: u64, ticks: u64) {
        // SAFETY: null or this thread's ring, which only this thread frees, and replaces here then.
        let Some(ring) = (unsafe { self.ring.get().as_ref() }) else { return };
        events::record(self, ring, flags, &Exit { node, start, ticks });
    }

    #[inline(never)]
    fn exit_untimed(&self, entered: Entered) {
        let node = entered.token.node();
        if !ptr::eq(self.current.get(), node) {
            return self.unwind_now(node);
        }
        self.current.set(entered.parent);
        if ptr::eq(self.settled.get(), node) {
            self.end_peak(node);
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind_now(&self, node: &Node) {
        self.unwind_to(node, clock::now());
    }

    /// The profiler was stopped, started or reset since this thread looked last, or scopes end out of order.
    #[cold]
    #[inline(never)]
    fn exit_slowly(&self, flags: u64, entered: Entered, end: u64) {
        if self.seen.get() != flags && !self.fall_in_step(flags) {
            return;
        }
        let node = entered.token.node();
        if !ptr::eq(self.current.get(), node) {
            return self.unwind_to(node, end);
        }
        // While stopped, falling in step has moved the start by the pause so far, which ended after `end` was read.
        self.close_at(node, end);
        self.current.set(entered.parent);
        if ptr::eq(self.settled.get(), node) {
            self.end_peak(node);
        }
    }

    /// `node` ends though scopes opened inside it have not: they end with it, and their own ends find nothing to do.
    #[cold]
    #[inline(never)]
    fn unwind_to(&self, node: &Node, end: u64) {
        if self.thread().is_none() {
            return;
        }
        self.note_disorder();
        if !self.end_all_from(node, end) {
            // It lies elsewhere, above an attachment: it ends alone.
            self.close_at(node, end);
        }
    }

    /// Ends `node` and all that is open inside it; `false` when the current one is not below it.
    pub(super) fn end_all_from(&self, node: &Node, end: u64) -> bool {
        self.loose.set(true);
        self.last_node.set(ptr::null());
        if !self.close_inside(node, end) {
            return false;
        }
        self.close_at(node, end);
        self.end_peaks_inside(node.parent);
        self.current.set(node.parent);
        true
    }

    /// Closes the activation that is open and timed, if there is one.
    fn close_at(&self, node: &Node, end: u64) {
        let since = node.open_since.get();
        if since == 0 {
            return;
        }
        let ticks = end.saturating_sub(since);
        let flags = flags_now();
        if flags & mode::BUDGET == 0 {
            return node.close(ticks);
        }
        // Out of step every call is timed once the countdown has ended, and stands for itself.
        let is_drawn = self.is_in_step(flags);
        node.close_weighted(ticks, if is_drawn { self.sampling.stands_for.get() } else { 1 });
    }

    /// Closes the scopes that are open inside `node`; `false` when the current one is not below it.
    pub(super) fn close_inside(&self, node: *const Node, end: u64) -> bool {
        let current = self.current.get();
        if !ancestors(current).any(|above| ptr::eq(above, node)) {
            return false;
        }
        ancestors(current).take_while(|open| !ptr::eq(*open, node)).for_each(|open| self.close_at(open, end));
        true
    }
}

/// What [`Local::enter`] leaves to others: the thread is out of step, or the scope is not where it was guessed.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "six fit into registers, where a struct would not")]
fn enter_slowly(site: &'static Site, index: u64, flops: u64, bytes: u64, tokens: u64, frame: Frame) -> Entered {
    Local::with(|local| {
        // Read again: computing the scope's arguments may have taken long.
        let flags = flags_now();
        if flags & mode::STARTED == 0 || (!local.is_in_step(flags) && !local.fall_in_step(flags)) {
            return Entered::NOTHING;
        }
        local.note_interruptions();
        // Where it is not reported, it is found out only here: a scope that is left open comes here, for what it hangs below is
        // new each time.
        let frame = if frame == Frame::UNKNOWN { Frame::here() } else { frame };
        local.end_leaked(site, frame);
        let Some(parent) = local.current_node() else { return Entered::NOTHING };
        let work = Work { flops, bytes, tokens };
        match grow::find_child(local, parent, site, index) {
            Place::Node(node) => {
                node.frame.store(frame.0, Relaxed);
                local.open(node, parent, work)
            }
            Place::Folded(node) => {
                node.add_work(work);
                Entered::new(node, parent, Token::FOLDED)
            }
            Place::Nowhere => Entered::NOTHING,
        }
    })
}

#[cold]
#[inline(never)]
fn open_by_os_clock(node: &Node, parent: &Node) -> Entered {
    node.open_since.set(clock::now());
    Entered::new(node, parent, 0)
}

/// Begins to time a scope where there is a budget. Apart, so that a scope that is only counted keeps no registers.
#[inline(never)]
fn open_for_budget(node: &Node, parent: &Node) -> Entered {
    let now = clock::now();
    if Local::with(|local| events::sample_entry(local, node, parent, now)) {
        node.open_since.set(now);
        return Entered::new(node, parent, 0);
    }
    node.counted.store(node.counted.load(Relaxed).wrapping_add(COUNTED), Relaxed);
    Entered::new(node, parent, Token::UNTIMED)
}

/// Asks for what entering needs of the two nodes made after the one at this address, which ends. Nodes are made in the
/// order of their first entry, so these are the ones most likely to come: the next sibling, or the parent's with its first
/// child. By address, because a pointer to them would have to come from far too. Among work that streams through the
/// caches this takes 1 to 2 ns off the 11 that a counted scope costs. One that is timed costs more anyway, and goes without.
#[inline(always)]
fn prefetch_after(node: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for next in 1..=2 {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = ptr::without_provenance::<Node>(node).wrapping_add(next);
        // SAFETY: a prefetch reads nothing that the program could see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = node;
}
