//! What no scope can undercut: the loop, and the clocks read twice.

use std::hint::black_box;
use std::time::Instant;

use benches::Row;
use benches::clock::ticks;

/// The row that the others are compared with.
pub const FLOOR: &str = "two rdtsc (floor)";

pub fn rows() -> Vec<Row> {
    vec![
        Row::new("empty loop", "nothing", empty_loop),
        Row::new(FLOOR, "nothing", two_ticks),
        Row::new("two Instant::now", "nothing", two_instants),
    ]
}

fn empty_loop(scopes: u32) {
    for i in 0..scopes {
        black_box(i);
    }
}

fn two_ticks(scopes: u32) {
    for i in 0..scopes {
        let start = ticks();
        black_box(i);
        black_box(ticks().wrapping_sub(start));
    }
}

fn two_instants(scopes: u32) {
    for i in 0..scopes {
        let start = Instant::now();
        black_box(i);
        black_box(Instant::now() - start);
    }
}
