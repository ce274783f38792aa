//! Work that one scope causes on other threads.

use std::marker::PhantomData;
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
/// Made by [`current`](crate::current). `Copy` and `Send`; stays good when the scope or its thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The path in the registry's tree; 0 is the root: nothing to attach to.
    pub(super) path: u32,
}

/// Keeps this thread attached; scopes opened while it lives hang below the scope it came from.
///
/// It belongs to one thread: it cannot be sent to another or held across `.await`.
#[derive(Debug)]
#[must_use = "the thread is attached for as long as this lives"]
pub struct Attached {
    node: *const Node,
    previous: *const Node,
    since: u64,
    flags: u64,
    _one_thread: PhantomData<*const ()>,
}

impl Link {
    /// Leads nowhere: attaching to it does nothing.
    pub(crate) const ROOT: Link = Link { path: 0 };

    /// The scope this thread is in.
    pub(crate) fn here() -> Link {
        let recording = flags_now() & mode::STARTED != 0;
        let path = Local::with(|local| local.current_node()).filter(|_| recording).map_or(0, path_of);
        Link { path }
    }

    /// Attaches this thread to the scope: what it opens hangs below it, and the time until the result is dropped
    /// belongs to it too. Does nothing when the profiler is not started.
    pub fn attach(self) -> Attached {
        let nothing = Attached {
            node: std::ptr::null(),
            previous: std::ptr::null(),
            since: 0,
            flags: 0,
            _one_thread: PhantomData,
        };
        let flags = flags_now();
        if !crate::ENABLED || flags & mode::STARTED == 0 || self.path == 0 {
            return nothing;
        }
        Local::with(|local| self.attach_to(local, flags)).unwrap_or(nothing)
    }

    fn attach_to(self, local: &Local, flags: u64) -> Option<Attached> {
        if !local.is_in_step(flags) && !local.fall_in_step(flags) {
            return None;
        }
        let node = local.linked(self.path).or_else(|| local.link(self.path, descend(local, self.path)?))?;
        let previous = local.current_node()?;
        local.set_current(node);
        Some(Attached { node, previous, since: clock::now(), flags, _one_thread: PhantomData })
    }
}

/// The node of this thread's tree at a path of the registry's, made if need be.
fn descend(local: &Local, path: u32) -> Option<&'static Node> {
    let steps = local.quietly(|| registry::with_registry(|registry| registry.steps_to(path)));
    let mut node = local.thread()?.root();
    for (site, index) in steps {
        match find_child(local, node, site, index) {
            Place::Node(child) => node = child,
            Place::Folded(_) => return None,
        }
    }
    Some(node)
}

fn path_of(node: &'static Node) -> u32 {
    if let Some(path) = node.path.load(Relaxed).checked_sub(1) {
        return path;
    }
    let path = Local::with(|local| local.quietly(|| registry::with_registry(|registry| registry.path_of(node))));
    node.path.store(path + 1, Relaxed);
    path
}

impl Drop for Attached {
    fn drop(&mut self) {
        if crate::ENABLED && !self.node.is_null() {
            Local::with(|local| self.detach(local));
        }
    }
}

impl Attached {
    /// The time counts for the scope and all above it, except where this thread is timing them anyway.
    fn detach(&self, local: &Local) {
        if local.thread().is_none() {
            // The thread is ending, and its tree may be another's already.
            return;
        }
        let flags = flags_now();
        if !local.is_in_step(flags) {
            local.fall_in_step(flags);
        }
        let changed = flags != self.flags;
        let ticks = if changed { switch::active_since(self.since) } else { clock::now().saturating_sub(self.since) };
        for node in ancestors(self.node) {
            if node.open_since.get() == 0 {
                node.attached.add(ticks);
            }
        }
        // Scopes that were left open inside end here, like those of a thread that ends.
        local.set_current(self.previous);
    }
}
