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

const WITH_PROFILE: [ExportFormat; 7] = [
    ExportFormat::Chrome,
    ExportFormat::Perfetto,
    ExportFormat::Speedscope,
    ExportFormat::Folded,
    ExportFormat::Firefox,
    ExportFormat::Csv,
    ExportFormat::Svg,
];

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
    for format in WITH_PROFILE {
        let error = export(&run, "", format).expect_err("there is nothing to show");
        assert!(error.starts_with("this run has no profile: "), "{format:?}: {error}");
    }
    assert!(text(&run, ExportFormat::CsvSamples).lines().count() > 1);
    assert_eq!(export(&run, "as it is\r\n", ExportFormat::Json).as_deref(), Ok(&b"as it is\r\n"[..]));
}

#[test]
fn a_tree_that_no_profiler_made_is_refused() {
    let mut run = sample::without_timeline();
    let scopes = (0..2_000_usize).map(|at| record::Scope { parent: at.checked_sub(1), ..Default::default() });
    run.profile = Some(record::Profile { scopes: scopes.collect(), ..Default::default() });
    for format in WITH_PROFILE {
        let error = export(&run, "", format).expect_err("it is too deep");
        assert!(error.contains("profile.scopes[1024]"), "{error}");
    }
}

#[test]
fn only_one_format_is_no_text() {
    for format in WITH_PROFILE {
        let is_text = String::from_utf8(bytes(&sample::with_timeline(), format)).is_ok();
        assert!(is_text || format.is_binary(), "{format:?}");
    }
    assert!(ExportFormat::Perfetto.is_binary());
}
