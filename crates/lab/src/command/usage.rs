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
use super::start::Start;
use crate::peak_rss;

/// The process, what the system counted for it, and what has to be known of that.
type Measured = (u32, ProcessUse, Vec<String>);

/// Runs a program to its end: its id, its figures, and what has to be known of them.
pub(super) fn measure(start: Start, started: impl FnOnce(u32)) -> io::Result<Measured> {
    match start {
        Start::Launched(launch) => launched(launch, started),
        Start::Directly(command, why) => direct(command, &why, started),
    }
}

fn launched(launch: Launch, started: impl FnOnce(u32)) -> io::Result<Measured> {
    let start = Instant::now();
    let running = match launch.start()? {
        Launched::Running(running) => running,
        Launched::Killed(status) => {
            let usage = ProcessUse { wall_s: start.elapsed().as_secs_f64(), ..ProcessUse::default() };
            return Ok((0, ProcessUse { exit_code: status.code(), signal: signal(status), ..usage }, Vec::new()));
        }
    };
    let process = running.process();
    started(process);
    // The launcher was waited for before, and is not counted.
    let before = Counters::of_children();
    let (ended, wall) = running.wait()?;
    let usage = usage(&ended, wall, before);
    let notes = usage.peak_rss_bytes.is_none().then(|| TOO_SMALL.to_owned());
    Ok((process, usage, notes.into_iter().collect()))
}

fn direct(mut command: Command, why: &str, started: impl FnOnce(u32)) -> io::Result<Measured> {
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
            "{NO_PEAK}, because it is below that of hotloop itself, and the launcher cannot be used ({why})"
        ));
    }
    Ok((process, usage, notes))
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
