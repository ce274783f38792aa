//! Hotloop, from switched off to everything on.

use std::hint::black_box;

use benches::Row;
use hotloop::{Config, scope};

/// Events of a timeline ring; fewer than a batch has, so that the ring wraps as it does in a long run.
const TIMELINE_EVENTS: usize = 8192;

/// The share of the run that scopes may take is found within the first thousands of them.
const SAMPLED_WARM_UP: u32 = 20_000;

pub fn rows() -> Vec<Row> {
    let tree = "tree: calls, self and total time, min, max";
    vec![
        Row::new("hotloop: not started", "nothing", single),
        Row { setup: start_tree, ..row("hotloop: tree", tree, single) },
        Row { setup: start_tree, ..row("hotloop: tree, 4 deep", tree, nested) },
        Row { setup: start_tree, ..row("hotloop: tree, 2 children in turn", tree, alternating) },
        Row { setup: start_percentiles, ..row("hotloop: percentiles", "tree, p50 p90 p99", single) },
        Row { setup: start_timeline, ..row("hotloop: timeline", "tree, percentiles, ring of events", single) },
        Row { setup: start_everything, ..row("hotloop: everything", "the same, allocations", single) },
        Row {
            setup: start_default,
            warm_up: SAMPLED_WARM_UP,
            ..row("hotloop: default, 2 % budget", "exact calls, sampled times", single)
        },
    ]
}

fn row(name: &'static str, note: &'static str, batch: fn(u32)) -> Row {
    Row { drain: hotloop::stop, flood: true, ..Row::new(name, note, batch) }
}

fn single(scopes: u32) {
    for i in 0..scopes {
        scope!("single");
        black_box(i);
    }
}

fn nested(scopes: u32) {
    for i in 0..scopes.div_ceil(4) {
        scope!("first");
        {
            scope!("second");
            {
                scope!("third");
                {
                    scope!("fourth");
                    black_box(i);
                }
            }
        }
    }
}

fn alternating(scopes: u32) {
    scope!("parent");
    for i in 0..scopes.div_ceil(2) {
        {
            scope!("left");
            black_box(i);
        }
        {
            scope!("right");
            black_box(i);
        }
    }
}

fn start_tree() {
    start(every_scope().percentiles(false));
}

fn start_percentiles() {
    start(every_scope());
}

fn start_timeline() {
    start(every_scope().timeline(Some(TIMELINE_EVENTS)));
}

fn start_everything() {
    hotloop::__private::allocator_installed();
    start(every_scope().timeline(Some(TIMELINE_EVENTS)).allocations(true));
}

fn start_default() {
    start(Config::new());
}

fn every_scope() -> Config {
    Config::new().budget(None).allocations(false)
}

fn start(config: Config) {
    hotloop::reset();
    config.start();
}
