//! Work that is always the same: arithmetic over memory, in steps of which none can be left out or run ahead of the one before.

use std::hint::black_box;

use crate::duel::Reading;
use crate::metrics;

/// Numbers of one step: 4 KiB, of which each waits for the one before, so that a step takes some microseconds and 2 GB/s or more.
const STEP: usize = 512;
/// Steps of one call; a hundredth of them is the finest that more work can be measured out in.
const STEPS: u64 = 100;
/// Numbers that are gone through in turns: 4 MiB, which no cache of one core holds.
const MEMORY: usize = 1 << 19;

/// So much work, and a share of it more.
pub struct SimulatedWork {
    memory: Vec<u64>,
    more: u64,
}

impl SimulatedWork {
    /// With a share of the work besides, in hundredths: 0.05 is 5 % more.
    #[must_use]
    pub fn new(more: f64) -> Self {
        let memory = (0..MEMORY as u64).map(|place| place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        Self { memory, more: (more * STEPS as f64).round() as u64 }
    }

    /// Does it so often. What is put out depends on the work itself and not on what there is besides.
    #[must_use]
    pub fn round(&self, calls: u64) -> Reading {
        let (output, taken) = metrics::timed(|| {
            let mut sum = 1;
            for call in 0..calls {
                let first = call * STEPS;
                sum = (first..first + STEPS).fold(sum, |sum, place| self.step(place, sum));
                // Elsewhere in the memory, because what was just read is near.
                let besides = first + STEPS * 3;
                black_box((besides..besides + self.more).fold(1, |sum, place| self.step(place, sum)));
            }
            sum
        });
        Reading { values: taken.values, output: Some(format!("{output:016x}")), ..Reading::default() }
    }

    fn step(&self, place: u64, sum: u64) -> u64 {
        let first = place as usize * STEP % MEMORY;
        self.memory[first..first + STEP]
            .iter()
            .fold(sum, |sum, number| (sum ^ number).wrapping_mul(0x2545_f491_4f6c_dd1d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_puts_out_the_same() {
        let (usual, more) = (SimulatedWork::new(0.0).round(3), SimulatedWork::new(0.05).round(3));
        assert_eq!(usual.output, more.output);
        assert_ne!(usual.output, SimulatedWork::new(0.0).round(4).output);
        assert!(usual.values["wall_s"] > 0.0);
        assert_eq!(
            (SimulatedWork::new(0.05).more, SimulatedWork::new(0.1).more, SimulatedWork::new(0.02).more),
            (5, 10, 2)
        );
    }
}
