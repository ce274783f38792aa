//! Several comparisons side by side.

use compare::{confirm, confirm_duel, geomean, unconfirmed};
use record::{Arm, Change, Duel, Finding, Judgement, Verdict};

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
    assert!(gone.sentence.contains("did not confirm it"), "{}", gone.sentence);
    let better = finding(-0.1, 0.01, Verdict::Improved);
    assert_eq!(confirm(&better, &better).confirmed, Some(true));
    for other in [Verdict::Same, Verdict::LeaningBetter, Verdict::Regressed] {
        let gone = confirm(&better, &finding(0.0, 0.01, other));
        assert_eq!((gone.verdict, gone.confirmed), (Verdict::Unresolved, Some(false)), "{other:?}");
    }
    let same = finding(0.0, 0.01, Verdict::Same);
    assert_eq!(confirm(&same, &first), same, "only changes are measured again");
}

#[test]
fn what_the_second_measurement_forbids_is_forbidden() {
    let first = finding(0.1, 0.01, Verdict::Regressed);
    for verdict in [Verdict::WrongOutput, Verdict::Incomparable] {
        let second = Finding { sentence: "It is so.".to_owned(), ..finding(0.1, 0.01, verdict) };
        let found = confirm(&first, &second);
        assert_eq!((found.verdict, found.judgements[0].verdict), (verdict, verdict));
        assert_eq!(found.sentence, "Second measurement: It is so.");
    }
    let moved = confirm(&first, &finding(0.1, 0.01, Verdict::Unstable));
    assert_eq!((moved.verdict, moved.confirmed), (Verdict::Unstable, Some(false)));
    assert!(moved.sentence.contains("the machine was unstable"), "{}", moved.sentence);
}

#[test]
fn only_gates_that_came_again_are_named() {
    let gate =
        |metric: &str, verdict| Judgement { metric: metric.to_owned(), gate: true, verdict, ..Judgement::default() };
    let three = |cpu| {
        let judgements =
            vec![gate("wall_s", Verdict::Regressed), gate("cpu_s", cpu), gate("ttft_s", Verdict::Improved)];
        let sentence = "Better in time to first token, worse in time, CPU time.".to_owned();
        Finding { verdict: Verdict::Mixed, sentence, judgements, ..Finding::default() }
    };
    let found = confirm(&three(Verdict::Regressed), &three(Verdict::Same));
    assert_eq!(found.verdict, Verdict::Mixed);
    assert_eq!(found.sentence, "Better in time to first token, worse in time.");
}

/// A duel in which B regressed, with what A and B put out.
fn put_out(base: &str, candidate: &str) -> Duel {
    let arm =
        |name: &str, output: &str| Arm { name: name.to_owned(), output: Some(output.to_owned()), ..Arm::default() };
    Duel {
        arms: vec![arm("A", base), arm("B", candidate)],
        findings: vec![finding(0.1, 0.01, Verdict::Regressed)],
        verdict: Verdict::Regressed,
        ..Duel::default()
    }
}

#[test]
fn both_measurements_have_to_put_out_the_same() {
    for (second, verdict) in [
        (put_out("x", "x"), Verdict::Regressed),
        (put_out("x", "y"), Verdict::WrongOutput),
        // The base does not agree with itself either.
        (put_out("y", "y"), Verdict::Regressed),
    ] {
        let both = confirm_duel(put_out("x", "x"), second);
        assert_eq!((both.verdict, both.findings[0].verdict), (verdict, verdict));
        assert!(both.confirmation.is_some());
    }
    let kept = unconfirmed(put_out("x", "x"), "it fell over");
    assert_eq!((kept.verdict, kept.findings[0].confirmed), (Verdict::Unresolved, None));
    assert!(kept.failures[0].contains("it fell over") && kept.findings[0].judgements[0].change.is_some());
}

#[test]
fn the_mean_of_ratios_is_geometric() {
    let mean = geomean(&[1.0, -0.5], 0.95).unwrap();
    assert!(mean.estimate.abs() < 1e-12 && mean.low < -0.9 && mean.high > 100.0, "{mean:?}");
    let mean = geomean(&[0.1, 0.1, 0.1], 0.95).unwrap();
    assert!((mean.estimate - 0.1).abs() < 1e-12 && (mean.high - mean.low).abs() < 1e-9);
    assert_eq!(geomean(&[0.1], 0.95), None);
}
