//! Work of this library's own, which no scope has to pay for.

use std::cell::Cell;
use std::sync::atomic::{Ordering::SeqCst, compiler_fence};

thread_local! {
    // Constant and without destructor: reaching it never allocates, so a malloc hook may ask for it at any time.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does work whose allocations are not charged to the scope that this thread is in.
pub(crate) fn quietly<R>(work: impl FnOnce() -> R) -> R {
    let before = QUIET.replace(true);
    // The compiler takes it for granted that allocating reads no variable of ours, and would drop the first store.
    compiler_fence(SeqCst);
    let result = work();
    compiler_fence(SeqCst);
    QUIET.set(before);
    result
}

/// Whether this thread is inside [`quietly`].
pub(crate) fn is_quiet() -> bool {
    QUIET.get()
}
