//! The call tree that every thread keeps for itself, and how it is read.
//!
//! **Writing.** A thread's tree is written by that thread alone, with plain loads and stores (relaxed or release
//! atomics, never a locked instruction), so a scope costs two readings of the clock and little else:
//!
//! ```text
//! enter(site, index)   node = current.next_child         one compare; a miss looks at its next sibling, then hashes
//!                      current.next_child = the sibling that follows; current = node
//!                      node.open_since = now()            skipped while the budget samples this node
//! exit(node)           t = now() - node.open_since
//!                      node.timed += 1; node.ticks += t; min; max; current = node.parent
//!                      push (node, start, t) to the thread's ring      only for percentiles, timeline, budget
//! alloc(size)          current.allocs += 1; current.alloc_bytes += size
//! ```
//!
//! The store addresses never depend on the clock, so the CPU overlaps all of it with the clock's latency; the
//! histograms behind the percentiles, whose address does, are filled from the ring, [`FOLD`](events) events at a time.
//!
//! **Reading.** Nodes are read children first: what a child has spent by then, its parent has too, so no self time
//! is ever negative though nobody is stopped. A node's few fields are re-read until no exit fell between
//! ([`Node::read`](node::Node)). [`settle`] then turns raw ticks into times: it scales what was sampled, subtracts the
//! profiler's own cost and makes parts sum to wholes.
//!
//! **Ending.** A thread that ends adds its settled tree to the registry's and gives its memory to the next one.
//! `stop`, `start` and `reset` change one word, [`FLAGS`]; a thread that sees it changed falls in step by itself
//! ([`local::Local::fall_in_step`]), because only it may write its tree.
#![allow(unsafe_code, reason = "the nodes are shared with readers by pointer and never freed")]

mod charge;
mod estimate;
mod events;
mod fork;
mod frame;
mod future;
mod grow;
mod histogram;
mod hot;
mod interruptions;
mod link;
mod local;
mod measure;
mod node;
mod raw;
mod read;
mod registry;
mod settle;
mod switch;
mod thread;

use std::sync::atomic::AtomicU64;

pub use fork::may_lock;
pub use future::{Linked, Profiled};
pub use link::{Attached, Link};
pub use read::Losses;

pub(crate) use events::Event;
#[cfg(all(feature = "enabled", unix, not(miri)))]
pub(crate) use fork::handle_forks;
pub(crate) use frame::Frame;
pub(crate) use histogram::{ERROR_BOUND, HistogramCopy, quantile};
pub(crate) use hot::{Entered, Token, enter, enter_from, exit, flags_now};
pub(crate) use interruptions::interruptions;
pub(crate) use local::Local;
pub(crate) use measure::{Cost, cost};
pub(crate) use node::{NO_INDEX, OTHER_INDEX};
pub(crate) use read::ThreadRecord;
pub(crate) use registry::{Collected, collect, count_other_index, name_thread};
pub(crate) use settle::Counters;
pub(crate) use switch::{allocations_counted, budget_in_force, reset, set_watch, start, stop};

/// What is recorded, and since when: modes in the low byte, then a generation (every start and stop), then the epoch
/// (every reset) in the high half. One word, so that a scope learns of any change by one compare.
pub(crate) static FLAGS: AtomicU64 = AtomicU64::new(mode::EPOCH);

/// The bits of the low byte of [`FLAGS`].
pub(crate) mod mode {
    pub(crate) const STARTED: u64 = 1;
    /// Every timed exit is pushed to the thread's ring.
    pub(crate) const EVENTS: u64 = 1 << 1;
    /// Allocations are charged to scopes.
    pub(crate) const ALLOCATIONS: u64 = 1 << 2;
    /// Allocations of a thread are counted for an assertion, started or not.
    pub(crate) const WATCH: u64 = 1 << 3;
    pub(crate) const PERCENTILES: u64 = 1 << 4;
    pub(crate) const BUDGET: u64 = 1 << 5;
    pub(crate) const TIMELINE: u64 = 1 << 6;
    /// Not a mode of [`FLAGS`](super::FLAGS), only told to a fold: calls keep the cost of those inside them.
    pub(crate) const KEEP_COST: u64 = 1 << 7;

    pub(crate) const MASK: u64 = 0xff;
    pub(crate) const GENERATION: u64 = 1 << 8;
    pub(crate) const EPOCH: u64 = 1 << 32;
}
