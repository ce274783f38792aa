//! Runs a command repeatedly.

use std::collections::BTreeMap;
use std::time::Instant;

use record::{Better, Metric, Per, Phase, ProcessUse, Profile, Row, Sample};

use super::{Command, CommandObserver, CompletedCommand, ProfilerOptions, Scratch, StartError, StartErrorKind};

/// The name of the row.
const ROW: &str = "command";

/// How often to run it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatCounts {
    /// Timed runs; at least one.
    pub timed: u64,
    /// Warm-up runs.
    pub warmup: u64,
    /// Whether output is shown for failed runs only.
    pub hide_output: bool,
}

/// All runs of a command.
#[derive(Debug, Clone, Default)]
pub struct CommandMeasurement {
    /// Definitions of the metrics in samples.
    pub metrics: BTreeMap<String, Metric>,
    /// The one row.
    pub rows: Vec<Row>,
    /// A sample for each run that ended as the first one did.
    pub samples: Vec<Sample>,
    /// Resource use and exit status of the last run.
    pub process: ProcessUse,
    /// The profile of the last run.
    pub profile: Option<Profile>,
    /// Whether somebody asked for an end before all runs were done.
    pub interrupted: bool,
    /// Failures.
    pub failures: Vec<String>,
    /// Remarks that help to understand the figures.
    pub notes: Vec<String>,
}

impl Command {
    /// Runs it several times, one after the other, and ends early when one of them ends otherwise than the first or by a
    /// signal, or when somebody asked for an end meanwhile.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn repeat(
        &self,
        repeats: RepeatCounts,
        asked: &ProfilerOptions,
        watch: &mut dyn CommandObserver,
    ) -> Result<CommandMeasurement, StartError> {
        let began = Instant::now();
        let what = format!("the whole command: {}", self.words().join(" "));
        let row = Row { name: ROW.to_owned(), what, calls: 1, ..Row::default() };
        let mut measured = CommandMeasurement { metrics: metrics(), rows: vec![row], ..CommandMeasurement::default() };
        let mut hidden = repeats.hide_output.then(Scratch::new).transpose().map_err(|why| self.cannot_run(why))?;
        let mut first_code = None;
        let count = repeats.warmup + repeats.timed.max(1);
        for launch in 0..count {
            watch.run(launch, count);
            let start_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let CompletedCommand { usage, profile, notes, .. } = self.once(asked, hidden.as_mut(), watch)?;
            let phase = if launch < repeats.warmup { Phase::Warmup } else { Phase::Timed };
            let failure = failure(&usage, *first_code.get_or_insert(usage.exit_code));
            // One that somebody ended before its end is none, unless it is the only one: servers end only so.
            let was_ended = watch.is_stopped() && !measured.samples.is_empty();
            if failure.is_none() && !was_ended {
                let (row, values) = (ROW.to_owned(), values(&usage));
                measured.samples.push(Sample { row, phase, launch, start_ns, values, ..Sample::default() });
            }
            (measured.process, measured.profile, measured.notes) = (usage, profile, notes);
            measured.interrupted = watch.is_stopped();
            measured.failures.extend(failure.map(|failure| at_launch(&failure, launch, count)));
            if measured.interrupted || !measured.failures.is_empty() {
                break;
            }
        }
        if let Some(code) = measured.process.exit_code.filter(|code| *code != 0 && measured.failures.is_empty()) {
            measured.failures.push(format!("the program ended with exit code {code}"));
        }
        if let Some(hidden) = hidden.filter(|_| !measured.failures.is_empty() && !measured.interrupted) {
            let [output, stderr] = hidden.last_output();
            watch.printed(&output, &stderr);
        }
        Ok(measured)
    }

    /// One of the runs, with what it prints in these files if there are any.
    fn once(
        &self,
        asked: &ProfilerOptions,
        hidden: Option<&mut Scratch>,
        watch: &mut dyn CommandObserver,
    ) -> Result<CompletedCommand, StartError> {
        let ended = match hidden {
            Some(files) => {
                let streams = files.streams().map_err(|why| self.cannot_run(why))?;
                self.run_hidden(streams, asked, |process| watch.started(process))
            }
            None => self.run(asked, |process| watch.started(process)),
        };
        watch.ended();
        ended
    }

    fn cannot_run(&self, why: String) -> StartError {
        StartError { program: self.words().swap_remove(0), why: StartErrorKind::NotExecutable(why) }
    }
}

/// Why what a run took says nothing about the others.
fn failure(usage: &ProcessUse, first_code: Option<i32>) -> Option<String> {
    if let Some(signal) = usage.signal {
        return Some(format!("the program was terminated by signal {signal}"));
    }
    match (usage.exit_code, first_code) {
        (code, first) if code == first => None,
        (Some(code), Some(first)) => {
            Some(format!("the program ended with exit code {code}, in the first run with {first}"))
        }
        _ => Some("the program ended differently from the first run".to_owned()),
    }
}

fn at_launch(failure: &str, launch: u64, count: u64) -> String {
    if count == 1 { failure.to_owned() } else { format!("run {} of {count}: {failure}", launch + 1) }
}

/// What was measured, by name: what was not is left out.
fn values(usage: &ProcessUse) -> BTreeMap<String, f64> {
    let count = |number: Option<u64>| number.map(|number| number as f64);
    let values = [
        ("wall_s", Some(usage.wall_s)),
        ("user_s", usage.user_s),
        ("system_s", usage.system_s),
        ("peak_rss_bytes", count(usage.peak_rss_bytes)),
        ("minor_faults", count(usage.minor_faults)),
        ("major_faults", count(usage.major_faults)),
        ("voluntary_switches", count(usage.voluntary_switches)),
        ("involuntary_switches", count(usage.involuntary_switches)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn metrics() -> BTreeMap<String, Metric> {
    let metric = |(name, unit, definition): (&str, &str, &str)| {
        let (definition, unit) = (definition.to_owned(), unit.to_owned());
        (name.to_owned(), Metric { definition, unit, better: Better::Lower, per: Some(Per::Call), exact: false })
    };
    let all = [
        ("wall_s", "s", "from before the process is made until it has ended and was waited for"),
        ("user_s", "s", "CPU time of the process, its threads and the processes it waited for, in the program"),
        ("system_s", "s", "CPU time of the same in the system on their behalf"),
        (
            "peak_rss_bytes",
            "bytes",
            "the most resident memory of the process, or of one that it waited for if that is more",
        ),
        ("minor_faults", "count", "pages given to the process, and to those it waited for, without reading a disk"),
        ("major_faults", "count", "pages that a disk was read for"),
        ("voluntary_switches", "count", "times that the process, and those it waited for, gave a CPU up to wait"),
        ("involuntary_switches", "count", "times that a CPU was taken from them"),
    ];
    all.into_iter().map(metric).collect()
}
