//! Every format, read back with what is known of the run.

mod files;
mod protobuf;
mod sample;
mod tables;
mod traces;

use record::Run;
use report::{ExportFormat, export};
use serde_json::Value;

/// Calls in the timeline of the main thread and of the worker.
const CALLS: [usize; 2] = [16, 3];
/// The paths of the merged tree.
const PATHS: usize = 13;
/// Their self times.
const SELF_SUM_NS: u64 = 100_000 + 30_000;

/// A format by its name on the command line.
#[track_caller]
pub fn named(name: &str) -> ExportFormat {
    ExportFormat::named(name).unwrap_or_else(|| panic!("there is no format {name}"))
}

/// The formats that need a profile.
fn with_profile() -> impl Iterator<Item = ExportFormat> {
    ExportFormat::ALL.iter().copied().filter(|format| format.needs_profile())
}

#[track_caller]
fn bytes(run: &Run, format: ExportFormat) -> Vec<u8> {
    export(run, &run.to_json(), format).unwrap_or_else(|error| panic!("{format:?}: {error}"))
}

#[track_caller]
fn text(run: &Run, format: ExportFormat) -> String {
    String::from_utf8(bytes(run, format)).expect("it is text")
}

#[track_caller]
fn json(run: &Run, format: ExportFormat) -> Value {
    serde_json::from_str(&text(run, format)).expect("it is JSON")
}

#[test]
fn a_run_without_a_profile_is_refused_but_for_what_needs_none() {
    let run = Run { profile: None, ..sample::with_timeline() };
    for format in with_profile() {
        let error = export(&run, "", format).expect_err("there is nothing to show");
        assert!(error.starts_with("this run has no profile: "), "{format:?}: {error}");
    }
    assert!(text(&run, named("csv-samples")).lines().count() > 1);
    assert_eq!(export(&run, "as it is\r\n", named("json")).as_deref(), Ok(&b"as it is\r\n"[..]));
}

#[test]
fn a_tree_that_no_profiler_made_is_refused() {
    let mut run = sample::without_timeline();
    let scopes = (0..2_000_usize).map(|at| record::Scope { parent: at.checked_sub(1), ..Default::default() });
    run.profile = Some(record::Profile { scopes: scopes.collect(), ..Default::default() });
    for format in with_profile() {
        let error = export(&run, "", format).expect_err("it is too deep");
        assert!(error.contains("profile.scopes[1024]"), "{error}");
    }
}

#[test]
fn binary_formats_say_so() {
    for format in ExportFormat::ALL {
        let is_text = String::from_utf8(bytes(&sample::with_timeline(), *format)).is_ok();
        assert_eq!(is_text, !format.is_binary, "{format:?}");
    }
}

/// How files begin. A format that is not listed here fails the test.
const BEGINNINGS: &[(&str, &str)] = &[
    ("chrome", "{\"displayTimeUnit\""),
    ("perfetto", "\n"),
    ("speedscope", "{\"$schema\""),
    ("folded", "main;forward;layer 0 "),
    ("firefox", "{\"libs\""),
    ("svg", "<?xml"),
    ("csv", "path,name,"),
    ("csv-samples", "row,phase,"),
    ("json", "{\n  \"schema\""),
];

#[test]
fn every_format_is_listed_once_and_read_back() {
    let names: Vec<&str> = ExportFormat::ALL.iter().map(|format| format.name).collect();
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len(), "{names:?}");
    for format in ExportFormat::ALL {
        let beginning = BEGINNINGS.iter().find(|(name, _)| *name == format.name);
        let (_, beginning) = beginning.unwrap_or_else(|| panic!("{format:?} has no line in BEGINNINGS"));
        let bytes = bytes(&sample::with_timeline(), *format);
        assert!(bytes.starts_with(beginning.as_bytes()), "{format:?}: {:?}", &bytes[..bytes.len().min(40)]);
        assert!(!format.about.is_empty() && !format.opened_by.is_empty() && !format.extension.is_empty());
    }
    assert_eq!(BEGINNINGS.len(), names.len(), "a line in BEGINNINGS belongs to no format");
}
