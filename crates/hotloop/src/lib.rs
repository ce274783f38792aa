//! Where the time and the memory of a program go.
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();
//!
//! fn attention(layer: usize) {
//!     hotloop::scope!("attention", index = layer, flops = 2 * 64 * 64);
//!     // …
//! }
//!
//! hotloop::start();
//! for layer in 0..4 {
//!     attention(layer);
//! }
//! hotloop::print(10);
//! ```
//!
//! A scope is a named region of code; it ends with its block, also by `return`, `?` or panic. Scopes form a call tree
//! per thread, merged when it is read: calls, total and self time, percentiles, allocations, declared work. A scope
//! costs two readings of the CPU's counter; when the profiler is not started, a load and a branch; without the feature
//! `enabled`, nothing. [`snapshot()`] gives everything as data, [`print()`] as text, at any time, while threads run.
//!
//! | I want | use |
//! |---|---|
//! | a region | [`scope!`], [`guard!`] to hold it, [`function!`], [`#[profile]`](macro@profile) |
//! | its rates | `scope!("qkv", flops = …, bytes = …, tokens = …)` |
//! | allocations | [`Allocator`] as the global allocator |
//! | work on a pool | [`current`] where it is caused, [`Link::attach`] where it runs |
//! | a timeline | [`Config::timeline`] |
//! | lower cost | [`Config::budget`]: short scopes are sampled, their counts stay exact |
//! | a test | [`assert_no_alloc!`], [`assert_allocs!`], [`assert_time!`] |
//! | a program measured from outside | `hotloop run`, or the variable `HOTLOOP_SNAPSHOT_DIR` (below) |
//! | a program with `tracing` spans | `tracing_layer()`, feature `tracing` |
//!
//! Where the environment has `HOTLOOP_SNAPSHOT_DIR`, a program records from before `main` on, with the default [`Config`],
//! and writes its snapshot to `<process id>.json` in that folder when it returns from `main` or calls `exit`.
//! `HOTLOOP_TIMELINE` is the number of calls that each thread's timeline keeps, `HOTLOOP_BUDGET` the profiler's share of the
//! run in percent, 0 to time every call. What the program itself starts, stops and forgets is as ever. All three are
//! ignored in set-user-ID and set-group-ID programs: whoever calls these must not choose where they write.
//!
//! A child of `fork` that goes on without `exec` records nothing if its parent has used the profiler before the fork:
//! another thread of the parent may have held a lock, which nobody releases in the child. There [`start`], [`stop`],
//! [`reset`] and [`print()`] return at once, [`snapshot()`] is empty, scopes cost what they cost before a start, and no snapshot
//! file is written. The parent goes on as before. A child of a parent that has not used the profiler yet may use it, as a
//! program that becomes a daemon before it starts recording does. Forks that do not call the handlers of `pthread_atfork`
//! (`_Fork`, the bare system call) are not noticed; such a child must not use the profiler, nor call `exit`.

mod alloc;
mod assert;
mod clock;
mod control;
#[cfg(all(feature = "enabled", any(unix, windows), not(miri)))]
mod environment;
mod report;
mod scope;
mod site;
mod snapshot;
#[cfg(feature = "tracing")]
mod tracing_layer;
mod tree;

pub use alloc::Allocator;
pub use clock::{ClockInfo, ClockSource};
pub use control::{Config, current, is_started, name_thread, print, reset, snapshot, start, stop};
pub use hotloop_macros::profile;
pub use scope::Scope;
pub use snapshot::{
    AllocStats, InterruptionInfo, InterruptionSource, OwnCost, ScopeStats, Snapshot, ThreadStats, ThreadTimeline,
    TimelineEvent,
};
#[cfg(feature = "tracing")]
pub use tracing_layer::{TracingLayer, tracing_layer};
pub use tree::{Attached, Link, Linked, Losses};

/// Whether anything is recorded at all: the feature `enabled`. Tested inside every function of the hot path, so that
/// without it the same code compiles to nothing.
pub(crate) const ENABLED: bool = cfg!(feature = "enabled");

/// What macros and the other faces of the profiler call. Not for direct use; may change at any time.
#[doc(hidden)]
pub mod __private {
    pub use hotloop_macros::constant_name;

    pub use crate::alloc::{allocator_installed, count_alloc, count_free, count_realloc};
    pub use crate::assert::{NoAlloc, check_allocs, check_time};
    #[cfg(all(feature = "enabled", any(unix, windows), not(miri)))]
    pub use crate::environment::start_if_asked;
    pub use crate::scope::{Entry, enter, enter_from, index, now_ticks, reenter};
    pub use crate::site::Site;
    pub use crate::tree::{Profiled, may_lock};
}
