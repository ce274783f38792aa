//! A profile as JSON, written by hand because the library has no dependencies. A test compares it with what serde writes.

use std::fmt::{Display, Write};

use crate::types::{
    Allocations, DurationCounts, Interruptions, Losses, OwnCost, Profile, ProfileClock, Scope, Thread, Timeline,
};

impl Profile {
    /// As JSON on one line: what other programs read. What was not measured is absent.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = Json::default();
        json.object(|json| {
            json.number("wall_ns", self.wall_ns);
            json.field("clock", |json| clock(json, &self.clock));
            json.field("own_cost", |json| own_cost(json, &self.own_cost));
            json.list("scopes", &self.scopes, scope);
            json.list("threads", &self.threads, thread);
            json.number("outside_ns", self.outside_ns);
            json.known("waiting_ns", self.waiting_ns);
            json.optional("interruptions", self.interruptions.as_ref(), interruptions);
            json.optional("outside_allocs", self.outside_allocs.as_ref(), allocations);
            json.optional("early_allocs", self.early_allocs.as_ref(), allocations);
            if !self.timeline.is_empty() {
                json.list("timeline", &self.timeline, timeline);
            }
            json.field("lost", |json| losses(json, &self.lost));
        });
        json.text
    }
}

fn clock(json: &mut Json, clock: &ProfileClock) {
    json.object(|json| {
        json.string("source", &clock.source);
        json.string("why", &clock.why);
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

fn scope(json: &mut Json, scope: &Scope) {
    json.object(|json| {
        json.string("name", &scope.name);
        json.known("index", scope.index);
        json.flag("is_other_index", scope.is_other_index);
        json.known("parent", scope.parent);
        json.string("file", &scope.file);
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
        json.optional("durations", scope.durations.as_ref(), durations);
        json.optional("allocs", scope.allocs.as_ref(), allocations);
        json.optional("allocs_total", scope.allocs_total.as_ref(), allocations);
        json.some("peak_live_bytes", scope.peak_live_bytes);
        json.some("flops", scope.flops);
        json.some("bytes", scope.bytes);
        json.some("tokens", scope.tokens);
        json.some("polls", scope.polls);
        json.some("elapsed_ns", scope.elapsed_ns);
        json.number("threads", scope.threads);
    });
}

fn durations(json: &mut Json, durations: &DurationCounts) {
    json.object(|json| {
        json.list("ns", &durations.ns, |json, ns| json.put(ns));
        json.list("calls", &durations.calls, |json, calls| json.put(calls));
    });
}

fn interruptions(json: &mut Json, interruptions: &Interruptions) {
    json.object(|json| {
        json.string("source", &interruptions.source);
        json.string("why", &interruptions.why);
    });
}

fn allocations(json: &mut Json, allocs: &Allocations) {
    json.object(|json| {
        json.number("allocs", allocs.allocs);
        json.number("alloc_bytes", allocs.alloc_bytes);
        json.number("frees", allocs.frees);
        json.number("free_bytes", allocs.free_bytes);
        json.number("reallocs", allocs.reallocs);
    });
}

fn thread(json: &mut Json, thread: &Thread) {
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

fn timeline(json: &mut Json, timeline: &Timeline) {
    json.object(|json| {
        json.number("thread", timeline.thread);
        json.list("scopes", &timeline.scopes, |json, scope| json.put(scope));
        json.list("starts_ns", &timeline.starts_ns, |json, ns| json.put(ns));
        json.list("durations_ns", &timeline.durations_ns, |json, ns| json.put(ns));
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

/// JSON in the making.
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

    /// An object, where there is one.
    fn optional<T>(&mut self, name: &str, value: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        if let Some(value) = value {
            self.field(name, |json| write(json, value));
        }
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

    /// JSON cannot say what is not finite. Nothing here should be, and a reader must not fail for it.
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

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    fn allocs(from: u64) -> Option<Allocations> {
        let (allocs, alloc_bytes, frees) = (from, from + 1, from + 2);
        Some(Allocations { allocs, alloc_bytes, frees, free_bytes: from + 3, reallocs: from + 4 })
    }

    /// A profile in which no field has its default, so that none is left out.
    fn full() -> Profile {
        let scope = |parent| Scope {
            name: "quote \" backslash \\ line \n bell \u{7} κόσμε".into(),
            index: Some(u64::MAX),
            is_other_index: true,
            parent,
            file: "src\\model\".rs".into(),
            line: 7,
            calls: 8,
            timed_calls: 9,
            is_sampled: true,
            open_calls: 10,
            total_ns: 11,
            total_se_ns: Some(12),
            attached_ns: 13,
            self_ns: 14,
            self_se_ns: Some(15),
            waiting_ns: 16,
            min_ns: 17,
            max_ns: 18,
            p50_ns: Some(19),
            p90_ns: Some(20),
            p99_ns: Some(21),
            durations: Some(DurationCounts { ns: vec![1, 2], calls: vec![3, 4] }),
            allocs: allocs(30),
            allocs_total: allocs(40),
            peak_live_bytes: 22,
            flops: 23,
            bytes: 24,
            tokens: 25,
            polls: 26,
            elapsed_ns: 27,
            threads: 28,
        };
        let thread = Thread {
            id: 1,
            name: Some("main".into()),
            is_alive: true,
            count: 2,
            calls: 3,
            wall_ns: 4,
            in_scopes_ns: 5,
            own_cost_ns: 6,
            waiting_ns: Some(7),
            cpu_ns: Some(8),
            allocs: 9,
            alloc_bytes: 10,
        };
        Profile {
            wall_ns: u64::MAX,
            clock: ProfileClock { source: "counter".into(), why: "constant".into(), resolution_ns: 0.1 + 0.2 },
            own_cost: OwnCost {
                per_scope_ns: 1.0 / 3.0,
                inside_scope_ns: 2.5,
                per_sampled_scope_ns: 5e-324,
                per_alloc_ns: 1e300,
                total_ns: 5,
                share_of_wall: 0.006,
                share_of_cpu: Some(0.007),
                budget: Some(0.02),
            },
            scopes: vec![scope(None), scope(Some(0))],
            threads: vec![thread],
            outside_ns: 1,
            waiting_ns: Some(2),
            interruptions: Some(Interruptions { source: "rseq".into(), why: "supported".into() }),
            outside_allocs: allocs(50),
            early_allocs: allocs(60),
            timeline: vec![Timeline { thread: 1, scopes: vec![1], starts_ns: vec![2], durations_ns: vec![3] }],
            lost: Losses {
                timeline_events: 1,
                calls_without_room: 2,
                calls_with_other_index: 3,
                unbalanced_scopes: 4,
                scopes_after_thread_end: 5,
                timings_without_percentile: 6,
                calls_with_folded_index: 7,
                leaked_scopes: 8,
            },
        }
    }

    #[test]
    fn it_is_what_serde_writes_and_reads() {
        // What is absent or zero is left out.
        let sparse = Profile {
            scopes: vec![Scope::default()],
            threads: vec![Thread::default()],
            clock: full().clock,
            own_cost: OwnCost { share_of_cpu: None, budget: None, ..full().own_cost },
            ..Profile::default()
        };
        for profile in [full(), sparse] {
            let by_hand: serde_json::Value = serde_json::from_str(&profile.to_json()).expect("it is JSON");
            assert_eq!(by_hand, serde_json::to_value(&profile).expect("plain data"));
            assert_eq!(Profile::from_json(&profile.to_json()), Ok(profile));
        }
    }

    #[test]
    fn what_is_not_finite_is_written_as_zero() {
        let mut profile = full();
        profile.own_cost.share_of_wall = f64::INFINITY;
        profile.clock.resolution_ns = f64::NAN;
        let read = Profile::from_json(&profile.to_json()).expect("it is a profile");
        assert_eq!((read.own_cost.share_of_wall, read.clock.resolution_ns), (0.0, 0.0));
    }
}
