//! A model in a process of its own, as the lab asks for its rounds: a round is one inference of every cell.

use std::time::Instant;

use super::RoundWork;
use super::cells::{self, Cell, Generated};
use crate::Models;
use crate::duel::{Launched, Reading};
use crate::recorder::Measurement;
use crate::workload::tokens;

/// Between the name of a row and that of a metric in a reading.
const OF: char = ' ';
/// When a cell began, in seconds since the round did: a metric of its whole inference.
const BEGAN: &str = "began_s";

/// The cells of one model, ready for rounds.
pub struct ModelRounds<'a> {
    cells: Vec<Cell<'a>>,
    round: usize,
}

impl<'a> ModelRounds<'a> {
    /// Of a model with some numbers of threads; figures are those of the first.
    ///
    /// # Errors
    /// Why it cannot be made, or has no room for the work.
    pub fn new(work: &RoundWork, on: &[&'a dyn Models]) -> Result<Self, String> {
        Ok(Self { cells: cells::of(work, on)?.0, round: 0 })
    }
}

impl Launched for ModelRounds<'_> {
    /// Every cell generates once. The first to work is another cell each time, so that none always follows the same one.
    fn round(&mut self, _: u64, _: bool) -> Result<Reading, String> {
        let (count, start) = (self.cells.len(), Instant::now());
        let mut reading = Reading::default();
        let mut outputs = vec![String::new(); count];
        for at in (0..count).map(|at| (at + self.round) % count) {
            let began_s = start.elapsed().as_secs_f64();
            let Generated { parts, tokens: chosen } = self.cells[at].take()?;
            outputs[at] = tokens::hash(&chosen);
            for (row, mut taken) in parts {
                if row.ends_with("inference") {
                    taken.values.insert(BEGAN.to_owned(), began_s);
                }
                let named = |metric: String| format!("{row}{OF}{metric}");
                reading.values.extend(taken.values.into_iter().map(|(metric, value)| (named(metric), value)));
                reading.series.extend(taken.series.into_iter().map(|(metric, values)| (named(metric), values)));
            }
        }
        self.round += 1;
        reading.output = Some(outputs.join(","));
        Ok(reading)
    }
}

/// What a reading says of one row, and when the cell of that row began.
pub(super) fn taken(reading: &Reading, row: &str, inference: &str) -> (Measurement, f64) {
    let of = |name: &str| name.strip_prefix(row)?.strip_prefix(OF).map(str::to_owned);
    let values = reading.values.iter().filter_map(|(name, value)| Some((of(name)?, *value)));
    let series = reading.series.iter().filter_map(|(name, values)| Some((of(name)?, values.clone())));
    let taken = Measurement { values: values.filter(|(name, _)| name != BEGAN).collect(), series: series.collect() };
    let began = reading.values.get(&format!("{inference}{OF}{BEGAN}")).copied().unwrap_or(0.0);
    (taken, began)
}
