//! A snapshot as JSON, in the format of `record::Profile`: what other programs read.
//!
//! Written by hand, because the library has no dependencies; a test reads it with the crate that defines the format.

use std::fmt::{Display, Write};

use super::{
    AllocStats, InterruptionInfo, InterruptionSource, OwnCost, ScopeStats, Snapshot, ThreadStats, ThreadTimeline,
};
use crate::clock::{ClockInfo, ClockSource};
use crate::tree::Losses;

pub(super) fn text(snapshot: &Snapshot) -> String {
    // Allocations of zero and allocations that nobody counted are told apart by their absence.
    let counted = snapshot.allocations_counted;
    let mut json = Json::default();
    json.object(|json| {
        json.number("wall_ns", snapshot.wall_ns);
        json.field("clock", |json| clock(json, &snapshot.clock));
        json.field("own_cost", |json| own_cost(json, &snapshot.own_cost));
        json.list("scopes", &snapshot.scopes, |json, one| scope(json, one, counted));
        json.list("threads", &snapshot.threads, thread);
        json.number("outside_ns", snapshot.outside_ns);
        json.known("waiting_ns", snapshot.waiting_ns);
        json.field("interruptions", |json| interruptions(json, &snapshot.interruptions));
        if counted {
            json.field("outside_allocs", |json| allocations(json, &snapshot.outside_allocs));
            json.field("early_allocs", |json| allocations(json, &snapshot.early_allocs));
        }
        if !snapshot.timeline.is_empty() {
            json.list("timeline", &snapshot.timeline, timeline);
        }
        json.field("lost", |json| losses(json, &snapshot.lost));
    });
    json.text
}

fn clock(json: &mut Json, clock: &ClockInfo) {
    json.object(|json| {
        let source = match clock.source {
            ClockSource::Counter => "counter",
            ClockSource::Os => "os",
        };
        json.string("source", source);
        json.string("why", clock.why);
        json.float("resolution_ns", clock.resolution_ns);
    });
}

fn own_cost(json: &mut Json, cost: &OwnCost) {
    json.object(|json| {
        json.float("per_scope_ns", cost.per_scope_ns);
        json.float("inside_scope_ns", cost.inside_scope_ns);
        json.float("per_sampled_scope_ns", cost.per_sampled_scope_ns);
        json.float("per_alloc_ns", cost.per_alloc_ns);
        json.number("total_ns", cost.total_ns);
        json.float("share_of_wall", cost.share_of_wall);
        if let Some(share) = cost.share_of_cpu {
            json.float("share_of_cpu", share);
        }
        if let Some(budget) = cost.budget {
            json.float("budget", budget);
        }
    });
}

fn scope(json: &mut Json, scope: &ScopeStats, counted: bool) {
    json.object(|json| {
        json.string("name", &scope.name);
        json.known("index", scope.index);
        json.flag("is_other_index", scope.is_other_index);
        json.known("parent", scope.parent);
        json.string("file", scope.file);
        json.number("line", scope.line);
        json.number("calls", scope.calls);
        json.number("timed_calls", scope.timed_calls);
        json.flag("is_sampled", scope.is_sampled);
        json.some("open_calls", scope.open_calls);
        json.number("total_ns", scope.total_ns);
        json.known("total_se_ns", scope.total_se_ns);
        json.some("attached_ns", scope.attached_ns);
        json.number("self_ns", scope.self_ns);
        json.known("self_se_ns", scope.self_se_ns);
        json.some("waiting_ns", scope.waiting_ns);
        json.number("min_ns", scope.min_ns);
        json.number("max_ns", scope.max_ns);
        json.known("p50_ns", scope.p50_ns);
        json.known("p90_ns", scope.p90_ns);
        json.known("p99_ns", scope.p99_ns);
        if scope.p50_ns.is_some() {
            json.field("durations", |json| durations(json, scope));
        }
        if counted {
            json.field("allocs", |json| allocations(json, &scope.allocs));
            json.field("allocs_total", |json| allocations(json, &scope.allocs_total));
        }
        json.some("peak_live_bytes", scope.peak_live_bytes);
        json.some("flops", scope.flops);
        json.some("bytes", scope.bytes);
        json.some("tokens", scope.tokens);
        json.some("polls", scope.polls);
        json.some("elapsed_ns", scope.elapsed_ns);
        json.number("threads", scope.threads);
    });
}

/// The histogram without its empty buckets.
fn durations(json: &mut Json, scope: &ScopeStats) {
    let counted: Vec<(u64, u64)> = scope.durations().collect();
    json.object(|json| {
        json.list("ns", &counted, |json, (ns, _)| json.put(ns));
        json.list("calls", &counted, |json, (_, calls)| json.put(calls));
    });
}

fn interruptions(json: &mut Json, interruptions: &InterruptionInfo) {
    json.object(|json| {
        let source = match interruptions.source {
            InterruptionSource::Rseq => "rseq",
            InterruptionSource::None => "none",
        };
        json.string("source", source);
        json.string("why", interruptions.why);
    });
}

fn allocations(json: &mut Json, allocs: &AllocStats) {
    json.object(|json| {
        json.number("allocs", allocs.allocs);
        json.number("alloc_bytes", allocs.alloc_bytes);
        json.number("frees", allocs.frees);
        json.number("free_bytes", allocs.free_bytes);
        json.number("reallocs", allocs.reallocs);
    });
}

fn thread(json: &mut Json, thread: &ThreadStats) {
    json.object(|json| {
        json.number("id", thread.id);
        if let Some(name) = &thread.name {
            json.string("name", name);
        }
        json.number("is_alive", thread.is_alive);
        json.number("count", thread.count);
        json.number("calls", thread.calls);
        json.number("wall_ns", thread.wall_ns);
        json.number("in_scopes_ns", thread.in_scopes_ns);
        json.number("own_cost_ns", thread.own_cost_ns);
        json.known("waiting_ns", thread.waiting_ns);
        json.known("cpu_ns", thread.cpu_ns);
        json.number("allocs", thread.allocs);
        json.number("alloc_bytes", thread.alloc_bytes);
    });
}

/// Three lists instead of a list of events: there may be millions, and names cost more than numbers.
fn timeline(json: &mut Json, timeline: &ThreadTimeline) {
    json.object(|json| {
        json.number("thread", timeline.thread);
        json.list("scopes", &timeline.events, |json, event| json.put(event.scope));
        json.list("starts_ns", &timeline.events, |json, event| json.put(event.start_ns));
        json.list("durations_ns", &timeline.events, |json, event| json.put(event.duration_ns));
    });
}

fn losses(json: &mut Json, lost: &Losses) {
    json.object(|json| {
        json.number("timeline_events", lost.timeline_events);
        json.number("calls_without_room", lost.calls_without_room);
        json.number("calls_with_other_index", lost.calls_with_other_index);
        json.number("unbalanced_scopes", lost.unbalanced_scopes);
        json.number("scopes_after_thread_end", lost.scopes_after_thread_end);
        json.number("timings_without_percentile", lost.timings_without_percentile);
        json.some("calls_with_folded_index", lost.calls_with_folded_index);
        json.some("leaked_scopes", lost.leaked_scopes);
    });
}

/// JSON that is being written.
#[derive(Default)]
struct Json {
    text: String,
}

impl Json {
    fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.text.push('{');
        fields(self);
        self.text.push('}');
    }

    fn list<T>(&mut self, name: &str, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.field(name, |json| {
            json.text.push('[');
            for one in items {
                json.separate();
                item(json, one);
            }
            json.text.push(']');
        });
    }

    /// A comma, unless it is the first of its object or list.
    fn separate(&mut self) {
        if !self.text.ends_with(['{', '[']) {
            self.text.push(',');
        }
    }

    /// The names of fields are ours and need no escapes.
    fn field(&mut self, name: &str, value: impl FnOnce(&mut Self)) {
        self.separate();
        let _ = write!(self.text, "\"{name}\":");
        value(self);
    }

    fn put(&mut self, value: impl Display) {
        let _ = write!(self.text, "{value}");
    }

    /// A whole number, exact whatever its size, or a truth value.
    fn number(&mut self, name: &str, value: impl Display) {
        self.field(name, |json| json.put(value));
    }

    /// A number that says nothing when it is 0.
    fn some(&mut self, name: &str, value: u64) {
        if value != 0 {
            self.number(name, value);
        }
    }

    fn known(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.number(name, value);
        }
    }

    /// JSON has no word for what is not finite; nothing here should be, and a reader is not to fail for it.
    fn float(&mut self, name: &str, value: f64) {
        self.number(name, if value.is_finite() { value } else { 0.0 });
    }

    fn string(&mut self, name: &str, value: &str) {
        self.field(name, |json| json.quoted(value));
    }

    fn quoted(&mut self, value: &str) {
        self.text.push('"');
        for letter in value.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                '\0'..='\u{1f}' => {
                    let _ = write!(self.text, "\\u{:04x}", u32::from(letter));
                }
                _ => self.text.push(letter),
            }
        }
        self.text.push('"');
    }
}
