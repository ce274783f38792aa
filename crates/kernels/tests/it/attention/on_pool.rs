//! Attention of several sequences on a pool: the bits of single calls, whoever takes which part.

use kernels::{AttentionJob, AttentionOut, Kernels, Pool, RowsMut, attention_on_scratch};

use super::{CANARY, Case, Inputs, Kind, Outputs, Way, run};

/// Queries in one unit of work; a block of them is computed by one of two kernels.
const QUERIES: usize = 64;
/// From so many rows on it is the one for many.
const TILED_FROM: usize = 4;

/// What the two kernels give, block by block.
fn alone(kernels: Kernels, inputs: &Inputs) -> Outputs {
    let case = inputs.case;
    let mut outputs = Outputs::new(case);
    let AttentionOut { mut rows, log_sum_exp: _ } = outputs.view();
    let task = inputs.task();
    for first in (0..case.queries).step_by(QUERIES) {
        let count = QUERIES.min(case.queries - first);
        let (block, after) = rows.split_at_row(count);
        rows = after;
        let mut task = task;
        task.queries.rows = task.queries.rows.part(first..first + count);
        task.queries.first_position += first;
        let way = if count > 1 && count * case.group >= TILED_FROM { Way::Prefill } else { Way::Decode };
        run(kernels, way, &task, AttentionOut { rows: block, log_sum_exp: None });
    }
    outputs.check_canaries();
    outputs
}

/// All sequences together, with scratch that nobody may trust.
fn together(kernels: Kernels, pool: &Pool, all: &[Inputs]) -> Vec<Outputs> {
    let mut outputs: Vec<_> = all.iter().map(|inputs| Outputs::new(inputs.case)).collect();
    let mut jobs: Vec<_> = all
        .iter()
        .zip(&mut outputs)
        .map(|(inputs, outputs)| AttentionJob { task: inputs.task(), out: outputs.view().rows })
        .collect();
    let len = attention_on_scratch(&all[0].case.shape(), pool.threads());
    let mut scratch = vec![f32::NAN; len + 1];
    scratch[len] = CANARY;
    kernels.attention_on(pool, &mut jobs, &mut scratch[..len]);
    assert_eq!(scratch[len], CANARY);
    outputs.iter().for_each(Outputs::check_canaries);
    outputs
}

#[track_caller]
fn check(cases: &[Case]) {
    let all: Vec<_> = cases.iter().map(|case| Inputs::new(*case)).collect();
    for kernels in Kernels::available() {
        let wanted: Vec<_> = all.iter().map(|inputs| alone(kernels, inputs)).collect();
        for threads in [1, 2, 3] {
            let got = together(kernels, &Pool::new(threads), &all);
            for (number, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
                assert!(got.rows == wanted.rows, "{} {threads} threads: {:?}", kernels.isa(), cases[number]);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn one_sequence() {
    for (head_dim, group, kv_heads) in [(16, 1, 1), (64, 1, 3), (40, 4, 2), (7, 3, 1)] {
        for queries in [1, 2, 3, 4, 63, 64, 65, 67, 130] {
            for (kind, window) in [(Kind::F32, None), (Kind::F16, Some(50)), (Kind::Q8_0, None)] {
                let case = Case { head_dim, group, kv_heads, queries, kind, window, ..Case::PLAIN };
                check(&[Case { first_position: 0, by_head: true, ..case }]);
                check(&[Case { first_position: 77, ..case }]);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn many_sequences_of_any_length() {
    let plain = Case { head_dim: 32, group: 2, kv_heads: 3, by_head: true, ..Case::PLAIN };
    for kind in [Kind::F32, Kind::F16, Kind::Q8_0] {
        let case = |queries: usize, first_position: usize| Case { queries, first_position, kind, ..plain };
        check(&[case(1, 600), case(1, 0), case(1, 90), case(1, 1200)]);
        check(&[case(70, 0), case(1, 300), case(2, 5), case(200, 40), case(1, 0), case(129, 511)]);
        let many: Vec<_> = (0..40).map(|number| case(1 + number % 5, 13 * number)).collect();
        check(&many);
    }
}

/// Every thread has something to do, also where there are more threads than heads.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn more_threads_than_heads() {
    let case = Case { head_dim: 128, first_position: 3000, ..Case::PLAIN };
    check(&[case]);
    check(&[Case { queries: 5, ..case }]);
}

#[test]
fn no_jobs_are_nothing() {
    Kernels::best().attention_on(&Pool::new(2), &mut [], &mut []);
}

/// A job whose result or scratch does not fit.
#[track_caller]
fn refuses(says: &str, run: impl FnOnce(&Inputs) + std::panic::UnwindSafe) {
    let inputs = std::panic::AssertUnwindSafe(Inputs::new(Case { queries: 2, ..Case::PLAIN }));
    let panic = std::panic::catch_unwind(move || run(&inputs)).expect_err(says);
    let message = panic.downcast_ref::<String>().cloned().unwrap();
    assert!(message.contains(says), "`{message}` does not say `{says}`");
}

#[test]
fn shapes_that_do_not_fit() {
    let on = |inputs: &Inputs, rows: usize, less: usize| {
        let mut out = vec![0.0; rows * 64];
        let out = RowsMut::new(&mut out, rows, 64, 64);
        let mut scratch = vec![0.0; attention_on_scratch(&inputs.case.shape(), 1) - less];
        let mut jobs = [AttentionJob { task: inputs.task(), out }];
        Kernels::best().attention_on(&Pool::new(1), &mut jobs, &mut scratch);
    };
    refuses("1 × 64 results for 2 × 64 queries", move |inputs| on(inputs, 1, 0));
    refuses("3 × 64 results for 2 × 64 queries", move |inputs| on(inputs, 3, 0));
    refuses("of scratch for 1 threads", move |inputs| on(inputs, 2, 1));
    refuses("jobs of different shapes", |inputs| {
        let other = Inputs::new(Case { window: Some(3), ..inputs.case });
        let [mut one, mut two] = [inputs, &other].map(|inputs| Outputs::new(inputs.case));
        let mut jobs = [
            AttentionJob { task: inputs.task(), out: one.view().rows },
            AttentionJob { task: other.task(), out: two.view().rows },
        ];
        let mut scratch = vec![0.0; 2 * attention_on_scratch(&inputs.case.shape(), 1)];
        Kernels::best().attention_on(&Pool::new(1), &mut jobs, &mut scratch);
    });
}
