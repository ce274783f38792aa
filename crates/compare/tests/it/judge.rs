//! Words for what was measured.

use compare::rules::DuelMode;
use compare::{JudgedDuel, judge, overall};
use record::Verdict::{
    Improved, Incomparable, LeaningBetter, LeaningWorse, Mixed, Regressed, Same, Unresolved, Unstable, WrongOutput,
};
use record::{Better, Build, Difference, Duel, Finding, Judgement, Phase, Sample, Verdict};

use crate::simulated_duels::{self, Chance};

/// B takes `factor` times as long, and everything scatters by a share.
fn changed(mode: DuelMode, factor: f64, scatter: f64) -> Duel {
    let mut chance = Chance::of(7);
    simulated_duels::duel(mode, &mut |arm, _, _| {
        let noise = (scatter * chance.normal()).exp();
        if arm == "B" { factor * noise } else { noise }
    })
}

fn last_look(duel: &Duel) -> JudgedDuel {
    judge(duel, duel.design.looks.len() - 1)
}

fn only(outcome: &JudgedDuel) -> (&Finding, &Judgement) {
    (&outcome.findings[0], &outcome.findings[0].judgements[0])
}

#[track_caller]
fn check(duel: &Duel, verdict: Verdict) -> JudgedDuel {
    let outcome = last_look(duel);
    let (finding, judgement) = only(&outcome);
    assert_eq!(outcome.verdict, verdict, "{judgement:?}");
    assert_eq!(finding.verdict, verdict);
    assert!(finding.sentence.ends_with('.') && judgement.sentence.ends_with('.'), "{finding:?}");
    outcome
}

#[test]
fn a_change_has_its_word() {
    for (factor, scatter, verdict) in [
        (1.10, 0.01, Regressed),
        (0.90, 0.01, Improved),
        (1.00, 0.01, Same),
        (1.02, 0.01, LeaningWorse),
        (0.98, 0.01, LeaningBetter),
        (1.00, 0.20, Unresolved),
    ] {
        check(&changed(DuelMode::STANDARD, factor, scatter), verdict);
    }
}

#[test]
fn what_rises_well_is_better() {
    for (factor, verdict) in [(1.10, Improved), (0.90, Regressed), (1.00, Same)] {
        let mut duel = changed(DuelMode::STANDARD, factor, 0.01);
        simulated_duels::define(&mut duel, "cpu_s", Better::Higher, false);
        let outcome = check(&duel, verdict);
        let change = only(&outcome).1.change.unwrap();
        assert!((change.estimate - (factor - 1.0)).abs() < 0.01, "the change is that of the value: {change:?}");
    }
}

#[test]
fn a_third_of_the_speed_is_three_times_the_time() {
    let mut duel = changed(DuelMode::STANDARD, 1.0 / 3.0, 0.01);
    simulated_duels::define(&mut duel, "cpu_s", Better::Higher, false);
    for (threshold, verdict) in [(0.9, Regressed), (1.8, Regressed), (2.5, Same)] {
        duel.design.gates[0].threshold = threshold;
        check(&duel, verdict);
    }
    let mut thrice = changed(DuelMode::STANDARD, 3.0, 0.01);
    simulated_duels::define(&mut thrice, "cpu_s", Better::Higher, false);
    thrice.design.gates[0].threshold = 0.8;
    check(&thrice, Same);
}

#[test]
fn figures_stand_beside_the_word() {
    let outcome = check(&changed(DuelMode::STANDARD, 1.10, 0.01), Regressed);
    let judgement = only(&outcome).1;
    let change = judgement.change.unwrap();
    assert!(change.low > 0.08 && change.low < change.estimate && change.estimate < change.high && change.high < 0.12);
    assert!(judgement.threshold == 0.02 && judgement.floor.unwrap() <= judgement.threshold);
    assert!(judgement.p.unwrap() < 1e-6);
    assert_eq!((judgement.launches, judgement.rounds, judgement.dropped), (8, 48, 0));
    assert!(
        judgement.sentence.starts_with("CPU time increased by 9.8 % (95 % CI +9.1 % to +"),
        "{}",
        judgement.sentence
    );
    assert!(judgement.sentence.ends_with("above the 2 % threshold."), "{}", judgement.sentence);
    assert!(outcome.is_decided());
}

#[test]
fn what_cannot_be_told_says_what_it_would_take() {
    let outcome = check(&changed(DuelMode::STANDARD, 1.0, 0.08), Unresolved);
    let judgement = only(&outcome).1;
    assert!(judgement.visible.unwrap() > judgement.threshold && judgement.floor.unwrap() > 0.02);
    assert!(judgement.sentence.contains("Smallest detectable change: "), "{}", judgement.sentence);
    assert!(!outcome.is_decided());
    let nearer = check(&changed(DuelMode::STANDARD, 1.06, 0.05), LeaningWorse);
    let judgement = only(&nearer).1;
    assert!((1..200).contains(&judgement.more_launches.unwrap()), "{judgement:?}");
    assert!(judgement.sentence.contains("launches would probably resolve it"), "{}", judgement.sentence);
}

#[test]
fn quick_decides_large_changes_alone() {
    for (factor, verdict) in
        [(1.5, Regressed), (0.5, Improved), (1.15, LeaningWorse), (0.85, LeaningBetter), (1.0, Unresolved)]
    {
        let outcome = check(&changed(DuelMode::QUICK, factor, 0.003), verdict);
        assert_eq!(outcome.is_decided(), matches!(verdict, Regressed | Improved));
    }
    let leaning = last_look(&changed(DuelMode::QUICK, 1.15, 0.003));
    let sentence = &only(&leaning).1.sentence;
    assert!(sentence.contains("quick mode decides changes from 25 % on"), "{sentence}");
}

#[test]
fn without_a_placebo_nothing_is_decided() {
    let mut duel = changed(DuelMode::STANDARD, 1.5, 0.003);
    duel.arms.remove(1);
    duel.samples.retain(|sample| sample.arm.as_deref() != Some("A'"));
    let outcome = check(&duel, LeaningWorse);
    assert!(only(&outcome).1.sentence.contains("without a placebo"));
}

#[test]
fn one_shot_says_nothing() {
    let shot = DuelMode { launches: 1, rounds: 1, looks: &[1], ..DuelMode::STANDARD };
    let outcome = check(&changed(shot, 4.26, 0.0), Unresolved);
    let judgement = only(&outcome).1;
    assert!(judgement.change.is_none() && (judgement.estimate.unwrap() - 3.26).abs() < 1e-9);
    assert!(judgement.sentence.contains("nothing can be concluded"), "{}", judgement.sentence);
    let one_launch = DuelMode { launches: 1, rounds: 60, looks: &[1], ..DuelMode::STANDARD };
    check(&changed(one_launch, 4.26, 0.01), Unresolved);
    let few_rounds = DuelMode { launches: 3, rounds: 1, looks: &[3], ..DuelMode::STANDARD };
    check(&changed(few_rounds, 4.26, 0.01), Unresolved);
}

#[test]
fn a_placebo_that_moves_takes_the_verdict_away_unless_the_change_is_larger() {
    for (factor, verdict) in [(1.06, Unstable), (0.97, Unstable), (1.50, Regressed), (0.60, Improved)] {
        let mut chance = Chance::of(3);
        let duel = simulated_duels::duel(DuelMode::STANDARD, &mut |arm, _, _| {
            let noise = (0.005 * chance.normal()).exp();
            match arm {
                "A'" => 1.05 * noise,
                "B" => factor * noise,
                _ => noise,
            }
        });
        let outcome = check(&duel, verdict);
        assert_eq!(outcome.is_decided(), verdict != Unstable);
        let sentence = &only(&outcome).1.sentence;
        assert_eq!(sentence.contains("between two runs of the same program"), verdict == Unstable, "{sentence}");
    }
}

#[test]
fn another_output_outweighs_every_speed() {
    let mut duel = changed(DuelMode::STANDARD, 0.5, 0.01);
    let outputs = |duel: &mut Duel, outputs: [Option<&str>; 3]| {
        for (arm, output) in duel.arms.iter_mut().zip(outputs) {
            arm.output = output.map(str::to_owned);
        }
    };
    outputs(&mut duel, [Some("x"), Some("x"), Some("y")]);
    let outcome = check(&duel, WrongOutput);
    assert!(outcome.is_decided());
    assert_eq!(only(&outcome).1.verdict, WrongOutput, "the speed is not judged");
    for fine in [[Some("x"), Some("x"), Some("x")], [None, None, Some("y")]] {
        outputs(&mut duel, fine);
        check(&duel, Improved);
    }
    // Who does not agree with himself cannot tell that another is wrong.
    outputs(&mut duel, [Some("x"), Some("z"), Some("y")]);
    check(&duel, Incomparable);
    outputs(&mut duel, [Some("x"), None, Some("y")]);
    duel.arms[1].output_varies = Some(true);
    let outcome = check(&duel, Incomparable);
    assert_eq!(only(&outcome).0.differences[0].field, "output");
    duel.arms[2].other_output = true;
    check(&duel, Improved);
    duel.arms[2].other_output = false;
    duel.arms[1].output_varies = None;
    check(&duel, WrongOutput);
    // Who does not tell does not agree, unless it may differ or has not worked yet.
    outputs(&mut duel, [Some("x"), Some("x"), None]);
    let outcome = check(&duel, WrongOutput);
    assert!(only(&outcome).0.sentence.contains("this side does not"), "{}", only(&outcome).0.sentence);
    duel.arms[2].other_output = true;
    check(&duel, Improved);
    duel.arms[2].other_output = false;
    let mut ended = duel.clone();
    ended.samples.retain(|sample| sample.arm.as_deref() != Some("B"));
    check(&ended, Unresolved);
    duel.arms[2].output_varies = Some(true);
    check(&duel, WrongOutput);
    duel.arms[0].output_varies = Some(true);
    check(&duel, Incomparable);
}

#[test]
fn another_output_is_not_wrong_where_what_is_asked_changes_numbers() {
    let mut duel = changed(DuelMode::STANDARD, 0.5, 0.01);
    for (arm, output) in duel.arms.iter_mut().zip(["x", "x", "y"]) {
        arm.output = Some(output.to_owned());
    }
    duel.arms[2].other_output = true;
    check(&duel, Improved);
    duel.arms[2].output_varies = Some(true);
    check(&duel, WrongOutput);
}

#[test]
fn the_same_program_is_never_better_or_worse() {
    let mut duel = changed(DuelMode::STANDARD, 1.5, 0.01);
    let build = |hash: &str| Some(Build { binary_blake3: Some(hash.to_owned()), ..Build::default() });
    for arm in &mut duel.arms {
        arm.subject.build = build("same");
        arm.subject.command = vec!["bin/program".to_owned(), "--fast".to_owned()];
    }
    let outcome = check(&duel, Unstable);
    assert!(only(&outcome).0.sentence.starts_with("Both sides are the same program"));
    let mut equal = changed(DuelMode::STANDARD, 1.0, 0.01);
    equal.arms = duel.arms.clone();
    check(&equal, Same);
    let mut leaning = changed(DuelMode::STANDARD, 1.02, 0.01);
    leaning.arms = duel.arms.clone();
    check(&leaning, Unresolved);
    let mut screened = changed(DuelMode::QUICK, 1.5, 0.003);
    screened.arms.iter_mut().for_each(|arm| arm.subject = duel.arms[0].subject.clone());
    check(&screened, Unresolved);
    // Another setting, workload, program, name or place is no placebo.
    for other in 0..5 {
        let mut other_duel = duel.clone();
        let arm = &mut other_duel.arms[2];
        match other {
            0 => arm.subject.command[1] = "--slow".to_owned(),
            1 => arm.workload.parameters = [("kv".to_owned(), "off".to_owned())].into(),
            2 => arm.subject.build = build("other"),
            3 => arm.subject.name = "cat".to_owned(),
            _ => arm.subject.command[0] = "new/program".to_owned(),
        }
        let outcome = check(&other_duel, Regressed);
        assert_eq!(only(&outcome).0.sentence.starts_with("Both files have the same bytes"), other > 2);
    }
}

#[test]
fn what_was_found_incomparable_stays_so() {
    let mut duel = changed(DuelMode::STANDARD, 5.26, 0.01);
    let differences = vec![Difference { field: "build profile".to_owned(), ..Difference::default() }];
    duel.findings = vec![Finding { arm: "B".to_owned(), differences, ..Finding::default() }];
    let outcome = check(&duel, Incomparable);
    assert!(only(&outcome).0.sentence.contains("build profile"));
    assert_eq!(only(&outcome).0.differences.len(), 1);
    assert!(outcome.is_decided());
}

#[test]
fn exact_values_are_compared_exactly() {
    let exactly = |before: f64, after: f64, better: Better| {
        let mut duel = changed(DuelMode::STANDARD, 1.0, 0.3);
        duel.design.gates.clear();
        simulated_duels::gate(&mut duel, "allocs", 0.0);
        simulated_duels::define(&mut duel, "allocs", better, true);
        simulated_duels::add(&mut duel, "allocs", &mut |arm, _, _| if arm == "B" { after } else { before });
        duel
    };
    check(&exactly(1000.0, 1001.0, Better::Lower), Regressed);
    check(&exactly(1000.0, 999.0, Better::Lower), Improved);
    check(&exactly(1000.0, 999.0, Better::Higher), Regressed);
    let outcome = check(&exactly(0.0, 0.0, Better::Lower), Same);
    assert!(outcome.is_decided());
    let outcome = check(&exactly(0.0, 3.0, Better::Lower), Regressed);
    let judgement = only(&outcome).1;
    assert_eq!((judgement.change, judgement.base, judgement.candidate), (None, Some(0.0), Some(3.0)));
    assert!(judgement.sentence.contains("0 before and 3 after"), "{}", judgement.sentence);
    let mut lenient = exactly(1000.0, 1001.0, Better::Lower);
    lenient.design.gates[0].threshold = 0.01;
    check(&lenient, Same);
    // What was called exact and is not is judged like everything else.
    let mut chance = Chance::of(5);
    let mut varying = exactly(1.0, 1.0, Better::Lower);
    simulated_duels::add(&mut varying, "allocs", &mut |arm, _, _| {
        (1000.0 * (0.01 * chance.normal()).exp()).round() * if arm == "B" { 1.5 } else { 1.0 }
    });
    check(&varying, Regressed);
}

#[test]
fn gates_share_the_chance_and_the_rest_decides_nothing() {
    let mut duel = changed(DuelMode::STANDARD, 1.0, 0.01);
    let alone = last_look(&duel).findings[0].judgements[0].change.unwrap();
    simulated_duels::gate(&mut duel, "wall_s", 0.03);
    let mut chance = Chance::of(9);
    let noisy = |factor: f64| move |arm: &str, noise: f64| if arm == "B" { factor * noise } else { noise };
    let (worse, better) = (noisy(1.4), noisy(0.6));
    simulated_duels::add(&mut duel, "wall_s", &mut |_, _, _| (0.01 * chance.normal()).exp());
    simulated_duels::add(&mut duel, "ttft_s", &mut |arm, _, _| worse(arm, (0.01 * chance.normal()).exp()));
    simulated_duels::add(&mut duel, "token_s", &mut |arm, _, _| better(arm, (0.01 * chance.normal()).exp()));
    let outcome = check(&duel, Same);
    let judgements = &outcome.findings[0].judgements;
    let names: Vec<&str> = judgements.iter().map(|judgement| judgement.metric.as_str()).collect();
    assert_eq!(names, ["cpu_s", "wall_s", "token_s", "ttft_s"], "gates first, then by name");
    assert_eq!(judgements[2].verdict, LeaningBetter, "{:?}", judgements[2]);
    assert_eq!(judgements[3].verdict, LeaningWorse);
    assert!(judgements[3].sentence.contains("hint") && !judgements[3].gate);
    let together = judgements[0].change.unwrap();
    assert!(together.low < alone.low && together.high > alone.high, "two gates are less certain than one");
}

#[test]
fn gates_that_are_exact_in_name_only_share_the_chance() {
    let width = |values: simulated_duels::Values| {
        let mut duel = changed(DuelMode::STANDARD, 1.0, 0.01);
        simulated_duels::gate(&mut duel, "allocs", 0.0);
        simulated_duels::define(&mut duel, "allocs", Better::Lower, true);
        simulated_duels::add(&mut duel, "allocs", values);
        let change = last_look(&duel).findings[0].judgements[0].change.unwrap();
        change.high - change.low
    };
    let exact = width(&mut |_, _, _| 5.0);
    let varying = width(&mut |_, _, round| 5.0 + round as f64);
    assert!(varying > exact, "{varying} {exact}");
}

#[test]
fn what_is_zero_is_said_to_be() {
    let faults = |before: f64, after: f64| {
        let mut duel = changed(DuelMode::STANDARD, 1.0, 0.01);
        duel.design.gates.clear();
        simulated_duels::gate(&mut duel, "faults", 0.03);
        simulated_duels::add(&mut duel, "faults", &mut |arm, _, round| {
            if arm == "B" { after * (1 + round % 2) as f64 } else { before }
        });
        duel
    };
    let outcome = check(&faults(0.0, 0.0), Same);
    assert_eq!((only(&outcome).1.launches, only(&outcome).1.rounds), (8, 48));
    let outcome = check(&faults(0.0, 4.0), Unresolved);
    let said = &only(&outcome).1.sentence;
    assert!(said.contains("always 0 before and has a median of 6 after"), "{said}");
    let outcome = check(&faults(4.0, 0.0), Unresolved);
    assert!(only(&outcome).1.sentence.contains("always 0 after"), "{}", only(&outcome).1.sentence);
    let mut once = faults(0.0, 0.0);
    once.samples.retain(|sample| sample.launch == 0);
    check(&once, Unresolved);
}

#[test]
fn sameness_is_told_by_the_threshold() {
    // The base alone scatters: the placebo's interval is wider than the threshold, that of the change is not.
    let mut chance = Chance::of(7);
    let mut values = |arm: &str| (if arm == "B" { 0.001 } else { 0.04 } * chance.normal()).exp();
    let mut duel = simulated_duels::duel(DuelMode::STANDARD, &mut |arm, _, _| values(arm));
    simulated_duels::gate(&mut duel, "wall_s", 0.02);
    simulated_duels::add(&mut duel, "wall_s", &mut |arm, _, _| values(arm));
    duel.design.gates.iter_mut().for_each(|gate| gate.threshold = 0.03);
    let outcome = check(&duel, Same);
    let (finding, judgement) = only(&outcome);
    assert!(judgement.threshold == 0.03 && judgement.floor.unwrap() > 0.03, "{judgement:?}");
    assert!(finding.sentence.starts_with("Shown to be the same within 3 %"), "{}", finding.sentence);
}

#[test]
fn wins_and_losses_are_never_netted() {
    let mut duel = changed(DuelMode::STANDARD, 1.2, 0.01);
    simulated_duels::gate(&mut duel, "wall_s", 0.03);
    let mut chance = Chance::of(11);
    simulated_duels::add(&mut duel, "wall_s", &mut |arm, _, _| {
        (0.01 * chance.normal()).exp() * if arm == "B" { 0.8 } else { 1.0 }
    });
    let outcome = check(&duel, Mixed);
    assert_eq!(only(&outcome).0.sentence, "Better in time, worse in CPU time.");
    for (words, whole) in [
        (&[Same, Improved][..], Improved),
        (&[Same, Unresolved, Improved], Unresolved),
        (&[Unstable, Regressed, LeaningWorse], Regressed),
        (&[LeaningWorse, Improved], LeaningWorse),
        (&[Regressed, Improved, WrongOutput], WrongOutput),
        (&[], Unresolved),
    ] {
        assert_eq!(overall(words.iter().copied()), whole, "{words:?}");
    }
}

#[test]
fn several_candidates_are_judged_each() {
    let mut duel = changed(DuelMode::STANDARD, 1.0, 0.01);
    duel.arms.push(record::Arm { name: "C".to_owned(), ..record::Arm::default() });
    let b: Vec<Sample> = duel.samples.iter().filter(|sample| sample.arm.as_deref() == Some("B")).cloned().collect();
    for mut sample in b {
        sample.arm = Some("C".to_owned());
        *sample.values.get_mut("cpu_s").unwrap() *= 1.2;
        duel.samples.push(sample);
    }
    let outcome = last_look(&duel);
    let words: Vec<_> = outcome.findings.iter().map(|finding| (finding.arm.as_str(), finding.verdict)).collect();
    assert_eq!(words, [("B", Same), ("C", Regressed)]);
    assert_eq!(outcome.verdict, Regressed);
}

#[test]
fn rounds_without_a_value_are_dropped_and_counted() {
    let mut duel = changed(DuelMode::STANDARD, 1.1, 0.01);
    for (place, bad) in [(0, 0.0), (31, f64::NAN), (62, -1.0)] {
        *duel.samples[place].values.get_mut("cpu_s").unwrap() = bad;
    }
    duel.samples.remove(100);
    let mut warm_up = duel.samples[0].clone();
    warm_up.phase = Phase::Warmup;
    warm_up.round = 99;
    duel.samples.push(warm_up);
    let outcome = check(&duel, Regressed);
    assert_eq!((only(&outcome).1.rounds, only(&outcome).1.dropped), (44, 4));
}

#[test]
fn series_are_compared_by_their_middle() {
    let mut duel = changed(DuelMode::STANDARD, 1.1, 0.01);
    for sample in &mut duel.samples {
        let value = sample.values.remove("cpu_s").unwrap();
        sample.series.insert("cpu_s".to_owned(), vec![value, value * 0.5, value * 50.0]);
    }
    check(&duel, Regressed);
}

#[test]
fn early_looks_ask_for_more() {
    let mut duel = changed(DuelMode::THOROUGH, 1.06, 0.02);
    duel.samples.retain(|sample| sample.launch < 4);
    let early = judge(&duel, 0).findings[0].judgements[0].change.unwrap();
    let late = judge(&duel, 2).findings[0].judgements[0].change.unwrap();
    assert!(early.low < late.low && early.high > late.high);
    assert_eq!(judge(&duel, 2), judge(&duel, 99), "no look is beyond the last");
}

#[test]
fn an_empty_duel_is_unresolved() {
    let outcome = judge(&Duel::default(), 0);
    assert_eq!((outcome.findings.len(), outcome.verdict, outcome.is_decided()), (0, Unresolved, false));
    let mut duel = changed(DuelMode::STANDARD, 1.0, 0.01);
    duel.samples.clear();
    let outcome = check(&duel, Unresolved);
    assert!(only(&outcome).1.sentence.contains("no values"));
    duel.design.gates.clear();
    assert_eq!(last_look(&duel).findings[0].sentence, "No metric was declared to judge by.");
}
