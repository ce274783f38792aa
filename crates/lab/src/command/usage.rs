//! What the system counts for a process.
//!
//! `wait4` tells CPU time and peak memory of the one process that is waited for (and of what it waited for itself); the
//! counters of all children together, which alone are told of faults and switches, are read before and after it. The peak
//! could not be had in that way: of all children together it is the greatest ever, so no repeat could be below an earlier one.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use record::ProcessUse;
use wait4::{ResUse, Wait4};

use super::launcher::{Launch, Launched};
use super::start::ProgramStart;
use crate::peak_rss;

/// A program that ran to its end.
#[derive(Debug, Default)]
pub(super) struct ProcessMeasurement {
    pub(super) process: u32,
    /// What the system counted for it.
    pub(super) usage: ProcessUse,
    pub(super) scheduled: Option<SchedulerTimes>,
    /// Remarks that help to understand the figures.
    pub(super) notes: Vec<String>,
}

/// What the scheduler knows of the main thread of a process.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SchedulerTimes {
    /// How long it ran on a CPU, in seconds.
    pub ran_s: f64,
    /// How long it waited for a CPU although it could run, and its end for somebody to notice it, in seconds.
    pub waited_s: f64,
}

impl SchedulerTimes {
    /// Of a process that runs, or has ended and was not waited for yet. `None` where the system does not tell.
    pub(crate) fn of(process: &str) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{process}/schedstat")).ok()?)
    }

    /// Nanoseconds on a CPU, nanoseconds of waiting for one, and how often it got one.
    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
        let mut seconds = || Some(numbers.next()?? as f64 * 1e-9);
        Some(Self { ran_s: seconds()?, waited_s: seconds()? })
    }

    /// What was added since.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { ran_s: self.ran_s - before.ran_s, waited_s: self.waited_s - before.waited_s }
    }
}

/// Runs a program to its end.
pub(super) fn measure(start: ProgramStart, started: impl FnOnce(u32)) -> io::Result<ProcessMeasurement> {
    match start {
        ProgramStart::Launched(launch) => launched(launch, started),
        ProgramStart::Directly(command, why) => direct(command, &why, started),
    }
}

fn launched(launch: Launch, started: impl FnOnce(u32)) -> io::Result<ProcessMeasurement> {
    let start = Instant::now();
    let running = match launch.start()? {
        Launched::Running(running) => running,
        Launched::Killed(status) => {
            let usage = ProcessUse { wall_s: start.elapsed().as_secs_f64(), ..ProcessUse::default() };
            let usage = ProcessUse { exit_code: status.code(), signal: signal(status), ..usage };
            return Ok(ProcessMeasurement { usage, ..ProcessMeasurement::default() });
        }
    };
    let process = running.process();
    started(process);
    // The launcher was waited for before, and is not counted.
    let before = Counters::of_children();
    let (ended, wall, scheduled) = running.wait()?;
    let usage = usage(&ended, wall, before);
    let notes = usage.peak_rss_bytes.is_none().then(|| TOO_SMALL.to_owned());
    Ok(ProcessMeasurement { process, usage, scheduled, notes: notes.into_iter().collect() })
}

fn direct(mut command: Command, why: &str, started: impl FnOnce(u32)) -> io::Result<ProcessMeasurement> {
    let before = Counters::of_children();
    let start = Instant::now();
    let child = command.spawn()?;
    let process = child.id();
    started(process);
    // Where a child begins; read behind that, because other threads may need more until then. The peak of `getrusage` would not
    // do: it begins with that of our own parent, which our children do not inherit.
    let own_peak = peak_rss();
    let ended = child.wait4()?;
    let mut usage = usage(&ended, start.elapsed(), before);
    let mut notes = Vec::new();
    if usage.peak_rss_bytes.zip(own_peak).is_some_and(|(peak, own)| peak <= own) {
        usage.peak_rss_bytes = None;
        notes.push(format!(
            "{NO_PEAK}, because it is below that of hotloop itself and the launcher does not work here ({why})"
        ));
    }
    Ok(ProcessMeasurement { process, usage, scheduled: None, notes })
}

/// How every note about a peak that is not known begins.
pub(crate) const NO_PEAK: &str = "peak memory: not measured";
/// Since Linux 6.2 each CPU counts up to 31 pages for itself before they appear in the sum.
const TOO_SMALL: &str = "peak memory: not measured, because the program has too few pages for the kernel to count them";

fn usage(ended: &ResUse, wall: Duration, before: Option<Counters>) -> ProcessUse {
    let counted = Counters::of_children().and_then(|after| Some(after.since(&before?)));
    ProcessUse {
        wall_s: wall.as_secs_f64(),
        user_s: Some(ended.rusage.utime.as_secs_f64()),
        system_s: Some(ended.rusage.stime.as_secs_f64()),
        peak_rss_bytes: Some(ended.rusage.maxrss).filter(|bytes| *bytes > 0),
        minor_faults: counted.map(|counted| counted.minor_faults),
        major_faults: counted.map(|counted| counted.major_faults),
        voluntary_switches: counted.map(|counted| counted.voluntary_switches),
        involuntary_switches: counted.map(|counted| counted.involuntary_switches),
        exit_code: ended.status.code(),
        signal: signal(ended.status),
    }
}

/// What is counted for all children that were waited for, together.
#[derive(Debug, Clone, Copy)]
struct Counters {
    minor_faults: u64,
    major_faults: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

impl Counters {
    #[cfg(unix)]
    fn of_children() -> Option<Self> {
        use nix::sys::resource::{UsageWho, getrusage};
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
        let count = |number: nix::libc::c_long| u64::try_from(number).unwrap_or(0);
        Some(Counters {
            minor_faults: count(usage.minor_page_faults()),
            major_faults: count(usage.major_page_faults()),
            voluntary_switches: count(usage.voluntary_context_switches()),
            involuntary_switches: count(usage.involuntary_context_switches()),
        })
    }

    #[cfg(not(unix))]
    fn of_children() -> Option<Self> {
        None
    }

    fn since(self, before: &Self) -> Self {
        Counters {
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
        }
    }
}

/// Asks a process to end.
#[cfg(unix)]
pub fn terminate(process: u32) {
    use nix::sys::signal::{Signal, kill};
    if let Ok(process) = i32::try_from(process) {
        // It may have ended meanwhile.
        let _ = kill(nix::unistd::Pid::from_raw(process), Signal::SIGTERM);
    }
}

/// Asks a process to end; there is no such way here.
#[cfg(not(unix))]
pub fn terminate(_: u32) {}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_scheduler_tells_is_read() {
        let read = SchedulerTimes::read("1500000000 20000000 12\n");
        assert_eq!(read, Some(SchedulerTimes { ran_s: 1.5, waited_s: 0.02 }));
        assert_eq!(
            (SchedulerTimes::read(""), SchedulerTimes::read("12"), SchedulerTimes::read("a b c")),
            (None, None, None)
        );
        assert_eq!(SchedulerTimes::of("no such process"), None);
    }
}
