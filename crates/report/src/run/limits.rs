//! Work beside what the machine can do, in words.

use record::{Compute, Limits};

use super::view::View;
use crate::units::{digits, plural, rate, whole_percent};

pub(super) use compare::{MachineLimits, RooflineLimit, RowWork};
pub(super) use record::Arithmetic;

/// A limit, as it is written.
pub(super) trait InWords {
    /// The limit in words.
    fn in_words(&self) -> String;
    /// The limit in a cell: `L2`, or `L2, 1 thread`.
    fn cell(&self) -> String;
}

impl InWords for RooflineLimit {
    fn in_words(&self) -> String {
        let (limit, rate) = match self.is_arithmetic {
            true => (format!("{} compute", self.by), rate(self.per_second, operations(&self.by))),
            false => (format!("{} bandwidth", self.by), rate(self.per_second, "B/s")),
        };
        let threads = self.threads.map_or_else(String::new, |threads| format!(" on {}", plural(threads, "thread")));
        format!("{limit} ({rate}{threads})")
    }

    fn cell(&self) -> String {
        match self.threads {
            Some(threads) => format!("{}, {}", self.by, plural(threads, "thread")),
            None => self.by.clone(),
        }
    }
}

/// The unit of arithmetic by its name: products of whole numbers are no FLOP.
pub(crate) fn operations(arithmetic: &str) -> &'static str {
    if arithmetic == "int8" { "OP/s" } else { "FLOP/s" }
}

/// A rate whose windows lie further apart was disturbed.
const WIDE_SPREAD: f64 = 0.5;
/// All threads do at least so much more than one, unless they were disturbed.
const LEAST_GAIN: f64 = 1.5;

/// Why limits may be too low, and shares of them too large; nothing where they look sound.
pub(crate) fn doubt(limits: &Limits) -> Option<String> {
    let arithmetic = || [("f32", &limits.f32), ("int8", &limits.int8)].into_iter();
    let gain = |compute: &Compute| Some(compute.all.as_ref()?.best / compute.one.as_ref()?.best);
    let little = arithmetic().find_map(|(name, compute)| {
        let gain = gain(compute.as_ref()?).filter(|gain| limits.threads >= 2 && *gain < LEAST_GAIN)?;
        let threads = plural(u64::from(limits.threads), "thread");
        Some(format!("{threads} reached only {}× the {name} rate of one", digits(gain)))
    });
    let computed = arithmetic().filter_map(|(_, compute)| compute.as_ref());
    let computed = computed.flat_map(|compute| [compute.one.as_ref(), compute.all.as_ref()]);
    let read = limits.read.iter().flat_map(|level| [level.one.as_ref(), level.all.as_ref()]);
    let spread = computed.chain(read).flatten().map(|rate| rate.spread).fold(0.0, f64::max);
    let wide = (spread > WIDE_SPREAD).then(|| format!("peak measurements varied by {}", whole_percent(spread)));
    let why: Vec<String> = [little, wide].into_iter().flatten().collect();
    (!why.is_empty()).then(|| format!("treat \"% of limit\" as rough: {}", why.join(", and ")))
}

impl View<'_> {
    /// The legend of columns with shares of limits, if there are any.
    pub(super) fn legend(&self, shares: impl Iterator<Item = f64>) -> String {
        let Some(largest) = shares.reduce(f64::max) else { return String::new() };
        let more = if largest > 1.0 { "; >100 %: writes count, the limit is read bandwidth" } else { "" };
        format!("; limit: % of machine peak; by: bottleneck{more}")
    }

    /// The least time of work, where the machine was measured.
    pub(super) fn roof(&self, work: &RowWork) -> Option<RooflineLimit> {
        self.bounds.as_ref()?.roof(work)
    }
}

#[cfg(test)]
mod tests {
    use record::{Level, Rate, Run};

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

    #[test]
    fn a_limit_says_of_how_many_threads_it_is() {
        let mut run = Run::default();
        run.environment.limits = Some(limits());
        let bounds = MachineLimits::of(&run).expect("it was measured");
        let roof =
            |threads: u64| bounds.roof(&RowWork { flops: Some(1.0), threads: Some(threads), ..RowWork::default() });
        let [one, all] = [1, 4].map(|threads| roof(threads).expect("it was measured"));
        assert_eq!([one.cell(), all.cell()], ["f32, 1 thread", "f32"]);
        assert_eq!(one.in_words(), "f32 compute (100 GFLOP/s on 1 thread)");
    }

    #[test]
    fn shares_above_the_limit_are_explained_where_there_are_some() {
        let run = Run::default();
        let legend = |shares: &[f64]| View::new(&run, 1).legend(shares.iter().copied());
        assert_eq!(legend(&[]), "");
        assert!(!legend(&[0.9]).contains("100 %") && legend(&[0.9, 1.1]).contains(">100 %: "));
    }

    #[test]
    fn disturbed_limits_are_found() {
        let mut limits = limits();
        assert_eq!(doubt(&limits), None);
        limits.read[0].one.as_mut().expect("it is there").spread = 0.6;
        let wide = "treat \"% of limit\" as rough: peak measurements varied by 60 %";
        assert_eq!(doubt(&limits).as_deref(), Some(wide));
        limits.read[0].one = None;
        limits.f32 = Some(Compute { one: Some(rate_of(100e9)), all: Some(rate_of(140e9)) });
        let little = "treat \"% of limit\" as rough: 4 threads reached only 1.40× the f32 rate of one";
        assert_eq!(doubt(&limits).as_deref(), Some(little));
    }
}
