//! What a process used, as the system counts it; of a command that was repeated, over all its runs.

use record::{Phase, ProcessUse};

use super::view::{View, is_command};
use crate::document::{Section, not_measured};
use crate::units::{bytes, count, digits, in_unit, mean_count, plural, seconds};

/// How notes about a peak that is not known begin.
const PEAK_NOTE: &str = "peak memory: ";

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let is_command = is_command(view.run);
    let Some(process) = &view.run.process else {
        let section = Section::new("PROCESS", "resource use");
        return is_command.then(|| section.with_facts([("wall time", Some(not_measured()))]));
    };
    match is_command.then(|| Repeats::of(view)).flatten() {
        Some(repeats) => Some(repeats.section(process)),
        None => Some(once(view, process, is_command)),
    }
}

fn once(view: &View<'_>, process: &ProcessUse, is_command: bool) -> Section {
    let part = |time: Option<f64>| time.map_or_else(not_measured, seconds);
    let busy = process.user_s.zip(process.system_s).filter(|_| process.wall_s > 0.0);
    let busy = busy.map(|(user, system)| format!("; {}", cores(user + system, process.wall_s)));
    let cpu = format!("{} user, {} system{}", part(process.user_s), part(process.system_s), busy.unwrap_or_default());
    let counted = |number: Option<u64>| number.map_or_else(not_measured, count);
    let faults = format!("{} minor, {} major", counted(process.minor_faults), counted(process.major_faults));
    let switches = [counted(process.voluntary_switches), counted(process.involuntary_switches)];
    Section::new("PROCESS", "resource use").with_facts([
        ("exit", exit(process).or_else(|| is_command.then(|| "unknown".to_owned()))),
        ("wall time", Some(seconds(process.wall_s))),
        ("CPU time", Some(cpu)),
        ("peak memory", Some(process.peak_rss_bytes.map_or_else(|| no_peak(view), bytes))),
        ("page faults", Some(faults)),
        ("context switches", Some(format!("{} voluntary, {} involuntary", switches[0], switches[1]))),
    ])
}

/// Why the peak is not known, where the run says that.
fn no_peak(view: &View<'_>) -> String {
    let note = view.run.notes.iter().find_map(|note| note.strip_prefix(PEAK_NOTE));
    note.map_or_else(not_measured, str::to_owned)
}

fn exit(process: &ProcessUse) -> Option<String> {
    match (process.exit_code, process.signal) {
        (_, Some(signal)) => Some(format!("killed by signal {signal}")),
        (Some(code), None) => Some(format!("code {code}")),
        (None, None) => None,
    }
}

fn cores(cpu_s: f64, wall_s: f64) -> String {
    format!("{} cores used", digits(cpu_s / wall_s))
}

/// The timed runs of a command, two at least.
pub(super) struct Repeats<'a> {
    view: &'a View<'a>,
    row: &'a str,
    runs: u64,
}

impl<'a> Repeats<'a> {
    /// Nothing where the command was run once.
    pub(super) fn of(view: &'a View<'_>) -> Option<Self> {
        let row = view.run.rows.first()?.name.as_str();
        let runs = view.values(row, "wall_s").len() as u64;
        (runs > 1).then_some(Repeats { view, row, runs })
    }

    fn spread(&self, metric: &str) -> Option<Spread> {
        Spread::of(&self.view.values(self.row, metric))
    }

    /// The same as text.
    fn line(&self, metric: &str, unit: &str) -> String {
        self.spread(metric).map_or_else(not_measured, |spread| spread.line(unit))
    }

    fn section(&self, process: &ProcessUse) -> Section {
        let warmups = self.view.run.samples.iter().filter(|sample| sample.phase == Phase::Warmup).count() as u64;
        let after = if warmups > 0 { format!(" after {}", plural(warmups, "warm-up run")) } else { String::new() };
        let title = format!("{}{after}: mean ± standard deviation (min … max)", plural(self.runs, "run"));
        let mean = |metric: &str| self.spread(metric).map(|spread| spread.mean);
        let cpu_s = mean("user_s").zip(mean("system_s")).zip(mean("wall_s").filter(|wall| *wall > 0.0));
        let counts = |metrics: [(&str, &str); 2]| {
            let known = metrics.map(|(metric, name)| Some(format!("{} {name}", mean_count(mean(metric)?))));
            let known: Vec<String> = known.into_iter().flatten().collect();
            Some(if known.is_empty() { not_measured() } else { format!("{} per run", known.join(", ")) })
        };
        Section::new("PROCESS", &title).with_facts([
            ("exit", self.exit(process)),
            ("wall time", Some(self.line("wall_s", "s"))),
            ("median", self.spread("wall_s").map(|spread| seconds(spread.median))),
            ("user CPU", Some(self.line("user_s", "s"))),
            ("system CPU", Some(self.line("system_s", "s"))),
            ("CPU use", cpu_s.map(|((user, system), wall)| cores(user + system, wall))),
            ("peak memory", Some(self.peak().unwrap_or_else(|| no_peak(self.view)))),
            ("page faults", counts([("minor_faults", "minor"), ("major_faults", "major")])),
            (
                "context switches",
                counts([("voluntary_switches", "voluntary"), ("involuntary_switches", "involuntary")]),
            ),
        ])
    }

    /// All runs ended alike, except for one that ended the repeats.
    fn exit(&self, process: &ProcessUse) -> Option<String> {
        let last = exit(process)?;
        // One that did not end as the first left no sample.
        let is_last_odd =
            process.signal.is_some() || self.view.run.failures.iter().any(|failure| failure.contains("the first time"));
        Some(if is_last_odd {
            format!("{last} in the last run, which is not counted")
        } else {
            format!("{last} in all runs")
        })
    }

    /// The largest of all runs.
    pub(super) fn peak(&self) -> Option<String> {
        let spread = self.spread("peak_rss_bytes")?;
        let written = |value: f64| in_unit("bytes", Some(value));
        Some(format!("{} (smallest run {})", written(spread.high), written(spread.low)))
    }

    /// `12.3 ms ± 410 us (11.8 ms … 13.4 ms), 10 runs`.
    pub(super) fn in_short(&self) -> Option<String> {
        let time = self.spread("wall_s")?.line("s");
        let peak =
            self.spread("peak_rss_bytes").map(|peak| format!(", peak memory {}", in_unit("bytes", Some(peak.high))));
        Some(format!("{time}, {}{}", plural(self.runs, "run"), peak.unwrap_or_default()))
    }
}

/// Values in four numbers.
#[derive(Debug, PartialEq)]
struct Spread {
    mean: f64,
    deviation: f64,
    low: f64,
    high: f64,
    median: f64,
}

impl Spread {
    /// Of two values at least.
    fn of(values: &[f64]) -> Option<Self> {
        let sorted = compare::sorted(values);
        let number = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / number;
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        (sorted.len() > 1).then_some(Spread {
            mean,
            deviation: (squares / (number - 1.0)).sqrt(),
            low: *sorted.first()?,
            high: *sorted.last()?,
            median: compare::quantile(&sorted, 0.5)?,
        })
    }

    fn line(&self, unit: &str) -> String {
        let written = |value: f64| in_unit(unit, Some(value));
        let Spread { mean, deviation, low, high, .. } = *self;
        format!("{} ± {} ({} … {})", written(mean), written(deviation), written(low), written(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_sample() {
        let spread = Spread::of(&[2.0, 4.0, 9.0]).unwrap();
        assert_eq!((spread.mean, spread.low, spread.median, spread.high), (5.0, 2.0, 4.0, 9.0));
        assert!((spread.deviation - 13.0_f64.sqrt()).abs() < 1e-12, "{spread:?}");
        assert_eq!(spread.line("s"), "5.00 s ± 3.61 s (2.00 s … 9.00 s)");
        assert_eq!(Spread::of(&[1.0]), None);
    }
}
