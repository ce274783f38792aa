//! Children of `fork`.
//!
//! A child has one thread and a copy of the parent's memory, in which the locks that other threads held at that moment
//! stay locked for ever. So a child whose parent has used the profiler never takes a lock: recording is off for good,
//! and every function that would take one returns at once. If the parent has not used it yet, all locks are free, and the
//! child is a program like any other.

use std::sync::atomic::{AtomicBool, Ordering::*};

/// A lock may be held, now or later.
static USED: AtomicBool = AtomicBool::new(false);
/// This process is a child of `fork`, and its parent had used the profiler.
static IN_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether this process may take the profiler's locks. To be asked before the first of them is taken.
pub fn may_lock() -> bool {
    if !USED.load(Relaxed) {
        // Sequentially consistent: a thread that forks must not see a lock held before it sees this.
        USED.store(true, SeqCst);
    }
    !IN_CHILD.load(Relaxed)
}

/// Asks the system to tell every child of `fork` what it is. Once, before `main`; costs nothing until there is a fork.
#[cfg(all(feature = "enabled", unix, not(miri)))]
pub(crate) fn handle_forks() {
    use std::ffi::c_int;

    type Handler = Option<extern "C" fn()>;
    unsafe extern "C" {
        safe fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }
    // It fails only when memory is short. The program then runs on, and must not fork while others hold a lock.
    let _ = pthread_atfork(None, None, Some(in_child));
}

/// Called by the system in the child, before `fork` returns there.
#[cfg(all(feature = "enabled", unix, not(miri)))]
extern "C" fn in_child() {
    use super::{FLAGS, Local, mode};

    if USED.load(SeqCst) {
        IN_CHILD.store(true, Relaxed);
        // An assertion that the parent was in goes on: it takes no lock.
        FLAGS.fetch_and(!mode::MASK | mode::WATCH, Relaxed);
        Local::with(Local::abandon);
    }
}
