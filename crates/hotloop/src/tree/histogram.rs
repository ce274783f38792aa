//! Durations by size: sixteen buckets to each doubling.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SUB_BITS: u32 = 4;
const SUB: usize = 1 << SUB_BITS;
/// Durations from 2^44 ticks (about two hours) on share the last bucket.
const TOP_BITS: u32 = 44;
const BUCKETS: usize = TOP_BITS as usize * SUB;

/// How far a percentile may lie from the exact one, as a share of it: half the width of a bucket.
pub(crate) const ERROR_BOUND: f64 = 0.5 / SUB as f64;

/// What all histograms together may take; nodes made later have no percentiles, and that is counted.
const MAX_BYTES: usize = 64 << 20;
static USED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// A histogram that no node points to.
struct Spare(NonNull<Histogram>);

// SAFETY: the pointer leads to atomics in memory that is never freed.
unsafe impl Send for Spare {}

fn spares() -> MutexGuard<'static, Vec<Spare>> {
    static SPARES: Mutex<Vec<Spare>> = Mutex::new(Vec::new());
    SPARES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Durations in ticks, by size. Fixed size; a bucket that is full halves all of them, so percentiles then weigh later
/// durations more.
pub(super) struct Histogram {
    buckets: [AtomicU32; BUCKETS],
}

impl Histogram {
    /// An empty histogram, used before or new; `None` when [`MAX_BYTES`] are in use or there is no memory.
    pub(super) fn allocate() -> Option<NonNull<Histogram>> {
        if let Some(Spare(used)) = spares().pop() {
            // SAFETY: nobody else has it, and histograms are never freed.
            unsafe { used.as_ref() }.clear();
            return Some(used);
        }
        let layout = Layout::new::<Histogram>();
        if USED_BYTES.fetch_add(layout.size(), Relaxed) + layout.size() > MAX_BYTES {
            USED_BYTES.fetch_sub(layout.size(), Relaxed);
            return None;
        }
        // SAFETY: the layout is not of size zero; all-zero atomics are valid.
        NonNull::new(unsafe { System.alloc_zeroed(layout) }.cast())
    }

    /// Takes a histogram that no node points to any more.
    pub(super) fn give_back(histogram: NonNull<Histogram>) {
        spares().push(Spare(histogram));
    }

    /// Counts one duration with its weight. One thread only.
    #[inline]
    pub(super) fn record(&self, ticks: u64, weight: u32) {
        let bucket = &self.buckets[bucket_of(ticks)];
        if bucket.load(Relaxed).checked_add(weight).is_none() {
            self.halve();
        }
        bucket.store(bucket.load(Relaxed).saturating_add(weight), Relaxed);
    }

    #[cold]
    fn halve(&self) {
        for bucket in &self.buckets {
            bucket.store(bucket.load(Relaxed) / 2, Relaxed);
        }
    }

    pub(super) fn clear(&self) {
        for bucket in &self.buckets {
            bucket.store(0, Relaxed);
        }
    }

    pub(super) fn add_to(&self, copy: &mut HistogramCopy) {
        for (bucket, count) in (0_u16..).zip(&self.buckets) {
            copy.count(bucket, u64::from(count.load(Relaxed)));
        }
    }
}

/// A histogram that was read, or several added up: counts by bucket, without the empty ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistogramCopy(BTreeMap<u16, u64>);

impl HistogramCopy {
    fn count(&mut self, bucket: u16, count: u64) {
        if count > 0 {
            *self.0.entry(bucket).or_default() += count;
        }
    }

    pub(crate) fn record(&mut self, ticks: u64, weight: u64) {
        self.count(bucket_of(ticks) as u16, weight);
    }

    pub(crate) fn add(&mut self, other: &HistogramCopy) {
        other.0.iter().for_each(|(bucket, count)| self.count(*bucket, *count));
    }

    /// The durations in ticks, within [`ERROR_BOUND`], and how many there are of each; the shortest first.
    pub(crate) fn durations(&self) -> impl Iterator<Item = (f64, u64)> + Clone {
        self.0.iter().map(|(bucket, count)| (middle_of(usize::from(*bucket)), *count))
    }
}

/// The value that the share `q` of all values do not exceed, of values and their counts, the least first; `None` where
/// there are none.
pub(crate) fn quantile<T>(counted: impl Iterator<Item = (T, u64)> + Clone, q: f64) -> Option<T> {
    let total: u64 = counted.clone().map(|(_, count)| count).sum();
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
    let rank = ((total as f64 * q).ceil() as u64).max(1);
    let mut upto = 0;
    let found = counted.into_iter().find(|(_, count)| {
        upto += count;
        upto >= rank
    });
    found.map(|(value, _)| value)
}

/// The exponent and the first bits behind the point of `ticks + 1`, as a floating-point number has them side by side:
/// cheaper than counting leading zeros where the CPU is not known to do that fast.
#[inline(always)]
fn bucket_of(ticks: u64) -> usize {
    #[expect(clippy::cast_precision_loss, reason = "only the first bits are wanted")]
    let bits = ((ticks as f64) + 1.0).to_bits();
    ((bits >> (f64::MANTISSA_DIGITS - 1 - SUB_BITS)) as usize - ZERO).min(BUCKETS - 1)
}

/// The bits of 1.0, shifted as above.
const ZERO: usize = (1.0_f64.to_bits() >> (f64::MANTISSA_DIGITS - 1 - SUB_BITS)) as usize;

#[expect(clippy::cast_precision_loss, reason = "small integers")]
fn middle_of(bucket: usize) -> f64 {
    let width = ((bucket / SUB) as f64).exp2() / SUB as f64;
    let low = (SUB + bucket % SUB) as f64 * width;
    // Whole ticks from `low` to below the next bucket, so a bucket narrower than one holds `low` alone.
    low + (width - 1.0).max(0.0) / 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantile(copy: &HistogramCopy, q: f64) -> Option<f64> {
        super::quantile(copy.durations(), q)
    }

    #[test]
    fn every_duration_lies_within_the_bound_of_its_bucket() {
        for exponent in 0..TOP_BITS {
            for offset in [0u64, 1, 7, 1 << exponent >> 1, (1 << exponent) - 1] {
                let ticks = (1u64 << exponent) + offset.min((1 << exponent) - 1);
                let middle = middle_of(bucket_of(ticks));
                let error = (middle - ticks as f64).abs() / ticks as f64;
                assert!(error <= ERROR_BOUND, "{ticks} reads as {middle}");
            }
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
        assert_eq!(bucket_of(0), 0);
    }

    #[test]
    fn quantiles_of_known_durations() {
        let mut copy = HistogramCopy::default();
        assert_eq!(quantile(&copy, 0.5), None);
        for ticks in 1..=1000 {
            copy.record(ticks, 1);
        }
        for (q, exact) in [(0.5, 500.0), (0.9, 900.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = quantile(&copy, q).unwrap();
            assert!((found / exact - 1.0f64).abs() <= 2.0 * ERROR_BOUND, "p{q}: {found}");
        }
    }

    #[test]
    fn a_full_bucket_halves_all_and_keeps_the_shares() {
        // SAFETY: allocated above and never freed.
        let histogram = unsafe { Histogram::allocate().unwrap().as_ref() };
        histogram.buckets[bucket_of(10)].store(u32::MAX, Relaxed);
        histogram.buckets[bucket_of(1000)].store(u32::MAX / 2, Relaxed);
        histogram.record(10, 1);
        let mut copy = HistogramCopy::default();
        histogram.add_to(&mut copy);
        assert_eq!(quantile(&copy, 0.5), Some(10.0));
        assert!(quantile(&copy, 0.9).unwrap() > 900.0);
    }
}
