//! Several comparisons side by side.

use compare::{common_mode, confirm, geomean, overall};
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
fn what_moves_everywhere_alike_is_the_machine() {
    let regressed = |estimate| finding(estimate, 0.01, Verdict::Regressed);
    let mut cells: Vec<Finding> = [0.09, 0.10, 0.11, 0.10, 0.12].map(regressed).to_vec();
    cells.push(finding(0.001, 0.01, Verdict::Same));
    let found = common_mode(&cells.iter().collect::<Vec<_>>());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].moved, found[0].of, found[0].metric.as_str()), (5, 6, "wall_s"));
    found[0].demote(&mut cells[0]);
    assert_eq!((cells[0].verdict, cells[0].judgements[0].verdict), (Verdict::Unstable, Verdict::Unstable));
    assert!(cells[0].sentence.contains("5 of 6 unrelated comparisons"), "{}", cells[0].sentence);
}

#[test]
fn what_moves_alone_or_by_its_own_amount_is_not() {
    let none = |changes: &[f64]| {
        let cells: Vec<Finding> = changes.iter().map(|change| finding(*change, 0.01, Verdict::Regressed)).collect();
        assert!(common_mode(&cells.iter().collect::<Vec<_>>()).is_empty(), "{changes:?}");
    };
    none(&[0.1, 0.1, 0.1, 0.1]);
    none(&[0.1, 0.1, 0.1, 0.1, -0.1]);
    none(&[0.02, 0.1, 0.4, 0.9, 0.05, 0.6]);
    none(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.1]);
    none(&[]);
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
    assert_eq!(overall([gone.verdict]), Verdict::Unresolved);
}

#[test]
fn the_mean_of_ratios_is_geometric() {
    let mean = geomean(&[1.0, -0.5], 0.95).unwrap();
    assert!(mean.estimate.abs() < 1e-12 && mean.low < -0.9 && mean.high > 100.0, "{mean:?}");
    let mean = geomean(&[0.1, 0.1, 0.1], 0.95).unwrap();
    assert!((mean.estimate - 0.1).abs() < 1e-12 && (mean.high - mean.low).abs() < 1e-9);
    assert_eq!(geomean(&[0.1], 0.95), None);
}
