//! What the system counts for a process.
//!
//! `wait4` tells CPU time and peak memory of the one process that is waited for (and of what it waited for itself); the
//! counters of all children together, which alone are told of faults and switches, are read before and after it. The peak
//! could not be had in that way: of all children together it is the greatest ever, so no repeat could be below an earlier one.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::Instant;

use record::ProcessUse;
use wait4::Wait4;

use crate::peak_rss;

/// Runs a command to its end: its id, its figures, and what has to be known of them.
pub(super) fn measure(command: &mut Command, started: impl FnOnce(u32)) -> io::Result<(u32, ProcessUse, Vec<String>)> {
    let before = Counters::of_children();
    // Where a child begins. That of `getrusage` would not do: it begins with the peak of our own parent, which our children do
    // not inherit.
    let own_peak = peak_rss();
    let start = Instant::now();
    let child = command.spawn()?;
    let process = child.id();
    started(process);
    let ended = child.wait4()?;
    let wall_s = start.elapsed().as_secs_f64();
    let counted = Counters::of_children().and_then(|after| Some(after.since(&before?)));
    let mut notes = Vec::new();
    let mut peak = Some(ended.rusage.maxrss).filter(|bytes| *bytes > 0);
    if let (Some(bytes), Some(floor)) = (peak, own_peak)
        && bytes <= floor
    {
        // A new process inherits the peak of the one that starts it, until its own is above.
        notes.push(format!(
            "peak memory is below {:.1} MB, what hotloop itself has, and not measured",
            floor as f64 / 1e6
        ));
        peak = None;
    }
    let usage = ProcessUse {
        wall_s,
        user_s: Some(ended.rusage.utime.as_secs_f64()),
        system_s: Some(ended.rusage.stime.as_secs_f64()),
        peak_rss_bytes: peak,
        minor_faults: counted.map(|counted| counted.minor_faults),
        major_faults: counted.map(|counted| counted.major_faults),
        voluntary_switches: counted.map(|counted| counted.voluntary_switches),
        involuntary_switches: counted.map(|counted| counted.involuntary_switches),
        exit_code: ended.status.code(),
        signal: signal(ended.status),
    };
    Ok((process, usage, notes))
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
