//! Runs of every version that was ever written can be read, and what a later program added stays.

use record::{Build, DocumentError, Run, RunHead};
use serde_json::{Map, Value, json};

const RUN_1: &str = include_str!("fixtures/run-1.json");

#[test]
fn version_1_comes_back_byte_for_byte() {
    let run = Run::from_json(RUN_1).expect("it can be read");
    assert_eq!(run.version, 1);
    assert_eq!(run.to_json(), RUN_1, "nothing is lost or changed");
    // Every field of every part stands in the file with something in it, but for the parent of the root.
    let shown = format!("{run:?}").replacen("parent: None", "", 1).replacen("UnknownFields(None)", "", 1);
    for absent in ["None", "[]", "{}", "\"\"", ": false", ": 0,", ": 0.0,"] {
        assert!(!shown.contains(absent), "a field is {absent}: {shown}");
    }
}

#[test]
fn heads_say_what_the_run_says() {
    let run = Run::from_json(RUN_1).expect("it can be read");
    let head = RunHead::from_json(RUN_1).expect("it can be read");
    assert_eq!((head.version, &head.created, head.interrupted), (1, &run.created, true));
    assert_eq!((head.subject, head.models, head.workload), (run.subject, run.models, run.workload));
    assert_eq!((head.rows, head.failures), (run.rows, run.failures));
    assert_eq!(head.environment.machine.machine_key, run.environment.machine.machine_key);
}

#[test]
fn what_is_not_known_of_a_build_is_absent() {
    let mut run = Run::from_json(RUN_1).expect("it can be read");
    run.subject.build = Some(Build { binary_blake3: Some("0123".to_owned()), ..Build::default() });
    let document: Value = serde_json::from_str(&run.to_json()).expect("it is JSON");
    assert_eq!(document["subject"]["build"], json!({"binary_blake3": "0123"}));
    assert_eq!(Run::from_json(&run.to_json()), Ok(run));
}

/// Adds a field to every object.
fn add_everywhere(value: &mut Value, count: &mut usize) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| add_everywhere(field, count));
            if !is_map(fields) {
                fields.insert("from_the_future".to_owned(), json!({"at": count, "more": [1, {"x": null}]}));
                *count += 1;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| add_everywhere(item, count)),
        _ => {}
    }
}

/// Whether the names are data: nothing unknown can stand there.
fn is_map(fields: &Map<String, Value>) -> bool {
    ["HOTLOOP_ISA", "seed", "wall", "token"].iter().any(|name| fields.contains_key(*name))
}

#[test]
fn unknown_fields_at_every_level_survive() {
    let mut document: Value = serde_json::from_str(RUN_1).expect("it is JSON");
    let mut count = 0;
    add_everywhere(&mut document, &mut count);
    assert!(count > 40, "only {count} objects");
    let text = serde_json::to_string(&document).expect("it is plain data");
    let run = Run::from_json(&text).expect("it can be read");
    let written: Value = serde_json::from_str(&run.to_json()).expect("it is JSON");
    assert_eq!(written, document);
    assert_eq!(Run::from_json(&run.to_json()), Ok(run), "a second time nothing changes");
}

/// Fields that runs of earlier programs do not have.
const LATER_FIELDS: [&str; 11] = [
    "share_of_cpu",
    "total_se_ns",
    "self_se_ns",
    "waiting_ns",
    "durations",
    "cpu_ns",
    "interruptions",
    "calls_with_folded_index",
    "leaked_scopes",
    "per",
    "arithmetic",
];

fn remove_everywhere(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&name.as_str()));
            fields.values_mut().for_each(|field| remove_everywhere(field, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_everywhere(item, names)),
        _ => {}
    }
}

#[test]
fn runs_without_later_fields_can_be_read() {
    let mut document: Value = serde_json::from_str(RUN_1).expect("it is JSON");
    remove_everywhere(&mut document, &LATER_FIELDS);
    // Caches have a field of that name too, which was always there.
    document["workload"].as_object_mut().expect("it has fields").remove("kind");
    let run = Run::from_json(&document.to_string()).expect("it can be read");
    assert_eq!((run.workload.kind, run.models[0].arithmetic, run.metrics["wall"].per), (None, None, None));
    let profile = run.profile.as_ref().expect("it has one");
    assert_eq!((profile.waiting_ns, &profile.interruptions, profile.own_cost.share_of_cpu), (None, &None, None));
    assert_eq!((profile.scopes[0].total_se_ns, &profile.scopes[0].durations), (None, &None));
    let written: Value = serde_json::from_str(&run.to_json()).expect("it is JSON");
    assert_eq!(written, document, "what is not known stays absent");
}

#[test]
fn a_kind_of_a_later_program_is_another_one() {
    let later = RUN_1.replacen("\"kind\": \"deep\"", "\"kind\": \"astrology\"", 1);
    assert_eq!(Run::from_json(&later).expect("it can be read").workload.kind, Some(record::WorkloadKind::Other));
}

#[test]
fn counts_of_durations_come_in_pairs() {
    let uneven = RUN_1.replacen("            60,\n", "", 1);
    let error = Run::from_json(&uneven).expect_err("a count is missing");
    assert!(error.to_string().contains("profile.scopes[0].durations"), "{error}");
}

#[test]
fn a_later_version_is_refused_by_name() {
    let later = RUN_1.replacen("\"version\": 1", "\"version\": 2", 1);
    let error = Run::from_json(&later).expect_err("it is of a later version");
    assert_eq!(error.to_string(), "version 2 of `hotloop-run` is newer than 1, the newest that this program reads");
    assert_eq!(RunHead::from_json(&later), Err(error));
    // Whatever its shape is.
    let later = "{\"schema\": \"hotloop-run\", \"version\": 7, \"created\": {\"day\": 1}}";
    let newer = DocumentError::Newer { schema: "hotloop-run".to_owned(), version: 7, newest: 1 };
    assert_eq!(Run::from_json(later), Err(newer));
    let other = Run::from_json("{\"schema\": \"hotloop-doctor\", \"version\": 7}");
    assert!(matches!(other, Err(DocumentError::OtherSchema { .. })), "{other:?}");
}

#[test]
fn references_that_lead_nowhere_are_refused() {
    for (was, becomes, part) in [
        ("\"parent\": 0", "\"parent\": 1", "profile.scopes[1]"),
        ("\"parent\": 0", "\"parent\": 18446744073709551615", "profile.scopes[1]"),
        ("\"parent\": 0", "\"parent\": -1", "-1"),
        ("\"launch\": 1", "\"launch\": 1.5", "1.5"),
    ] {
        let error = Run::from_json(&RUN_1.replacen(was, becomes, 1)).expect_err(becomes);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_head_of_a_run_is_that_of_its_text() {
    let run = Run::from_json(RUN_1).expect("it can be read");
    let sample = |row: &str, phase, arm: Option<&str>, wall_s| record::Sample {
        row: row.to_owned(),
        phase,
        arm: arm.map(str::to_owned),
        values: [("wall_s".to_owned(), wall_s), ("cpu_s".to_owned(), 9.0)].into(),
        ..record::Sample::default()
    };
    let decode = [
        sample("decode", record::Phase::Warmup, None, 1.0),
        sample("decode", record::Phase::Timed, None, 2.0),
        sample("prefill", record::Phase::Timed, None, 3.0),
        sample("decode", record::Phase::Timed, None, 4.0),
    ];
    let arms = [Some("A"), Some("B")].map(|arm| sample("decode", record::Phase::Timed, arm, 5.0));
    for (samples, wall_s, is_of_several_arms) in [
        (run.samples.clone(), None, None),
        (decode.to_vec(), Some(vec![2.0, 4.0]), Some(false)),
        (arms.to_vec(), Some(vec![5.0, 5.0]), Some(true)),
    ] {
        let run = Run { samples, ..run.clone() };
        let head = RunHead::from(&run);
        assert_eq!(RunHead::from_json(&run.to_json()).as_ref(), Ok(&head));
        assert!(wall_s.is_none_or(|wall_s| head.decoded.wall_s == wall_s));
        assert!(is_of_several_arms.is_none_or(|several| head.decoded.is_of_several_arms == several));
    }
}

#[test]
fn a_text_that_nobody_could_read_is_not_written() {
    let run = Run::from_json(RUN_1).expect("it can be read");
    assert_eq!(run.to_readable_json().as_deref(), Ok(run.to_json().as_str()));
    let mut infinite = run.clone();
    infinite.samples[0].values.insert("wall_s".to_owned(), f64::INFINITY);
    let mut stray = run.clone();
    stray.profile.as_mut().expect("it has one").scopes[0].parent = Some(0);
    for broken in [infinite, stray, Run { version: 2, ..run.clone() }, Run { schema: "other".to_owned(), ..run }] {
        assert!(broken.to_readable_json().is_err());
    }
}
