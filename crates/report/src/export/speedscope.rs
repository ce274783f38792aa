//! The file format of speedscope, as JSON.

use std::collections::HashMap;

use record::{Profile, Scope};
use serde_json::{Value, json};

use super::format::{Format, Writer};
use super::picture::{Edge, Picture, Track};
use super::tree::Tree;
use super::{names, with_list};

/// What tells the reader which format it is; nobody fetches it.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

pub(super) const FORMAT: Format = Format {
    name: "speedscope",
    extension: "json",
    is_binary: false,
    about: "for speedscope.app",
    opened_by: "open it at speedscope.app (Browse), or run `npx speedscope FILE`",
    write: Writer::Picture(|picture, profile, tool| write(picture, profile, tool).into_bytes()),
};

/// A timeline as events, the merged tree as weighted stacks. Events are many: they are written one by one.
fn write(picture: &Picture, profile: &Profile, tool: &str) -> String {
    let frames = Frames::new(profile);
    let profiles: Vec<String> = if picture.has_calls {
        picture.tracks.iter().map(|track| evented(track, &frames)).collect()
    } else {
        picture.tracks.iter().map(|track| sampled(track, profile, &frames).to_string()).collect()
    };
    let head = json!({
        "$schema": SCHEMA,
        "name": picture.title,
        "exporter": tool,
        "activeProfileIndex": 0,
        "note": picture.note,
        "shared": { "frames": frames.list },
    });
    with_list(&head, "profiles", &profiles) + "\n"
}

/// Frames are places in the source, whoever calls them; one stands for all paths that end there.
struct Frames {
    list: Vec<Value>,
    /// For each scope: its place in the list.
    of: Vec<usize>,
}

impl Frames {
    fn new(profile: &Profile) -> Self {
        let mut places: HashMap<(String, &str, u32), usize> = HashMap::new();
        let mut list = Vec::new();
        let mut place = |scope| {
            *places.entry(key(scope)).or_insert_with(|| {
                list.push(frame(scope));
                list.len() - 1
            })
        };
        let of = profile.scopes.iter().map(&mut place).collect();
        Self { list, of }
    }
}

fn key(scope: &Scope) -> (String, &str, u32) {
    (names::whole(scope), &scope.file, scope.line)
}

fn frame(scope: &Scope) -> Value {
    let name = names::shown(scope);
    if scope.file.is_empty() {
        json!({ "name": name })
    } else {
        json!({ "name": name, "file": scope.file, "line": scope.line })
    }
}

fn evented(track: &Track, frames: &Frames) -> String {
    let event = |kind, scope: usize, at: u64| format!(r#"{{"type":"{kind}","frame":{},"at":{at}}}"#, frames.of[scope]);
    let events = track.edges().into_iter().map(|edge| match edge {
        Edge::Open(slice) => event('O', slice.scope, slice.start_ns),
        Edge::Close(slice) => event('C', slice.scope, slice.end_ns),
    });
    let start = track.slices.first().map_or(0, |slice| slice.start_ns);
    let end = track.slices.iter().map(|slice| slice.end_ns).max().unwrap_or(start);
    let head = json!({
        "type": "evented",
        "name": track.name,
        "unit": "nanoseconds",
        "startValue": start,
        "endValue": end,
    });
    with_list(&head, "events", &events.collect::<Vec<_>>())
}

fn sampled(track: &Track, profile: &Profile, frames: &Frames) -> Value {
    let tree = Tree::new(profile);
    let (mut samples, mut weights, mut sum) = (Vec::new(), Vec::new(), 0_u64);
    let mut stack: Vec<usize> = Vec::new();
    for &at in &tree.order {
        stack.truncate(tree.depth[at]);
        stack.push(frames.of[at]);
        let weight = profile.scopes[at].self_ns;
        if weight > 0 {
            samples.push(stack.clone());
            weights.push(weight);
            sum = sum.saturating_add(weight);
        }
    }
    json!({
        "type": "sampled",
        "name": track.name,
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum,
        "samples": samples,
        "weights": weights,
    })
}
