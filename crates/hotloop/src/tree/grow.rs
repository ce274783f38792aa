//! Finding a child that is not the one expected, and making the ones that do not exist yet.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering::*};

use super::local::{Local, ancestors};
use super::node::{NO_INDEX, Node, OTHER_INDEX};
use super::thread::Thread;
use crate::site::Site;

/// Deeper calls are counted at the activation of the same site above them, whose time includes theirs.
const MAX_DEPTH: u16 = 256;
/// Indices one parent keeps apart; the others share one node.
const MAX_INDICES: u16 = 1024;

/// Where a call is recorded.
pub(super) enum Place<'a> {
    /// In a node of its own.
    Node(&'a Node),
    /// With an activation of the same site further up, whose time includes it.
    Folded(&'a Node),
    /// There is no room for it.
    Nowhere,
}

/// The child of `parent` for this site and index, if it is the one that is expected or the sibling after it.
///
/// Scopes come in turns (a, b, c, a, b, c; layer 0, 1, 2, 0, …) or again and again, and siblings are linked in the order of
/// their first entry, so one of the two is nearly always right. The address of the one that is expected is in the parent,
/// which is near, so that its own line, which is far, is the only one to wait for.
#[inline(always)]
pub(super) fn guess_child<'a>(parent: &'a Node, site: &'static Site, index: u64) -> Option<&'a Node> {
    let expected = parent.next_child.load(Relaxed);
    // SAFETY: never null: a node or NOBODY, and neither is ever freed.
    let mut node = unsafe { &*expected };
    if !node.is(site, index) {
        // SAFETY: as above.
        node = unsafe { &*node.next_sibling.load(Relaxed) };
        if !node.is(site, index) {
            return None;
        }
    }
    let follower = node.follower();
    if !std::ptr::eq(follower, expected) {
        parent.next_child.store(follower, Relaxed);
    }
    Some(node)
}

/// The child of `parent` for this site and index, made if need be.
pub(super) fn find_child<'a>(local: &Local, parent: &'a Node, site: &'static Site, index: u64) -> Place<'a> {
    guess_child(parent, site, index).map_or_else(|| search(local, parent, site, index), Place::Node)
}

fn search<'a>(local: &Local, parent: &'a Node, site: &'static Site, index: u64) -> Place<'a> {
    let Some(thread) = local.thread() else { return Place::Nowhere };
    // SAFETY: this is the owning thread, and the result is dropped before `make` asks again.
    let found = unsafe { thread.lookup() }.find(parent, site, index);
    if let Some(node) = found {
        // SAFETY: nodes are never freed.
        let node = unsafe { node.as_ref() };
        if std::ptr::eq(node.next_sibling.load(Relaxed), parent.next_child.load(Relaxed)) {
            node.note_repeat();
        }
        parent.next_child.store(node.follower(), Relaxed);
        return Place::Node(node);
    }
    if parent.depth >= MAX_DEPTH {
        return fold(thread, parent, site, index);
    }
    let has_index = index != NO_INDEX && index != OTHER_INDEX;
    if has_index && parent.indexed_children.load(Relaxed) >= MAX_INDICES {
        thread.lost.indices.add(1);
        return search(local, parent, site, OTHER_INDEX);
    }
    match local.quietly(|| make(thread, parent, site, index)) {
        Some(node) => Place::Node(node),
        None => {
            thread.lost.no_room.add(1);
            Place::Nowhere
        }
    }
}

/// Counts a call that lies too deep at the nearest activation of the same site and index above it. One with another index
/// is counted as lost: it belongs to no row that there is.
fn fold<'a>(thread: &Thread, parent: &'a Node, site: &'static Site, index: u64) -> Place<'a> {
    if let Some(node) = ancestors(parent).find(|above| above.is(site, index)) {
        node.folded.add(1);
        return Place::Folded(node);
    }
    let has_site = ancestors(parent).any(|above| std::ptr::eq(above.site, site));
    if has_site {
        thread.lost.folded_indices.add(1)
    } else {
        thread.lost.no_room.add(1)
    }
    Place::Nowhere
}

fn make<'a>(thread: &'static Thread, parent: &Node, site: &'static Site, index: u64) -> Option<&'a Node> {
    let node = thread.nodes.push(|id| Node::new(site, index, parent, id, parent.depth + 1))?;
    // SAFETY: null or a node; the new one was just made, and none is ever freed.
    let (last, new) = unsafe { (parent.last_child.load(Relaxed).as_ref(), node.as_ref()) };
    let first = last.map_or(node.as_ptr(), |last| last.next_sibling.swap(node.as_ptr(), Relaxed));
    new.next_sibling.store(first, Relaxed);
    parent.last_child.store(node.as_ptr(), Relaxed);
    parent.next_child.store(first, Relaxed);
    if index != NO_INDEX {
        bump(&parent.indexed_children);
    }
    // SAFETY: this is the owning thread, and no other result of `lookup` is alive.
    unsafe { thread.lookup() }.insert(node);
    Some(new)
}

fn bump(counter: &AtomicU16) {
    counter.store(counter.load(Relaxed).saturating_add(1), Relaxed);
}

/// All nodes of a thread by parent, site and index: open addressing, at most half full.
#[derive(Default)]
pub(super) struct Lookup {
    slots: Vec<Option<NonNull<Node>>>,
    len: usize,
}

impl Lookup {
    pub(super) fn clear(&mut self) {
        *self = Lookup::default();
    }

    fn find(&self, parent: &Node, site: &'static Site, index: u64) -> Option<NonNull<Node>> {
        let mut slot = hash(parent, site, index);
        while let Some(node) = *self.slots.get(slot & self.slots.len().wrapping_sub(1))? {
            // SAFETY: nodes are never freed.
            let candidate = unsafe { node.as_ref() };
            if std::ptr::eq(candidate.parent, parent) && candidate.is(site, index) {
                return Some(node);
            }
            slot = slot.wrapping_add(1);
        }
        None
    }

    fn insert(&mut self, node: NonNull<Node>) {
        if self.len * 2 >= self.slots.len() {
            let larger = (self.slots.len() * 2).max(64);
            let old = std::mem::replace(&mut self.slots, vec![None; larger]);
            old.into_iter().flatten().for_each(|node| self.place(node));
        }
        self.place(node);
        self.len += 1;
    }

    fn place(&mut self, node: NonNull<Node>) {
        // SAFETY: nodes are never freed.
        let key = unsafe { node.as_ref() };
        let mask = self.slots.len() - 1;
        let mut slot = hash(key.parent, key.site, key.index) & mask;
        while self.slots[slot].is_some() {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = Some(node);
    }
}

fn hash(parent: *const Node, site: *const Site, index: u64) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = (parent.addr() as u64).wrapping_mul(ODD);
    hash = (hash ^ (site.addr() as u64)).wrapping_mul(ODD);
    hash = (hash ^ index).wrapping_mul(ODD);
    (hash >> 20) as usize
}
