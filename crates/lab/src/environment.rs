//! What surrounds work that this process does: the machine and its limits before it, what disturbed it, what the process took.

use std::time::{Duration, Instant};

use record::{Environment, Limits, Machine, RUN_SCHEMA, RUN_VERSION, Run};

use crate::doctor::now;
use crate::machine::{self, KernelChoice, NoiseWatch, System};
use crate::metrics;
use crate::recorder::RunObserver;
use crate::run::{measure_limits, variables};

/// How long a waiting thread is watched at the end.
const LOOK: Duration = Duration::from_millis(20);

/// From before the work to behind it.
#[derive(Debug)]
pub struct EnvironmentRecorder {
    start: Instant,
    created: String,
    machine: Machine,
    limits: Option<Limits>,
    noise: NoiseWatch,
}

impl EnvironmentRecorder {
    /// Before the work. Limits are measured for so many threads, in under three seconds, or not at all.
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

    /// Whether its limits are known.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// Behind the work: a record of where and when it happened, and of nothing else yet.
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
