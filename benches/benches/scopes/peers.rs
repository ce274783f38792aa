//! The peers, enabled and used as their documentation says, each in the way that is kindest to it.
#![allow(unsafe_code, reason = "hotpath's macro exports a symbol for each label")]

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use benches::{Row, When};
use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::local::LocalSpan;
use tracing::span::Id;
use tracing::{Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::tracy;

/// Hotpath's worker looks for measurements every 50 ms, then needs about 100 ns for each.
const HOTPATH_PAUSE: Duration = Duration::from_millis(60);

/// Spans below one root; a thread drops what exceeds 10 240.
const FASTRACE_SPANS: u32 = 1000;

pub fn rows() -> Vec<Row> {
    let peer = |name, note, batch| Row { flood: true, ..Row::new(name, note, batch) };
    let tracing = |name, note| Row { scopes: 10_000, ..peer(name, note, tracing_scopes) };
    let tracy = |name, when| Row { scopes: 5_000, when, ..peer(name, "log of begin and end", tracy::scopes) };
    vec![
        Row {
            scopes: 10_000,
            drain: || sleep(HOTPATH_PAUSE),
            ..peer("hotpath 0.30, bursts", "flat: calls, total, percentiles", hotpath_scopes)
        },
        Row { drain: new_puffin_frame, ..peer("puffin 0.20", "log of begin and end, by frame", puffin_scopes) },
        Row { setup: || TIMING.store(false, Ordering::Relaxed), ..tracing("tracing 0.1, idle layer", "nothing") },
        Row { setup: || TIMING.store(true, Ordering::Relaxed), ..tracing("tracing 0.1, timing layer", "total time") },
        Row { drain: fastrace::flush, ..peer("fastrace 0.7", "log of spans, by trace", fastrace_scopes) },
        tracy("tracy-client 0.19, no server", When::FirstHalf),
        Row { drain: tracy::pause, ..tracy("tracy-client 0.19, connected", When::SecondHalf) },
    ]
}

/// Switches on the peers that can be switched on once only.
pub fn start() {
    // Forgotten, because dropping it prints a report.
    std::mem::forget(hotpath::HotpathGuardBuilder::new("scopes").build());
    puffin::set_scopes_on(true);
    // A registry alone never closes a span: only a layer's presence makes it count the references to one.
    let subscriber = Registry::default().with(Stopwatch);
    tracing::subscriber::set_global_default(subscriber).expect("no other subscriber is set");
    fastrace::set_reporter(Discard, Config::default());
}

fn hotpath_scopes(scopes: u32) {
    for i in 0..scopes {
        hotpath::measure_block!("scope", black_box(i));
    }
}

/// Below one outermost scope: puffin takes a global lock whenever such a scope ends.
fn puffin_scopes(scopes: u32) {
    puffin::profile_scope!("batch");
    for i in 0..scopes {
        puffin::profile_scope!("scope");
        black_box(i);
    }
}

fn new_puffin_frame() {
    puffin::GlobalProfiler::lock().new_frame();
}

fn tracing_scopes(scopes: u32) {
    for i in 0..scopes {
        let _span = info_span!("scope").entered();
        black_box(i);
    }
}

fn fastrace_scopes(scopes: u32) {
    let mut left = scopes;
    while left > 0 {
        let spans = left.min(FASTRACE_SPANS);
        let root = fastrace::Span::root("root", SpanContext::random());
        let _parent = root.set_local_parent();
        for i in 0..spans {
            let _span = LocalSpan::enter_with_local_parent("scope");
            black_box(i);
        }
        left -= spans;
    }
}

struct Discard;

impl Reporter for Discard {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        black_box(spans);
    }
}

/// The least that times a span: an instant kept with it, and one sum per thread. Or nothing, when not `TIMING`.
struct Stopwatch;

struct Entered(Instant);

static TIMING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static TOTAL: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Stopwatch {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if TIMING.load(Ordering::Relaxed) {
            let span = context.span(id).expect("an entered span is open");
            span.extensions_mut().replace(Entered(Instant::now()));
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if TIMING.load(Ordering::Relaxed) {
            let span = context.span(id).expect("a left span is open");
            if let Some(Entered(start)) = span.extensions().get() {
                TOTAL.set(TOTAL.get() + start.elapsed());
            }
        }
    }
}
