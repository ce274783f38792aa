//! How long a thread waits awake before it sleeps.

use std::time::{Duration, Instant};

/// A bounded wait: first it spins, then it offers its core to others between looks, then it gives up (and the thread
/// parks). Both ends are counted from the beginning of the wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    spin: Duration,
    yields: Duration,
}

impl Patience {
    /// Of workers between two regions. Within a token the next one comes after a few microseconds. On a loaded machine
    /// the core on which a worker spins may be the caller's: with 50 µs of spinning, the first region after a silence
    /// took 65–120 µs. Yielding costs others nothing, so that it goes on for the pause between two tokens; parking and
    /// being woken would cost 25–70 µs.
    pub(super) const WORKER: Self = Self::micros(10, 200);
    /// Of the caller, while the last parts run elsewhere. It has something to wait for, so it stays longer.
    pub(super) const CALLER: Self = Self::micros(10, 1000);
    /// Of either where the pool has more threads than CPUs: whoever spins keeps another from working.
    pub(super) const CROWDED: Self = Self::micros(0, 5);

    const fn micros(spin: u64, yields: u64) -> Self {
        Self { spin: Duration::from_micros(spin), yields: Duration::from_micros(yields) }
    }

    /// Waits for `ready`; false if it was not within the time.
    #[inline]
    pub(super) fn wait(self, ready: impl Fn() -> bool) -> bool {
        /// Looks before the clock is read for the first time: about 0.5 µs, in which most regions end.
        const FIRST_LOOKS: u32 = 32;
        if !self.spin.is_zero() {
            for _ in 0..FIRST_LOOKS {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        self.wait_longer(ready)
    }

    #[cold]
    fn wait_longer(self, ready: impl Fn() -> bool) -> bool {
        /// Looks between two readings of the clock, which cost as much as one or two looks.
        const LOOKS: u32 = 16;
        let start = Instant::now();
        while start.elapsed() < self.spin {
            for _ in 0..LOOKS {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
        }
        while start.elapsed() < self.yields {
            if ready() {
                return true;
            }
            std::thread::yield_now();
        }
        ready()
    }
}
