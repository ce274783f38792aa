//! How many CPUs this process may use.

/// The CPUs that threads of this process can keep busy at once: those of the affinity mask, no more than the quota of
/// its control groups (versions 1 and 2, rounded up), at least 1. Asked anew at every call.
pub fn usable_cpus() -> usize {
    allowed().min(quota().unwrap_or(usize::MAX)).max(1)
}

/// The CPUs in the calling thread's affinity mask.
#[cfg(target_os = "linux")]
fn allowed() -> usize {
    /// 64 CPUs per word; far more than any kernel is built for.
    const MOST_WORDS: usize = 1 << 12;
    // The kernel refuses a mask that is shorter than its own.
    let mut words = 16;
    while words <= MOST_WORDS {
        let mut mask = vec![0_u64; words];
        // SAFETY: the mask is `size_of_val` bytes of writable memory, and any content is a valid mask.
        let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask[..]), mask.as_mut_ptr().cast()) };
        if result == 0 {
            return mask.iter().map(|word| word.count_ones() as usize).sum();
        }
        words *= 2;
    }
    online()
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> usize {
    online()
}

fn online() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(target_os = "linux")]
fn quota() -> Option<usize> {
    let read = |path: &std::path::Path| std::fs::read_to_string(path).ok();
    let groups = read("/proc/self/cgroup".as_ref())?;
    let mounts = read("/proc/self/mountinfo".as_ref())?;
    super::cgroup::quota(&groups, &mounts, read)
}

#[cfg(not(target_os = "linux"))]
fn quota() -> Option<usize> {
    None
}
