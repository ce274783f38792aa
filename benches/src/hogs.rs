//! CPU hogs: one spinning thread per CPU, at normal priority.

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
    /// As many as this process may use CPUs.
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = thread::available_parallelism().map_or(1, usize::from);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::process_cpu_ns;

    #[test]
    fn hogs_take_cpu_time_until_they_are_dropped() {
        let before = process_cpu_ns();
        let hogs = Hogs::start();
        while process_cpu_ns() - before < 20_000_000 {
            thread::yield_now();
        }
        let stop = Arc::clone(&hogs.stop);
        drop(hogs);
        assert_eq!(Arc::strong_count(&stop), 1, "a hog still runs");
    }
}
