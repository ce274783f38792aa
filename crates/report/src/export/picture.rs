//! What the viewers of traces draw: tracks, and on each of them slices that lie inside one another.
//!
//! With a timeline a slice is a call. Without one it is a path of the merged tree: its length is the time of all its calls,
//! and its position means nothing.

use record::{Profile, Run};

use super::nesting::lanes;
use super::tree::Tree;

/// A length of time on a track: a call, or all calls of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice {
    /// The scope's place in the record.
    pub(super) scope: usize,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// Slices of the same track around it.
    pub(super) depth: usize,
}

impl Slice {
    /// Whether it has no length.
    pub(super) fn is_instant(self) -> bool {
        self.start_ns == self.end_ns
    }
}

/// One line of the picture. Slices stand before those inside them, and otherwise in the order of time; no two overlap in part.
pub(super) struct Track {
    pub(super) name: String,
    /// The thread's id in the record; none where all threads are merged.
    pub(super) thread: Option<u64>,
    pub(super) slices: Vec<Slice>,
}

/// Everything that is drawn.
pub(super) struct Picture {
    pub(super) tracks: Vec<Track>,
    /// Whether slices are single calls.
    pub(super) has_calls: bool,
    /// What has to be known to read it.
    pub(super) note: String,
    /// What was measured.
    pub(super) title: String,
}

/// What happens as time goes over a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// A slice begins.
    Open(Slice),
    /// The innermost slice that is open ends.
    Close(Slice),
}

impl Picture {
    pub(super) fn new(run: &Run, profile: &Profile) -> Self {
        let tree = Tree::new(profile);
        let has_calls = profile.timeline.iter().any(|timeline| !timeline.scopes.is_empty());
        let (tracks, note) = if has_calls {
            (calls(profile, &tree), calls_note(profile))
        } else {
            (vec![totals(profile, &tree)], TOTALS_NOTE.to_owned())
        };
        Self { tracks, has_calls, note, title: title(run) }
    }
}

impl Track {
    /// Its slices as beginnings and ends, in the order of time; every one that is opened is closed.
    pub(super) fn edges(&self) -> Vec<Edge> {
        let mut edges = Vec::with_capacity(self.slices.len() * 2);
        let mut open: Vec<Slice> = Vec::new();
        for slice in &self.slices {
            while open.len() > slice.depth {
                edges.extend(open.pop().map(Edge::Close));
            }
            edges.push(Edge::Open(*slice));
            open.push(*slice);
        }
        edges.extend(open.into_iter().rev().map(Edge::Close));
        edges
    }
}

const TOTALS_NOTE: &str = "This run has no timeline. The picture is the merged call tree of all threads: lengths are \
                           total times without the profiler's own cost, and positions have no meaning.";

const TOTALS_TRACK: &str = "all threads merged: lengths are totals, positions have no meaning";

fn calls_note(profile: &Profile) -> String {
    let mut note = "The last calls of each thread; lengths include the profiler's own cost.".to_owned();
    if profile.lost.timeline_events > 0 {
        note.push_str(&format!(" {} earlier calls were overwritten by later ones.", profile.lost.timeline_events));
    }
    if profile.scopes.iter().any(|scope| scope.is_sampled) {
        note.push_str(" Some scopes were sampled: calls that were not timed are missing.");
    }
    note
}

pub(super) fn title(run: &Run) -> String {
    let parts = [run.subject.name.as_str(), run.workload.name.as_str(), run.created.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Each thread's calls; those that overlap in part go to further tracks of the thread.
fn calls(profile: &Profile, tree: &Tree) -> Vec<Track> {
    let threads = profile.timeline.iter().flat_map(|timeline| {
        let name = thread_name(profile, timeline.thread);
        lanes(timeline, tree).into_iter().enumerate().map(move |(lane, slices)| Track {
            name: if lane == 0 { name.clone() } else { format!("{name}, overlapping {lane}") },
            thread: Some(timeline.thread),
            slices,
        })
    });
    threads.collect()
}

fn thread_name(profile: &Profile, id: u64) -> String {
    let thread = profile.threads.iter().find(|thread| thread.id == id);
    let name = thread.and_then(|thread| thread.name.as_deref()).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("thread {id}"), str::to_owned)
}

fn totals(profile: &Profile, tree: &Tree) -> Track {
    let slice = |(scope, start_ns): (usize, u64)| Slice {
        scope,
        start_ns,
        end_ns: start_ns.saturating_add(tree.length_ns[scope]),
        depth: tree.depth[scope],
    };
    let slices = tree.starts_ns(profile).into_iter().map(slice).collect();
    Track { name: TOTALS_TRACK.to_owned(), thread: None, slices }
}
