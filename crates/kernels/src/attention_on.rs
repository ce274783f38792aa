//! Attention of several sequences, divided among the threads of a pool.
//!
//! A unit of work is a head of keys and values with all heads of queries that share it, and a block
//! of queries. Threads take units as they are free: those of a causal prefill are of unequal size.
//! No bit depends on who took which.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::attention::{Attention, AttentionOut, AttentionShape, Queries};
use crate::rows::RowsMut;
use crate::{Kernels, Pool, attention_decode_scratch, attention_prefill_scratch};

/// Queries in a unit.
const QUERIES: usize = 64;
/// From so many rows (queries × heads that share keys) on, computing them in tiles is faster.
const TILED_FROM: usize = 4;
/// What one thread does per nanosecond: multiply-adds count as two; and positions of one head cost
/// as much as so many of those.
const FLOPS_PER_NS: f64 = 40.0;

/// The attention of some queries of one sequence, and where it goes.
#[derive(Debug)]
pub struct AttentionJob<'a> {
    /// What to compute: all heads of the model.
    pub task: Attention<'a>,
    /// (query, head, head_dim)
    pub out: RowsMut<'a>,
}

impl AttentionJob<'_> {
    #[track_caller]
    fn check(&self, shape: &AttentionShape) {
        let (queries, out) = (&self.task.queries.rows, &self.out);
        assert!(self.task.shape == *shape, "jobs of different shapes: {shape:?} and {:?}", self.task.shape);
        assert!(
            (out.rows(), out.width()) == (queries.rows(), queries.width()),
            "{} × {} results for {} × {} queries",
            out.rows(),
            out.width(),
            queries.rows(),
            queries.width()
        );
    }

    fn kv_heads(&self) -> usize {
        self.task.heads().div_ceil(self.task.shape.group)
    }

    fn units(&self) -> usize {
        self.kv_heads() * self.task.queries.rows.rows().div_ceil(QUERIES)
    }

    fn nanoseconds(&self) -> f64 {
        let queries = self.task.queries;
        let last = queries.first_position + queries.rows.rows();
        let seen = self.task.shape.window.map_or(last, |window| last.min(window));
        4.0 * (queries.rows.width() * queries.rows.rows()) as f64 * seen as f64 / FLOPS_PER_NS
    }
}

/// f32 of scratch for [`Kernels::attention_on`](crate::Kernels::attention_on) on so many threads.
pub fn attention_on_scratch(shape: &AttentionShape, threads: usize) -> usize {
    scratch_of_one(shape) * threads
}

fn scratch_of_one(shape: &AttentionShape) -> usize {
    // Whole cache lines, so that threads do not share one.
    attention_decode_scratch(shape).max(attention_prefill_scratch(shape)).next_multiple_of(16)
}

impl Kernels {
    /// The attention of every job, on the threads of a pool where there is enough to do. All jobs have the same shape.
    ///
    /// # Panics
    /// Where jobs have different shapes, a result has another shape than its queries, or the scratch is too short.
    #[track_caller]
    pub fn attention_on(self, pool: &Pool, jobs: &mut [AttentionJob<'_>], scratch: &mut [f32]) {
        // Borrowed for ourselves alone, though all threads read what to do: nobody else may write
        // to these places meanwhile.
        let jobs = &*jobs;
        let Some(first) = jobs.first() else { return };
        jobs.iter().for_each(|job| job.check(&first.task.shape));
        let one = scratch_of_one(&first.task.shape);
        let parts = pool.parts(jobs.iter().map(AttentionJob::nanoseconds).sum());
        assert!(one * parts <= scratch.len(), "{} f32 of scratch for {parts} threads", scratch.len());
        let units = jobs.iter().map(AttentionJob::units).sum();
        let next = AtomicUsize::new(0);
        pool.run_rows(parts, &mut scratch[..one * parts], one, |_, scratch| {
            loop {
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    break;
                }
                // SAFETY: `jobs` are borrowed uniquely until all units have run; every unit is
                // taken once, and writes what no other does.
                unsafe { self.attention_unit(jobs, unit, scratch) };
            }
        });
    }

    /// # Safety
    /// No other call has the same unit at the same time, and the results are not used otherwise.
    unsafe fn attention_unit(self, jobs: &[AttentionJob<'_>], mut unit: usize, scratch: &mut [f32]) {
        for job in jobs {
            if unit < job.units() {
                // SAFETY: as the caller promises.
                return unsafe { self.attention_of(job, unit, scratch) };
            }
            unit -= job.units();
        }
    }

    /// # Safety
    /// As for `attention_unit`.
    unsafe fn attention_of(self, job: &AttentionJob<'_>, unit: usize, scratch: &mut [f32]) {
        let (task, Attention { shape, queries, .. }) = (&job.task, job.task);
        // Later queries see more, so their blocks come first.
        let blocks = queries.rows.rows().div_ceil(QUERIES);
        let (kv_head, block) = (unit % job.kv_heads(), blocks - 1 - unit / job.kv_heads());
        let heads = kv_head * shape.group..((kv_head + 1) * shape.group).min(task.heads());
        let rows = block * QUERIES..((block + 1) * QUERIES).min(queries.rows.rows());
        let columns = heads.start * shape.head_dim..heads.end * shape.head_dim;
        let task = Attention {
            queries: Queries {
                rows: queries.rows.part(rows.clone()).columns(columns.clone()),
                first_head: queries.first_head + heads.start,
                first_position: queries.first_position + rows.start,
            },
            ..*task
        };
        // SAFETY: units have no value in common, as the caller promises.
        let out = AttentionOut { rows: unsafe { job.out.part(rows.clone(), columns) }, log_sum_exp: None };
        if rows.len() > 1 && rows.len() * shape.group >= TILED_FROM {
            self.attention_prefill(&task, out, scratch);
        } else {
            self.attention_decode(&task, out, scratch);
        }
    }
}
