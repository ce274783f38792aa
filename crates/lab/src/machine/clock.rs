//! The clocks: what the kernel says of them, and what reading them costs.

use std::time::Instant;

use hotloop::ClockSource;
use record::{Clock, ProfilerClock};

use super::Files;

const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
/// Readings in a row; best of some tries, because a single one may be interrupted.
const READINGS: u32 = 2_000;
const TRIES: u32 = 5;

pub(super) fn read(files: &impl Files) -> Clock {
    let available = files.word(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let profiler = hotloop::snapshot().clock;
    Clock {
        source: files.word(&format!("{FOLDER}/current_clocksource")),
        available: available.split_whitespace().map(str::to_owned).collect(),
        timer_res_ns: smallest_step_ns(),
        read_ns: reading_ns(),
        profiler: Some(ProfilerClock {
            source: if profiler.source == ClockSource::Counter { "counter" } else { "os" }.to_owned(),
            why: profiler.why.to_owned(),
            timer_res_ns: profiler.resolution_ns,
        }),
    }
}

/// The smallest difference of two readings that differ.
fn smallest_step_ns() -> f64 {
    let mut last = Instant::now();
    let steps = (0..READINGS).filter_map(|_| {
        let now = Instant::now();
        let step = now.duration_since(last).as_nanos();
        last = now;
        (step > 0).then_some(step as f64)
    });
    steps.min_by(f64::total_cmp).unwrap_or(1.0)
}

fn reading_ns() -> f64 {
    let tries = (0..TRIES).map(|_| {
        let start = Instant::now();
        (0..READINGS).for_each(|_| _ = std::hint::black_box(Instant::now()));
        start.elapsed().as_nanos() as f64 / f64::from(READINGS)
    });
    tries.min_by(f64::total_cmp).expect("there are some tries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_kernels_choice_is_read_and_the_rest_measured() {
        let files = BTreeMap::from([
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
            ("/sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm \n"),
        ]);
        let clock = read(&files);
        assert_eq!(clock.source.as_deref(), Some("hpet"));
        assert_eq!(clock.available, ["hpet", "acpi_pm"]);
        assert!(clock.timer_res_ns >= 1.0 && clock.read_ns > 0.0, "{clock:?}");
        assert_eq!(read(&BTreeMap::new()).source, None);
    }
}
