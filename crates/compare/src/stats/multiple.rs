//! Several tests at once: each alone is right 19 times of 20, ten together are not.

/// What each of `tests` may spend so that all together spend `alpha`.
#[must_use]
pub fn bonferroni(alpha: f64, tests: usize) -> f64 {
    alpha / tests.max(1) as f64
}

/// Chances corrected so that the chance of any false one among those below a limit stays below that limit; in the order of `p`.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let n = p.len();
    let order = smallest_first(p);
    let mut corrected = vec![1.0; n];
    let mut largest: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        largest = largest.max((p[place] * (n - rank) as f64).min(1.0));
        corrected[place] = largest;
    }
    corrected
}

/// Chances corrected so that of those below a limit a share of no more than that limit is false; in the order of `p`.
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let n = p.len();
    let order = smallest_first(p);
    let mut corrected = vec![1.0; n];
    let mut smallest: f64 = 1.0;
    for (rank, place) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(p[place] * n as f64 / (rank + 1) as f64);
        corrected[place] = smallest;
    }
    corrected
}

fn smallest_first(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}
