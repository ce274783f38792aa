//! Known work: five scopes around chains of dependent integer operations.

use std::hint::black_box;
use std::time::Instant;

use hotloop::scope;

/// Scopes of one pass.
pub const SCOPES: u32 = 5;

/// Work of a known length.
#[derive(Clone, Copy)]
pub struct Work {
    /// What kind of chain.
    pub name: &'static str,
    chain: fn(u64) -> u64,
    ns_per_step: f64,
}

impl Work {
    /// Two kinds, because code around a chain may overlap with one of them better than with the other.
    pub fn kinds() -> [Work; 2] {
        [Work::calibrated("multiply-add", multiply_add), Work::calibrated("xorshift", xorshift)]
    }

    fn calibrated(name: &'static str, chain: fn(u64) -> u64) -> Self {
        const TRIES: usize = 200;
        const STEPS: u64 = 10_000;
        let timed = |_| {
            let start = Instant::now();
            black_box(chain(black_box(STEPS)));
            start.elapsed().as_nanos() as f64
        };
        // The fastest one was not interrupted.
        let best = (0..TRIES).map(timed).fold(f64::MAX, f64::min);
        Self { name, chain, ns_per_step: best / STEPS as f64 }
    }

    /// A pass over five chains that take about `ns` each.
    pub fn pass(self, ns: f64) -> Pass {
        Pass { chain: self.chain, steps: (ns / self.ns_per_step).ceil() as u64 }
    }
}

/// Five chains in a row, with or without scopes. Neither variant is inlined: both call the same code.
#[derive(Clone, Copy)]
pub struct Pass {
    chain: fn(u64) -> u64,
    steps: u64,
}

impl Pass {
    /// Without scopes.
    #[inline(never)]
    pub fn plain(self) -> u64 {
        let mut sum = 0;
        sum ^= (self.chain)(self.steps);
        sum ^= (self.chain)(self.steps + 1);
        sum ^= (self.chain)(self.steps + 2);
        sum ^= (self.chain)(self.steps + 3);
        sum ^= (self.chain)(self.steps + 4);
        sum
    }

    /// A scope around each chain.
    #[inline(never)]
    pub fn scoped(self) -> u64 {
        let mut sum = 0;
        {
            scope!("first");
            sum ^= (self.chain)(self.steps);
        }
        {
            scope!("second");
            sum ^= (self.chain)(self.steps + 1);
        }
        {
            scope!("third");
            sum ^= (self.chain)(self.steps + 2);
        }
        {
            scope!("fourth");
            sum ^= (self.chain)(self.steps + 3);
        }
        {
            scope!("fifth");
            sum ^= (self.chain)(self.steps + 4);
        }
        sum
    }
}

#[inline(never)]
fn multiply_add(steps: u64) -> u64 {
    let mut state = steps;
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }
    state
}

#[inline(never)]
fn xorshift(steps: u64) -> u64 {
    let mut state = steps | 1;
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}
