//! Rotary embedding against f64.

use kernels::{Kernels, RopePairing, RopeRows, RopeSpec, RopeStretch, RopeTable};

use crate::attention::Noise;
use crate::effort::sizes;

const CANARY: f32 = 777.0;
/// Two products and a sum of values up to 1, with the roundings of cosine and sine: absolute.
const BOUND: f64 = 2.5e-7;

const PAIRINGS: [RopePairing; 2] = [RopePairing::Adjacent, RopePairing::Halves];

fn spec(pairing: RopePairing, dims: usize) -> RopeSpec<'static> {
    RopeSpec { pairing, dims, base: 10_000.0, position_scale: 1.0, factors: None }
}

/// What value `i` of a head becomes.
fn exact(spec: &RopeSpec<'_>, head: &[f32], position: usize, i: usize) -> f64 {
    if i >= spec.dims {
        return f64::from(head[i]);
    }
    let (pair, first, second) = match spec.pairing {
        RopePairing::Adjacent => (i / 2, i / 2 * 2, i / 2 * 2 + 1),
        RopePairing::Halves => (i % (spec.dims / 2), i % (spec.dims / 2), i % (spec.dims / 2) + spec.dims / 2),
    };
    let factor = spec.factors.map_or(1.0, |factors| f64::from(factors[pair]));
    let frequency = spec.base.powf(-(2.0 * pair as f64) / spec.dims as f64);
    let (sin, cos) = (position as f64 * spec.position_scale * frequency / factor).sin_cos();
    let (a, b) = (f64::from(head[first]), f64::from(head[second]));
    if i == first { a * cos - b * sin } else { a * sin + b * cos }
}

#[track_caller]
fn check(spec: &RopeSpec<'_>, rows: RopeRows) {
    let table = RopeTable::new(spec, rows.first_position + rows.rows);
    let mut x = Noise(rows.head_dim as u64).units(rows.rows * rows.stride);
    for row in x.chunks_exact_mut(rows.stride) {
        row[rows.heads * rows.head_dim..].fill(CANARY);
    }
    for kernels in Kernels::available() {
        let mut turned = x.clone();
        kernels.rope(&mut turned, rows, &table);
        for (r, (before, after)) in x.chunks_exact(rows.stride).zip(turned.chunks_exact(rows.stride)).enumerate() {
            let heads = rows.heads * rows.head_dim;
            assert!(after[heads..].iter().all(|value| *value == CANARY), "written beyond a row");
            let pairs = before[..heads].chunks_exact(rows.head_dim).zip(after.chunks_exact(rows.head_dim));
            for (before, after) in pairs {
                for (i, after) in after.iter().enumerate() {
                    let exact = exact(spec, before, rows.first_position + r, i);
                    let error = (exact - f64::from(*after)).abs();
                    assert!(error <= BOUND, "{error:e} at {i} of row {r}, {} {spec:?} {rows:?}", kernels.isa());
                }
            }
        }
        kernels.rope_backward(&mut turned, rows, &table);
        let back = x.iter().zip(&turned).map(|(x, back)| f64::from((x - back).abs())).fold(0.0, f64::max);
        assert!(back <= 2.0 * BOUND, "{back:e} back, {} {spec:?} {rows:?}", kernels.isa());
    }
}

#[test]
fn every_length() {
    for pairing in PAIRINGS {
        for head_dim in sizes(1..=130) {
            let rows = RopeRows { first_position: 3, rows: 2, stride: 3 * head_dim + 1, heads: 3, head_dim };
            check(&spec(pairing, head_dim / 2 * 2), rows);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn a_part_of_each_head() {
    for pairing in PAIRINGS {
        for dims in (0..=64).step_by(2) {
            let rows = RopeRows { first_position: 100, rows: 3, stride: 2 * 64 + 5, heads: 2, head_dim: 64 };
            check(&spec(pairing, dims), rows);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn far_positions_scales_and_factors() {
    let factors = RopeStretch { factor: 8.0, low: 1.0, high: 4.0, context: 8192.0 }.factors(500_000.0, 64);
    for pairing in PAIRINGS {
        let rows = RopeRows { first_position: 9_990, rows: 4, stride: 64, heads: 1, head_dim: 64 };
        check(&RopeSpec { position_scale: 0.25, ..spec(pairing, 64) }, rows);
        check(&RopeSpec { base: 500_000.0, factors: Some(&factors), ..spec(pairing, 64) }, rows);
    }
}

#[test]
fn short_waves_stay_and_long_ones_stretch() {
    let factors = RopeStretch { factor: 8.0, low: 1.0, high: 4.0, context: 8192.0 }.factors(500_000.0, 128);
    assert_eq!((factors[0], factors[63]), (1.0, 8.0));
    assert!(factors.is_sorted());
    // Pair 32 has a wave of 2π · 500 000^½ = 4442.9 positions: 8192 / 4442.9 = 1.8438 lies at 0.28128 between 1 and 4.
    assert!((f64::from(factors[32]) - 1.0 / (0.28128 + (1.0 - 0.28128) / 8.0)).abs() < 1e-3, "{}", factors[32]);
}

#[test]
fn a_table_holds_what_was_asked_for() {
    let table = RopeTable::new(&spec(RopePairing::Halves, 6), 11);
    assert_eq!((table.dims(), table.positions(), table.pairing()), (6, 11, RopePairing::Halves));
}

#[test]
fn special_values_touch_only_their_pair() {
    for (pairing, partner) in [(RopePairing::Adjacent, 7), (RopePairing::Halves, 22)] {
        let table = RopeTable::new(&spec(pairing, 32), 2);
        for value in [f32::NAN, f32::INFINITY] {
            for kernels in Kernels::available() {
                let mut x = vec![0.5; 32];
                x[6] = value;
                let rows = RopeRows { first_position: 1, rows: 1, stride: 32, heads: 1, head_dim: 32 };
                kernels.rope(&mut x, rows, &table);
                for (i, x) in x.iter().enumerate() {
                    assert_eq!(x.is_finite(), i != 6 && i != partner, "{i} {}", kernels.isa());
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "rows.end_within(table.positions())")]
fn positions_beyond_the_table_are_refused() {
    let table = RopeTable::new(&spec(RopePairing::Halves, 4), 3);
    let rows = RopeRows { first_position: 2, rows: 2, stride: 4, heads: 1, head_dim: 4 };
    Kernels::best().rope(&mut [0.0; 8], rows, &table);
}

#[test]
#[should_panic(expected = "rows.fit(x.len())")]
fn sizes_beyond_memory_are_refused() {
    let table = RopeTable::new(&spec(RopePairing::Halves, 2), 3);
    let rows = RopeRows { first_position: 0, rows: 1, stride: 0, heads: 1 << 63, head_dim: 2 };
    Kernels::best().rope(&mut [0.0; 8], rows, &table);
}

#[test]
#[should_panic(expected = "rows.fit(x.len())")]
fn rows_beyond_the_slice_are_refused() {
    let table = RopeTable::new(&spec(RopePairing::Halves, 4), 3);
    let rows = RopeRows { first_position: 0, rows: 2, stride: 5, heads: 1, head_dim: 4 };
    Kernels::best().rope(&mut [0.0; 8], rows, &table);
}
