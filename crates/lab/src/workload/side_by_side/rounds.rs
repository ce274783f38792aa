//! Turns: in each, every cell works once, in an order of its own.

use std::time::Instant;

use record::{Phase, Sample};

use super::SideBySide;
use super::cells::Cell;
use crate::course::{LEAST, MOST, Taken, WALL, Watch, is_precise};
use crate::workload::tokens::at_random;

/// The share of the progress that is done before the first turn.
const BEFORE: f64 = 0.2;

/// What came out, in the order of time.
pub(super) struct Turns {
    /// With the number of the model.
    pub(super) samples: Vec<(usize, Sample)>,
    pub(super) interrupted: bool,
}

/// Turns to warm up, an inference of each with the profiler on, and turns that count.
pub(super) fn measure(settings: &SideBySide, cells: &mut [Cell<'_>], watch: &mut dyn Watch) -> Result<Turns, String> {
    let effort = settings.effort;
    let mut turns = Turns { samples: Vec::new(), interrupted: false };
    let (start, mut order) = (Instant::now(), Order::new(settings.seed, cells.len()));
    for round in 0..effort.warmup {
        watch.tell(BEFORE, "warming up");
        turn(cells, &mut order, (Phase::Warmup, round, start), watch, &mut turns)?;
    }
    for cell in cells.iter_mut() {
        cell.look()?;
    }
    let mut walls: Vec<Vec<f64>> = vec![Vec::new(); cells.len()];
    let begun = Instant::now();
    for round in 0..effort.repeat.unwrap_or(MOST) {
        let is_known = || {
            let enough = round >= LEAST && effort.repeat.is_none();
            // Looking costs a sort: only now and then.
            enough
                && (begun.elapsed() >= effort.time
                    || round.is_power_of_two() && walls.iter().all(|all| is_precise(all)))
        };
        if turns.interrupted || is_known() {
            break;
        }
        let by_time = begun.elapsed().as_secs_f64() / effort.time.as_secs_f64().max(1e-9);
        let by_count = round as f64 / effort.repeat.unwrap_or(LEAST) as f64;
        let done = if effort.repeat.is_some() { by_count } else { by_time.min(by_count) };
        watch.tell(BEFORE + (1.0 - BEFORE) * done.min(1.0), &format!("turn {}", round + 1));
        let taken = turn(cells, &mut order, (Phase::Timed, round, start), watch, &mut turns)?;
        taken.into_iter().for_each(|(cell, wall)| walls[cell].push(wall));
    }
    Ok(turns)
}

/// One turn of all; gives the time that each took.
fn turn(
    cells: &mut [Cell<'_>],
    order: &mut Order,
    (phase, round, start): (Phase, u64, Instant),
    watch: &mut dyn Watch,
    turns: &mut Turns,
) -> Result<Vec<(usize, f64)>, String> {
    let mut walls = Vec::new();
    for at in order.next() {
        turns.interrupted |= watch.is_stopped();
        if turns.interrupted {
            break;
        }
        let start_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let parts = cells[at].take()?;
        walls.extend(parts.first().and_then(|(_, whole)| Some((at, *whole.values.get(WALL)?))));
        for (row, Taken { values, series }) in parts {
            let sample = Sample { row, phase, round, start_ns, values, series, ..Sample::default() };
            turns.samples.push((cells[at].model, sample));
        }
    }
    Ok(walls)
}

/// Orders of so many, each as likely as any other.
struct Order {
    seed: u64,
    order: Vec<usize>,
}

impl Order {
    fn new(seed: u64, count: usize) -> Self {
        Order { seed, order: (0..count).collect() }
    }

    /// Another one.
    fn next(&mut self) -> Vec<usize> {
        self.seed = self.seed.wrapping_add(1);
        let chances = at_random(self.seed, 1 << 32, self.order.len());
        for (last, chance) in chances.into_iter().enumerate().skip(1) {
            self.order.swap(last, chance as usize % (last + 1));
        }
        self.order.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_come_about_equally_often() {
        let mut order = Order::new(7, 3);
        let mut counts = std::collections::BTreeMap::<Vec<usize>, u32>::new();
        for _ in 0..6_000 {
            *counts.entry(order.next()).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|count| (850..1_150).contains(count)), "{counts:?}");
    }
}
