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

/// The system's number of this thread; 0 where there is none.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn thread_number() -> i32 {
    // SAFETY: it takes nothing and changes nothing.
    unsafe { libc::gettid() }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn thread_number() -> i32 {
    0
}

/// Takes a CPU from those that a thread of this process may run on, unless it is the last; true if
/// that was done. Allocates nothing.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn forbid(thread: i32, cpu: usize) -> bool {
    change_mask(thread, cpu, |word, bit| word & !bit)
}

/// Gives a CPU back to this thread. Allocates nothing.
#[cfg(all(target_os = "linux", not(miri)))]
pub(super) fn allow(cpu: usize) {
    change_mask(0, cpu, |word, bit| word | bit);
}

#[cfg(all(target_os = "linux", not(miri)))]
fn change_mask(thread: i32, cpu: usize, change: fn(u64, u64) -> u64) -> bool {
    let mut mask = [0_u64; 16];
    // SAFETY: the mask is writable memory of that size; a kernel with more CPUs refuses it.
    let known = unsafe { libc::sched_getaffinity(thread, size_of_val(&mask), mask.as_mut_ptr().cast()) } == 0;
    let Some(word) = mask.get_mut(cpu / 64).filter(|_| known) else { return false };
    let before = std::mem::replace(word, change(*word, 1 << (cpu % 64)));
    // SAFETY: the mask is readable memory of that size. A refusal, of an empty mask above all,
    // leaves everything as it was.
    mask[cpu / 64] != before
        && unsafe { libc::sched_setaffinity(thread, size_of_val(&mask), mask.as_ptr().cast()) } == 0
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn forbid(_: i32, _: usize) -> bool {
    false
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) fn allow(_: usize) {}

#[cfg(target_os = "linux")]
fn quota() -> Option<usize> {
    let (groups, mounts) = (read("/proc/self/cgroup".as_ref())?, read("/proc/self/mountinfo".as_ref())?);
    super::cgroup::quota(&groups, &mounts, read)
}

#[cfg(not(target_os = "linux"))]
fn quota() -> Option<usize> {
    None
}

/// The bytes that the control groups of this process leave it, pages of files counted as free; `None` where nothing limits it.
#[cfg(target_os = "linux")]
#[must_use]
pub fn memory_left_in_groups() -> Option<u64> {
    let (groups, mounts) = (read("/proc/self/cgroup".as_ref())?, read("/proc/self/mountinfo".as_ref())?);
    super::cgroup::memory_left(&groups, &mounts, read)
}

/// Nothing limits it that is known of.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn memory_left_in_groups() -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
fn read(path: &std::path::Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_taken_and_given_back() {
        let on_its_own = std::thread::spawn(|| {
            let (all, thread, cpu) = (allowed(), thread_number(), current().expect("Linux tells"));
            assert_eq!(forbid(thread, cpu), all > 1);
            assert_eq!(allowed(), (all - 1).max(1));
            assert!(all == 1 || current() != Some(cpu));
            allow(cpu);
            assert_eq!(allowed(), all);
            assert!(!forbid(thread, usize::MAX));
        });
        on_its_own.join().expect("as asserted");
    }
}
