//! What concerns the whole process happens in a child of its own: the test starts itself again.
#![allow(unsafe_code, reason = "signals, CPU clocks and affinity masks are the C library's")]

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kernels::{Pool, usable_cpus};

use super::{FAR_TOO_LONG, check_region, meet};

/// Set in a child.
const CHILD: &str = "HOTLOOP_TEST_CHILD";

/// Whether this process is the child; it then plays its role.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// This test alone, as a child.
fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("pool::processes::{test}"), "--nocapture"]);
    command.env(CHILD, "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for a good end of the child.
#[track_caller]
fn expect_success(mut child: Child) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > FAR_TOO_LONG {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let (mut said, mut complained) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
    assert!(child.wait().unwrap().success(), "{said}{complained}");
    // A filter that matches nothing succeeds too.
    assert!(said.contains("1 passed"), "{said}");
}

fn set_affinity(thread: i32, mask: u64) -> bool {
    // SAFETY: the mask is eight bytes long.
    unsafe { libc::sched_setaffinity(thread, size_of_val(&mask), (&raw const mask).cast()) == 0 }
}

/// A mask of the first usable CPU, where it is among the first 64.
fn first_cpu() -> Option<u64> {
    let mut mask = [0_u64; 16];
    // SAFETY: the mask is `size_of_val` bytes of writable memory.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&mask), mask.as_mut_ptr().cast()) };
    (result == 0 && mask[0] != 0).then(|| 1 << mask[0].trailing_zeros())
}

/// CPU time of the whole process.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes one `timespec`.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Threads of this process that are a pool's workers.
fn workers() -> Vec<i32> {
    let mut found = Vec::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().map(Result::unwrap) {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if name.starts_with("hotloop-") {
            found.push(task.file_name().to_str().unwrap().parse().unwrap());
        }
    }
    found
}

#[test]
fn a_silent_pool_uses_no_cpu_time_and_a_dropped_one_no_threads() {
    /// One worker that never slept would use all of it on an idle machine, and a third or so on a loaded one.
    const SILENCE: Duration = Duration::from_millis(300);
    if !is_child() {
        return expect_success(child("a_silent_pool_uses_no_cpu_time_and_a_dropped_one_no_threads").spawn().unwrap());
    }
    for threads in [2, 8] {
        let pool = Pool::new(threads);
        for _ in 0..1000 {
            check_region(&pool, threads);
        }
        pool.wake();
        // Time to fall asleep, on a loaded machine too.
        std::thread::sleep(Duration::from_millis(50));
        let before = cpu_time();
        std::thread::sleep(SILENCE);
        let used = cpu_time() - before;
        assert!(used < SILENCE / 20, "{threads} threads used {used:?} of {SILENCE:?}");
        assert_eq!(workers().len(), threads - 1);
        drop(pool);
        assert_eq!(workers().len(), 0);
    }
}

#[test]
fn a_stopped_process_goes_on_where_it_was() {
    const NAME: &str = "a_stopped_process_goes_on_where_it_was";
    if is_child() {
        let pool = Pool::new(2);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1500) {
            for parts in [2, 3, 8] {
                check_region(&pool, parts);
            }
        }
        return;
    }
    let child = child(NAME).spawn().unwrap();
    let id = child.id() as i32;
    for round in 0..40_u64 {
        // SAFETY: a signal to a child that nobody has waited for yet.
        unsafe { libc::kill(id, libc::SIGSTOP) };
        std::thread::sleep(Duration::from_millis(1 + round % 7));
        // SAFETY: as above.
        unsafe { libc::kill(id, libc::SIGCONT) };
        std::thread::sleep(Duration::from_micros(500 * (round % 11)));
    }
    expect_success(child);
}

#[test]
fn one_cpu_for_all_threads_is_enough() {
    let Some(one) = first_cpu() else { return };
    if is_child() {
        assert_eq!(usable_cpus(), 1);
        assert_eq!(Pool::best().threads(), 1);
        for threads in [2, 4] {
            let pool = Pool::new(threads);
            for region in 0..3000 {
                check_region(&pool, region % 6);
            }
            meet(&pool);
        }
        return;
    }
    let mut command = child("one_cpu_for_all_threads_is_enough");
    // SAFETY: between fork and exec, one system call and nothing else.
    unsafe {
        command.pre_exec(move || match set_affinity(0, one) {
            true => Ok(()),
            false => Err(std::io::Error::last_os_error()),
        });
    }
    expect_success(command.spawn().unwrap());
}

#[test]
fn cores_may_be_taken_away_from_a_running_pool() {
    let Some(one) = first_cpu() else { return };
    if !is_child() {
        return expect_success(child("cores_may_be_taken_away_from_a_running_pool").spawn().unwrap());
    }
    let pool = Pool::best();
    check_region(&pool, 2);
    // The pool knows nothing of this: it spins as if every thread had its core.
    assert!(set_affinity(0, one));
    assert!(workers().into_iter().all(|worker| set_affinity(worker, one)));
    for region in 0..5000 {
        check_region(&pool, region % 6);
    }
}
