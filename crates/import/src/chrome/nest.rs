//! From events with times to a tree: what lies within another call on the same thread is called by it.

use std::collections::{BTreeMap, HashMap};

use record::Profile;

use super::events::{Event, Trace, TrackId};
use crate::calls::{Builder, Call};
use crate::tree::unknown_clock;

/// Names of processes and threads, and the order in which viewers show them.
const NAMES: [&str; 5] = ["thread_name", "thread_sort_index", "process_name", "process_sort_index", "process_labels"];
/// Ten years in microseconds: what lies further apart is no trace.
const LONGEST_US: f64 = 3.2e14;

/// What became of a trace.
pub(super) struct Nested<'a> {
    pub(super) profile: Profile,
    /// Kinds of events that are no calls, and why where that is not their kind.
    pub(super) others: Vec<(&'a str, &'static str)>,
    /// Calls that overlap another one without lying in it.
    pub(super) overlaps: u64,
    /// The time of the first event.
    pub(super) first_us: f64,
}

type Track<'a> = (TrackId<'a>, TrackId<'a>);

pub(super) fn nest<'a>(trace: &'a Trace<'a>) -> Nested<'a> {
    let mut others = Vec::new();
    let first = trace.events.iter().filter_map(|event| event.ts).filter(|ts| ts.is_finite()).fold(f64::MAX, f64::min);
    let mut threads: BTreeMap<Track<'a>, Vec<Call<'a>>> = BTreeMap::new();
    let mut open: HashMap<Track<'a>, Vec<(&'a str, u64)>> = HashMap::new();
    let mut names: HashMap<Track<'a>, &'a str> = HashMap::new();
    for event in &trace.events {
        let place = (event.pid.clone(), event.tid.clone());
        match sort(event, first, open.entry(place.clone()).or_default()) {
            Sorted::Call(call) => threads.entry(place).or_default().push(call),
            Sorted::Opened => {}
            Sorted::Other(_) if event.ph == "M" && NAMES.contains(&&*event.name) => {
                if event.name == "thread_name"
                    && let Some(name) = &event.args.0
                {
                    names.insert(place, name);
                }
            }
            Sorted::Other(why) => others.push((&*event.ph, why)),
        }
    }
    let never_closed: usize = open.values().map(Vec::len).sum();
    others.extend(std::iter::repeat_n(("B", "the event has no end"), never_closed));
    let mut builder = Builder::default();
    let mut profile = Profile { clock: unknown_clock(), ..Profile::default() };
    for (id, (place, calls)) in threads.into_iter().enumerate() {
        builder.thread(&mut profile, id as u64, names.get(&place).map(|name| (*name).to_owned()), calls);
    }
    let overlaps = builder.overlaps;
    builder.finish(&mut profile);
    Nested { profile, others, overlaps, first_us: first }
}

enum Sorted<'a> {
    Call(Call<'a>),
    Opened,
    Other(&'static str),
}

/// What an event is. Ends are matched with the last beginning on their thread.
fn sort<'a>(event: &'a Event<'a>, first: f64, open: &mut Vec<(&'a str, u64)>) -> Sorted<'a> {
    let nanos = |us: f64| (0.0..LONGEST_US).contains(&us).then(|| (us * 1e3).round() as u64);
    let is_call = matches!(&*event.ph, "X" | "B" | "E");
    if !is_call {
        return Sorted::Other("");
    }
    // torch.profiler draws its own span across the whole trace.
    if event.cat == "Trace" {
        return Sorted::Other("the span of the recording itself");
    }
    let Some(start_ns) = event.ts.and_then(|ts| nanos(ts - first)) else {
        return Sorted::Other("missing or impossible time");
    };
    match &*event.ph {
        "X" => match event.dur.and_then(nanos) {
            Some(length) => {
                Sorted::Call(Call { name: &event.name, start_ns, end_ns: start_ns.saturating_add(length), depth: None })
            }
            None => Sorted::Other("missing or impossible duration"),
        },
        "B" => {
            open.push((&event.name, start_ns));
            Sorted::Opened
        }
        _ => match open.pop() {
            Some((name, began_ns)) => {
                Sorted::Call(Call { name, start_ns: began_ns, end_ns: start_ns.max(began_ns), depth: None })
            }
            None => Sorted::Other("the end of an event that did not start"),
        },
    }
}
