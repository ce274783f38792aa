//! Ctrl-C, and other requests to stop.

use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code that shells use for an interrupted program.
pub const EXIT_CODE: u8 = 130;

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// From now on the first request is only recorded, and later ones call `again`. Without a handler, a request ends the program.
pub fn listen(again: fn()) {
    let _ = ctrlc::set_handler(move || {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            again();
        }
    });
}

/// The same, and the first request is acknowledged by `first`.
pub fn listen_with_answer(first: fn(), again: fn()) {
    let _ = ctrlc::set_handler(move || if REQUESTED.swap(true, Ordering::Relaxed) { again() } else { first() });
}

/// From now on each request is recorded and calls `answer`.
pub fn listen_to_each(answer: fn()) {
    let _ = ctrlc::set_handler(move || {
        REQUESTED.store(true, Ordering::Relaxed);
        answer();
    });
}

/// Whether the program was asked to stop.
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}
