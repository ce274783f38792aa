//! The same bits, however the work is divided.

use kernels::{ATTENTION_PART, Attention, AttentionOut, Kernels, Queries, attention_decode_scratch};

use super::{Case, Inputs, Kind, Outputs, WAYS, Way, run};

/// The part of a task with some queries and some heads.
fn part<'a>(task: &Attention<'a>, queries: std::ops::Range<usize>, heads: std::ops::Range<usize>) -> Attention<'a> {
    let dims = task.shape.head_dim;
    let rows = task.queries.rows.part(queries.clone()).columns(heads.start * dims..heads.end * dims);
    let first_position = task.queries.first_position + queries.start;
    Attention { queries: Queries { rows, first_head: heads.start, first_position }, ..*task }
}

/// In four quarters, divided at a query and a head.
fn in_quarters(kernels: Kernels, way: Way, inputs: &Inputs, query: usize, head: usize) -> Outputs {
    let case = inputs.case;
    let task = inputs.task();
    let mut outputs = Outputs::new(case);
    let AttentionOut { rows, log_sum_exp } = outputs.view();
    let (upper, lower) = rows.split_at_row(query);
    let (upper_logs, lower_logs) = log_sum_exp.unwrap().split_at_row(query);
    for (rows, logs, queries) in [(upper, upper_logs, 0..query), (lower, lower_logs, query..case.queries)] {
        let (left, right) = rows.split_at_column(head * case.head_dim);
        let (left_logs, right_logs) = logs.split_at_column(head);
        for (rows, logs, heads) in [(left, left_logs, 0..head), (right, right_logs, head..case.heads())] {
            let out = AttentionOut { rows, log_sum_exp: Some(logs) };
            run(kernels, way, &part(&task, queries.clone(), heads), out);
        }
    }
    outputs.check_canaries();
    outputs
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn queries_and_heads_can_be_divided_anywhere() {
    let case = Case { head_dim: 40, group: 4, kv_heads: 2, queries: 60, first_position: 37, ..Case::PLAIN };
    for (kind, window) in [(Kind::F32, None), (Kind::F16, Some(50)), (Kind::Q8_0, None)] {
        let inputs = Inputs::new(Case { kind, window, ..case });
        for kernels in Kernels::available() {
            for way in WAYS {
                let whole = Outputs::of(inputs.case, kernels, way, &inputs.task());
                for (query, head) in [(0, 0), (1, 1), (17, 3), (30, 4), (59, 6), (60, 8)] {
                    let divided = in_quarters(kernels, way, &inputs, query, head);
                    assert!(whole.rows == divided.rows, "{} {way:?} at {query}, {head}", kernels.isa());
                    assert!(whole.logs == divided.logs, "{} {way:?} at {query}, {head}", kernels.isa());
                }
            }
        }
    }
}

/// Every part by itself, then merged.
fn in_parts(kernels: Kernels, inputs: &Inputs) -> Outputs {
    let task = inputs.task();
    let mut scratch = vec![f32::NAN; attention_decode_scratch(&task.shape)];
    let mut parts = vec![f32::NAN; inputs.case.positions().div_ceil(ATTENTION_PART) * task.part_len()];
    // Backwards, as threads may.
    for (i, part) in parts.chunks_exact_mut(task.part_len()).enumerate().rev() {
        kernels.attention_part(&task, i * ATTENTION_PART..(i + 1) * ATTENTION_PART, part, &mut scratch);
    }
    let mut outputs = Outputs::new(inputs.case);
    kernels.attention_merge(&parts, inputs.case.head_dim, outputs.view());
    outputs.check_canaries();
    outputs
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn parts_of_fixed_length_give_the_bits_of_the_whole() {
    for (head_dim, queries, window) in [(64, 1, None), (37, 2, None), (24, 2, Some(700))] {
        for first_position in [0, 510, 511, 512, 1400] {
            let kind = if head_dim == 64 { Kind::F16 } else { Kind::F32 };
            let case = Case { head_dim, group: 3, kv_heads: 2, queries, first_position, window, kind, by_head: true };
            let inputs = Inputs::new(case);
            for kernels in Kernels::available() {
                let (parts, whole) =
                    (in_parts(kernels, &inputs), Outputs::of(case, kernels, Way::Decode, &inputs.task()));
                if kernels.isa() == kernels::Isa::Scalar {
                    // The definition knows no parts: merging them rounds differently.
                    let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 2e-6;
                    assert!(parts.rows.iter().zip(&whole.rows).all(close), "{case:?}");
                } else {
                    assert!(parts.rows == whole.rows && parts.logs == whole.logs, "{} {case:?}", kernels.isa());
                }
            }
        }
    }
}

#[test]
fn no_parts_are_zeros() {
    let case = Case { head_dim: 5, ..Case::PLAIN };
    for kernels in Kernels::available() {
        let mut outputs = Outputs::new(case);
        kernels.attention_merge(&[], case.head_dim, outputs.view());
        assert_eq!(outputs.get(0, 0), (&[0.0; 5][..], f32::NEG_INFINITY));
        outputs.check_canaries();
    }
}
