//! The importers, through what others use of them.

mod chrome;
mod criterion;
mod hostile;
mod others;
mod report;
mod runners;
mod smallmind;
mod stacks;

use import::{Error, Imported, Source, import};
use record::{Run, Scope};

/// Where a text of the tests comes from.
fn source(name: &str) -> Source {
    let tool = record::Tool { name: "hotloop".to_owned(), version: "0".to_owned() };
    Source { name: name.to_owned(), modified_s: Some(1_794_729_600), tool }
}

fn fixture(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn try_read(name: &str, text: &str) -> Result<Imported, Error> {
    let found = import(text, &source(name), None)?;
    for run in &found.runs {
        assert!(run.imported.is_some(), "it says where it comes from");
        assert_eq!(Run::from_json(&run.to_json()).as_ref(), Ok(run), "it can be kept and read again");
    }
    Ok(found)
}

#[track_caller]
fn read(name: &str) -> Imported {
    try_read(name, &fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The scope of this name below that one.
#[track_caller]
fn scope<'a>(run: &'a Run, name: &str, parent: Option<&str>) -> &'a Scope {
    let scopes = &run.profile.as_ref().expect("it has a profile").scopes;
    let above = |scope: &Scope| scope.parent.map(|parent| scopes[parent].name.as_str());
    let found = scopes.iter().find(|scope| scope.name == name && above(scope) == parent);
    found.unwrap_or_else(|| panic!("no {name} below {parent:?}"))
}

/// The values of a metric, of all samples of a row.
fn values(run: &Run, row: &str, metric: &str) -> Vec<f64> {
    let samples = run.samples.iter().filter(|sample| sample.row == row);
    samples.filter_map(|sample| sample.values.get(metric).copied()).collect()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} is not {expected}");
}

#[track_caller]
fn has_note(run: &Run, part: &str) {
    assert!(run.notes.iter().any(|note| note.contains(part)), "no note with `{part}`: {:#?}", run.notes);
}
