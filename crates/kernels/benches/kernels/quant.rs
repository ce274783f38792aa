//! Quantised weights by one vector and by several.

use kernels::quant::{Activations, Format, Outputs, PackedWeights};
use kernels::{AlignedBuffer, Kernels, Pool};

use crate::Bench;
use crate::contest::{Contender, Contest, Row};
use crate::limits::Limit;
use crate::peers::ggml;
use crate::product::{Product, numbers};
use crate::table::Subject;

const COLUMNS: &[&str] = &["ours", "ggml"];

const FORMATS: &[Format] = &[Format::Q8_0, Format::Q4_0, Format::Q4_K, Format::Q6_K];
/// Outputs and inputs: within L2, L3, and so far beyond that a large cache does not help, as the last layer of Llama 3.
const MATRICES: &[[usize; 2]] = &[[768, 768], [2048, 2048], [4096, 4096], [128_256, 4096]];
/// Vectors at once, for a matrix of 2048²: a few tokens, a prompt.
const BATCHES: &[usize] = &[8, 32, 128, 512];
const BATCHED: [usize; 2] = [2048, 2048];
/// Larger matrices repeat their first rows, because making weights is slow.
const MOST_ROWS: usize = 4096;
/// Of the sum of the terms' sizes: vectors become 8-bit integers on the way.
const TOLERANCE: f64 = 3e-3;

/// A row: a format, outputs and inputs, how many vectors, how many threads.
struct Case {
    format: Format,
    matrix: [usize; 2],
    vectors: usize,
    threads: usize,
}

impl Case {
    fn name(&self) -> String {
        let (format, [outputs, inputs]) = (self.format.name(), self.matrix);
        match self.vectors {
            1 => format!("quant {format} {outputs}x{inputs}"),
            vectors => format!("quant {format} {vectors}x{outputs}x{inputs}"),
        }
    }

    fn is_quick(&self) -> bool {
        self.vectors * self.matrix[0] * self.matrix[1] <= 8 * 2048 * 2048
    }
}

/// Measures and prints two tables per number of threads; gives how many results were wrong.
pub fn tables(bench: &Bench) -> usize {
    let one = |&threads: &usize| {
        let vector = cases(MATRICES.iter().map(|&matrix| (matrix, 1)), threads);
        let title = format!("GB/s of weights, threads: {threads}");
        let wrong = table(bench, &vector, &Subject { title, limit: "reading", one_limit: false, columns: COLUMNS });
        let batches = cases(BATCHES.iter().map(|&vectors| (BATCHED, vectors)), threads);
        let title = format!("GOP/s, threads: {threads}");
        wrong + table(bench, &batches, &Subject { title, limit: "int8 peak", one_limit: true, columns: COLUMNS })
    };
    bench.options.threads.iter().map(one).sum()
}

fn cases(shapes: impl Iterator<Item = ([usize; 2], usize)> + Clone, threads: usize) -> Vec<Case> {
    let of = |&format| shapes.clone().map(move |(matrix, vectors)| Case { format, matrix, vectors, threads });
    FORMATS.iter().flat_map(of).collect()
}

fn table(bench: &Bench, cases: &[Case], subject: &Subject) -> usize {
    let options = &bench.options;
    let wanted = |case: &&Case| options.wants(&case.name()) && (!options.quick || case.is_quick());
    let rows: Vec<Row> = cases.iter().filter(wanted).map(|case| row(bench, case)).collect();
    bench.print(subject, &rows)
}

fn row(bench: &Bench, case: &Case) -> Row {
    let [outputs, inputs] = case.matrix;
    let (weights, bytes) = weights(bench.kernels, case);
    let x = numbers(case.vectors * inputs, 1);
    let (shape, threads) = ([case.vectors, outputs, inputs], case.threads);
    let pool = Pool::new(threads);
    let product = Product { shape, a: &x, b: &weights, b_transposed: true, pool: &pool };
    let (work, limit): (f64, Limit) = match case.vectors {
        1 => (bytes.len() as f64, Limit::Reading(bytes.len())),
        _ => (2.0 * shape.map(|size| size as f64).iter().product::<f64>(), Limit::Bytes),
    };
    let contest = Contest {
        row: case.name(),
        work,
        threads,
        contenders: bench.wanted(contenders(bench, case, product, &bytes)),
        limit,
        check: Box::new(move |y| product.check_within(y, TOLERANCE)),
    };
    contest.hold(&bench.options)
}

/// The first rows as numbers, and all rows as bytes.
fn weights(kernels: Kernels, case: &Case) -> (AlignedBuffer<f32>, AlignedBuffer<u8>) {
    let [outputs, inputs] = case.matrix;
    let mut weights = numbers(outputs.min(MOST_ROWS) * inputs, 2);
    let row_bytes = case.format.row_bytes(inputs).expect("inputs are whole blocks");
    let mut bytes = AlignedBuffer::zeroed(outputs * row_bytes);
    let first = weights.len() / inputs * row_bytes;
    kernels.quantise(case.format, &weights, &mut bytes[..first]);
    kernels.dequantise(case.format, &bytes[..first], &mut weights);
    let (made, rest) = bytes.split_at_mut(first);
    for part in rest.chunks_mut(first) {
        part.copy_from_slice(&made[..part.len()]);
    }
    (weights, bytes)
}

fn contenders<'a>(bench: &'a Bench, case: &Case, product: Product<'a>, bytes: &[u8]) -> Vec<Box<dyn Contender + 'a>> {
    let [vectors, outputs, _] = product.shape;
    let (kind, inputs, threads) = (case.format.id(), product.a, product.threads());
    let mut all = vec![ours(bench, case, product, bytes)];
    let ggml = bench.peers.ggml.as_ref();
    let ggml = ggml.and_then(|ggml| ggml.product(&ggml::Weights { kind, bytes, outputs, inputs, vectors, threads }));
    all.extend(ggml.map(|contender| contender as Box<dyn Contender + 'a>));
    all
}

/// Quantising the vectors counts, as it does in ggml.
fn ours<'a>(bench: &'a Bench, case: &Case, product: Product<'a>, bytes: &[u8]) -> Box<dyn Contender + 'a> {
    let ([vectors, outputs, inputs], kernels) = (product.shape, bench.kernels);
    let weights = PackedWeights::pack(case.format, outputs, inputs, bytes);
    let mut x = Activations::new(vectors, inputs);
    product.contender("ours", move |out| {
        kernels.quantise_activations(product.a, &mut x);
        let parts = product.threads();
        let all = Shared { start: out.as_mut_ptr(), outputs: Outputs::new(out, outputs, outputs) };
        product.pool.run(parts, |part| {
            let groups = weights.groups() * part / parts..weights.groups() * (part + 1) / parts;
            let weights = weights.part(groups);
            // SAFETY: no two parts have a group in common, so none have an output.
            unsafe {
                if vectors == 1 {
                    kernels.matvec_packed(weights, x.row(0), all.vector(weights.rows()));
                } else {
                    kernels.matmul_packed(weights, &x, &mut all.outputs.part(weights.rows()));
                }
            }
        });
    })
}

/// Results that several threads write.
struct Shared<'a> {
    start: *mut f32,
    outputs: Outputs<'a>,
}

// SAFETY: whoever takes a part of it promises that nobody else has it.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    /// A part of the only row.
    ///
    /// # Safety
    /// No other part with one of these outputs is in use at the same time.
    #[allow(clippy::mut_from_ref, reason = "parts do not overlap")]
    unsafe fn vector(&self, part: std::ops::Range<usize>) -> &mut [f32] {
        assert!(part.end <= self.outputs.columns());
        // SAFETY: within the results, as was just checked, and as the caller promises.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(part.start), part.len()) }
    }
}
