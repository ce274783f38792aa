//! Chrome's Trace Event format, as JSON: Perfetto and `chrome://tracing` open it.

use record::Profile;
use serde_json::{Value, json};

use super::picture::Picture;
use super::{figures, names};

/// The one process of a picture.
const PROCESS: u64 = 1;

/// A line for each event. Slices are complete events (`X`), by their start and the longer first.
pub(super) fn write(picture: &Picture, profile: &Profile) -> String {
    let mut lines = vec![about("process_name", 0, json!({ "name": picture.title }))];
    for (track, tid) in picture.tracks.iter().zip(1_u64..) {
        lines.push(about("thread_name", tid, json!({ "name": track.name })));
        lines.push(about("thread_sort_index", tid, json!({ "sort_index": tid })));
    }
    // What is the same for all slices of a scope is written once.
    let heads: Vec<String> = profile.scopes.iter().map(|scope| head(scope, picture.has_calls)).collect();
    for (track, tid) in picture.tracks.iter().zip(1_u64..) {
        lines.extend(track.slices.iter().map(|slice| {
            let (ts, dur) = (micros(slice.start_ns), micros(slice.end_ns - slice.start_ns));
            format!("{{\"ph\":\"X\",\"pid\":{PROCESS},\"tid\":{tid},\"ts\":{ts},\"dur\":{dur},{}}}", heads[slice.scope])
        }));
    }
    let other = json!({ "note": picture.note, "title": picture.title });
    format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n"))
}

/// An event that says something about a thread or, for thread 0, the process.
fn about(what: &str, tid: u64, args: Value) -> String {
    json!({ "ph": "M", "pid": PROCESS, "tid": tid, "name": what, "args": args }).to_string()
}

/// The fields of a slice that do not depend on its time.
fn head(scope: &record::Scope, is_call: bool) -> String {
    let mut args = serde_json::Map::new();
    args.insert("scope".to_owned(), names::whole(scope).into());
    args.extend(names::place(scope).map(|place| ("source".to_owned(), place.into())));
    let known = figures::known(scope).map(|(name, value)| (name.to_owned(), Value::from(value)));
    if is_call {
        args.insert("all_calls".to_owned(), Value::Object(known.collect()));
    } else {
        args.extend(known);
    }
    format!("\"cat\":\"scope\",\"name\":{},\"args\":{}", Value::from(names::shown(scope)), Value::Object(args))
}

/// Nanoseconds as microseconds, to the last digit.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}
