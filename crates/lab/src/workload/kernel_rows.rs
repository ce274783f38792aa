//! Rows of single kernels: those of SmallMind, by its names.

use std::hint::black_box;
use std::time::Duration;

use kernels::{Kernels, Matrix, MatrixMut, Pool, Product};
use record::{Phase, Row};

use crate::metrics::{counted, timed};
use crate::recorder::RunRecorder;

/// What computes kernels.
#[derive(Clone, Copy)]
pub struct Arithmetic<'a> {
    /// The kernels.
    pub kernels: Kernels,
    /// The threads.
    pub pool: &'a Pool,
}

/// A kernel at one size: how often SmallMind called it, and how it is called here.
pub(super) struct KernelRow<'a> {
    pub(super) name: &'static str,
    what: String,
    limited_by: &'static str,
    /// Calls in the pass with scopes, as many as SmallMind made.
    calls: u64,
    flops: f64,
    bytes: f64,
    threads: u64,
    call: Box<dyn FnMut() + 'a>,
    /// The pass with scopes: its own, so that every row has its name in the tree.
    scoped: Scoped,
}

/// Opens the scope of a row and makes so many calls in it.
type Scoped = fn(&mut dyn FnMut(), u64, CallWork);
/// A row's name, its size, its function.
type Size = (&'static str, usize, Scoped);

/// The work of one call, declared for its scope.
#[derive(Clone, Copy)]
struct CallWork {
    flops: u64,
    bytes: u64,
}

/// Samples shorter than this are mostly clock.
const SAMPLE: Duration = Duration::from_micros(200);

/// A function that opens the scope of a row and in it that of each call.
macro_rules! scoped {
    ($name:literal, $call:literal) => {
        |call, calls, work| {
            hotloop::scope!($name);
            for _ in 0..calls {
                hotloop::scope!($call, flops = work.flops, bytes = work.bytes);
                call();
            }
        }
    };
}

/// The names of a row and of its calls, its size, and its function.
macro_rules! sizes {
    ($call:literal: $(($name:literal, $size:literal)),+) => {
        [$(($name, $size, scoped!($name, $call) as Scoped)),+]
    };
}

/// Numbers from −1 to 1 that look like any.
pub(super) fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 2003) as f32 / 1001.5 - 1.0).collect()
}

/// Products of square matrices; `sizes` of 64, 128, 256, 512.
pub(super) fn matmul(with: Arithmetic<'_>, least: usize) -> Vec<KernelRow<'_>> {
    let all = sizes!("MatMul_Iteration": ("MatMul_64x64", 64), ("MatMul_128x128", 128), ("MatMul_256x256", 256),
        ("MatMul_512x512", 512));
    let row = |(name, n, scoped): Size| {
        let (a, b, mut c) = (numbers(n * n), numbers(n * n), vec![0.0; n * n]);
        let Arithmetic { kernels, pool } = with;
        let call = move || {
            let product = Product::new(Matrix::new(&a, n, n), Matrix::new(&b, n, n));
            kernels.gemm_on(pool, product, MatrixMut::new(&mut c, n, n));
            black_box(&mut c);
        };
        KernelRow {
            name,
            what: format!("product of two {n} × {n} matrices in f32"),
            limited_by: "f32",
            calls: 3,
            flops: 2.0 * (n * n * n) as f64,
            bytes: 12.0 * (n * n) as f64,
            threads: pool.threads() as u64,
            call: Box::new(call),
            scoped,
        }
    };
    all.into_iter().filter(|(_, n, _)| *n >= least).map(row).collect()
}

/// GELU of 1,000 to 1,000,000 values.
pub(super) fn gelu(with: Arithmetic<'_>) -> Vec<KernelRow<'_>> {
    let all = sizes!("GELU_Iteration": ("GELU_1000", 1_000), ("GELU_10000", 10_000), ("GELU_100000", 100_000),
        ("GELU_1000000", 1_000_000));
    let row = |(name, n, scoped): Size| {
        let (x, mut out) = (numbers(n), vec![0.0; n]);
        let kernels = with.kernels;
        let call = move || {
            kernels.gelu_tanh(&x, &mut out);
            black_box(&mut out);
        };
        streaming(name, format!("GELU of {n} values"), 5, 8.0 * n as f64, (Box::new(call), scoped))
    };
    all.into_iter().map(row).collect()
}

/// Softmax of 256 to 2,048 values.
pub(super) fn softmax(with: Arithmetic<'_>) -> Vec<KernelRow<'_>> {
    let all = sizes!("Softmax_Iteration": ("Softmax_256", 256), ("Softmax_512", 512), ("Softmax_1024", 1_024),
        ("Softmax_2048", 2_048));
    let row = |(name, n, scoped): Size| {
        let (x, mut out) = (numbers(n), vec![0.0; n]);
        let kernels = with.kernels;
        let call = move || {
            out.copy_from_slice(&x);
            kernels.softmax_rows(&mut out, n);
            black_box(&mut out);
        };
        streaming(name, format!("softmax of {n} values"), 5, 8.0 * n as f64, (Box::new(call), scoped))
    };
    all.into_iter().map(row).collect()
}

/// Sums and products of 10,000 values, and a row added to each of 100.
pub(super) fn tensors(with: Arithmetic<'_>) -> Vec<KernelRow<'_>> {
    let n = 10_000;
    let kernels = with.kernels;
    let (a, b) = (numbers(n), numbers(n));
    let (a2, b2, a3, b3) = (a.clone(), b.clone(), a.clone(), b[..100].to_vec());
    let mut out = vec![0.0; n];
    let (mut out2, mut out3) = (out.clone(), out.clone());
    let add = move || {
        kernels.add(&a, &b, &mut out);
        black_box(&mut out);
    };
    let mul = move || {
        kernels.mul(&a2, &b2, &mut out2);
        black_box(&mut out2);
    };
    let broadcast = move || {
        out3.copy_from_slice(&a3);
        kernels.add_rows(&mut out3, &b3);
        black_box(&mut out3);
    };
    let bytes = 12.0 * n as f64;
    vec![
        streaming(
            "TensorAdd_10000",
            format!("sum of two lists of {n} values"),
            10,
            bytes,
            (Box::new(add), scoped!("TensorAdd_10000", "TensorAdd_Iteration")),
        ),
        streaming(
            "TensorMul_10000",
            format!("product of two lists of {n} values, element by element"),
            10,
            bytes,
            (Box::new(mul), scoped!("TensorMul_10000", "TensorMul_Iteration")),
        ),
        streaming(
            "BroadcastAdd_100x100",
            "a row of 100 values added to each of 100".to_owned(),
            10,
            8.0 * n as f64,
            (Box::new(broadcast), scoped!("BroadcastAdd_100x100", "BroadcastAdd_Iteration")),
        ),
    ]
}

/// A call, and the pass with scopes around it.
type Calls<'a> = (Box<dyn FnMut() + 'a>, Scoped);

/// A row that moves bytes, on one thread.
fn streaming<'a>(name: &'static str, what: String, calls: u64, bytes: f64, (call, scoped): Calls<'a>) -> KernelRow<'a> {
    KernelRow { name, what, limited_by: "read", calls, flops: 0.0, bytes, threads: 1, call, scoped }
}

impl KernelRow<'_> {
    /// The name of a single call, over all sizes.
    pub(super) fn iteration(&self) -> String {
        format!("{}_Iteration", self.name.split('_').next().unwrap_or(self.name))
    }

    /// Repeats it without the profiler, which would be a large part of a short call.
    pub(super) fn measure(&mut self, recorder: &mut RunRecorder<'_>, time: Duration) -> Result<(), String> {
        let call = &mut self.call;
        call();
        let (_, once) = timed(&mut *call);
        let once = once.values[crate::recorder::WALL];
        let many = (SAMPLE.as_secs_f64() / once.max(1e-9)).ceil() as u64;
        // A multiple of SmallMind's number, so that its rows and these can be laid side by side.
        let calls = many.div_ceil(self.calls).clamp(1, 1 << 20) * self.calls;
        let flops = (self.flops > 0.0).then_some(self.flops);
        let (name, what) = (self.name.to_owned(), self.what.clone());
        let (bytes, threads, limited_by) = (Some(self.bytes), Some(self.threads), Some(self.limited_by.to_owned()));
        recorder.row(Row { name, what, limited_by, calls, flops, bytes, threads, ..Row::default() });
        let allocated = counted(&mut *call);
        recorder.repeat(
            self.name,
            time,
            |_: Phase| (),
            || {
                let ((), mut taken) = timed(|| (0..calls).for_each(|_| call()));
                if let Some(allocated) = allocated {
                    allocated.times(calls).add_to(&mut taken);
                }
                Ok(vec![(self.name.to_owned(), taken)])
            },
        )
    }

    /// The pass with scopes.
    pub(super) fn profile(&mut self) {
        let work = CallWork { flops: self.flops as u64, bytes: self.bytes as u64 };
        (self.scoped)(&mut *self.call, self.calls, work);
    }
}

/// Repeats one call of each size as one row: what SmallMind counted together.
pub(super) fn measure_together(
    rows: &mut [KernelRow<'_>],
    recorder: &mut RunRecorder<'_>,
    time: Duration,
) -> Result<(), String> {
    let Some(first) = rows.first() else { return Ok(()) };
    let (name, sizes) = (first.iteration(), rows.len() as u64);
    let mut all = || rows.iter_mut().for_each(|row| (row.call)());
    all();
    let once = timed(&mut all).1.values[crate::recorder::WALL];
    let times = ((SAMPLE.as_secs_f64() / once.max(1e-9)).ceil() as u64).clamp(1, 1 << 20);
    let what =
        if sizes == 1 { "one call".to_owned() } else { format!("a call of one of the {sizes} sizes, on average") };
    recorder.row(Row { name: name.clone(), what, calls: sizes * times, ..Row::default() });
    recorder.repeat(
        &name.clone(),
        time,
        |_| (),
        || {
            let ((), taken) = timed(|| (0..times).for_each(|_| all()));
            Ok(vec![(name.clone(), taken)])
        },
    )
}
