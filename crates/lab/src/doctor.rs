//! The whole examination: what the machine is, what it can do, how quiet it is.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use record::{DOCTOR_SCHEMA, DOCTOR_VERSION, Doctor, Tool};

use crate::limits::{self, LimitsEffort};
use crate::machine::{self, KernelChoice, NoiseWatch, System};

/// What to examine.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExamineOptions {
    /// In under three seconds instead of under twenty.
    pub quick: bool,
    /// Threads that stand for all; `None`: as many as make sense.
    pub threads: Option<u32>,
}

/// What is about to be measured.
#[derive(Debug, Clone, Copy)]
pub struct ExamineStep<'a> {
    /// How many measurements are done.
    pub done: u32,
    /// How many there are.
    pub of: u32,
    /// What comes next.
    pub what: &'a str,
}

/// Examines this machine; `tell` hears of every step.
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
        return Err(format!("{threads} threads cannot run at a time here, {most} at most"));
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

/// Now, in UTC; the beginning of 1970 where the clock stands before it.
#[must_use]
pub fn now() -> String {
    rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// Seconds since 1970 as a date and time in UTC.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Days since 1970 as year, month, day. Years begin in March here, so that the day that comes and goes is their last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = (if month < 10 { month + 3 } else { month - 9 }, year_of_era + era * 400);
    (year + u64::from(month <= 2), month, day)
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
