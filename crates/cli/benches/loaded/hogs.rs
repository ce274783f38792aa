//! CPU hogs: spinning threads at normal priority.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Threads that spin until this is dropped, also by a panic. They cannot outlive the process.
pub struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    /// Starts this number of threads.
    pub fn start(count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spin = |stop: Arc<AtomicBool>| {
            while !stop.load(Ordering::Relaxed) {
                spin_loop();
            }
        };
        let spawn = |_| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || spin(stop))
        };
        let threads = (0..count).map(spawn).collect();
        Self { stop, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A hog has no reason to panic, and a second panic here would abort.
            let _ = thread.join();
        }
    }
}
