//! The limits of this machine: what is measured, on how much memory, for how long.

use std::time::{Duration, Instant};

use kernels::limits::{self, Measured, Pages, Plan, Reading};
use record::{Compute, Level, Limits, Machine, Rate};

mod sizes;

use crate::doctor::Step;
use crate::machine::Chosen;
use sizes::LevelPlan;

/// How much time there is, and how careful to be with memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Of each measurement, where time is left.
    pub(crate) per_step: Duration,
    /// To get the memory for one of them.
    pub(crate) preparation: Duration,
    /// When all of them should be done.
    pub(crate) until: Instant,
    /// Only what is needed.
    pub(crate) quick: bool,
}

/// Shorter than this a measurement has too few windows: then rather a little late.
const SHORTEST: Duration = Duration::from_millis(40);

/// Measures one after another, and tells before each what is next.
struct Course<'a> {
    effort: Effort,
    /// Of one thread, and of all where that is another thing.
    crews: Vec<u32>,
    steps: u32,
    done: u32,
    tell: &'a mut dyn FnMut(Step<'_>),
}

impl Course<'_> {
    /// One measurement for each crew: of one thread, and of all.
    fn measure(&mut self, what: &str, mut measure: impl FnMut(Plan) -> Option<Measured>) -> [Option<Measured>; 2] {
        let crews = self.crews.clone();
        let mut found = crews.into_iter().map(|threads| {
            let what = format!("{what}, {threads} thread{}", if threads == 1 { "" } else { "s" });
            (self.tell)(Step { done: self.done, of: self.steps, what: &what });
            let (duration, preparation) = (self.duration(), self.effort.preparation);
            let measured = measure(Plan { threads: threads as usize, duration, preparation });
            self.done += 1;
            measured
        });
        let one = found.next().flatten();
        // Where there is one thread, it is all of them.
        let all = found.next().unwrap_or_else(|| one.clone());
        [one, all]
    }

    /// A fair part of the time that is left.
    fn duration(&self) -> Duration {
        let left = self.effort.until.saturating_duration_since(Instant::now());
        (left / (self.steps - self.done).max(1)).clamp(SHORTEST, self.effort.per_step)
    }
}

/// Measures what the machine can do with so many threads.
pub(crate) fn measure(
    machine: &Machine,
    chosen: Chosen,
    threads: u32,
    effort: Effort,
    tell: &mut dyn FnMut(Step<'_>),
) -> Limits {
    let kernels = chosen.candidates();
    let (levels, mut notes) = sizes::levels(machine, threads, effort.quick);
    if threads > machine.threads {
        notes.push(format!("{threads} threads were asked for; the control group pays for {}", machine.threads));
    }
    let crews = if threads > 1 { vec![1, threads] } else { vec![1] };
    let steps = (2 + levels.len() as u32) * crews.len() as u32;
    let mut course = Course { effort, crews, steps, done: 0, tell };
    let f32 = compute(course.measure("f32 arithmetic", |plan| limits::f32_flops(&kernels, plan)));
    let int8 = compute(course.measure("int8 arithmetic", |plan| limits::int8_ops(&kernels, plan)));
    let mut read = Vec::new();
    for level in &levels {
        let what = format!("reading {}{}", level.name, if level.huge_pages { "" } else { ", small pages" });
        let found = course.measure(&what, |plan| limits::read_bytes(&kernels, plan, reading(level, plan.threads)));
        notes.extend(shortfall(&what, level, &found, effort.quick));
        let [bytes_one, bytes_all] = found.each_ref().map(|found| found.as_ref().map_or(0, |found| found.bytes as u64));
        let [one, all] = found.map(|found| found.as_ref().map(rate));
        read.push(Level { name: level.name.to_owned(), huge_pages: level.huge_pages, bytes_one, bytes_all, one, all });
    }
    Limits { threads, f32, int8, read, notes }
}

/// What has to be said where less was read than planned.
fn shortfall(what: &str, level: &LevelPlan, found: &[Option<Measured>; 2], quick: bool) -> Option<String> {
    let [Some(one), Some(all)] = found else {
        return Some(format!("{what}: not measured, threads or memory could not be had"));
    };
    let came = |found: &Measured| (found.bytes * found.threads) as u64;
    let planned = [level.bytes_one, level.bytes_all * all.threads as u64];
    // What was planned to be too little has its note already.
    let is_short = |at: usize, found: &Measured| came(found) < level.least[at].min(planned[at]);
    let (at, short) = [one, all].into_iter().enumerate().find(|(at, found)| is_short(*at, found))?;
    let (came, planned) = (came(short) >> 20, planned[at] >> 20);
    let again = if quick { "without --quick" } else { "when the machine is quiet" };
    Some(format!("{what}: only {came} of {planned} MiB came in time, caches may have helped; try again {again}"))
}

fn reading(level: &LevelPlan, threads: usize) -> Reading {
    Reading {
        bytes: (if threads == 1 { level.bytes_one } else { level.bytes_all }) as usize,
        pages: if level.huge_pages { Pages::Huge } else { Pages::Small },
        from_dram: level.name == sizes::DRAM,
    }
}

fn compute(found: [Option<Measured>; 2]) -> Option<Compute> {
    let [one, all] = found.map(|found| found.as_ref().map(rate));
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
