//! Intervals of means of series whose neighbours are alike. Every seed is fixed.

use compare::Interval;
use compare::stats::{batch_mean_interval, mean_interval};

use crate::simulated_duels::Chance;

/// Values that lean to the one before them by this share, around 0 with a variance of 1.
fn leaning(share: f64, count: usize, chance: &mut Chance) -> Vec<f64> {
    let mut value = chance.normal();
    let mut next = || {
        value = share * value + (1.0 - share * share).sqrt() * chance.normal();
        value
    };
    (0..count).map(|_| next()).collect()
}

/// How many of 2,000 intervals contain the true mean, as a share.
fn coverage(truth: f64, mut interval: impl FnMut(&mut Chance) -> Option<Interval>) -> f64 {
    let mut chance = Chance::of(0xA21);
    let covers = |interval: Option<Interval>| interval.is_some_and(|found| found.low <= truth && truth <= found.high);
    (0..2_000).filter(|_| covers(interval(&mut chance))).count() as f64 / 2_000.0
}

/// As many tokens as the bundled text has, and more.
const TOKENS: [usize; 2] = [700, 3_000];

#[test]
fn means_of_correlated_losses_are_covered() {
    for tokens in TOKENS {
        for share in [-0.3, 0.0, 0.3, 0.6, 0.8] {
            let normal = coverage(0.0, |chance| batch_mean_interval(&leaning(share, tokens, chance), 0.05));
            // Losses are above 0 and skewed: the logarithm leans.
            let skewed = coverage((0.5f64 * 0.64).exp(), |chance| {
                let losses: Vec<f64> =
                    leaning(share, tokens, chance).into_iter().map(|value| (0.8 * value).exp()).collect();
                batch_mean_interval(&losses, 0.05)
            });
            for covered in [normal, skewed] {
                assert!((0.92..=0.98).contains(&covered), "{tokens} tokens, {share}: {covered}");
            }
        }
    }
}

#[test]
fn tokens_taken_as_independent_are_too_sure() {
    let covered = coverage(0.0, |chance| mean_interval(&leaning(0.6, 700, chance), 0.05));
    assert!(covered < 0.75, "{covered}");
}

/// What both models find hard cancels, and what is left leans too.
#[test]
fn differences_of_two_models_on_one_text_are_covered() {
    let mut widths = [0.0; 2];
    let covered = coverage(0.05, |chance| {
        let text = leaning(0.6, 700, chance);
        let [base, own] = [0.0, 0.05].map(|worse| {
            let of_model = leaning(0.6, 700, chance);
            text.iter().zip(of_model).map(|(text, own)| 2.0 * text + 0.2 * own + worse).collect::<Vec<f64>>()
        });
        let differences: Vec<f64> = own.iter().zip(&base).map(|(own, base)| own - base).collect();
        let found = [batch_mean_interval(&differences, 0.05), batch_mean_interval(&own, 0.05)];
        for (width, found) in widths.iter_mut().zip(found) {
            *width += found.map_or(0.0, |found| found.high - found.low);
        }
        found[0]
    });
    assert!((0.92..=0.98).contains(&covered), "{covered}");
    assert!(widths[0] < 0.3 * widths[1], "pairs are what makes it sure: {widths:?}");
}
