//! Saving, listing, and the words that mean a run.

use std::fs;

use record::{Phase, Row, Run, Sample};
use store::{ErrorKind, Filter, Id, Store, moment};

use crate::samples::{Folder, run};

#[test]
fn what_was_saved_comes_back_byte_for_byte() {
    let folder = Folder::new();
    let store = Store::open(folder.path().join("deep/in/it"));
    let text = run(1).to_json().replacen('{', "{ \"from_the_future\": [1, 2],", 1);
    let id = store.save_text(&text).expect("it is saved");
    assert_eq!(store.save_text(&text), Ok(id.clone()), "the same run is kept once");
    let loaded = store.load(id.as_str()).expect("it is read");
    assert_eq!((&loaded.text, &loaded.id), (&text, &id));
    assert_eq!(loaded.run, Run::from_json(&text).expect("it is a run"));
    assert_eq!(loaded.path, store.run_path(&id));
    let listing = store.list(&Filter::default()).expect("it is listed");
    assert_eq!((listing.runs.len(), listing.matching, listing.faults), (1, 1, vec![]));
    let entry = &listing.runs[0];
    assert_eq!((entry.id.as_str(), entry.threads, entry.dirty), (id.as_str(), Some(2), Some(true)));
    assert_eq!(store.describe(&loaded).as_ref(), Ok(entry));
}

fn decoding(rows: &[Row], samples: &[(&str, Phase, Option<&str>, f64)]) -> Option<f64> {
    let mut run = run(1);
    run.rows = rows.to_vec();
    let sample = |(row, phase, arm, wall_s): &(&str, Phase, Option<&str>, f64)| Sample {
        row: (*row).to_owned(),
        phase: *phase,
        arm: arm.map(str::to_owned),
        values: [("allocs".to_owned(), 3.0), ("wall_s".to_owned(), *wall_s)].into(),
        ..Sample::default()
    };
    run.samples = samples.iter().map(sample).collect();
    let folder = Folder::new();
    Store::open(folder.path()).save(&run).expect("it is saved");
    Store::open(folder.path()).list(&Filter::default()).expect("it is listed").runs[0].decode_tokens_per_s
}

#[test]
fn lists_know_how_fast_runs_generated() {
    let row = Row { name: "decode".to_owned(), calls: 49, tokens: Some(1.0), ..Row::default() };
    let other = Row { name: "prefill".to_owned(), ..row.clone() };
    let (timed, warmup) = (Phase::Timed, Phase::Warmup);
    let samples = [
        ("decode", warmup, None, 49.0),
        ("decode", timed, None, 0.5),
        ("prefill", timed, None, 0.001),
        ("decode", timed, None, 0.25),
        ("decode", timed, None, 1.0),
    ];
    assert_eq!(decoding(&[other.clone(), row.clone()], &samples), Some(98.0), "the median of those that count");
    assert_eq!(decoding(std::slice::from_ref(&other), &samples), None, "no row says how many tokens");
    assert_eq!(decoding(&[row.clone(), row.clone()], &samples), None, "two rows of one name");
    assert_eq!(decoding(&[Row { tokens: None, ..row.clone() }], &samples), None);
    assert_eq!(decoding(std::slice::from_ref(&row), &samples[..1]), None, "nothing but a warm-up");
    assert_eq!(decoding(std::slice::from_ref(&row), &[("decode", timed, None, 0.0)]), None);
    let arms = [("decode", timed, Some("a"), 0.5), ("decode", timed, Some("b"), 0.25)];
    assert_eq!(decoding(std::slice::from_ref(&row), &arms), None, "two sides of a comparison");
    assert_eq!(decoding(std::slice::from_ref(&row), &arms[..1]), Some(98.0));
}

#[test]
fn looking_at_a_store_makes_none() {
    let folder = Folder::new();
    let store = Store::open(folder.path().join("none"));
    assert_eq!(store.list(&Filter::default()).expect("nothing is listed").runs, []);
    assert_eq!(store.resolve("@latest").expect_err("there is none").kind(), ErrorKind::NotFound);
    assert_eq!(store.reindex().expect("nothing is indexed").matching, 0);
    assert!(!store.path().exists());
}

#[test]
fn words_mean_runs() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let ids: Vec<Id> = (0..40).map(|number| store.save(&run(number)).expect("it is saved")).collect();
    assert_eq!(store.resolve("@latest"), Ok(ids[39].clone()));
    assert_eq!(store.resolve("@previous"), Ok(ids[38].clone()));
    for id in &ids {
        assert_eq!(store.resolve(id.as_str()), Ok(id.clone()));
        assert_eq!(store.resolve(id.short()), Ok(id.clone()));
        assert_eq!(store.resolve(&id.short().to_uppercase()), Ok(id.clone()));
    }
    assert_eq!(store.tag("base", &ids[3]), Ok(None));
    assert_eq!(store.resolve("base"), Ok(ids[3].clone()));
    assert_eq!(store.tag("base", &ids[4]), Ok(Some(ids[3].clone())));
    assert_eq!(store.resolve("base"), Ok(ids[4].clone()));
    for (word, kind) in [
        ("@first", ErrorKind::BadName),
        ("abc", ErrorKind::NotFound),
        ("nothing", ErrorKind::NotFound),
        ("../tags/base", ErrorKind::NotFound),
        ("", ErrorKind::NotFound),
        (&"0".repeat(64), ErrorKind::NotFound),
    ] {
        assert_eq!(store.resolve(word).expect_err(word).kind(), kind, "{word}");
    }
}

#[test]
fn several_runs_with_the_same_beginning_are_named() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let id = store.save(&run(1)).expect("it is saved");
    let last = if id.as_str().ends_with('0') { "1" } else { "0" };
    let twin = Id::parse(&format!("{}{last}", &id.as_str()[..63])).expect("it is an id");
    fs::copy(store.run_path(&id), store.run_path(&twin)).expect("it is copied");
    let error = store.resolve(id.short()).expect_err("two are meant");
    assert_eq!(error.kind(), ErrorKind::Ambiguous);
    assert!(error.to_string().matches(id.short()).count() >= 2, "{error}");
    assert_eq!(store.resolve(id.as_str()), Ok(id));
}

#[test]
fn files_are_runs_too() {
    let folder = Folder::new();
    let store = Store::open(folder.path().join("store"));
    let text = run(7).to_json();
    let id = store.save_text(&text).expect("it is saved");
    let plain = folder.path().join("some run");
    fs::write(&plain, &text).expect("it is written");
    for path in [&plain, &store.run_path(&id)] {
        let loaded = store.load(path.to_str().expect("it is text")).expect("it is read");
        assert_eq!((&loaded.id, &loaded.text, &loaded.path), (&id, &text, path));
    }
    let missing = folder.path().join("none.json");
    let error = store.load(missing.to_str().expect("it is text")).expect_err("there is none");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("none.json"), "{error}");
    let error = store.load(folder.path().to_str().expect("it is text")).expect_err("it is a folder");
    assert!(error.to_string().contains("is not a regular file"), "{error}");
}

#[test]
fn filters_let_pass_what_they_say() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let ids: Vec<Id> = (0..30).map(|number| store.save(&run(number)).expect("it is saved")).collect();
    store.tag("base", &ids[9]).expect("it is tagged");
    let numbers = |filter: &Filter| -> Vec<usize> {
        let listing = store.list(filter).expect("they are listed");
        let place = |id: &str| ids.iter().position(|known| known.as_str() == id).expect("it was saved");
        listing.runs.iter().map(|run| place(&run.id)).collect()
    };
    let all: Vec<usize> = (0..30).rev().collect();
    assert_eq!(numbers(&Filter::default()), all);
    assert_eq!(numbers(&Filter { limit: Some(2), ..Filter::default() }), [29, 28]);
    let deep: Vec<usize> = all.iter().copied().filter(|number| number % 3 == 0).collect();
    assert_eq!(numbers(&Filter { workload: Some("deep".to_owned()), ..Filter::default() }), deep);
    let model = Filter { model: Some("tINY-4".to_owned()), ..Filter::default() };
    assert_eq!(numbers(&model), [29, 24, 19, 14, 9, 4]);
    assert_eq!(numbers(&Filter { limit: Some(1), ..model.clone() }), [29]);
    assert_eq!(store.list(&Filter { limit: Some(1), ..model }).expect("it is listed").matching, 6);
    assert_eq!(numbers(&Filter { commit: Some(format!("{:040X}", 29)[..40].to_owned()), ..Filter::default() }), [29]);
    assert_eq!(numbers(&Filter { tag: Some("base".to_owned()), ..Filter::default() }), [9]);
    assert_eq!(numbers(&Filter { since: moment("2026-01-01T00:28:00Z"), ..Filter::default() }), [29, 28]);
    let error = store.list(&Filter { tag: Some("nobody".to_owned()), ..Filter::default() }).expect_err("no such tag");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn tags_hold_runs_until_they_are_taken_away() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let id = store.save(&run(1)).expect("it is saved");
    store.tag("a", &id).expect("it is tagged");
    store.tag("b", &id).expect("it is tagged");
    let error = store.remove(&id).expect_err("it is tagged");
    assert_eq!(error.kind(), ErrorKind::Tagged);
    assert!(error.to_string().contains("a, b"), "{error}");
    assert_eq!(store.tag("cafe", &id).expect_err("no such name").kind(), ErrorKind::BadName);
    assert_eq!(store.tag("../x", &id).expect_err("no such name").kind(), ErrorKind::BadName);
    assert_eq!(store.tag("c", &Id::of(b"nothing")).expect_err("no such run").kind(), ErrorKind::NotFound);
    store.untag("a").expect("it was there");
    assert_eq!(store.untag("a").expect_err("it is gone").kind(), ErrorKind::NotFound);
    store.untag("b").expect("it was there");
    store.remove(&id).expect("nothing holds it");
    assert_eq!(store.list(&Filter::default()).expect("nothing is listed").runs, []);
    assert_eq!(store.remove(&id).expect_err("it is gone").kind(), ErrorKind::NotFound);
}

#[test]
fn of_runs_that_began_together_the_one_stored_last_is_the_latest() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    let mut last = None;
    for number in 0..20 {
        let mut run = run(number);
        run.created = "2026-02-01T00:00:00Z".to_owned();
        last = Some(store.save(&run).expect("it is saved"));
        // Time stamps of files come in steps.
        std::thread::sleep(std::time::Duration::from_millis(12));
    }
    assert_eq!(store.resolve("@latest").ok(), last);
}

#[test]
fn a_save_tells_the_index_what_the_files_say() {
    let folder = Folder::new();
    let store = Store::open(folder.path());
    for number in [3, 1, 2, 1] {
        store.save(&run(number)).expect("it is saved");
    }
    let saved = store.list(&Filter::default()).expect("they are listed");
    assert_eq!(saved.runs.len(), 3);
    store.reindex().expect("the files are read");
    assert_eq!(store.list(&Filter::default()), Ok(saved));
}
