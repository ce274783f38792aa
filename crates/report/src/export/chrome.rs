//! Chrome's Trace Event format, as JSON: Perfetto and `chrome://tracing` open it.

use record::Profile;
use serde_json::{Value, json};

use super::format::{Format, Writer};
use super::picture::{Edge, Picture};
use super::{figures, names};

/// The one process of a picture.
const PROCESS: u64 = 1;
const BEGIN: &str = r#""ph":"B""#;
const END: &str = r#""ph":"E""#;
/// Of its thread, not of the process.
const INSTANT: &str = r#""ph":"i","s":"t""#;

pub(super) const FORMAT: Format = Format {
    name: "chrome",
    extension: "json",
    is_binary: false,
    about: "Trace Event JSON, for ui.perfetto.dev and chrome://tracing",
    opened_by: "open it at ui.perfetto.dev (Open trace file) or in chrome://tracing (Load)",
    write: Writer::Picture(|picture, profile, _| write(picture, profile).into_bytes()),
};

/// A line for each event. A slice is two of them, its beginning (`B`) and its end (`E`), and what happens in one nanosecond
/// stands in its order; one without length is an instant (`i`). A single event with a length (`X`) would be shorter, but then
/// Perfetto draws a slice without length inside others that begin or end at the same time. As `B` and `E` it is speedscope
/// that mistakes those.
fn write(picture: &Picture, profile: &Profile) -> String {
    let mut lines = vec![about("process_name", 0, json!({ "name": picture.title }))];
    for (track, tid) in picture.tracks.iter().zip(1_u64..) {
        lines.push(about("thread_name", tid, json!({ "name": track.name })));
        lines.push(about("thread_sort_index", tid, json!({ "sort_index": tid })));
    }
    // What is the same for all slices of a scope is made once, and of many calls the first tells it: it is ten times as long as the rest.
    let mut heads: Vec<String> = profile.scopes.iter().map(|scope| head(scope, picture.has_calls)).collect();
    let short: Vec<String> = profile.scopes.iter().map(short_head).collect();
    let mut head_of = |scope: usize| std::mem::replace(&mut heads[scope], short[scope].clone());
    let tails: Vec<String> =
        profile.scopes.iter().map(|scope| format!("\"name\":{}", Value::from(names::shown(scope)))).collect();
    for (track, tid) in picture.tracks.iter().zip(1_u64..) {
        let event = |kind, at_ns, head: &str| {
            format!("{{{kind},\"pid\":{PROCESS},\"tid\":{tid},\"ts\":{},{head}}}", micros(at_ns))
        };
        lines.extend(track.edges().into_iter().filter_map(|edge| match edge {
            Edge::Open(slice) if slice.is_instant() => Some(event(INSTANT, slice.start_ns, &head_of(slice.scope))),
            Edge::Open(slice) => Some(event(BEGIN, slice.start_ns, &head_of(slice.scope))),
            Edge::Close(slice) if slice.is_instant() => None,
            Edge::Close(slice) => Some(event(END, slice.end_ns, &tails[slice.scope])),
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
    format!("{},\"args\":{}", short_head(scope), Value::Object(args))
}

/// The same without what all calls have in common.
fn short_head(scope: &record::Scope) -> String {
    format!("\"cat\":\"scope\",\"name\":{}", Value::from(names::shown(scope)))
}

/// Nanoseconds as microseconds, to the last digit.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}
