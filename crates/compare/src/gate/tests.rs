use record::{Change, GateMetric, Judgement, Metric};

use super::*;

const TODAY: &str = "2026-11-15";

fn judgement(metric: &str, verdict: Verdict) -> Judgement {
    let sentence = format!("{metric} is {verdict:?}");
    Judgement { metric: metric.to_owned(), verdict, sentence, gate: true, ..Judgement::default() }
}

/// A cell whose gates are `wall_s`, and `cpu_s` where there is a second word.
fn cell(name: &str, words: &[Verdict]) -> GateCell {
    let names = &["wall_s", "cpu_s"][..words.len()];
    let judgements = names.iter().zip(words).map(|(metric, word)| judgement(metric, *word)).collect();
    let gate = |metric: &&str| GateMetric { metric: (*metric).to_owned(), threshold: 0.03 };
    let verdict = overall(words.iter().copied());
    let finding = Finding { judgements, verdict, sentence: "so it is".to_owned(), ..Finding::default() };
    GateCell {
        name: name.to_owned(),
        gates: names.iter().map(gate).collect(),
        metrics: names.iter().map(|metric| ((*metric).to_owned(), Metric::default())).collect(),
        findings: vec![finding],
        ..GateCell::default()
    }
}

fn of(cells: Vec<GateCell>) -> Gate {
    Gate { cells, commits: vec!["c0ffee".to_owned(), "beef00".to_owned()], ..Gate::default() }
}

fn accepting(cell: &str, metric: &str, until: &str) -> Acceptance {
    Acceptance {
        cell: cell.to_owned(),
        metric: metric.to_owned(),
        until: until.to_owned(),
        reason: "it is safer".to_owned(),
        ..Acceptance::default()
    }
}

#[track_caller]
fn check(gate: Gate, verdict: Option<Verdict>, code: u8) -> Gate {
    let gate = super::gate(gate, TODAY);
    assert_eq!((gate.verdict, gate.exit_code, gate.passed), (verdict, code, code == 0), "{:?}", gate.reasons);
    assert_eq!(gate.reasons.is_empty(), gate.passed, "who does not pass is told why");
    gate
}

#[test]
fn every_word_has_its_code() {
    for (word, code, strict) in [
        (Verdict::Same, 0, 0),
        (Verdict::Improved, 0, 0),
        (Verdict::LeaningBetter, 0, 0),
        (Verdict::Unresolved, 0, 11),
        (Verdict::LeaningWorse, 0, 11),
        (Verdict::Regressed, 10, 10),
        (Verdict::Incomparable, 12, 12),
        (Verdict::Unstable, 13, 13),
        (Verdict::WrongOutput, 14, 14),
    ] {
        let gate = check(of(vec![cell("decode", &[word])]), Some(word), code);
        assert_eq!(gate.warnings.len(), usize::from(code != strict), "{word:?}");
        let standing = match (code, strict) {
            (0, 0) => CellState::Passed,
            (0, _) => CellState::Warned,
            _ => CellState::Failed,
        };
        assert_eq!((gate.cells[0].standing, gate.cells[0].verdict), (standing, Some(word)));
        check(Gate { fail_on_unresolved: true, ..of(vec![cell("decode", &[word])]) }, Some(word), strict);
    }
}

#[test]
fn the_gravest_decides() {
    use Verdict::{Improved, Incomparable, LeaningWorse, Mixed, Regressed, Same, Unresolved, Unstable, WrongOutput};
    let all = |words: &[Verdict]| {
        let cells = words.iter().enumerate().map(|(at, word)| cell(&at.to_string(), &[*word])).collect();
        Gate { fail_on_unresolved: true, ..of(cells) }
    };
    check(all(&[Same, Unresolved, Unstable, Regressed, Incomparable, WrongOutput]), Some(WrongOutput), 14);
    check(all(&[Same, Unresolved, Unstable, Regressed, Incomparable]), Some(Incomparable), 12);
    check(all(&[Same, Unresolved, Unstable, Regressed]), Some(Regressed), 10);
    check(all(&[Same, Unresolved, Unstable]), Some(Unstable), 13);
    check(all(&[Same, Unresolved, LeaningWorse]), Some(LeaningWorse), 11);
    check(all(&[Same, Improved]), Some(Improved), 0);
    check(all(&[Improved, Regressed]), Some(Mixed), 10);
    let order = check(all(&[Unresolved, Regressed, WrongOutput]), Some(WrongOutput), 14);
    let told: Vec<u8> = order.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(told, [14, 10, 11]);
    check(of(vec![cell("decode", &[Improved, Regressed])]), Some(Mixed), 10);
}

#[test]
fn nothing_to_count_is_no_verdict() {
    check(of(Vec::new()), None, 0);
    let advisory = GateCell { advisory: true, ..cell("decode", &[Verdict::Regressed]) };
    let gate = check(of(vec![advisory]), None, 0);
    assert_eq!((gate.cells[0].standing, gate.warnings[0].code), (CellState::Warned, 10));
}

#[test]
fn what_is_advisory_fails_nothing_but_by_another_result() {
    let advisory = |word| GateCell { advisory: true, ..cell("decode", &[word]) };
    let same = || cell("prefill", &[Verdict::Same]);
    check(of(vec![advisory(Verdict::Incomparable), same()]), Some(Verdict::Same), 0);
    check(of(vec![advisory(Verdict::WrongOutput), same()]), Some(Verdict::WrongOutput), 14);
    let mut half = cell("decode", &[Verdict::Regressed, Verdict::Same]);
    half.advisory_metrics = vec!["wall_s".to_owned()];
    let gate = check(of(vec![half.clone()]), Some(Verdict::Same), 0);
    assert_eq!(gate.warnings[0].metric.as_deref(), Some("wall_s"));
    half.advisory_metrics = vec!["cpu_s".to_owned()];
    check(of(vec![half]), Some(Verdict::Regressed), 10);
}

#[test]
fn what_was_not_measured_is_a_fault() {
    let failed = GateCell { failure: Some("it crashed".to_owned()), ..cell("decode", &[]) };
    let gate = check(of(vec![failed.clone(), cell("prefill", &[Verdict::Same])]), Some(Verdict::Same), 1);
    assert_eq!(gate.reasons[0].sentence, "it crashed");
    check(of(vec![failed, cell("prefill", &[Verdict::Regressed])]), Some(Verdict::Regressed), 10);
    let mut without = cell("decode", &[Verdict::Same, Verdict::Same]);
    without.findings[0].judgements.pop();
    let gate = check(of(vec![without]), Some(Verdict::Same), 1);
    assert_eq!(gate.reasons[0].metric.as_deref(), Some("cpu_s"));
    let broken_off = Gate { interrupted: true, ..of(vec![cell("decode", &[Verdict::Regressed])]) };
    check(broken_off, Some(Verdict::Regressed), 130);
}

#[test]
fn accepted_regressions_pass() {
    let with = |acceptance: Acceptance| {
        let cells = vec![cell("decode", &[Verdict::Regressed, Verdict::Same])];
        Gate { accepted: vec![acceptance], ..of(cells) }
    };
    let state = |gate: Gate| gate.accepted[0].state;
    let used = check(with(accepting("decode", "wall_s", TODAY)), Some(Verdict::Same), 0);
    assert_eq!(state(used), AcceptanceState::Used);
    for other in [accepting("decode", "cpu_s", TODAY), accepting("prefill", "wall_s", TODAY)] {
        assert_eq!(state(check(with(other), Some(Verdict::Regressed), 10)), AcceptanceState::NotNeeded);
    }
    let commit = |digits: &str| Acceptance { commit: Some(digits.to_owned()), ..accepting("decode", "wall_s", TODAY) };
    check(with(commit("c0ff")), Some(Verdict::Same), 0);
    check(with(commit("abcd")), Some(Verdict::Regressed), 10);
    let leaning = Gate {
        accepted: vec![accepting("decode", "wall_s", TODAY)],
        fail_on_unresolved: true,
        ..of(vec![cell("decode", &[Verdict::LeaningWorse, Verdict::Same])])
    };
    check(leaning, Some(Verdict::Same), 0);
    let mut wrong = with(accepting("decode", "wall_s", TODAY));
    wrong.cells[0].findings[0].verdict = Verdict::WrongOutput;
    check(wrong, Some(Verdict::WrongOutput), 14);
}

#[test]
fn acceptances_end() {
    let over = |words: &[Verdict]| Gate {
        accepted: vec![accepting("decode", "wall_s", "2026-11-14")],
        ..of(vec![cell("decode", words)])
    };
    // Also where the regression is in the base by now: the day was set to have it mended.
    let gate = check(over(&[Verdict::Same]), Some(Verdict::Regressed), 10);
    assert_eq!(gate.accepted[0].state, AcceptanceState::Expired);
    assert!(gate.reasons[0].sentence.contains("accepted until 2026-11-14"), "{:?}", gate.reasons);
    assert!(gate.reasons[0].sentence.contains("it is safer"), "{:?}", gate.reasons);
    let gate = check(over(&[Verdict::Regressed]), Some(Verdict::Regressed), 10);
    assert_eq!(gate.reasons.len(), 2, "{:?}", gate.reasons);
}

#[test]
fn budgets_count() {
    let with = |state| {
        let budget = Budget {
            metric: "wall_s".to_owned(),
            quantile: 0.95,
            at_most: Some(0.5),
            state,
            value: Some(0.612_34),
            values: 48,
            beyond: 12,
            needed: Some(59),
            ..Budget::default()
        };
        of(vec![GateCell { budgets: vec![budget], ..cell("decode", &[Verdict::Improved]) }])
    };
    check(with(BudgetState::Kept), Some(Verdict::Improved), 0);
    let gate = check(with(BudgetState::Broken), Some(Verdict::Mixed), 10);
    assert_eq!(gate.reasons[0].sentence, "p95 must be at most 0.5 and is 0.6123: 12 of 48 values exceed the limit");
    let gate = check(with(BudgetState::Unresolved), Some(Verdict::Unresolved), 0);
    assert!(gate.warnings[0].sentence.ends_with("12 of 48 values exceed the limit; 59 values are needed"));
    check(Gate { fail_on_unresolved: true, ..with(BudgetState::Unresolved) }, Some(Verdict::Unresolved), 11);
    check(with(BudgetState::NotMeasured), Some(Verdict::Improved), 1);
    let mut of_means = with(BudgetState::NotMeasured);
    of_means.cells[0].budgets[0].refused = Some("these are means".to_owned());
    let gate = check(of_means, Some(Verdict::Improved), 1);
    assert!(gate.reasons[0].sentence.ends_with("these are means"), "{:?}", gate.reasons);
    let mut refused = with(BudgetState::NotMeasured);
    refused.cells[0].findings[0].verdict = Verdict::Incomparable;
    assert_eq!(check(refused, Some(Verdict::Incomparable), 12).reasons.len(), 1);
    let mut advisory = with(BudgetState::Broken);
    advisory.cells[0].advisory = true;
    check(advisory, None, 0);
}

/// Six cells with one gate each, whose changes lie around an estimate.
fn alike(verdict: Verdict, estimate: f64) -> Gate {
    let one = |at: usize| {
        let mut one = cell(&at.to_string(), &[verdict]);
        one.findings[0].judgements[0].change = Some(Change { estimate, low: estimate - 0.01, high: estimate + 0.01 });
        one
    };
    of((0..6).map(one).collect())
}

#[test]
fn what_all_cells_have_in_common_is_warned_of_and_stays_what_it_is() {
    let gate = check(alike(Verdict::Regressed, 0.07), Some(Verdict::Regressed), 10);
    assert!(gate.drift.is_some_and(|drift| drift.moved == 6));
    assert!(gate.reasons.iter().all(|reason| reason.sentence == "wall_s is Regressed"), "{:?}", gate.reasons);
    let warning = &gate.warnings[0];
    assert_eq!((warning.code, warning.about, warning.metric.as_deref()), (0, ReasonSubject::All, Some("wall_s")));
    assert!(warning.sentence.starts_with("6 of 6 cells changed in the same way (median +7.0 %)"), "{warning:?}");
    for (word, estimate) in [(Verdict::Improved, -0.07), (Verdict::LeaningWorse, 0.02), (Verdict::LeaningBetter, -0.02)]
    {
        let gate = check(alike(word, estimate), Some(word), 0);
        assert!(gate.warnings[0].about == ReasonSubject::All && gate.reasons.is_empty(), "{:?}", gate.warnings);
    }
    let mut few = alike(Verdict::Regressed, 0.07);
    few.cells.truncate(4);
    let few = check(few, Some(Verdict::Regressed), 10);
    assert_eq!((few.drift, few.warnings.len()), (None, 0));
    let mut exact = alike(Verdict::Regressed, 0.07);
    exact.cells.iter_mut().for_each(|cell| cell.metrics.values_mut().for_each(|metric| metric.exact = true));
    assert_eq!(check(exact, Some(Verdict::Regressed), 10).drift, None);
}

#[test]
fn every_metric_that_changed_alike_is_warned_of() {
    let change = |estimate: f64| Some(Change { estimate, low: estimate - 0.01, high: estimate + 0.01 });
    let one = |at: usize| {
        let mut one = cell(&at.to_string(), &[Verdict::Regressed, Verdict::Regressed]);
        one.findings[0].judgements[0].change = change(0.20);
        one.findings[0].judgements[1].change = change(0.205);
        // Moved more than all others, and nothing is judged by it.
        one.metrics.insert("user_s".to_owned(), Metric::default());
        let user = Judgement { gate: false, change: change(0.3), ..judgement("user_s", Verdict::LeaningWorse) };
        one.findings[0].judgements.push(user);
        one
    };
    let gate = check(of((0..6).map(one).collect()), Some(Verdict::Regressed), 10);
    let drifts = gate.drift.iter().chain(&gate.other_drifts);
    assert_eq!(drifts.map(|drift| drift.metric.as_str()).collect::<Vec<_>>(), ["cpu_s", "wall_s"]);
    let warned = gate.warnings.iter().filter(|warning| warning.about == ReasonSubject::All);
    assert_eq!(warned.filter_map(|warning| warning.metric.as_deref()).collect::<Vec<_>>(), ["cpu_s", "wall_s"]);
}

#[test]
fn deciding_twice_is_deciding_once() {
    let once = super::gate(of(vec![cell("decode", &[Verdict::Regressed])]), TODAY);
    assert_eq!(super::gate(once.clone(), TODAY), once);
}
