//! Whole duels of sides that only say what they took.

mod fairness;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use record::{
    Arm, Change, Duel, Finding, GateMetric, Judgement, Metric, Phase, Profile, Scope, Subject, Tool, Verdict, Workload,
};

use compare::JudgedDuel;

use super::confirm::confirm_by;
use super::measurement::{DuelMeasurement, JudgeFn, sides};
use super::*;
use crate::machine::KernelChoice;

/// What happened, in its order.
type Events = Rc<RefCell<Vec<String>>>;

/// Reports this many seconds for each call, without spending them.
#[derive(Clone)]
struct Fake {
    label: &'static str,
    call_s: f64,
    events: Events,
    output: fn(u64) -> Option<String>,
    profiles: bool,
    fails_at: u64,
    /// The unit of another metric, where it has one.
    steps: Option<&'static str>,
    /// Whether it has a metric that its system does not tell.
    is_reticent: bool,
}

fn fake(label: &'static str, call_s: f64, events: &Events) -> Fake {
    let output: fn(u64) -> Option<String> = |_| None;
    Fake {
        label,
        call_s,
        events: Rc::clone(events),
        output,
        profiles: false,
        fails_at: u64::MAX,
        steps: None,
        is_reticent: false,
    }
}

impl Contestant for Fake {
    fn arm(&self) -> Arm {
        let subject = Subject { name: self.label.to_owned(), ..Subject::default() };
        Arm { label: self.label.to_owned(), subject, workload: Workload::default(), ..Arm::default() }
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let metric = |name: &str, unit: &str| (name.to_owned(), Metric { unit: unit.to_owned(), ..Metric::default() });
        let untold = self.is_reticent.then(|| metric("untold", "bytes"));
        [metric(WALL, "s")].into_iter().chain(self.steps.map(|unit| metric("steps", unit))).chain(untold).collect()
    }

    fn launch(&mut self) -> Result<Box<dyn Launched>, String> {
        self.events.borrow_mut().push(format!("start {}", self.label));
        Ok(Box::new(Started { fake: self.clone(), rounds: 0 }))
    }
}

struct Started {
    fake: Fake,
    rounds: u64,
}

impl Launched for Started {
    fn round(&mut self, calls: u64, profiled: bool) -> Result<Reading, String> {
        self.rounds += 1;
        let kind = if profiled { "profile" } else { "round" };
        self.fake.events.borrow_mut().push(format!("{kind} {}", self.fake.label));
        if self.rounds == self.fake.fails_at {
            return Err("it fell over".to_owned());
        }
        let scope = Scope { name: "work".to_owned(), calls, self_ns: 10, ..Scope::default() };
        let profile = Profile { scopes: vec![scope], ..Profile::default() };
        let (wall, steps) = (self.fake.call_s * calls as f64, self.fake.steps.map(|_| ("steps".to_owned(), 3.0)));
        let odd = ("odd".to_owned(), f64::NAN);
        Ok(Reading {
            values: [(WALL.to_owned(), wall), odd].into_iter().chain(steps).collect(),
            series: BTreeMap::from([("odd".to_owned(), vec![1.0, f64::INFINITY])]),
            output: (self.fake.output)(self.rounds),
            profile: (profiled && self.fake.profiles).then_some(profile),
        })
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.fake.events.borrow_mut().push(format!("end {}", self.fake.label));
    }
}

/// Ends it after so many words.
struct Looker {
    told: Vec<(DuelStage, u64, u64)>,
    so_far: bool,
    stop_at: usize,
    is_blind: bool,
}

fn looker() -> Looker {
    Looker { told: Vec::new(), so_far: false, stop_at: usize::MAX, is_blind: false }
}

impl DuelObserver for Looker {
    fn tell(&mut self, progress: &DuelProgress<'_>) {
        self.told.push((progress.stage, progress.launch, progress.round));
        self.so_far |= progress.so_far.is_some_and(|so_far| so_far.metric == WALL && so_far.change.high == 0.1);
    }

    fn is_stopped(&self) -> bool {
        self.told.len() >= self.stop_at
    }

    fn is_seen(&self) -> bool {
        !self.is_blind
    }
}

fn settings(mode: DuelMode) -> DuelSettings {
    let gates = vec![GateMetric { metric: WALL.to_owned(), threshold: 0.03 }];
    DuelSettings {
        seed: 5,
        ..DuelSettings::new(mode, gates, KernelChoice::from_environment().expect("kernels"), Tool::default())
    }
}

fn boxed(fakes: Vec<Fake>) -> Vec<Box<dyn Contestant>> {
    fakes.into_iter().map(|fake| Box::new(fake) as Box<dyn Contestant>).collect()
}

fn outcome(duel: &Duel, verdict: Verdict) -> JudgedDuel {
    let change = Some(Change { estimate: 0.05, low: 0.01, high: 0.1 });
    let findings = duel.arms.iter().filter(|arm| !arm.name.starts_with('A')).map(|arm| {
        let judgement = Judgement {
            metric: WALL.to_owned(),
            verdict,
            gate: true,
            change,
            sentence: "s".to_owned(),
            ..Judgement::default()
        };
        Finding { arm: arm.name.clone(), verdict, judgements: vec![judgement], ..Finding::default() }
    });
    JudgedDuel { findings: findings.collect(), verdict }
}

fn unresolved(duel: &Duel, _: usize) -> JudgedDuel {
    outcome(duel, Verdict::Unresolved)
}

fn fought(settings: &DuelSettings, fakes: Vec<Fake>, looker: &mut Looker, judge: JudgeFn) -> Result<Duel, String> {
    let mut contestants = boxed(fakes);
    DuelMeasurement::new(settings, sides(&mut contestants)?, looker, judge).run()
}

#[test]
fn every_launch_has_fresh_processes_a_warm_up_and_all_rounds() {
    let events = Events::default();
    let mut looker = looker();
    let sides = vec![fake("a", 0.01, &events), fake("b", 0.02, &events)];
    let duel = fought(&settings(DuelMode::STANDARD), sides, &mut looker, unresolved).expect("a duel");
    assert_eq!(duel.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["A", "A'", "B"]);
    let (calls, looks) = (duel.design.calls, duel.design.looks.as_slice());
    // What the slower one needs for 0.2 s, and a margin.
    assert_eq!((calls, looks), (12, [4, 8].as_slice()));
    assert!(duel.duration_s.is_some_and(|took| took > 0.0) && duel.design.padding_bytes.is_some());
    let count = |phase, arm: &str| {
        let is_it = |sample: &&record::Sample| sample.phase == phase && sample.arm.as_deref() == Some(arm);
        duel.samples.iter().filter(is_it).count()
    };
    for arm in ["A", "A'", "B"] {
        assert_eq!((count(Phase::Warmup, arm), count(Phase::Timed, arm)), (8, 48), "{arm}");
    }
    let rounds: BTreeSet<_> =
        duel.samples.iter().map(|sample| (sample.launch, sample.round, sample.arm.clone())).collect();
    assert_eq!(rounds.len(), 8 * 6 * 3);
    assert!(duel.samples.iter().any(|sample| sample.values.contains_key("env_load_1m")));
    assert!(duel.samples.iter().all(|sample| sample.values.keys().all(|name| duel.metrics.contains_key(name))));
    let events = events.borrow();
    let starts = |label: &str| events.iter().filter(|event| **event == format!("start {label}")).count();
    assert_eq!((starts("a"), starts("b")), (1 + 2 * 8, 1 + 8), "one of each to size rounds by");
    assert_eq!(events.iter().filter(|event| event.starts_with("end")).count(), 26);
    assert!(looker.so_far && looker.told.contains(&(DuelStage::Measuring, 8, 6)), "{:?}", looker.told);
    assert_eq!(duel.verdict, Verdict::Unresolved);
}

#[test]
fn quick_has_no_placebo() {
    let events = Events::default();
    let sides = vec![fake("a", 0.3, &events), fake("b", 0.3, &events), fake("c", 0.3, &events)];
    let duel = fought(&settings(DuelMode::QUICK), sides, &mut looker(), unresolved).expect("a duel");
    assert_eq!(duel.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["A", "B", "C"]);
    assert_eq!(duel.samples.len(), 4 * (3 + 1) * 3);
}

#[test]
fn a_decided_verdict_ends_it_at_a_look() {
    fn at_first_look(duel: &Duel, looked: usize) -> JudgedDuel {
        let launches = duel.samples.iter().map(|sample| sample.launch).max().map_or(0, |last| last + 1);
        outcome(duel, if launches == 4 && looked == 0 { Verdict::Same } else { Verdict::Unresolved })
    }
    let events = Events::default();
    let sides = vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
    let duel = fought(&settings(DuelMode::THOROUGH), sides, &mut looker(), at_first_look).expect("a duel");
    assert_eq!(duel.samples.iter().map(|sample| sample.launch).max(), Some(3));
    assert_eq!((duel.verdict, duel.interrupted), (Verdict::Same, false));
}

#[test]
fn sides_that_cannot_be_compared_are_not_measured() {
    let events = Events::default();
    let sides = vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
    let judge: JudgeFn = |duel, _| outcome(duel, Verdict::Incomparable);
    let duel = fought(&settings(DuelMode::STANDARD), sides, &mut looker(), judge).expect("a duel");
    assert_eq!((duel.verdict, duel.samples.len(), events.borrow().len()), (Verdict::Incomparable, 0, 0));
}

#[test]
fn one_that_cannot_be_compared_does_not_keep_the_others_from_it() {
    let events = Events::default();
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events), fake("c", 0.3, &events)];
    let judge: JudgeFn = |duel, _| {
        let mut said = outcome(duel, Verdict::Unresolved);
        said.findings[0].verdict = Verdict::Incomparable;
        JudgedDuel { verdict: Verdict::Incomparable, ..said }
    };
    let duel = fought(&settings(DuelMode::QUICK), fakes, &mut looker(), judge).expect("a duel");
    assert_eq!(duel.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["A", "B", "C"]);
    let measured: BTreeSet<_> = duel.samples.iter().filter_map(|sample| sample.arm.as_deref()).collect();
    assert_eq!((measured, duel.samples.len()), (BTreeSet::from(["A", "C"]), 4 * (3 + 1) * 2));
    assert!(!events.borrow().contains(&"start b".to_owned()), "it is not even started");
}

#[test]
fn a_metric_with_two_meanings_is_not_compared() {
    let events = Events::default();
    let fakes = |unit| {
        let with = |label, unit| Fake { steps: Some(unit), ..fake(label, 0.3, &events) };
        vec![with("a", "count"), with("b", unit)]
    };
    let has_steps = |duel: &Duel| duel.samples.iter().any(|sample| sample.values.contains_key("steps"));
    let mut asked = settings(DuelMode::QUICK);
    let duel = fought(&asked, fakes("s"), &mut looker(), unresolved).expect("a duel");
    assert!(!has_steps(&duel) && !duel.metrics.contains_key("steps"));
    let note = "`steps` is count, better=lower, exact=no for the first side and s, better=lower, exact=no for B: the metric is left out";
    assert_eq!(duel.notes, [note]);
    assert!(has_steps(&fought(&asked, fakes("count"), &mut looker(), unresolved).expect("a duel")));
    asked.gates[0].metric = "steps".to_owned();
    let error = fought(&asked, fakes("s"), &mut looker(), unresolved).unwrap_err();
    assert!(error.contains("`steps` is count") && error.contains("such a metric cannot be judged"), "{error}");
}

#[test]
fn what_is_no_number_is_in_no_sample() {
    let events = Events::default();
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
    let duel = fought(&settings(DuelMode::QUICK), fakes, &mut looker(), unresolved).expect("a duel");
    let has_odd = |sample: &record::Sample| sample.values.contains_key("odd") || sample.series.contains_key("odd");
    assert!(!duel.samples.is_empty() && !duel.samples.iter().any(has_odd));
}

#[test]
fn nothing_is_judged_for_nobody() {
    let events = Events::default();
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
    let mut nobody = Looker { is_blind: true, ..looker() };
    fought(&settings(DuelMode::STANDARD), fakes, &mut nobody, unresolved).expect("a duel");
    assert!(!nobody.so_far && !nobody.told.is_empty());
}

#[test]
fn what_was_measured_before_an_interruption_is_kept() {
    let events = Events::default();
    let fakes = || vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
    let mut early = Looker { stop_at: 1, ..looker() };
    let error = fought(&settings(DuelMode::STANDARD), fakes(), &mut early, unresolved).unwrap_err();
    assert!(error.contains("before anything was measured"), "{error}");
    let mut late = Looker { stop_at: 20, ..looker() };
    let duel = fought(&settings(DuelMode::STANDARD), fakes(), &mut late, unresolved).expect("a duel");
    assert!(duel.interrupted && !duel.samples.is_empty());
}

#[test]
fn a_failure_says_who_where_and_what() {
    let events = Events::default();
    let sides = vec![fake("a", 0.3, &events), Fake { fails_at: 4, ..fake("b", 0.3, &events) }];
    let error = fought(&settings(DuelMode::STANDARD), sides, &mut looker(), unresolved).unwrap_err();
    assert_eq!(error, "B (`b`) in launch 1, round 3: it fell over");
}

#[test]
fn a_gate_that_nobody_measures_is_refused() {
    let events = Events::default();
    let mut asked = settings(DuelMode::STANDARD);
    asked.gates[0].metric = "walls".to_owned();
    let error =
        fought(&asked, vec![fake("a", 0.3, &events), fake("b", 0.3, &events)], &mut looker(), unresolved).unwrap_err();
    assert_eq!(error, "cannot judge by `walls`: a does not report it; it reports wall_s");
}

#[test]
fn what_the_system_does_not_tell_is_not_judged_unless_nothing_else_is() {
    let events = Events::default();
    let reticent = |label| Fake { is_reticent: true, ..fake(label, 0.3, &events) };
    let mut asked = settings(DuelMode::STANDARD);
    asked.gates.insert(0, GateMetric { metric: "untold".to_owned(), threshold: 0.02 });
    let duel = fought(&asked, vec![reticent("a"), reticent("b")], &mut looker(), unresolved).expect("a duel");
    assert_eq!(duel.design.gates.iter().map(|gate| gate.metric.as_str()).collect::<Vec<_>>(), [WALL]);
    assert!(duel.notes.contains(&"`untold` is not judged: it could not be measured".to_owned()), "{:?}", duel.notes);
    asked.gates.truncate(1);
    let error = fought(&asked, vec![reticent("a"), reticent("b")], &mut looker(), unresolved).unwrap_err();
    assert_eq!(error, "cannot judge by `untold`: a does not report it; it reports wall_s");
}

#[test]
fn what_matters_of_a_gate_may_follow_from_what_it_is() {
    let events = Events::default();
    let mut asked = settings(DuelMode::QUICK);
    asked.gates[0].threshold = 0.5;
    let threshold = |asked: &DuelSettings| {
        let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
        fought(asked, fakes, &mut looker(), unresolved).expect("a duel").design.gates[0].threshold
    };
    assert_eq!(threshold(&asked), 0.5);
    asked.usual_gates.insert(WALL.to_owned());
    assert_eq!(threshold(&asked), 0.03);
}

#[test]
fn outputs_are_compared_round_by_round() {
    let events = Events::default();
    let steady = Fake { output: |_| Some("x".to_owned()), ..fake("a", 0.3, &events) };
    let moody = Fake { output: |round| Some((round / 5).to_string()), ..fake("b", 0.3, &events) };
    let duel =
        fought(&settings(DuelMode::QUICK), vec![steady, moody, fake("c", 0.3, &events)], &mut looker(), unresolved)
            .expect("a duel");
    let found: Vec<_> = duel.arms.iter().map(|arm| (arm.output.as_deref(), arm.output_varies)).collect();
    assert_eq!(found, [(Some("x"), Some(false)), (None, Some(true)), (None, None)]);
}

#[test]
fn profiles_come_from_rounds_of_their_own_and_only_from_who_has_them() {
    let events = Events::default();
    let with = Fake { profiles: true, ..fake("a", 0.3, &events) };
    let duel = fought(&settings(DuelMode::QUICK), vec![with, fake("b", 0.3, &events)], &mut looker(), unresolved)
        .expect("a duel");
    let found: Vec<_> = duel.profiles.iter().map(|each| (each.arm.as_str(), each.launch, each.wall_ns)).collect();
    assert_eq!(found, [0, 1, 2, 3].map(|launch| ("A", launch, 300_000_000)));
    assert_eq!(duel.profiles[0].paths[0].path, ["work"]);
    let asked = |label: &str| events.borrow().iter().filter(|event| **event == format!("profile {label}")).count();
    assert_eq!((asked("a"), asked("b")), (4, 1), "who gave none is not asked again");
    assert_eq!(duel.samples.len(), 4 * 4 * 2);
}

#[test]
fn one_side_is_no_duel() {
    let events = Events::default();
    assert!(fought(&settings(DuelMode::QUICK), vec![fake("a", 0.3, &events)], &mut looker(), unresolved).is_err());
}

/// B regresses always, C only in the first measurement.
fn c_recovers(duel: &Duel, _: usize) -> JudgedDuel {
    let mut said = outcome(duel, Verdict::Regressed);
    for finding in said.findings.iter_mut().filter(|finding| finding.arm == "C" && duel.design.confirmation) {
        finding.verdict = Verdict::Same;
        finding.judgements[0].verdict = Verdict::Same;
    }
    said
}

#[test]
fn only_what_regresses_twice_is_believed() {
    let events = Events::default();
    let settings = DuelSettings { round: Duration::from_millis(1), ..settings(DuelMode::STANDARD) };
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events), fake("c", 0.3, &events)];
    let first = fought(&settings, fakes.clone(), &mut looker(), c_recovers).expect("a duel");
    assert!(needs_confirmation(&first));
    let mut contestants = boxed(fakes);
    let both = confirm_by(first.clone(), (&settings, &mut contestants), &mut looker(), c_recovers).expect("a duel");
    let found: Vec<_> = both.findings.iter().map(|finding| (finding.verdict, finding.confirmed)).collect();
    assert_eq!(found, [(Verdict::Regressed, Some(true)), (Verdict::Unresolved, Some(false))]);
    assert!(both.findings[1].sentence.contains("did not confirm it"), "{:?}", both.findings[1]);
    assert_eq!(both.verdict, Verdict::Regressed);
    let second = both.confirmation.as_ref().expect("the second one");
    assert!(second.design.confirmation && second.design.seed != first.design.seed);
    assert_eq!(second.design.calls, first.design.calls);
    assert_eq!(
        (second.design.launches, second.design.looks.as_slice()),
        (4, [4].as_slice()),
        "as many as the first needed"
    );
    assert!(!needs_confirmation(&both));
}

#[test]
fn what_improved_is_measured_again_too() {
    let events = Events::default();
    let settings = settings(DuelMode::STANDARD);
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events), fake("c", 0.3, &events)];
    let judge: JudgeFn = |duel, _| {
        let mut said = outcome(duel, Verdict::Improved);
        for finding in said.findings.iter_mut().filter(|finding| finding.arm == "C") {
            finding.judgements[0].verdict = Verdict::Same;
        }
        said
    };
    let first = fought(&settings, fakes.clone(), &mut looker(), judge).expect("a duel");
    assert!(needs_confirmation(&first));
    let both = confirm_by(first, (&settings, &mut boxed(fakes)), &mut looker(), judge).expect("a duel");
    let second = both.confirmation.expect("the second one");
    assert_eq!(second.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["A", "A'", "B"]);
}

#[test]
fn a_second_measurement_that_fails_does_not_take_the_first_away() {
    let events = Events::default();
    let settings = settings(DuelMode::STANDARD);
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events)];
    let judge: JudgeFn = |duel, _| outcome(duel, Verdict::Regressed);
    let first = fought(&settings, fakes.clone(), &mut looker(), judge).expect("a duel");
    let crashing = vec![fakes[0].clone(), Fake { fails_at: 3, ..fakes[1].clone() }];
    let kept = confirm_by(first.clone(), (&settings, &mut boxed(crashing)), &mut looker(), judge).expect("the first");
    assert_eq!((kept.verdict, kept.samples.len()), (Verdict::Unresolved, first.samples.len()));
    assert!(kept.failures[0].contains("it fell over"), "{:?}", kept.failures);
    assert!(kept.findings[0].sentence.contains("The second measurement failed"), "{:?}", kept.findings[0]);
}

#[test]
fn a_confirmation_measures_only_what_regressed() {
    let only_c: JudgeFn = |duel, _| {
        let mut said = outcome(duel, Verdict::Regressed);
        for finding in said.findings.iter_mut().filter(|finding| finding.arm == "B") {
            finding.judgements[0].verdict = Verdict::Same;
        }
        said
    };
    let events = Events::default();
    let fakes = vec![fake("a", 0.3, &events), fake("b", 0.3, &events), fake("c", 0.3, &events)];
    let settings = settings(DuelMode::STANDARD);
    let first = fought(&settings, fakes.clone(), &mut looker(), only_c).expect("a duel");
    let both = confirm_by(first, (&settings, &mut boxed(fakes)), &mut looker(), only_c).expect("a duel");
    let second = both.confirmation.expect("the second one");
    assert_eq!(second.arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), ["A", "A'", "C"]);
}
