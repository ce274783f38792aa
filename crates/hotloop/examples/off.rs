//! A program with scopes, or without: built without the feature `enabled`, both are the same machine code.
//!
//! `tests/off.rs` builds it twice, once with `--cfg scoped`, and compares the functions.

use std::hint::black_box;

#[inline(never)]
fn sum_of_values(values: &[u64]) -> u64 {
    #[cfg(scoped)]
    hotloop::function!();
    let mut sum = 0;
    for (place, value) in values.iter().enumerate() {
        #[cfg(scoped)]
        hotloop::scope!("value", index = place, flops = place * 2, bytes = 8_usize, tokens = 1_u8);
        #[cfg(scoped)]
        hotloop::scope!("again");
        sum += black_box(*value) + place as u64;
    }
    sum
}

#[inline(never)]
#[cfg_attr(scoped, hotloop::profile(bytes = n))]
fn vector_of_ones(n: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(n);
    #[cfg(scoped)]
    let mut guard = hotloop::guard!("push");
    bytes.push(1);
    #[cfg(scoped)]
    {
        guard.add_bytes(1);
        drop(guard);
    }
    black_box(bytes)
}

fn main() {
    let values = black_box([1, 2, 3]);
    black_box(sum_of_values(&values) + vector_of_ones(values.len()).len() as u64);
}
