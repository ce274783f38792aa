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

/// The CPU that this thread runs on, where the system tells.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn current() -> Option<usize> {
    // SAFETY: it takes nothing and changes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn current() -> Option<usize> {
    None
}

/// Takes this thread to another of the CPUs that it may run on, if there is one; it may come back later. Allocates nothing.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn leave(cpu: usize) {
    let mut all = [0_u64; 16];
    // SAFETY: the mask is writable memory of that size; a kernel with more CPUs refuses it.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&all), all.as_mut_ptr().cast()) } == 0;
    let mut others = all;
    if let Some(word) = others.get_mut(cpu / 64) {
        *word &= !(1 << (cpu % 64));
    }
    if known && others != all && others.iter().any(|word| *word != 0) {
        for mask in [&others, &all] {
            // SAFETY: the mask is readable memory of that size. A refusal leaves everything as it was.
            unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn leave(_: usize) {}

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

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_left_may_come_back() {
        let on_its_own = std::thread::spawn(|| {
            let all = allowed();
            let cpu = current().expect("Linux tells");
            leave(cpu);
            assert_eq!(allowed(), all);
            leave(usize::MAX);
            assert_eq!(allowed(), all);
        });
        on_its_own.join().expect("nothing is asserted in vain");
    }
}
