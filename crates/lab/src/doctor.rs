//! Examines the machine: hardware, limits and noise.

use std::time::{Duration, Instant};

use record::{DOCTOR_SCHEMA, DOCTOR_VERSION, Doctor, Tool};

use crate::limits::{self, LimitsEffort};
use crate::machine::{self, KernelChoice, NoiseWatch, System};

/// What to examine.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExamineOptions {
    /// Takes under three seconds instead of under twenty.
    pub quick: bool,
    /// The number of threads to measure with; `None`: all that are usable.
    pub threads: Option<u32>,
}

/// The next step of an examination.
#[derive(Debug, Clone, Copy)]
pub struct ExamineStep<'a> {
    /// Finished steps.
    pub done: u32,
    /// All steps.
    pub of: u32,
    /// What is measured next.
    pub what: &'a str,
}

/// Examines this machine; `tell` is called before every step.
///
/// # Errors
/// More threads than CPUs: they would take turns, and each would find in the caches what should have come from memory.
pub fn examine(
    options: ExamineOptions,
    chosen: KernelChoice,
    mut tell: impl FnMut(ExamineStep<'_>),
) -> Result<Doctor, String> {
    let start = Instant::now();
    let watch = NoiseWatch::start(&System);
    let machine = machine::machine(&System, chosen);
    let counters = machine::counters(&System);
    let (threads, most) = (options.threads.unwrap_or(machine.threads), machine::allowed_cpus(&machine));
    if threads > most {
        return Err(format!("cannot run {threads} threads at once: this process may use {most} CPUs"));
    }
    // The rest of the 3 and 20 seconds is for memory that has to be touched first: 0.1 s when the machine is quiet, on two
    // CPUs with ten other programs up to 2 s.
    let (per_step, preparation, whole, look) =
        if options.quick { (80, 500, 1_500, 40) } else { (600, 2_000, 12_000, 100) };
    let effort = LimitsEffort {
        per_step: Duration::from_millis(per_step),
        preparation: Duration::from_millis(preparation),
        until: start + Duration::from_millis(whole),
        quick: options.quick,
    };
    let limits = limits::measure(&machine, chosen, threads, effort, &mut tell);
    let noise = watch.finish(&System, machine.cpus, Duration::from_millis(look));
    Ok(Doctor {
        schema: DOCTOR_SCHEMA.to_owned(),
        version: DOCTOR_VERSION,
        tool: Tool { name: "hotloop".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        created: Some(now()),
        quick: options.quick,
        duration_s: start.elapsed().as_secs_f64(),
        machine,
        limits,
        noise,
        counters,
    })
}

/// The time by RFC 3339, in UTC and whole seconds.
#[must_use]
pub fn now() -> String {
    rfc3339(jiff::Timestamp::now().as_second())
}

fn rfc3339(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }
}
