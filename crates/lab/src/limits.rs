//! The limits of this machine: what is measured, on how much memory, for how long.

use std::time::{Duration, Instant};

use kernels::limits::{self, Measured, Pages, Plan, Reading};
use record::{Compute, Level, Limits, Machine, Rate};

mod sizes;

use crate::doctor::ExamineStep;
use crate::machine::KernelChoice;
use sizes::LevelPlan;

/// The time for measuring limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitsEffort {
    /// The duration of each measurement, if enough time is left.
    pub(crate) per_step: Duration,
    /// The time for allocating the memory of one measurement.
    pub(crate) preparation: Duration,
    /// When all measurements should be finished.
    pub(crate) until: Instant,
    /// Measures only what reports need.
    pub(crate) quick: bool,
}

/// How often arithmetic is measured again if threads did not run in parallel.
const AGAIN: usize = 2;

/// The minimum duration of a measurement: shorter ones have too few windows.
const SHORTEST: Duration = Duration::from_millis(40);

/// Measures the limits one after another and reports each step before it starts.
struct LimitsMeasurement<'a> {
    effort: LimitsEffort,
    /// Thread counts: one, and all if there are more.
    crews: Vec<u32>,
    steps: u32,
    done: u32,
    tell: &'a mut dyn FnMut(ExamineStep<'_>),
}

impl LimitsMeasurement<'_> {
    /// One measurement for each thread count: one, and all.
    fn measure<T: Clone>(&mut self, what: &str, mut measure: impl FnMut(Plan) -> Option<T>) -> [Option<T>; 2] {
        let crews = self.crews.clone();
        let mut found = crews.into_iter().map(|threads| {
            let what = format!("{what}, {threads} thread{}", if threads == 1 { "" } else { "s" });
            (self.tell)(ExamineStep { done: self.done, of: self.steps, what: &what });
            let (duration, preparation) = (self.duration(), self.effort.preparation);
            let measured = measure(Plan { threads: threads as usize, duration, preparation });
            self.done += 1;
            measured
        });
        let one = found.next().flatten();
        // With one thread, one is all.
        let all = found.next().unwrap_or_else(|| one.clone());
        [one, all]
    }

    /// As [`measure`](LimitsMeasurement::measure), of arithmetic, which threads share with nobody: where all of them are hardly faster than one, something
    /// kept them from running together, and they are measured again.
    fn arithmetic(
        &mut self,
        (what, smt): (&str, u32),
        notes: &mut Vec<String>,
        mut measure: impl FnMut(Plan) -> Option<Rate>,
    ) -> Option<Compute> {
        let mut found = compute(self.measure(what, &mut measure));
        let threads = self.crews.last().map_or(1, |&threads| threads);
        let slow = |found: &Option<Compute>| found.as_ref().is_some_and(|found| is_too_slow(found, threads, smt));
        for _ in 0..AGAIN {
            if !slow(&found) {
                return found;
            }
            let (duration, preparation) = (self.duration(), self.effort.preparation);
            let again = measure(Plan { threads: threads as usize, duration, preparation });
            found = found.map(|found| Compute { all: better(found.all, again), ..found });
        }
        if slow(&found) {
            notes.push(format!("{what}: {threads} threads did not run in parallel; rerun on a quiet machine"));
        }
        found
    }

    /// An equal share of the remaining time.
    fn duration(&self) -> Duration {
        let left = self.effort.until.saturating_duration_since(Instant::now());
        (left / (self.steps - self.done).max(1)).clamp(SHORTEST, self.effort.per_step)
    }
}

/// Measures the limits of the machine with this many threads.
pub(crate) fn measure(
    machine: &Machine,
    chosen: KernelChoice,
    threads: u32,
    effort: LimitsEffort,
    tell: &mut dyn FnMut(ExamineStep<'_>),
) -> Limits {
    let kernels = chosen.candidates();
    let (levels, mut notes) = sizes::levels(machine, threads, effort.quick);
    if threads > machine.threads {
        notes
            .push(format!("{threads} threads requested, but the control group's CPU quota allows {}", machine.threads));
    }
    let crews = if threads > 1 { vec![1, threads] } else { vec![1] };
    let steps = (2 + levels.len() as u32) * crews.len() as u32;
    let mut measurement = LimitsMeasurement { effort, crews, steps, done: 0, tell };
    let smt = machine.smt.unwrap_or(1);
    let f32 = |plan| limits::f32_flops(&kernels, plan).as_ref().map(rate);
    let f32 = measurement.arithmetic(("f32 arithmetic", smt), &mut notes, f32);
    let int8 = |plan| limits::int8_ops(&kernels, plan).as_ref().map(rate);
    let int8 = measurement.arithmetic(("int8 arithmetic", smt), &mut notes, int8);
    let mut read = Vec::new();
    for level in &levels {
        let what = format!("reading {}{}", level.name, if level.huge_pages { "" } else { ", small pages" });
        let found = measurement.measure(&what, |plan| limits::read_bytes(&kernels, plan, reading(level, plan.threads)));
        notes.extend(shortfall(&what, level, &found, effort.quick));
        let [bytes_one, bytes_all] = found.each_ref().map(|found| found.as_ref().map_or(0, |found| found.bytes as u64));
        let [one, all] = found.map(|found| found.as_ref().map(rate));
        read.push(Level { name: level.name.to_owned(), huge_pages: level.huge_pages, bytes_one, bytes_all, one, all });
    }
    Limits { threads, f32, int8, read, notes }
}

/// All threads together should reach more than this share of the sum of single threads.
const TOGETHER: f64 = 0.75;

/// Whether the threads were kept from running together: arithmetic is shared by nobody, so that all do it faster than one; only the
/// `smt` threads of a core do.
pub(crate) fn is_doubtful(limits: &Limits, smt: u32) -> bool {
    [&limits.f32, &limits.int8].into_iter().flatten().any(|compute| is_too_slow(compute, limits.threads, smt))
}

fn is_too_slow(compute: &Compute, threads: u32, smt: u32) -> bool {
    match (&compute.one, &compute.all) {
        (Some(one), Some(all)) if threads > 1 => {
            all.best < TOGETHER * f64::from(threads.div_ceil(smt.max(1))) * one.best
        }
        _ => false,
    }
}

fn better(a: Option<Rate>, b: Option<Rate>) -> Option<Rate> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.best > a.best { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// The better of two measurements, rate by rate.
pub(crate) fn best_of(first: Limits, second: Limits) -> Limits {
    let compute = |a: Option<Compute>, b: Option<Compute>| match (a, b) {
        (Some(a), Some(b)) => Some(Compute { one: better(a.one, b.one), all: better(a.all, b.all) }),
        (a, b) => a.or(b),
    };
    let (f32, int8) = (compute(first.f32, second.f32), compute(first.int8, second.int8));
    let level = |(a, b): (Level, Level)| Level { one: better(a.one, b.one), all: better(a.all, b.all), ..b };
    let read = first.read.into_iter().zip(second.read).map(level).collect();
    // What disturbed one of them may be in a rate that counts.
    let mut notes = first.notes;
    notes.extend(second.notes);
    notes.sort();
    notes.dedup();
    Limits { f32, int8, read, notes, threads: second.threads }
}

/// A note if less memory was read than planned.
fn shortfall(what: &str, level: &LevelPlan, found: &[Option<Measured>; 2], quick: bool) -> Option<String> {
    let [Some(one), Some(all)] = found else {
        return Some(format!("{what}: not measured, could not start threads or allocate memory"));
    };
    let came = |found: &Measured| (found.bytes * found.threads) as u64;
    let planned = [level.bytes_one, level.bytes_all * all.threads as u64];
    // What was planned to be too little has its note already.
    let is_short = |at: usize, found: &Measured| came(found) < level.least[at].min(planned[at]);
    let (at, short) = [one, all].into_iter().enumerate().find(|(at, found)| is_short(*at, found))?;
    let (came, planned) = (came(short) >> 20, planned[at] >> 20);
    let again = if quick { "without --quick" } else { "on a quiet machine" };
    Some(format!(
        "{what}: only {came} of {planned} MiB were allocated in time, so caches may have served part of \
                  the reads; rerun {again}"
    ))
}

fn reading(level: &LevelPlan, threads: usize) -> Reading {
    Reading {
        bytes: (if threads == 1 { level.bytes_one } else { level.bytes_all }) as usize,
        pages: if level.huge_pages { Pages::Huge } else { Pages::Small },
        from_dram: level.name == sizes::DRAM,
    }
}

fn compute([one, all]: [Option<Rate>; 2]) -> Option<Compute> {
    (one.is_some() || all.is_some()).then_some(Compute { one, all })
}

fn rate(measured: &Measured) -> Rate {
    Rate {
        best: measured.best(),
        median: measured.median(),
        spread: measured.spread(),
        windows: measured.windows() as u32,
        isa: measured.isa.name().to_owned(),
        how: measured.how.to_owned(),
        huge_share: measured.huge_share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(one: f64, all: f64, read: f64) -> Limits {
        let rate = |best: f64| {
            let (isa, how) = (String::new(), String::new());
            Some(Rate { best, median: best, spread: 0.0, windows: 1, isa, how, huge_share: None })
        };
        let (name, bytes_one, bytes_all) = ("L1".to_owned(), 1, 1);
        let level = Level { name, huge_pages: true, bytes_one, bytes_all, one: rate(read), all: rate(read) };
        let compute = Compute { one: rate(one), all: rate(all) };
        Limits { threads: 2, f32: Some(compute), int8: None, read: vec![level], notes: Vec::new() }
    }

    #[test]
    fn threads_that_did_not_run_together_are_noticed() {
        assert!(is_doubtful(&limits(100.0, 110.0, 1.0), 1));
        assert!(!is_doubtful(&limits(100.0, 110.0, 1.0), 2), "two threads of one core");
        assert!(!is_doubtful(&limits(100.0, 190.0, 1.0), 1));
        assert!(!is_doubtful(&Limits { threads: 1, ..limits(100.0, 100.0, 1.0) }, 1));
    }

    /// Threads that run together at once, at the second or third try, or never.
    #[test]
    fn arithmetic_is_measured_again_while_threads_are_kept_apart() {
        for (apart, calls, best, noted) in [(0, 2, 200.0, 0), (1, 3, 200.0, 0), (2, 4, 200.0, 0), (3, 4, 100.0, 1)] {
            let effort = LimitsEffort { per_step: SHORTEST, preparation: SHORTEST, until: Instant::now(), quick: true };
            let mut measurement = LimitsMeasurement { effort, crews: vec![1, 2], steps: 2, done: 0, tell: &mut |_| () };
            let (mut called, mut notes) = (0, Vec::new());
            let found = measurement.arithmetic(("sums", 1), &mut notes, |plan| {
                called += 1;
                let together = plan.threads == 2 && called > 1 + apart;
                limits(if together { 200.0 } else { 100.0 }, 0.0, 0.0).f32?.one
            });
            assert_eq!((called, notes.len()), (calls, noted), "{apart}");
            assert_eq!(found, limits(100.0, best, 0.0).f32, "{apart}");
            assert!(notes.iter().all(|note| note.contains("sums: 2 threads did not run in parallel")), "{notes:?}");
        }
    }

    #[test]
    fn the_best_of_two_counts_rate_by_rate() {
        let best = best_of(limits(100.0, 110.0, 9.0), limits(90.0, 180.0, 5.0));
        assert_eq!(best, limits(100.0, 180.0, 9.0));
    }
}
