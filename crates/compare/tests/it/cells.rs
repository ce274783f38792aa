//! Several comparisons side by side.

use compare::{confirm, geomean};
use record::{Change, Finding, Judgement, Verdict};

fn finding(estimate: f64, half: f64, verdict: Verdict) -> Finding {
    let change = Change { estimate, low: estimate - half, high: estimate + half };
    let judgement = Judgement {
        metric: "wall_s".to_owned(),
        gate: true,
        verdict,
        sentence: "Time moved.".to_owned(),
        change: Some(change),
        ..Judgement::default()
    };
    Finding { arm: "B".to_owned(), verdict, judgements: vec![judgement], ..Finding::default() }
}

#[test]
fn what_does_not_come_again_is_not_known() {
    let first = finding(0.1, 0.01, Verdict::Regressed);
    let kept = confirm(&first, &finding(0.09, 0.01, Verdict::Regressed));
    assert_eq!((kept.verdict, kept.confirmed), (Verdict::Regressed, Some(true)));
    let gone = confirm(&first, &finding(0.0, 0.01, Verdict::Same));
    assert_eq!((gone.verdict, gone.confirmed), (Verdict::Unresolved, Some(false)));
    assert!(gone.sentence.contains("did not come again"), "{}", gone.sentence);
    let same = finding(0.0, 0.01, Verdict::Same);
    assert_eq!(confirm(&same, &first), same, "only what regressed is measured again");
}

#[test]
fn the_mean_of_ratios_is_geometric() {
    let mean = geomean(&[1.0, -0.5], 0.95).unwrap();
    assert!(mean.estimate.abs() < 1e-12 && mean.low < -0.9 && mean.high > 100.0, "{mean:?}");
    let mean = geomean(&[0.1, 0.1, 0.1], 0.95).unwrap();
    assert!((mean.estimate - 0.1).abs() < 1e-12 && (mean.high - mean.low).abs() < 1e-9);
    assert_eq!(geomean(&[0.1], 0.95), None);
}
