//! Ctrl-C, and other requests to end.

use std::sync::atomic::{AtomicBool, Ordering};

/// What shells have for a program that was interrupted.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on a request is noted; those that follow it are answered by `again`. Until here, and where no handler can be set,
/// it ends the program as ever.
pub fn listen(again: fn()) {
    let _ = ctrlc::set_handler(move || {
        if ASKED.swap(true, Ordering::Relaxed) {
            again();
        }
    });
}

/// The same, where the first request is acknowledged too.
pub fn listen_saying(first: fn(), again: fn()) {
    let _ = ctrlc::set_handler(move || if ASKED.swap(true, Ordering::Relaxed) { again() } else { first() });
}

/// From now on each request is noted, and `answer` follows.
pub fn listen_to_each(answer: fn()) {
    let _ = ctrlc::set_handler(move || {
        ASKED.store(true, Ordering::Relaxed);
        answer();
    });
}

/// Whether somebody asked.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}
