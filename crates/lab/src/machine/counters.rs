//! The CPU's own counters: which can be read, or why not.

use std::io;

use kernels::limits::counters::{Event, count};
use record::Counters;

use super::Files;

/// Enough instructions that every event but misses happens.
const STEPS: u64 = 50_000;

/// Tries every event.
pub fn counters(files: &impl Files) -> Counters {
    let tried =
        Event::ALL.map(|event| (event, count(event, || (0..STEPS).for_each(|step| _ = std::hint::black_box(step)))));
    summary(&tried, files.number("/proc/sys/kernel/perf_event_paranoid"))
}

fn summary(tried: &[(Event, io::Result<u64>)], paranoid: Option<i32>) -> Counters {
    // Some hypervisors let a counter be opened that then never counts.
    let counts = |event: Event, counted: u64| counted > 0 || matches!(event, Event::CacheMisses | Event::BranchMisses);
    let works =
        |(event, result): &&(Event, io::Result<u64>)| result.as_ref().is_ok_and(|counted| counts(*event, *counted));
    let available: Vec<String> = tried.iter().filter(works).map(|(event, _)| event.name().to_owned()).collect();
    let reason = tried.iter().find(|each| !works(each)).map(|(event, result)| match result {
        Ok(_) => format!("`{}` can be opened but does not count", event.name()),
        Err(error) => refusal(error, paranoid),
    });
    Counters { counters_available: available, reason, perf_event_paranoid: paranoid }
}

/// What the system's answer means.
fn refusal(error: &io::Error, paranoid: Option<i32>) -> String {
    const NO_ENTRY: i32 = 2;
    const NO_DEVICE: i32 = 19;
    const NO_SYSTEM_CALL: i32 = 38;
    const NOT_SUPPORTED: i32 = 95;
    match error.raw_os_error() {
        Some(NO_ENTRY | NO_DEVICE | NOT_SUPPORTED) => {
            "no CPU counters: the hypervisor hides them, or the kernel does not support this CPU".to_owned()
        }
        Some(NO_SYSTEM_CALL) => "the kernel has no performance events, or a system call filter blocks them".to_owned(),
        _ if error.kind() == io::ErrorKind::PermissionDenied => match paranoid {
            Some(level) if level > 2 => format!(
                "kernel.perf_event_paranoid is {level}: only privileged users may \
                use counters"
            ),
            _ => "not permitted, although kernel.perf_event_paranoid allows it: probably a container's system \
                  call filter"
                .to_owned(),
        },
        _ if error.kind() == io::ErrorKind::Unsupported => "counters are read on Linux only".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    #[test]
    fn what_counts_is_named_and_what_does_not_has_a_reason() {
        let all = [(Event::Cycles, Ok(5)), (Event::BranchMisses, Ok(0))];
        let counters = summary(&all, Some(1));
        assert_eq!(counters.counters_available, ["cycles", "branch-misses"]);
        assert_eq!((counters.reason, counters.perf_event_paranoid), (None, Some(1)));
        let dead = summary(&[(Event::Cycles, Ok(0))], None);
        assert_eq!(dead.reason.as_deref(), Some("`cycles` can be opened but does not count"));
    }

    #[test]
    fn refusals_are_told_apart() {
        assert!(refusal(&refused(2), Some(2)).contains("hypervisor"));
        assert!(refusal(&refused(38), None).contains("filter"));
        assert!(refusal(&refused(13), Some(4)).contains("perf_event_paranoid is 4"));
        assert!(refusal(&refused(1), Some(2)).contains("container"));
        assert!(!refusal(&refused(24), None).is_empty());
    }
}
