//! What stored runs may say: a direction at most, and of single samples nothing.

use std::collections::BTreeMap;

use compare::{NamedRun, RunsSettings, runs};
use record::{
    Better, Build, Comparison, Correctness, Imported, Judgement, Metric, Phase, Presence, ProcessUse, Row, Run, Sample,
    Unread, Verdict,
};

use crate::comparable::told;

/// A run in which the row `decode` took these times, and allocated so often in each call.
fn measured(times: &[f64], allocs: f64) -> Run {
    let mut run = told();
    let metric = |unit: &str, exact: bool| Metric {
        definition: unit.to_owned(),
        unit: unit.to_owned(),
        better: Better::Lower,
        exact,
        ..Metric::default()
    };
    run.metrics.insert("wall_s".to_owned(), metric("s", false));
    run.metrics.insert("allocs".to_owned(), metric("count", true));
    run.rows.push(Row { name: "decode".to_owned(), calls: 2, tokens: Some(10.0), ..Row::default() });
    for time in times {
        run.samples.push(sample("decode", [("wall_s", 2.0 * time), ("allocs", 2.0 * allocs)]));
    }
    run
}

fn sample<const N: usize>(row: &str, values: [(&str, f64); N]) -> Sample {
    let values: BTreeMap<String, f64> = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Sample { row: row.to_owned(), phase: Phase::Timed, values, ..Sample::default() }
}

/// The same program, changed.
fn changed(mut run: Run) -> Run {
    run.subject.build.as_mut().expect("it has one").binary_blake3 = Some("4444".to_owned());
    run
}

fn compared(base: &Run, candidate: &Run) -> Comparison {
    asked(base, candidate, None)
}

fn asked(base: &Run, candidate: &Run, threshold: Option<f64>) -> Comparison {
    let settings = RunsSettings { threshold, ..RunsSettings::default() };
    let found = runs(
        NamedRun { run: base, name: "@previous", id: None },
        NamedRun { run: candidate, name: "@latest", id: None },
        &settings,
    );
    assert_eq!(Comparison::from_json(&found.to_json()).as_ref(), Ok(&found), "it is read as it was written");
    found
}

fn judgement<'a>(found: &'a Comparison, row: &str, metric: &str) -> &'a Judgement {
    let row = found.rows.iter().find(|found| found.name == row).expect("the row is there");
    row.judgements.iter().find(|judgement| judgement.metric == metric).expect("the metric is there")
}

const STEADY: [f64; 8] = [1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.00, 1.01];

fn times(factor: f64) -> Vec<f64> {
    STEADY.iter().map(|time| time * factor).collect()
}

#[test]
fn a_change_between_sittings_is_a_leaning() {
    let base = measured(&STEADY, 3.0);
    for (factor, expected) in [
        (1.20, Verdict::LeaningWorse),
        (0.80, Verdict::LeaningBetter),
        (1.01, Verdict::Unresolved),
        // Apart, and not beyond 3 % for certain.
        (1.045, Verdict::Unresolved),
    ] {
        let found = compared(&base, &changed(measured(&times(factor), 3.0)));
        assert_eq!(found.verdict, expected, "{factor}");
        let wall = judgement(&found, "decode", "wall_s");
        assert_eq!((wall.verdict, wall.gate), (expected, true));
        let change = wall.change.expect("8 samples give one");
        assert!(change.low < factor - 1.0 && factor - 1.0 < change.high, "{change:?}");
        assert!((change.estimate - (factor - 1.0)).abs() < 1e-9, "{change:?}");
    }
    let found = asked(&base, &changed(measured(&times(1.2), 3.0)), Some(0.25));
    assert_eq!(found.verdict, Verdict::Unresolved, "20 % are not beyond 25 %");
}

#[test]
fn where_more_is_better_less_is_worse() {
    let with = |values: &[f64]| {
        let mut run = told();
        let metric = Metric { unit: "1/s".to_owned(), better: Better::Higher, ..Metric::default() };
        run.metrics.insert("speed".to_owned(), metric);
        run.rows.push(Row { name: "serve".to_owned(), calls: 1, ..Row::default() });
        run.samples.extend(values.iter().map(|value| sample("serve", [("speed", *value)])));
        run
    };
    for (factor, expected) in [(0.8, Verdict::LeaningWorse), (1.2, Verdict::LeaningBetter), (1.0, Verdict::Unresolved)]
    {
        let found = compared(&with(&STEADY), &changed(with(&times(factor))));
        assert_eq!(judgement(&found, "serve", "speed").verdict, expected, "{factor}");
    }
}

#[test]
fn few_samples_say_nothing() {
    for (count, said) in [(1, "1 sample; nothing can be concluded"), (5, "5 samples; fewer than 6")] {
        let found = compared(&measured(&STEADY[..count], 3.0), &changed(measured(&times(9.0)[..count], 3.0)));
        assert_eq!(found.verdict, Verdict::Unresolved);
        let wall = judgement(&found, "decode", "wall_s");
        assert!(wall.change.is_none() && wall.sentence.starts_with(said), "{}", wall.sentence);
        assert!((wall.estimate.expect("it can be guessed") - 8.0).abs() < 0.1);
    }
    let one = compared(&measured(&STEADY[..1], 3.0), &changed(measured(&STEADY[..1], 3.0)));
    assert!(one.sentence.starts_with("1 sample; nothing can be concluded"), "{}", one.sentence);
}

#[test]
fn what_is_exact_is_said_exactly() {
    for (allocs, expected) in [(3.0, Verdict::Unresolved), (4.0, Verdict::LeaningWorse), (0.0, Verdict::LeaningBetter)]
    {
        let found = compared(&measured(&STEADY, 3.0), &changed(measured(&STEADY, allocs)));
        let judgement = judgement(&found, "decode", "allocs");
        assert_eq!((judgement.verdict, judgement.candidate, judgement.gate), (expected, Some(allocs), false));
        // The whole is about time, and of that nothing is known.
        assert_eq!(found.verdict, Verdict::Unresolved);
        assert_eq!(found.sentence.contains("exact metrics"), allocs != 3.0, "{}", found.sentence);
    }
}

#[test]
fn what_is_exact_needs_two_samples_and_two_programs() {
    let told = |base: &Run, candidate: &Run, why: &str| {
        let found = compared(base, candidate);
        let allocs = judgement(&found, "decode", "allocs");
        assert_eq!(allocs.verdict, Verdict::Unresolved);
        assert!(allocs.sentence.starts_with("exactly 3 before and 4 after; "), "{}", allocs.sentence);
        assert!(allocs.sentence.contains(why), "{}", allocs.sentence);
    };
    let base = measured(&STEADY, 3.0);
    told(&base, &changed(measured(&STEADY[..1], 4.0)), "1 sample");
    told(&base, &measured(&STEADY, 4.0), "the program is the same");
    let mut mean = measured(&STEADY, 3.0);
    mean.imported = Some(Imported { summarised: true, ..Imported::default() });
    told(&mean, &changed(measured(&STEADY, 4.0)), "has only summary values");
}

#[test]
fn where_no_row_can_be_compared_nothing_can() {
    let mut more = changed(measured(&times(2.0), 3.0));
    more.rows[0].tokens = Some(20.0);
    let found = compared(&measured(&STEADY, 3.0), &more);
    assert_eq!(found.verdict, Verdict::Incomparable);
    assert!(found.sentence.contains("10 tokens before, 20 after"), "{}", found.sentence);
}

#[test]
fn differently_built_runs_are_not_compared() {
    let mut debug = changed(measured(&times(5.26), 3.0));
    let build = debug.subject.build.as_mut().expect("it has one");
    (build.profile, build.debug_assertions) = (Some("debug".to_owned()), Some(true));
    let found = compared(&measured(&STEADY, 3.0), &debug);
    assert_eq!(found.verdict, Verdict::Incomparable);
    assert!(found.sentence.contains("build profile (release before, debug after)"), "{}", found.sentence);
    let wall = judgement(&found, "decode", "wall_s");
    assert_eq!((wall.verdict, wall.change, wall.estimate), (Verdict::Incomparable, None, None));
    assert_eq!(wall.base, Some(1.0));
    assert!(wall.candidate.is_some_and(|seconds| seconds > 5.0), "both stay to be seen");
    let profile = found.facts.iter().find(|fact| fact.field == "build profile").expect("it is a fact too");
    assert_eq!(profile.candidate.as_deref(), Some("debug"));
}

#[test]
fn a_run_of_which_nothing_is_known_is_not_compared() {
    let mut base = measured(&STEADY, 3.0);
    base.subject.build = None;
    let found = compared(&base, &base.clone());
    assert_eq!(found.verdict, Verdict::Incomparable);
    assert!(found.sentence.contains("build profile (unknown on both sides)"), "{}", found.sentence);
}

#[test]
fn other_tokens_are_wrong_however_fast_they_come() {
    let output = |mut run: Run, hash: &str| {
        run.correctness = Some(Correctness { tokens_blake3: Some(hash.to_owned()), ..Correctness::default() });
        run
    };
    let base = output(measured(&STEADY, 3.0), "aa");
    let found = compared(&base, &changed(output(measured(&times(0.1), 3.0), "ab")));
    assert_eq!((found.verdict, found.same_output), (Verdict::WrongOutput, Some(false)));
    let wall = judgement(&found, "decode", "wall_s");
    assert_eq!((wall.verdict, wall.change, wall.estimate), (Verdict::WrongOutput, None, None), "speed is withheld");
    let same = compared(&base, &changed(output(measured(&times(0.1), 3.0), "aa")));
    assert_eq!((same.verdict, same.same_output), (Verdict::LeaningBetter, Some(true)));
    // Another model generates something else: that is no fault.
    let mut other = changed(output(measured(&times(0.1), 3.0), "ab"));
    other.models[0].weights_blake3 = Some("9".to_owned());
    assert_eq!(compared(&base, &other).verdict, Verdict::Incomparable);
}

#[test]
fn the_same_program_did_not_change() {
    let found = compared(&measured(&STEADY, 3.0), &measured(&times(1.5), 3.0));
    assert_eq!((found.verdict, found.same_subject), (Verdict::Unresolved, true));
    assert!(found.sentence.contains("the machine or chance"), "{}", found.sentence);
    assert_eq!(judgement(&found, "decode", "wall_s").verdict, Verdict::Unresolved);
    let mut moved = measured(&times(1.5), 3.0);
    moved.subject.command = vec!["new/run.sh".to_owned()];
    let found = compared(&measured(&STEADY, 3.0), &moved);
    assert_eq!((found.verdict, found.same_subject), (Verdict::LeaningWorse, false));
    assert!(found.notes.iter().any(|note| note.contains("the same file")), "{:?}", found.notes);
}

#[test]
fn wins_and_losses_are_not_netted() {
    let two = |first: f64, second: f64| {
        let mut run = measured(&times(first), 3.0);
        run.rows.push(Row { name: "prefill".to_owned(), calls: 1, ..Row::default() });
        run.samples.extend(times(second).into_iter().map(|time| sample("prefill", [("wall_s", time)])));
        run
    };
    assert_eq!(compared(&two(1.0, 1.0), &changed(two(0.5, 1.5))).verdict, Verdict::Mixed);
}

#[test]
fn rows_come_and_go_and_other_work_is_not_compared() {
    let base = measured(&STEADY, 3.0);
    let mut renamed = changed(measured(&STEADY, 3.0));
    renamed.rows[0].name = "other".to_owned();
    let found = compared(&base, &renamed);
    let there: Vec<(&str, Presence)> = found.rows.iter().map(|row| (row.name.as_str(), row.presence)).collect();
    assert_eq!(there, [("other", Presence::Added), ("decode", Presence::Removed)]);
    let mut more = changed(measured(&times(2.0), 3.0));
    more.rows[0].tokens = Some(20.0);
    let found = compared(&base, &more);
    let wall = judgement(&found, "decode", "wall_s");
    assert_eq!(wall.verdict, Verdict::Incomparable);
    assert!(wall.sentence.contains("10 tokens before, 20 after"), "{}", wall.sentence);
    let mut redefined = changed(measured(&times(2.0), 3.0));
    redefined.metrics.get_mut("wall_s").expect("it is there").definition = "without the first token".to_owned();
    assert_eq!(judgement(&compared(&base, &redefined), "decode", "wall_s").verdict, Verdict::Incomparable);
}

#[test]
fn rates_follow_from_the_work() {
    let found = compared(&measured(&STEADY, 3.0), &changed(measured(&times(2.0), 3.0)));
    let row = &found.rows[0];
    let speed = row.candidate.as_ref().expect("it has tokens");
    assert_eq!((speed.per_second, speed.unit.as_str(), speed.call_s), (5.0, "tok", 2.0));
    assert_eq!(found.models[0].base.as_ref().and_then(|model| model.tokens_per_s), Some(10.0));
    let multiply = |time: f64| {
        let mut run = told();
        run.models.clear();
        run.rows.push(Row { name: "MatMul".to_owned(), calls: 4, flops: Some(2e9), ..Row::default() });
        run.samples.push(sample("MatMul", [("wall_s", 4.0 * time)]));
        run
    };
    let found = compared(&multiply(1.0), &changed(multiply(2.0)));
    let kernel = &found.kernels[0];
    let rates = [&kernel.base, &kernel.candidate].map(|speed| speed.as_ref().map(|speed| speed.per_second));
    assert_eq!((kernel.name.as_str(), rates), ("MatMul", [Some(2e9), Some(1e9)]));
}

#[test]
fn totals_are_those_of_the_roots() {
    let whole = |time: f64| {
        let mut run = measured(&[time], 0.0);
        let part = Row { name: "step".to_owned(), part_of: Some("decode".to_owned()), calls: 1, ..Row::default() };
        run.rows.push(part);
        run.samples.push(sample("step", [("wall_s", 0.75 * time)]));
        run
    };
    let totals = compared(&whole(1.0), &changed(whole(2.0))).totals.expect("rows have times");
    let total = totals.candidate.expect("it has");
    assert_eq!((totals.of.as_str(), total.roots, total.seconds, total.nested_s), ("rows", 1, 2.0, 3.5));
}

#[test]
fn a_process_is_one_value() {
    let with = |bytes: u64| {
        let mut run = measured(&STEADY, 3.0);
        run.process = Some(ProcessUse { peak_rss_bytes: Some(bytes), ..ProcessUse::default() });
        run
    };
    let found = compared(&with(100), &changed(with(200)));
    let rss = judgement(&found, "(the process)", "peak_rss_bytes");
    assert_eq!((rss.verdict, rss.estimate), (Verdict::Unresolved, Some(1.0)));
}

#[test]
fn what_would_settle_it_is_a_duel() {
    let of = |mut run: Run, commit: &str, dirty: bool| {
        let git = run.subject.git.as_mut().expect("it has one");
        (git.commit, git.dirty) = (commit.to_owned(), dirty);
        run
    };
    let base = of(measured(&STEADY, 3.0), "aaaa", false);
    let words = compared(&base, &of(measured(&STEADY, 3.0), "bbbb", false)).settle.join(" ");
    let expected = "hotloop duel rev:aaaa rev:bbbb --bin hotloop -- {} profile standard --tokens 50 --threads 2";
    assert!(words.starts_with(expected), "{words}");
    assert!(compared(&base, &of(measured(&STEADY, 3.0), "bbbb", true)).settle.is_empty(), "nobody has those files");
    let command = |name: &str| {
        let mut run = measured(&STEADY, 3.0);
        run.subject.command = vec![name.to_owned(), "a b".to_owned()];
        run.subject.build = Some(Build::default());
        run
    };
    let found = compared(&command("./old"), &command("./new"));
    assert_eq!(found.settle, ["hotloop", "duel", "./old 'a b'", "./new 'a b'"]);
    assert!(compared(&command("./old"), &command("./old")).settle.is_empty(), "which file was meant is not known");
}

#[test]
fn what_another_program_told_once_or_in_the_mean_says_nothing() {
    for (imported, said) in [
        (Imported { single_shot: true, ..Imported::default() }, "1 sample; nothing can be concluded"),
        (Imported { summarised: true, ..Imported::default() }, "one side has only summary values"),
    ] {
        let mut base = measured(&STEADY, 3.0);
        let unread = |text: &str| Unread { text: text.to_owned(), ..Unread::default() };
        let unread = vec![unread("a row"), unread("another")];
        base.imported = Some(Imported { source: "report.md".to_owned(), unread, ..imported });
        let found = compared(&base, &changed(measured(&times(2.0), 3.0)));
        assert_eq!(found.verdict, Verdict::Unresolved);
        assert!(found.sentence.starts_with(said), "{}", found.sentence);
        let wall = judgement(&found, "decode", "wall_s");
        assert!(wall.change.is_none() && wall.sentence.starts_with(said), "{}", wall.sentence);
        let note = "before, not read from `report.md`: a row, and 1 more";
        assert!(found.notes.iter().any(|found| found == note), "{:?}", found.notes);
    }
}
