//! Simulated work as a side of a duel.

use std::collections::BTreeMap;
use std::io;
use std::process::Command;

use record::{Arm, Metric, Subject};

use super::work::SimulatedWork;
use crate::duel::worker::{self, Worker};
use crate::duel::{Contestant, Launched};
use crate::metrics;

/// Work that is always the same, and a share of it more.
pub struct Simulated<F> {
    more: f64,
    worker: F,
}

impl<F: Fn(f64) -> Command> Simulated<F> {
    /// `worker` starts a process that [`serve`]s so much more work.
    pub fn new(more: f64, worker: F) -> Self {
        Self { more, worker }
    }
}

impl<F: Fn(f64) -> Command> Contestant for Simulated<F> {
    /// Nothing tells that two sides are the same program, because a verdict would then be withheld that is to be tried.
    fn arm(&self) -> Arm {
        let label = format!("{} % more work", self.more * 100.0);
        Arm { label, subject: Subject { name: "simulated".to_owned(), ..Subject::default() }, ..Arm::default() }
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        metrics::metrics().collect()
    }

    fn launch(&mut self) -> Result<Box<dyn Launched>, String> {
        Ok(Box::new(Worker::spawn(&mut (self.worker)(self.more))?))
    }
}

/// Does simulated work, a share of it more, for whoever asks on the standard input.
///
/// # Errors
/// The streams fail, or a line is no request.
pub fn serve(more: f64) -> io::Result<()> {
    let work = SimulatedWork::new(more);
    worker::serve(io::stdin().lock(), io::stdout().lock(), |calls, _| Ok(work.round(calls)))
}
