//! Records the environment of work in this process: the machine, its limits, noise, and the process's
//! resource use.

use std::time::{Duration, Instant};

use record::{Environment, Limits, Machine, RUN_SCHEMA, RUN_VERSION, Run};

use crate::doctor::now;
use crate::machine::{self, KernelChoice, NoiseWatch, System};
use crate::metrics;
use crate::recorder::RunObserver;
use crate::run::{measure_limits, variables};

/// How long timer jitter is measured at the end.
const LOOK: Duration = Duration::from_millis(20);

/// Records the environment from before the work until after it.
#[derive(Debug)]
pub struct EnvironmentRecorder {
    start: Instant,
    created: String,
    machine: Machine,
    limits: Option<Limits>,
    noise: NoiseWatch,
}

impl EnvironmentRecorder {
    /// Starts before the work. Measures the limits for this many threads in under three seconds, if
    /// requested.
    ///
    /// # Errors
    /// Why the limits could not be measured.
    pub fn begin(chosen: KernelChoice, limits_of: Option<usize>, watch: &mut dyn RunObserver) -> Result<Self, String> {
        let (start, created) = (Instant::now(), now());
        let limits = limits_of.map(|threads| measure_limits(chosen, threads, watch)).transpose()?;
        metrics::forget_peak();
        let noise = NoiseWatch::start(&System);
        let machine = machine::machine(&System, chosen);
        Ok(Self { start, created, machine, limits, noise })
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Whether the machine's limits were measured.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// Ends after the work: a run with its date, environment and process, and nothing else yet.
    #[must_use]
    pub fn end(self) -> Run {
        let noise = self.noise.finish(&System, self.machine.cpus, LOOK);
        let environment =
            Environment { machine: self.machine, limits: self.limits, noise: Some(noise), variables: variables() };
        Run {
            schema: RUN_SCHEMA.to_owned(),
            version: RUN_VERSION,
            created: self.created,
            environment,
            process: Some(metrics::process(self.start.elapsed().as_secs_f64())),
            ..Run::default()
        }
    }
}
