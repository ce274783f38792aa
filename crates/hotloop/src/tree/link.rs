//! Work that one scope causes on other threads.

use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::Ordering::*;

use super::grow::{Place, find_child};
use super::hot::flags_now;
use super::local::{Local, ancestors};
use super::mode;
use super::node::Node;
use super::registry;
use super::switch;
use crate::clock;

/// A scope that work on other threads can be attached to: the path from the root to it.
///
/// Made by [`current`](crate::current). `Copy` and `Send`; stays good when the scope or its thread has ended. After a
/// reset of a program with very many paths it may lead nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The path in the registry's tree; 0 is the root: nothing to attach to.
    pub(super) path: u32,
    /// The paths that it is one of.
    pub(super) generation: u32,
}

/// Keeps this thread attached; scopes opened while it lives hang below the scope it came from.
///
/// It belongs to one thread: it cannot be sent to another or held across `.await`.
#[derive(Debug)]
#[must_use = "the thread is attached for as long as this lives: bind it to a name, `let _attached = …`"]
pub struct Attached {
    /// Null when it attaches to nothing.
    node: *const Node,
    /// What was current before.
    previous: *const Node,
    since: u64,
    /// [`Local::away`] and [`Local::paused`] at that time.
    away_before: u64,
    paused_before: u64,
    /// Whether this attachment watches the peak of its node.
    has_peak: bool,
    _one_thread: PhantomData<*const ()>,
}

impl Link {
    /// Leads nowhere: attaching to it does nothing.
    pub(crate) const ROOT: Link = Link { path: 0, generation: 0 };

    /// The scope this thread is in.
    pub(crate) fn here() -> Link {
        let flags = flags_now();
        if flags & mode::STARTED == 0 {
            return Link::ROOT;
        }
        Local::with(|local| {
            let in_step = local.is_in_step(flags) || local.fall_in_step(flags);
            local.current_node().filter(|_| in_step).map_or(Link::ROOT, Link::to)
        })
    }

    fn to(node: &'static Node) -> Link {
        let generation = registry::paths_generation();
        let is_cached = node.path_generation.load(Relaxed) == generation as u16;
        if let Some(path) = node.path.load(Relaxed).checked_sub(1).filter(|_| is_cached) {
            return Link { path, generation };
        }
        let (path, generation) = registry::with_registry(|registry| registry.path_of(node));
        node.path.store(path + 1, Relaxed);
        node.path_generation.store(generation as u16, Relaxed);
        Link { path, generation }
    }

    /// Attaches this thread to the scope: what it opens hangs below it, and the time until the result is dropped
    /// belongs to it, and no longer to the scopes this thread is in. Does nothing when the profiler is not started.
    pub fn attach(self) -> Attached {
        let flags = flags_now();
        if !crate::ENABLED || flags & mode::STARTED == 0 || self.path == 0 {
            return Attached::NOTHING;
        }
        Local::with(|local| self.attach_to(local, flags)).unwrap_or(Attached::NOTHING)
    }

    fn attach_to(self, local: &Local, flags: u64) -> Option<Attached> {
        if !local.is_in_step(flags) && !local.fall_in_step(flags) {
            return None;
        }
        let node = match local.linked(self.into_raw()) {
            Some(node) => node,
            // Quietly to the end: freeing what it needed must not make the thread fall in step and forget the node.
            None => local.quietly(|| self.descend(local))?,
        };
        local.note_interruptions();
        local.last_node.set(ptr::null());
        let previous = local.current_node()?;
        local.set_current(node);
        local.attachments.set(local.attachments.get() + 1);
        let has_peak = flags & mode::ALLOCATIONS != 0 && node.open_since.get() == 0;
        if has_peak {
            local.begin_peak(node);
        }
        Some(Attached {
            node,
            previous,
            since: clock::now(),
            away_before: local.away.get(),
            paused_before: local.paused.get(),
            has_peak,
            _one_thread: PhantomData,
        })
    }

    /// The node of this thread's tree that the link leads to, made if need be.
    fn descend(self, local: &Local) -> Option<&'static Node> {
        let steps = registry::with_registry(|registry| registry.steps_to(self));
        let mut node = local.thread()?.root();
        for (site, index) in steps? {
            match find_child(local, node, site, index) {
                Place::Node(child) => node = child,
                Place::Folded(_) | Place::Nowhere => return None,
            }
        }
        local.remember_link(self.into_raw(), node);
        Some(node)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if crate::ENABLED && !self.node.is_null() {
            Local::with(|local| self.detach(local));
        }
    }
}

impl Attached {
    const NOTHING: Attached = Attached {
        node: ptr::null(),
        previous: ptr::null(),
        since: 0,
        away_before: 0,
        paused_before: 0,
        has_peak: false,
        _one_thread: PhantomData,
    };

    fn detach(&self, local: &Local) {
        if local.thread().is_none() {
            // The thread is ending, and its tree may be another's already.
            return;
        }
        let flags = flags_now();
        if !local.is_in_step(flags) {
            local.fall_in_step(flags);
        }
        local.note_interruptions();
        local.last_node.set(ptr::null());
        let now = clock::now();
        let spent = switch::active_since(self.since, self.paused_before, local.paused.get(), now);
        // What was spent in inner attachments before a reset is forgotten with the rest.
        let was_reset = switch::last_reset() > self.since;
        let before = if was_reset { local.away_at_reset.get() } else { self.away_before };
        let inner = local.away.get().wrapping_sub(before);
        self.book(spent.saturating_sub(inner), spent);
        local.away.set(before.wrapping_add(spent));
        local.attachments.set(local.attachments.get().saturating_sub(1));
        self.go_back(local, flags, now);
    }

    /// Its time counts for the scope and all above it, except where this thread is timing them anyway; and it is
    /// taken from the scopes that the thread was in before, which it left for that long.
    fn book(&self, own: u64, spent: u64) {
        let is_above = |node: &Node| ancestors(self.node).any(|above| ptr::eq(above, node));
        ancestors(self.node).filter(|node| node.open_since.get() == 0).for_each(|node| node.attached.add(own));
        let left = ancestors(self.previous).filter(|node| node.open_since.get() != 0 && !is_above(node));
        left.for_each(|node| node.open_since.add(spent));
    }

    /// Makes current what was so before. Scopes that were left open inside end here.
    fn go_back(&self, local: &Local, flags: u64, now: u64) {
        if !ptr::eq(local.current.get(), self.node) {
            // A scope inside is still held, or attachments are undone in another order than they were made.
            local.note_disorder();
            if !local.close_inside(self.node, now) {
                return;
            }
        }
        // SAFETY: a node, which is never freed.
        let node = unsafe { &*self.node };
        local.end_peaks_inside(node);
        if self.has_peak && flags & mode::ALLOCATIONS != 0 {
            local.end_peak(node);
        }
        // Where scopes ended out of order, the previous one may have ended meanwhile; one that is only counted has no
        // start to tell by.
        let is_open = |node: &&Node| !local.loose.get() || node.open_since.get() != 0 || node.is_sampled();
        let previous = ancestors(self.previous).find(is_open).map_or(self.previous, ptr::from_ref);
        local.go_back_to(previous);
    }
}
