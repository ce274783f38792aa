//! One thread to each CPU.
//!
//! Left to itself a busy scheduler may keep two of our threads on one CPU for as long as a measurement takes; the limit
//! of all CPUs then looks like that of some of them.

/// The CPUs that this thread may run on, where the system tells.
#[cfg(target_os = "linux")]
pub(super) fn allowed_cpus() -> Vec<usize> {
    let mut set = empty_set();
    // SAFETY: the set outlives the call, which is told its size; zero is the calling thread.
    let answered = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } == 0;
    let is_set = |cpu: &usize| {
        // SAFETY: the number is below the set's size.
        unsafe { libc::CPU_ISSET(*cpu, &set) }
    };
    if answered { (0..libc::CPU_SETSIZE as usize).filter(is_set).collect() } else { Vec::new() }
}

/// Keeps this thread on that CPU. A refusal leaves it where it was.
#[cfg(target_os = "linux")]
pub(super) fn pin_to(cpu: usize) {
    let mut set = empty_set();
    // SAFETY: the number comes from `allowed_cpus`, below the set's size; the set outlives the call.
    unsafe {
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

#[cfg(target_os = "linux")]
fn empty_set() -> libc::cpu_set_t {
    // SAFETY: a set of bits, all of them zero.
    unsafe { std::mem::zeroed() }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn allowed_cpus() -> Vec<usize> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pin_to(_: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_has_one_cpu() {
        let all = allowed_cpus();
        let last = *all.last().expect("a thread runs somewhere");
        let pinned = std::thread::spawn(move || {
            pin_to(last);
            allowed_cpus()
        });
        assert_eq!(pinned.join().expect("does not panic"), [last]);
        assert_eq!(allowed_cpus(), all);
    }
}
