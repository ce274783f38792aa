//! The threads that run batches. They live for the whole run, because profilers keep state per thread: a new thread for
//! each batch would measure the creation of that state.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::clock::{Lap, ThreadClock};

/// What one thread is asked to do.
#[derive(Clone, Copy)]
pub struct Batch {
    /// Runs that many scopes (or allocations) on the calling thread.
    pub run: fn(u32),
    /// Scopes before the timed ones.
    pub warm_up: u32,
    /// Scopes that are timed.
    pub scopes: u32,
}

/// Waiting threads that run batches.
pub struct Crew {
    seats: Vec<Seat>,
}

struct Seat {
    orders: Sender<(Batch, Arc<StartLine>)>,
    laps: Receiver<Lap>,
    clock: ThreadClock,
}

impl Crew {
    /// Starts `threads` threads.
    pub fn hire(threads: usize) -> Self {
        Self { seats: (0..threads).map(Seat::fill).collect() }
    }

    /// Runs the batch on `threads` of the threads at once; gives the time each of them needed for it.
    pub fn run(&self, threads: usize, batch: Batch) -> Vec<Lap> {
        let line = Arc::new(StartLine::new(threads));
        let seats = &self.seats[..threads];
        for seat in seats {
            seat.orders.send((batch, Arc::clone(&line))).expect("the thread lives as long as the crew");
        }
        seats.iter().map(|seat| seat.laps.recv().expect("the batch did not panic")).collect()
    }

    /// CPU time of all threads of the crew so far.
    pub fn cpu_ns(&self) -> u64 {
        self.seats.iter().map(|seat| seat.clock.now_ns()).sum()
    }
}

impl Seat {
    fn fill(number: usize) -> Self {
        let (orders, inbox) = channel::<(Batch, Arc<StartLine>)>();
        let (outbox, laps) = channel();
        let (clock_out, clock_in) = channel();
        let work = move || {
            clock_out.send(ThreadClock::of_this_thread()).expect("the crew waits for it");
            for (batch, line) in inbox {
                (batch.run)(batch.warm_up);
                line.wait();
                let lap = Lap::of(|| (batch.run)(batch.scopes));
                if outbox.send(lap).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name(format!("bench {number}")).spawn(work).expect("a thread can be started");
        let clock = clock_in.recv().expect("the thread sends its clock first");
        Self { orders, laps, clock }
    }
}

/// Lets threads go when all have arrived, within tens of nanoseconds where each has a CPU.
struct StartLine {
    missing: AtomicUsize,
}

impl StartLine {
    fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads) }
    }

    fn wait(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut spins = 0u32;
        while self.missing.load(Ordering::Acquire) > 0 {
            spins += 1;
            // On a busy machine the other thread may need this CPU to arrive at all.
            if spins.is_multiple_of(1024) { thread::yield_now() } else { spin_loop() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static RUN: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn each_thread_runs_warm_up_and_batch() {
        let crew = Crew::hire(2);
        fn count(scopes: u32) {
            RUN.fetch_add(scopes as usize, Ordering::Relaxed);
        }
        let batch = Batch { run: count, warm_up: 3, scopes: 100 };
        assert_eq!(crew.run(1, batch).len(), 1);
        assert_eq!(crew.run(2, batch).len(), 2);
        assert_eq!(RUN.load(Ordering::Relaxed), 3 * 103);
        assert!(crew.cpu_ns() > 0);
    }
}
