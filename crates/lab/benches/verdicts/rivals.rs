//! How others call a change, on values of two sides. Their rules are told as their documentation and source have them.

use compare::median;
use statrs::distribution::{ContinuousCDF, Normal};

/// What a rule says of the second side, where more is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// It is worse.
    Worse,
    /// It is better.
    Better,
    /// Neither.
    Nothing,
}

/// A rule, and what it is called in the table.
pub struct Rival {
    pub name: &'static str,
    pub call: fn(&[f64], &[f64]) -> Call,
}

/// All of them.
pub const RIVALS: [Rival; 7] = [
    Rival { name: "one run each, beyond ±5 %", call: |a, b| beyond(&a[..1], &b[..1], 0.05) },
    Rival { name: "one run each, beyond ±10 %", call: |a, b| beyond(&a[..1], &b[..1], 0.10) },
    Rival { name: "means beyond ±5 %", call: |a, b| beyond(a, b, 0.05) },
    Rival { name: "means beyond ±10 %", call: |a, b| beyond(a, b, 0.10) },
    Rival { name: "mean ± sd (hyperfine)", call: mean_and_deviation },
    Rival { name: "Mann–Whitney, 5 % (benchstat)", call: |a, b| by_p(mann_whitney_p(a, b), a, b) },
    Rival { name: "bootstrap, ±1 % (criterion)", call: bootstrap },
];

/// The mean of one side is further from that of the other than a fixed share.
fn beyond(base: &[f64], candidate: &[f64], share: f64) -> Call {
    let change = mean(candidate) / mean(base) - 1.0;
    call(change > share, change < -share)
}

/// The ratio of the means is further from 1 than its standard deviation, by propagation of errors.
fn mean_and_deviation(base: &[f64], candidate: &[f64]) -> Call {
    let relative = |values: &[f64]| deviation(values) / mean(values);
    let ratio = mean(candidate) / mean(base);
    let error = ratio * relative(base).hypot(relative(candidate));
    call(ratio - error > 1.0, ratio + error < 1.0)
}

fn by_p(p: f64, base: &[f64], candidate: &[f64]) -> Call {
    let change = median(candidate).unwrap_or(0.0) - median(base).unwrap_or(0.0);
    call(p < 0.05 && change > 0.0, p < 0.05 && change < 0.0)
}

/// The chance of such ranks, or more uneven ones, where both sides are the same: by the normal approximation, with ties and continuity.
pub fn mann_whitney_p(base: &[f64], candidate: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = base.iter().map(|value| (*value, true)).collect();
    all.extend(candidate.iter().map(|value| (*value, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut ties) = (0.0, 0.0);
    let mut first = 0;
    for same in all.chunk_by(|a, b| a.0 == b.0) {
        let count = same.len() as f64;
        let rank = first as f64 + (count + 1.0) / 2.0;
        ranks += rank * same.iter().filter(|(_, is_base)| *is_base).count() as f64;
        ties += count.powi(3) - count;
        first += same.len();
    }
    let (n, m) = (base.len() as f64, candidate.len() as f64);
    let u = ranks - n * (n + 1.0) / 2.0;
    let variance = n * m / 12.0 * (n + m + 1.0 - ties / ((n + m) * (n + m - 1.0)));
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    if variance > 0.0 { (2.0 * Normal::standard().sf(z)).min(1.0) } else { 1.0 }
}

/// Samples that are drawn again: more change nothing in the second digit.
const DRAWN: usize = 4_000;
/// What is taken for noise, whatever the intervals say.
const NOISE: f64 = 0.01;

/// The mean changed by more than 1 % with its whole interval of 95 %, and a t of samples drawn from both sides together is as large
/// in less than 5 %.
fn bootstrap(base: &[f64], candidate: &[f64]) -> Call {
    let mut random = Random(base.len() as u64 ^ 0x5eed);
    let mut changes: Vec<f64> = (0..DRAWN)
        .map(|_| random.mean_of(candidate, candidate.len()).0 / random.mean_of(base, base.len()).0 - 1.0)
        .collect();
    changes.sort_by(f64::total_cmp);
    let (low, high) = (changes[DRAWN * 25 / 1000], changes[DRAWN * 975 / 1000 - 1]);
    if !(low > NOISE || high < -NOISE) {
        return Call::Nothing;
    }
    let together = [base, candidate].concat();
    let t =
        |a: (f64, f64), b: (f64, f64)| (a.0 - b.0) / (a.1 / base.len() as f64 + b.1 / candidate.len() as f64).sqrt();
    let seen = t((mean(base), deviation(base).powi(2)), (mean(candidate), deviation(candidate).powi(2))).abs();
    let as_large = (0..DRAWN)
        .filter(|_| t(random.mean_of(&together, base.len()), random.mean_of(&together, candidate.len())).abs() >= seen)
        .count();
    let is_certain = (as_large as f64) < 0.05 * DRAWN as f64;
    call(is_certain && low > NOISE, is_certain && high < -NOISE)
}

fn call(is_worse: bool, is_better: bool) -> Call {
    match (is_worse, is_better) {
        (true, _) => Call::Worse,
        (_, true) => Call::Better,
        _ => Call::Nothing,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// Xorshift64*: the same every time.
struct Random(u64);

impl Random {
    /// Mean and variance of so many values, drawn with repetition.
    fn mean_of(&mut self, values: &[f64], count: usize) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..count {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
            let value = values[(drawn as usize * values.len()) >> 31];
            sum += value;
            squares += value * value;
        }
        let mean = sum / count as f64;
        (mean, (squares - sum * mean) / (count as f64 - 1.0))
    }
}
