//! A processed profile of the Firefox Profiler, as JSON.
//!
//! Its tables are lists of columns. A path of the call tree is a stack, so that stacks have the numbers of scopes. Samples
//! stand where the innermost call changes and weigh as long as that lasts; markers are the slices, with their figures.

use std::collections::HashMap;
use std::hash::Hash;

use record::{Profile, Scope};
use serde_json::{Map, Value, json};

use super::format::{Format, Writer};
use super::picture::{Edge, Picture, Slice, Track};
use super::{figures, names, with_list};

/// The version of processed profiles that is written; the viewer brings it up to its own.
const VERSION: u64 = 61;
/// The version of Firefox's own profiles; it has to be there and says nothing here.
const GECKO_VERSION: u64 = 31;
/// A marker with a start and an end.
const INTERVAL: u64 = 1;
const MARKER: &str = "scope";
/// The category of all that is shown; the one before it is for what has none, and has to be grey.
const SCOPE: u64 = 1;
/// The one process of a picture.
const PROCESS: &str = "1";

pub(super) const FORMAT: Format = Format {
    name: "firefox",
    extension: "json",
    is_binary: false,
    about: "for profiler.firefox.com",
    opened_by: "open it at profiler.firefox.com (Load a profile from file)",
    write: Writer::Picture(|picture, profile, tool| write(picture, profile, tool).into_bytes()),
};

/// The whole file.
fn write(picture: &Picture, profile: &Profile, tool: &str) -> String {
    let mut strings = Table::default();
    let mut shared = tables(profile, &mut strings);
    // Slices of a scope have the same figures: they are written once.
    let marked = |scope| Marked { name: strings.place(names::shown(scope)), payload: payload(scope).to_string() };
    let marked: Vec<Marked> = profile.scopes.iter().map(marked).collect();
    let threads: Vec<String> =
        picture.tracks.iter().zip(1_u64..).map(|(track, tid)| thread(picture, (track, tid), &marked)).collect();
    shared.insert("stringArray".to_owned(), json!(strings.list));
    let head = json!({ "meta": meta(picture, tool), "libs": [], "shared": shared });
    with_list(&head, "threads", &threads) + "\n"
}

/// Things that are written once and then named by their place.
struct Table<T> {
    list: Vec<T>,
    places: HashMap<T, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Hash + Eq + Clone> Table<T> {
    fn place(&mut self, item: T) -> usize {
        *self.places.entry(item.clone()).or_insert_with(|| {
            self.list.push(item);
            self.list.len() - 1
        })
    }
}

fn meta(picture: &Picture, tool: &str) -> Value {
    let fields: Vec<Value> = [("scope", "string"), ("source", "string")]
        .into_iter()
        .chain(figures::figures(&Scope::default()).into_iter().map(|(name, _)| (name, format_of(name))))
        .map(|(key, format)| json!({ "key": key, "label": label(key, picture.has_calls), "format": format }))
        .collect();
    json!({
        "version": GECKO_VERSION,
        "preprocessedProfileVersion": VERSION,
        "interval": 1e-3,
        "startTime": 0,
        "processType": 0,
        "product": picture.title,
        "importedFrom": tool,
        "stackwalk": 0,
        "debug": false,
        "symbolicated": true,
        "sourceCodeIsNotOnSearchfox": true,
        "usesOnlyOneStackType": true,
        "keepProfileThreadOrder": true,
        "extra": [{
            "label": "Hotloop",
            "entries": [{ "label": "Note", "format": "string", "value": picture.note }],
        }],
        "categories": [
            { "name": "Other", "color": "grey", "subcategories": ["Other"] },
            { "name": "Scope", "color": "blue", "subcategories": ["Other"] },
        ],
        "markerSchema": [{
            "name": MARKER,
            "display": ["marker-chart", "marker-table"],
            "tooltipLabel": "{marker.name}",
            "tableLabel": "{marker.data.scope}",
            "chartLabel": "{marker.name}",
            "description": picture.note,
            "fields": fields,
        }],
    })
}

fn format_of(figure: &str) -> &'static str {
    match figure {
        name if name.ends_with("_ns") => "nanoseconds",
        name if name.contains("bytes") => "bytes",
        _ => "integer",
    }
}

/// What a call's figures are of has to be said: they are not its own.
fn label(key: &str, is_call: bool) -> String {
    match key {
        "scope" | "source" => key.to_owned(),
        _ if is_call => format!("{key} of all calls"),
        _ => key.to_owned(),
    }
}

/// Stacks, frames, functions and sources, for all threads.
fn tables(profile: &Profile, strings: &mut Table<String>) -> Map<String, Value> {
    let scopes = &profile.scopes;
    let mut functions: Table<(usize, Option<usize>, u32)> = Table::default();
    let mut sources: Table<usize> = Table::default();
    let function_of: Vec<usize> = scopes
        .iter()
        .map(|scope| {
            let source = (!scope.file.is_empty()).then(|| sources.place(strings.place(scope.file.clone())));
            functions.place((strings.place(names::shown(scope)), source, scope.line))
        })
        .collect();
    let (count, known) = (scopes.len(), |scope: &Scope| (!scope.file.is_empty()).then_some(scope.line));
    let nothing = |count: usize| vec![Value::Null; count];
    let functions = functions.list;
    let tables = json!({
        "stackTable": {
            "length": count,
            "frame": (0..count).collect::<Vec<_>>(),
            "prefix": scopes.iter().map(|scope| scope.parent).collect::<Vec<_>>(),
        },
        "frameTable": {
            "length": count,
            "address": vec![-1; count],
            "inlineDepth": vec![0; count],
            "category": vec![SCOPE; count],
            "subcategory": vec![0; count],
            "func": function_of,
            "nativeSymbol": nothing(count),
            "innerWindowID": nothing(count),
            "line": scopes.iter().map(known).collect::<Vec<_>>(),
            "column": nothing(count),
        },
        "funcTable": {
            "length": functions.len(),
            "name": functions.iter().map(|function| function.0).collect::<Vec<_>>(),
            "isJS": vec![false; functions.len()],
            "relevantForJS": vec![false; functions.len()],
            "resource": vec![-1; functions.len()],
            "source": functions.iter().map(|function| function.1).collect::<Vec<_>>(),
            "lineNumber": functions.iter().map(|function| function.1.map(|_| function.2)).collect::<Vec<_>>(),
            "columnNumber": nothing(functions.len()),
        },
        "resourceTable": { "length": 0, "lib": [], "name": [], "host": [], "type": [] },
        "nativeSymbols": { "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [] },
        "sources": {
            "length": sources.list.len(),
            "id": nothing(sources.list.len()),
            "filename": sources.list,
            "startLine": vec![1; sources.list.len()],
            "startColumn": vec![1; sources.list.len()],
            "sourceMapURL": nothing(sources.list.len()),
        },
    });
    tables.as_object().cloned().unwrap_or_default()
}

fn thread(picture: &Picture, (track, tid): (&Track, u64), marked: &[Marked]) -> String {
    let end = track.slices.iter().map(|slice| slice.end_ns).max().unwrap_or(0);
    let mut head = json!({
        "name": track.name,
        "processName": picture.title,
        "processType": "default",
        "isMainThread": tid == 1,
        "pid": PROCESS,
        "tid": tid.to_string(),
        "processStartupTime": 0,
        "processShutdownTime": Value::Null,
        "registerTime": 0,
        "unregisterTime": millis(end),
        "pausedRanges": [],
        "showMarkersInTimeline": picture.has_calls,
        "samples": samples(track),
    })
    .to_string();
    head.truncate(head.len() - 1);
    format!("{head},\"markers\":{}}}", markers(track, marked))
}

/// A sample for each stretch of time in which the innermost slice is the same; none is innermost between slices.
fn samples(track: &Track) -> Value {
    let mut stretches: Vec<(Option<usize>, u64, u64)> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut since = 0;
    for edge in track.edges() {
        let now = match edge {
            Edge::Open(slice) => slice.start_ns,
            Edge::Close(slice) => slice.end_ns,
        };
        if now > since {
            stretches.push((open.last().copied(), since, now - since));
            since = now;
        }
        match edge {
            Edge::Open(slice) => open.push(slice.scope),
            Edge::Close(_) => drop(open.pop()),
        }
    }
    // Otherwise the last stretch would be drawn to the end of the picture; and a picture without time cannot be drawn.
    stretches.push((None, since, 0));
    if since == 0 {
        stretches.push((None, 1_000, 0));
    }
    json!({
        "length": stretches.len(),
        "stack": stretches.iter().map(|stretch| stretch.0).collect::<Vec<_>>(),
        "time": stretches.iter().map(|stretch| millis(stretch.1)).collect::<Vec<_>>(),
        "weight": stretches.iter().map(|stretch| millis(stretch.2)).collect::<Vec<_>>(),
        "weightType": "tracing-ms",
    })
}

fn markers(track: &Track, marked: &[Marked]) -> String {
    let of = |slice: &Slice| &marked[slice.scope];
    let count = track.slices.len();
    let head = json!({
        "length": count,
        "name": track.slices.iter().map(|slice| of(slice).name).collect::<Vec<_>>(),
        "startTime": track.slices.iter().map(|slice| millis(slice.start_ns)).collect::<Vec<_>>(),
        "endTime": track.slices.iter().map(|slice| millis(slice.end_ns)).collect::<Vec<_>>(),
        "phase": vec![INTERVAL; count],
        "category": vec![SCOPE; count],
    });
    let payloads: Vec<&str> = track.slices.iter().map(|slice| of(slice).payload.as_str()).collect();
    with_list(&head, "data", &payloads)
}

/// What the markers of a scope have in common.
struct Marked {
    /// The place of the name among the strings.
    name: usize,
    /// Its figures, as JSON.
    payload: String,
}

fn payload(scope: &Scope) -> Value {
    let mut data = Map::new();
    data.insert("type".to_owned(), MARKER.into());
    data.insert("scope".to_owned(), names::whole(scope).into());
    data.extend(names::place(scope).map(|place| ("source".to_owned(), place.into())));
    data.extend(figures::known(scope).map(|(name, value)| (name.to_owned(), value.into())));
    Value::Object(data)
}

fn millis(ns: u64) -> f64 {
    ns as f64 / 1e6
}
