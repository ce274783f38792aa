//! The roofline: work compared with the limits of the machine.

use record::{Arithmetic, Cache, CacheKind, Compute, Level, Limits, Machine, Model, Rate, Row, Run};

/// The limits of a machine.
#[derive(Debug, Clone, Copy)]
pub struct MachineLimits<'a> {
    limits: &'a Limits,
    machine: &'a Machine,
}

/// The work of one call and the resources that it may use.
#[derive(Debug, Clone, Default)]
pub struct RowWork {
    /// Arithmetic operations.
    pub flops: Option<f64>,
    /// Bytes that it has to read.
    pub bytes: Option<f64>,
    /// The working set in bytes, which decides the memory level.
    pub working_set: f64,
    /// The kind of arithmetic.
    pub arithmetic: Arithmetic,
    /// The number of threads; `None`: all.
    pub threads: Option<u64>,
}

/// The minimum time of one call, and the limit that sets it.
#[derive(Debug, Clone, PartialEq)]
pub struct RooflineLimit {
    /// The minimum time in seconds.
    pub seconds: f64,
    /// `f32`, `int8`, or where bytes come from: `L2`, `DRAM`.
    pub by: String,
    /// The limit itself, per second.
    pub per_second: f64,
    /// Whether it is compute-bound, not bandwidth-bound.
    pub is_arithmetic: bool,
    /// The number of threads of the limit, if not all.
    pub threads: Option<u64>,
}

impl<'a> MachineLimits<'a> {
    /// The limits of a run's machine, if they were measured.
    #[must_use]
    pub fn of(run: &'a Run) -> Option<Self> {
        let environment = &run.environment;
        Some(MachineLimits { limits: environment.limits.as_ref()?, machine: &environment.machine })
    }

    /// The larger of the minimum times for arithmetic and for reading, as far as both are known.
    #[must_use]
    pub fn roof(&self, work: &RowWork) -> Option<RooflineLimit> {
        let positive = |amount: Option<f64>| amount.filter(|amount| *amount > 0.0 && amount.is_finite());
        let threads = work.threads.map(|threads| threads.max(1)).filter(|some| *some < u64::from(self.limits.threads));
        let arithmetic = positive(work.flops).and_then(|flops| {
            let per_second = self.arithmetic(work.arithmetic, work.threads)?;
            let by = work.arithmetic.name().to_owned();
            Some(RooflineLimit { seconds: flops / per_second, by, per_second, is_arithmetic: true, threads })
        });
        let reading = positive(work.bytes).and_then(|bytes| {
            let (level, per_second) = self.reading(work.working_set.max(bytes), work.threads)?;
            let by = level.to_owned();
            Some(RooflineLimit { seconds: bytes / per_second, by, per_second, is_arithmetic: false, threads })
        });
        [arithmetic, reading].into_iter().flatten().max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    fn arithmetic(&self, arithmetic: Arithmetic, threads: Option<u64>) -> Option<f64> {
        let compute: &Compute = match arithmetic {
            Arithmetic::F32 => self.limits.f32.as_ref()?,
            Arithmetic::Int8 => self.limits.int8.as_ref()?,
        };
        self.of_threads(compute.one.as_ref(), compute.all.as_ref(), threads)
    }

    /// The nearest memory level that fits the working set, and its read bandwidth.
    fn reading(&self, working_set: f64, threads: Option<u64>) -> Option<(&'a str, f64)> {
        let holds = |level: &&Level| working_set <= self.capacity(level, threads);
        let name = self.limits.read.iter().find(holds)?.name.as_str();
        // Memory is measured with large and with small pages: the limit is the faster one.
        let same = self.limits.read.iter().filter(|level| level.name == name);
        let best = same.filter_map(|level| self.of_threads(level.one.as_ref(), level.all.as_ref(), threads));
        Some((name, best.max_by(f64::total_cmp)?))
    }

    /// The capacity of a level for these threads: the caches of as many cores as they can use.
    fn capacity(&self, level: &Level, threads: Option<u64>) -> f64 {
        let threads = threads.unwrap_or(u64::from(self.limits.threads)).max(1);
        let is_such =
            |cache: &&Cache| cache.kind != CacheKind::Instruction && level.name == format!("L{}", cache.level);
        if let Some(cache) = self.machine.caches.iter().find(is_such) {
            let reached = threads.div_ceil(u64::from(cache.shared_by.unwrap_or(1).max(1)));
            return cache.bytes as f64 * reached.min(u64::from(cache.instances.unwrap_or(1).max(1))) as f64;
        }
        match level.name.as_str() {
            "DRAM" => f64::INFINITY,
            _ => level.bytes_one.max(level.bytes_all) as f64 * threads as f64,
        }
    }

    /// The limit of so many threads. Between one and all it is not measured: no more than that many times one, nor than all.
    fn of_threads(&self, one: Option<&Rate>, all: Option<&Rate>, threads: Option<u64>) -> Option<f64> {
        let most = u64::from(self.limits.threads);
        let (one, all) = (one.map(|rate| rate.best), all.map(|rate| rate.best));
        let found = match threads.unwrap_or(most) {
            0 | 1 => one,
            some if some < most => one.zip(all).map(|(one, all)| (one * some as f64).min(all)),
            _ if most <= 1 => all.or(one),
            _ => all,
        };
        found.filter(|rate| *rate > 0.0 && rate.is_finite())
    }
}

/// The work of one call of a row; `None` where nothing of the machine limits it.
#[must_use]
pub fn row_work(row: &Row, model: Option<&Model>, threads: Option<u64>) -> Option<RowWork> {
    let arithmetic = match row.limited_by.as_deref()? {
        "f32" => Arithmetic::F32,
        "int8" => Arithmetic::Int8,
        _ => crate::arithmetic(model),
    };
    // A call reads each of its bytes once; repeats read them again.
    let working_set = row.bytes.unwrap_or(0.0);
    Some(RowWork { flops: row.flops, bytes: row.bytes, working_set, arithmetic, threads })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_of(best: f64) -> Rate {
        let (isa, how) = (String::new(), String::new());
        Rate { best, median: best, spread: 0.0, windows: 1, isa, how, huge_share: None }
    }

    fn level(name: &str, bytes: u64, one: f64, all: f64) -> Level {
        let (one, all) = (Some(rate_of(one)), Some(rate_of(all)));
        Level { name: name.into(), huge_pages: true, bytes_one: bytes, bytes_all: bytes, one, all }
    }

    fn limits() -> Limits {
        Limits {
            threads: 4,
            f32: Some(Compute { one: Some(rate_of(100e9)), all: Some(rate_of(300e9)) }),
            int8: None,
            read: vec![level("L1", 16 << 10, 200e9, 800e9), level("DRAM", 1 << 28, 20e9, 30e9)],
            notes: Vec::new(),
        }
    }

    fn cache() -> Cache {
        let (level, kind, bytes) = (1, CacheKind::Data, 32 << 10);
        Cache { level, kind, bytes, shared_by: Some(1), instances: Some(4), line_bytes: None }
    }

    #[track_caller]
    fn check(work: RowWork, expected: Option<(f64, &str)>) {
        let machine = Machine { caches: vec![cache()], ..Machine::default() };
        let limits = limits();
        let roof = MachineLimits { limits: &limits, machine: &machine }.roof(&work);
        assert_eq!(roof.as_ref().map(|roof| (roof.seconds, roof.by.as_str())), expected);
    }

    #[test]
    fn the_larger_time_binds() {
        let work = |flops: f64, bytes: f64, threads: u64| RowWork {
            flops: Some(flops),
            bytes: Some(bytes),
            threads: Some(threads),
            ..RowWork::default()
        };
        check(work(1e9, 1e6, 1), Some((0.01, "f32")));
        check(work(1e6, 1e9, 1), Some((0.05, "DRAM")));
        check(work(1e9, 1e6, 4), Some((1.0 / 300.0, "f32")));
        check(work(1e9, 1e6, 2), Some((0.005, "f32")));
        check(work(0.0, 0.0, 1), None);
    }

    #[test]
    fn the_nearest_level_that_has_room_is_read() {
        let read = |bytes: f64, working_set: f64, threads: u64| RowWork {
            bytes: Some(bytes),
            working_set,
            threads: Some(threads),
            ..RowWork::default()
        };
        check(read(20e3, 0.0, 1), Some((1e-7, "L1")));
        check(read(20e3, 100e3, 1), Some((1e-6, "DRAM")));
        // Four cores have four caches of 32 KiB.
        check(read(20e3, 100e3, 4), Some((2.5e-8, "L1")));
    }

    #[test]
    fn what_was_not_measured_is_no_limit() {
        let work = RowWork { flops: Some(1e9), arithmetic: Arithmetic::Int8, ..RowWork::default() };
        check(work, None);
    }
}
