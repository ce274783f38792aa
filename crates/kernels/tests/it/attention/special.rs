//! Values that are no ordinary numbers, and calls that make no sense.

use kernels::{Attention, CacheCells, CacheView, Kernels, RowsMut};

use super::{Case, Inputs, Outputs, WAYS};

const CASE: Case = Case { head_dim: 20, group: 2, first_position: 70, queries: 3, ..Case::PLAIN };

/// The keys of one position replaced.
fn with_key(position: usize, value: f32) -> Inputs {
    let mut inputs = Inputs::new(CASE);
    let stride = inputs.keys.view().position_stride;
    inputs.keys.f32[position * stride..][..CASE.head_dim].fill(value);
    // Queries of one sign, so that an infinite key is an infinite score.
    inputs.queries.iter_mut().for_each(|q| *q = q.abs() + 0.1);
    inputs
}

#[test]
fn a_score_of_minus_infinity_weighs_nothing() {
    let mut inputs = with_key(5, f32::NEG_INFINITY);
    let stride = inputs.values.view().position_stride;
    let mut definition: Option<Vec<f32>> = None;
    for kernels in Kernels::available() {
        for way in WAYS {
            // Whatever finite value stands there.
            let [zero, huge] = [0.0, 1e30].map(|value| {
                inputs.values.f32[5 * stride..][..CASE.head_dim].fill(value);
                Outputs::of(CASE, kernels, way, &inputs.task()).rows
            });
            assert_eq!(zero, huge, "{} {way:?}", kernels.isa());
            let definition = definition.get_or_insert(zero);
            let close = definition.iter().zip(&huge).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close, "{} {way:?}", kernels.isa());
        }
    }
}

#[test]
fn nothing_but_minus_infinity_is_zeros() {
    let mut inputs = with_key(0, 0.0);
    inputs.keys.f32.fill(f32::NEG_INFINITY);
    for kernels in Kernels::available() {
        for way in WAYS {
            let outputs = Outputs::of(CASE, kernels, way, &inputs.task());
            assert_eq!(outputs.get(1, 1), (&[0.0; 20][..], f32::NEG_INFINITY), "{} {way:?}", kernels.isa());
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn a_score_of_nan_or_infinity_is_nan_for_all_who_see_it() {
    for value in [f32::NAN, f32::INFINITY] {
        for position in [0, 5, 63, 64, 70] {
            let inputs = with_key(position, value);
            for kernels in Kernels::available() {
                for way in WAYS {
                    let outputs = Outputs::of(CASE, kernels, way, &inputs.task());
                    for query in 0..CASE.queries {
                        let (out, log) = outputs.get(query, 1);
                        let all = out.iter().all(|value| value.is_nan()) && log.is_nan();
                        assert!(all, "{} {way:?} {value} at {position}", kernels.isa());
                    }
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn later_positions_are_not_seen() {
    // Finite ones do not matter in tiles, and decoding does not even look.
    for (value, ways) in [(1e30, &WAYS[..]), (f32::NAN, &WAYS[..1])] {
        let (before, mut inputs) = (Inputs::new(CASE), Inputs::new(CASE));
        let stride = inputs.values.view().position_stride;
        inputs.values.f32[72 * stride..][..CASE.head_dim].fill(value);
        inputs.keys.f32[72 * stride..][..CASE.head_dim].fill(value);
        for kernels in Kernels::available() {
            for way in ways {
                let (a, b) = (
                    Outputs::of(CASE, kernels, *way, &before.task()),
                    Outputs::of(CASE, kernels, *way, &inputs.task()),
                );
                assert_eq!(a.get(1, 0), b.get(1, 0), "{} {way:?}", kernels.isa());
                assert_ne!(a.get(2, 0), b.get(2, 0), "{} {way:?}", kernels.isa());
            }
        }
    }
}

#[test]
fn huge_scores_pick_the_largest() {
    let inputs = with_key(9, 3e36);
    for kernels in Kernels::available() {
        for way in WAYS {
            let outputs = Outputs::of(CASE, kernels, way, &inputs.task());
            let stride = inputs.values.view().position_stride;
            assert_eq!(outputs.get(0, 0).0, &inputs.values.f32[9 * stride..][..CASE.head_dim], "{}", kernels.isa());
        }
    }
}

#[test]
fn no_heads_and_no_queries_are_nothing() {
    for case in [Case { kv_heads: 0, ..CASE }, Case { queries: 0, first_position: 0, ..CASE }] {
        let inputs = Inputs::new(case);
        for kernels in Kernels::available() {
            for way in WAYS {
                Outputs::of(case, kernels, way, &inputs.task());
            }
        }
    }
}

#[track_caller]
fn refused(change: impl for<'a> Fn(Attention<'a>) -> Attention<'a>) {
    let inputs = Inputs::new(CASE);
    for kernels in Kernels::available() {
        let call = || Outputs::of(CASE, kernels, WAYS[0], &change(inputs.task()));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
        assert!(outcome.is_err(), "{}", kernels.isa());
    }
}

#[test]
fn what_does_not_fit_is_refused_at_the_door() {
    refused(|mut task| {
        task.queries.first_position += 10;
        task
    });
    refused(|mut task| {
        task.queries.first_head += 20;
        task
    });
    // Sums that would begin again at 0.
    refused(|mut task| {
        task.queries.first_position = usize::MAX - 1;
        task
    });
    refused(|mut task| {
        task.queries.first_head = usize::MAX;
        task.shape.group = 1;
        task
    });
    refused(|mut task| {
        task.shape.head_dim = 0;
        task
    });
    refused(|mut task| {
        task.shape.head_dim = 19;
        task
    });
    refused(|mut task| {
        task.shape.group = 0;
        task
    });
    refused(|mut task| {
        task.keys.position_stride = usize::MAX;
        task
    });
    refused(|task| Attention {
        values: CacheView { cells: CacheCells::F16(&[0; 100]), position_stride: 20, head_stride: 20 },
        ..task
    });
}

#[test]
#[should_panic(expected = "overlap")]
fn rows_to_write_do_not_overlap() {
    RowsMut::new(&mut [0.0; 10], 2, 5, 4);
}

#[test]
#[should_panic(expected = "3 rows of 4 at 4 in 11")]
fn rows_to_write_lie_in_their_memory() {
    RowsMut::new(&mut [0.0; 11], 3, 4, 4);
}
