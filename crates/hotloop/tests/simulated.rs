//! The estimator without any noise: the program's clock is a number that the program itself moves on, so the truth is known
//! to the nanosecond.
#![cfg(all(
    feature = "enabled",
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(miri)
))]
#![allow(unsafe_code, reason = "takes the place of the C library's clock")]
#![allow(clippy::print_stderr, reason = "a table of what was found")]

use std::cell::Cell;
use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use hotloop::Config;

const MONOTONIC: c_int = 1;
const SYS_CLOCK_GETTIME: c_long = if cfg!(target_arch = "x86_64") { 228 } else { 113 };
/// What reading the clock takes.
const READING: u64 = 10;

static NOW: AtomicU64 = AtomicU64::new(1_000_000_000);

thread_local! {
    /// Whether this thread's clock is the simulated one. The test harness keeps the real one: its main thread waits for
    /// results until a point in time, and in simulated time that would be a loop that moves the clock on meanwhile.
    static IS_SIMULATED: Cell<bool> = const { Cell::new(false) };
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
}

/// The C library's, but for the one clock that the profiler uses, on threads that run a test.
///
/// # Safety
/// `time` may be written to.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    if clock != MONOTONIC || !IS_SIMULATED.get() {
        // SAFETY: as the C library does it.
        return unsafe { syscall(SYS_CLOCK_GETTIME, c_long::from(clock), time) } as c_int;
    }
    let now = NOW.fetch_add(READING, Relaxed);
    // SAFETY: the caller's promise.
    unsafe {
        (*time).seconds = (now / 1_000_000_000) as i64;
        (*time).nanoseconds = (now % 1_000_000_000) as i64;
    }
    0
}

fn work(ns: u64) {
    NOW.fetch_add(ns, Relaxed);
}

/// One test at a time, with the simulated clock.
fn simulated() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    static CLOCK: Once = Once::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    IS_SIMULATED.set(true);
    // SAFETY: before anything else of this process reads the environment.
    CLOCK.call_once(|| unsafe { std::env::set_var("HOTLOOP_CLOCK", "os") });
    turn
}

/// Random numbers that are the same in every run of the test.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

const REPEATS: usize = 41;

/// Repeats of patterns whose long stretches are so rare that some repeats time none of them. In these repeats the total is
/// off by up to two thirds, which its interval says. At a budget of 1 %, 20 gaps of 4 ms have a standard deviation of 0.07
/// from repeat to repeat: the mean of 41 has a standard error of 0.011 and exceeds 1.03 by chance, that of 205 has 0.005.
const REPEATS_OF_RARE: usize = 5 * REPEATS;

/// Calls, and how long each of them and what follows it takes.
struct Pattern {
    name: &'static str,
    calls: u64,
    repeats: usize,
    times: Box<dyn FnMut(u64) -> (u64, u64)>,
}

fn pattern(name: &'static str, calls: u64, times: impl FnMut(u64) -> (u64, u64) + 'static) -> Pattern {
    Pattern { name, calls, repeats: REPEATS, times: Box::new(times) }
}

impl Pattern {
    /// With so few long stretches that many repeats are needed for the mean.
    fn rare(self) -> Self {
        Pattern { repeats: REPEATS_OF_RARE, ..self }
    }
}

/// Calls of this length with 300 ns between them.
fn calls(name: &'static str, calls: u64, mut ns: impl FnMut(u64) -> u64 + 'static) -> Pattern {
    pattern(name, calls, move |call| (ns(call), 300))
}

/// What was printed for the scope, against the truth.
struct Measured {
    ratio: f64,
    error: f64,
    is_covered: bool,
    p50_ns: u64,
}

fn measure(pattern: &mut Pattern) -> Measured {
    hotloop::reset();
    let mut truth = 0;
    {
        hotloop::scope!("loop");
        for call in 0..pattern.calls {
            let (inside, outside) = (pattern.times)(call);
            truth += inside;
            {
                hotloop::scope!("s");
                work(inside);
            }
            work(outside);
        }
    }
    let scope = hotloop::snapshot().find("s").expect("it was entered");
    assert_eq!(scope.calls, pattern.calls, "{}: calls are exact", pattern.name);
    let truth = truth as f64;
    let error = scope.total_se_ns.unwrap_or(0) as f64;
    Measured {
        ratio: scope.total_ns as f64 / truth,
        error: error / truth,
        is_covered: (scope.total_ns as f64 - truth).abs() <= 1.96 * error + 1.0,
        p50_ns: scope.p50_ns.unwrap_or(0),
    }
}

/// Totals are right on average, and the printed interval holds the truth.
fn check(budget: f64, patterns: Vec<Pattern>) {
    hotloop::stop();
    Config::new().budget(Some(budget)).start();
    let mut wrong = Vec::new();
    for mut pattern in patterns {
        let outcomes: Vec<Measured> = (0..pattern.repeats).map(|_| measure(&mut pattern)).collect();
        let mean = |value: &dyn Fn(&Measured) -> f64| outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64;
        let (ratio, error) = (mean(&|one| one.ratio), mean(&|one| one.error));
        let deviation = mean(&|one| (one.ratio - ratio).powi(2)).sqrt();
        let covered = outcomes.iter().filter(|outcome| outcome.is_covered).count();
        let line = format!(
            "{budget:5} {:40} {ratio:6.3} stated error {error:.4} deviation {deviation:.4} covered {covered} of {}",
            pattern.name, pattern.repeats
        );
        eprintln!("{line}");
        if !(0.97..=1.03).contains(&ratio) || covered * 41 < 37 * pattern.repeats {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const CALLS: u64 = 200_000;

fn usual_patterns() -> Vec<Pattern> {
    let mut random = Random(88_172_645_463_325_252);
    let every =
        |period: u64, name| calls(name, CALLS, move |call| if call % period == period - 1 { 30_000 } else { 300 });
    vec![
        pattern("uniform 50 ns", CALLS, |_| (50, 50)),
        calls("uniform 300 ns", CALLS, |_| 300),
        calls(
            "random 1 in 1000 is 100x",
            CALLS,
            move |_| if random.next().is_multiple_of(1000) { 30_000 } else { 300 },
        ),
        every(64, "every 64th is 100x"),
        every(65, "every 65th is 100x"),
        every(63, "every 63rd is 100x"),
        every(32, "every 32nd is 100x"),
        every(128, "every 128th is 100x"),
        calls("alternating 100 ns / 2 us", CALLS, |call| if call.is_multiple_of(2) { 100 } else { 2_000 }),
        calls("drift 100 ns -> 2 us", CALLS, |call| 100 + 1_900 * call / CALLS),
        calls("drift 2 us -> 100 ns", CALLS, |call| 2_000 - 1_900 * call / CALLS),
    ]
}

fn rare_long_calls() -> Vec<Pattern> {
    let then = |name, more: u64, ns| calls(name, CALLS + more, move |call| if call < CALLS { 100 } else { ns });
    vec![
        then("200k at 100 ns, then 10 at 10 ms", 10, 10_000_000),
        then("200k at 100 ns, then 30 at 1 ms", 30, 1_000_000),
        then("200k at 100 ns, then 500 at 200 us", 500, 200_000),
        calls("40 x (5000 at 100 ns, 5 at 1 ms)", 200_200, |call| if call % 5_005 < 5_000 { 100 } else { 1_000_000 })
            .rare(),
        calls("one call of 4 ms among 300 ns", CALLS, |call| if call == 150_000 { 4_000_000 } else { 300 }).rare(),
        calls("20 calls of 4 ms", CALLS, |call| if call % 10_000 == 7_000 { 4_000_000 } else { 300 }).rare(),
    ]
}

/// Long stretches that are not in the scope, or that hit it and what is around it as they come.
fn long_stretches_elsewhere() -> Vec<Pattern> {
    let (mut heavy, mut random, mut busy) = (Random(7), Random(99), 0);
    let mut tail = move || 30_000 / (1 + heavy.next() % 300);
    vec![
        pattern("one gap of 4 ms", CALLS, |call| (300, if call == 150_000 { 4_000_000 } else { 300 })).rare(),
        pattern("20 gaps of 4 ms", CALLS, |call| (300, if call % 10_000 == 7_000 { 4_000_000 } else { 300 })).rare(),
        pattern("heavy tails in calls and gaps", CALLS, move |_| (tail(), tail())).rare(),
        pattern("preempted 1 % of the time, 4 ms each", 1_000_000, move |_| {
            // One slice in 400 ms, in the call or behind it as it falls.
            busy += 600;
            if busy < 396_000_000 {
                return (300, 300);
            }
            busy = random.next() % 1_000_000;
            if random.next().is_multiple_of(2) { (4_000_300, 300) } else { (300, 4_000_300) }
        }),
    ]
}

#[test]
fn totals_are_right_and_intervals_hold_at_the_default_budget() {
    let _turn = simulated();
    check(0.02, usual_patterns());
    check(0.02, rare_long_calls());
    check(0.02, long_stretches_elsewhere());
}

#[test]
fn totals_are_right_and_intervals_hold_at_half_of_it() {
    let _turn = simulated();
    // What varies from repeat to repeat, but without single long calls, which are seen in one repeat of five, so that their
    // mean is right only within a percent or two; and without heavy tails, of which few samples show too little.
    let chosen = ["random", "every 64th", "alternating", "drift 2", "40 x", "20 calls", "20 gaps", "preempted"];
    let is_chosen = |one: &Pattern| chosen.iter().any(|start| one.name.starts_with(start));
    let all = [usual_patterns(), rare_long_calls(), long_stretches_elsewhere()].into_iter().flatten();
    let patterns: Vec<Pattern> = all.filter(is_chosen).collect();
    assert_eq!(patterns.len(), chosen.len());
    check(0.01, patterns);
}

#[test]
fn every_call_timed_is_exact() {
    let _turn = simulated();
    hotloop::stop();
    Config::new().budget(None).start();
    for mut pattern in usual_patterns().into_iter().chain(rare_long_calls()) {
        let outcome = measure(&mut pattern);
        assert!((outcome.ratio - 1.0).abs() < 0.002, "{}: {}", pattern.name, outcome.ratio);
        assert_eq!(outcome.error, 0.0, "{}: nothing was estimated", pattern.name);
    }
}

#[test]
fn work_behind_a_loop_is_not_put_down_to_the_loop() {
    let _turn = simulated();
    hotloop::stop();
    Config::new().start();
    hotloop::reset();
    for _ in 0..REPEATS {
        hotloop::scope!("whole");
        for _ in 0..20_000 {
            hotloop::scope!("short");
            work(300);
        }
        work(50_000_000);
    }
    let snapshot = hotloop::snapshot();
    let (whole, short) = (snapshot.find("whole").unwrap(), snapshot.find("short").unwrap());
    assert!(short.is_sampled, "or this says nothing");
    let ratio = |found: u64, truth: u64| found as f64 / (truth * REPEATS as u64) as f64;
    assert!((ratio(short.total_ns, 6_000_000) - 1.0).abs() < 0.03, "{short:?}");
    assert!((ratio(whole.self_ns, 50_000_000) - 1.0).abs() < 0.03, "{whole:?}");
}

/// Percentiles of a drift, forwards and backwards, count each timed call for those it stands for.
#[test]
fn percentiles_of_sampled_scopes_are_weighted() {
    let _turn = simulated();
    hotloop::stop();
    Config::new().budget(Some(0.01)).start();
    for pattern in &mut usual_patterns()[9..] {
        let outcome = measure(pattern);
        // Durations between 100 ns and 2 us are equally frequent.
        let ratio = outcome.p50_ns as f64 / 1_050.0;
        assert!((ratio - 1.0).abs() < 0.05, "{}: p50 is {ratio} of the truth", pattern.name);
    }
}

/// The profiler's cost is taken out of each call, not scaled by its mean: a few long calls change nothing for the others.
#[test]
fn percentiles_of_parents_are_without_the_cost_of_their_children() {
    let _turn = simulated();
    for long_every in [0, 100, 20] {
        hotloop::stop();
        Config::new().budget(None).start();
        hotloop::reset();
        for call in 0..2_000_u64 {
            hotloop::scope!("parent");
            work(1_000);
            if long_every > 0 && call % long_every == 7 {
                work(4_000_000);
            }
            for _ in 0..1_000 {
                hotloop::scope!("child");
                work(1);
            }
        }
        let parent = hotloop::snapshot().find("parent").unwrap();
        for (found, what) in [(Some(parent.min_ns), "min"), (parent.p50_ns, "p50"), (parent.p90_ns, "p90")] {
            let found = found.unwrap();
            assert!(found.abs_diff(2_000) <= 300, "{what} is {found} ns, 4 ms in one of {long_every} calls");
        }
    }
}
