//! Whether the CPU's own counters can be read.

/// An event that the CPU may count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Cycles of the core.
    Cycles,
    /// Instructions that were completed.
    Instructions,
    /// Accesses to the last cache.
    CacheReferences,
    /// Those that it could not answer.
    CacheMisses,
    /// Branches that were completed.
    Branches,
    /// Those that were guessed wrong.
    BranchMisses,
}

impl Event {
    /// Every one.
    pub const ALL: [Event; 6] = [
        Event::Cycles,
        Event::Instructions,
        Event::CacheReferences,
        Event::CacheMisses,
        Event::Branches,
        Event::BranchMisses,
    ];

    /// The name that `perf` gives it.
    pub fn name(self) -> &'static str {
        match self {
            Event::Cycles => "cycles",
            Event::Instructions => "instructions",
            Event::CacheReferences => "cache-references",
            Event::CacheMisses => "cache-misses",
            Event::Branches => "branches",
            Event::BranchMisses => "branch-misses",
        }
    }
}

/// What the kernel is asked for: the first version of its structure, which every later kernel takes.
#[cfg(target_os = "linux")]
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample: [u64; 2],
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    address: u64,
}

#[cfg(target_os = "linux")]
impl Attributes {
    fn new(event: Event, with_children: bool) -> Self {
        const HARDWARE: u32 = 0;
        const INHERIT: u64 = 1 << 1;
        const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
        let config = match event {
            Event::Cycles => 0,
            Event::Instructions => 1,
            Event::CacheReferences => 2,
            Event::CacheMisses => 3,
            Event::Branches => 4,
            Event::BranchMisses => 5,
        };
        Attributes {
            kind: HARDWARE,
            size: size_of::<Attributes>() as u32,
            config,
            sample: [0; 2],
            read_format: 0,
            flags: EXCLUDE_KERNEL_AND_HYPERVISOR | if with_children { INHERIT } else { 0 },
            wakeup: 0,
            breakpoint: 0,
            address: 0,
        }
    }
}

/// Counts the event on this thread while `work` runs, outside of the kernel.
///
/// # Errors
/// What the system answers where it does not let us count.
#[cfg(target_os = "linux")]
pub fn count(event: Event, work: impl FnOnce()) -> std::io::Result<u64> {
    count_by(&Attributes::new(event, false), work)
}

/// Counts the event on this thread, and in all threads and processes that it starts meanwhile, while `work` runs.
///
/// # Errors
/// What the system answers where it does not let us count; then nothing was done.
#[cfg(target_os = "linux")]
pub fn count_with_children(event: Event, work: impl FnOnce()) -> std::io::Result<u64> {
    count_by(&Attributes::new(event, true), work)
}

#[cfg(target_os = "linux")]
fn count_by(attributes: &Attributes, work: impl FnOnce()) -> std::io::Result<u64> {
    use std::fs::File;
    use std::io::{Error, Read};
    use std::os::fd::{FromRawFd, RawFd};

    const CLOSE_ON_EXEC: u64 = 1 << 3;
    let (this_thread, any_cpu, no_group) = (0, -1, -1);
    // SAFETY: the structure outlives the call and says its own size.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            this_thread,
            any_cpu,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    if descriptor < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    let mut file = unsafe { File::from_raw_fd(descriptor as RawFd) };
    work();
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Counts the event on this thread while `work` runs.
///
/// # Errors
/// Always: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub fn count(_: Event, work: impl FnOnce()) -> std::io::Result<u64> {
    work();
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}

/// Counts the event on this thread and in what it starts.
///
/// # Errors
/// Always, and without any work: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub fn count_with_children(_: Event, _: impl FnOnce()) -> std::io::Result<u64> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_counted_or_refused_with_a_reason() {
        for event in Event::ALL {
            let work = || (0..100_000).for_each(|step| _ = std::hint::black_box(step));
            match count(event, work) {
                Ok(counted) if event == Event::Instructions => assert!(counted > 100_000, "{counted}"),
                Ok(_) => {}
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    #[cfg(not(miri))]
    fn what_a_thread_starts_is_counted_too() {
        let work = || (0..1_000_000).for_each(|step| _ = std::hint::black_box(step));
        let other = || std::thread::scope(|scope| drop(scope.spawn(work)));
        if let (Ok(alone), Ok(all)) =
            (count(Event::Instructions, other), count_with_children(Event::Instructions, other))
            && alone > 0
        {
            assert!(all > 1_000_000 && all > alone, "{alone} {all}");
        }
    }
}
