//! A program that knows of the profiler by its attributes alone.

use std::hint::black_box;

#[hotloop::profile]
fn double(n: u64) -> u64 {
    black_box(n) * 2
}

fn main() {
    black_box((0..7).map(double).sum::<u64>());
}
