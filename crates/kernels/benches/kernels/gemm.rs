//! f32 matrix products.

use kernels::{Matrix, MatrixMut, PackedMatrix, Pool};

use crate::Bench;
use crate::contest::{Contender, Contest, Row};
use crate::limits::Limit;
use crate::peers::{ggml, rust};
use crate::product::{Product, numbers};
use crate::table::Subject;

/// All columns.
pub const COLUMNS: &[&str] = &[
    "ours",
    "ours packed",
    "gemm",
    "faer",
    "matrixmultiply",
    "OpenBLAS",
    "BLIS",
    "MKL",
    "MKL packed",
    "oneDNN",
    "oneDNN packed",
    "ggml",
];

/// Square ones.
const SQUARES: &[usize] = &[64, 128, 256, 512, 1024, 2048];
/// Rows of the left factor where the right one is square: one token, a few, a prompt.
const SKINNY: &[usize] = &[1, 8, 32, 128];
/// The size of that right factor.
const WIDTH: usize = 2048;
/// A quick run leaves out what takes longer than this many operations.
const QUICK: usize = 70_000_000;

/// A row: m, n, k, and whether the right factor lies transposed.
struct Shape {
    sizes: [usize; 3],
    transposed: bool,
}

impl Shape {
    fn all() -> Vec<Self> {
        let squares = SQUARES.iter().map(|&size| Self { sizes: [size; 3], transposed: false });
        let skinny = |transposed| SKINNY.iter().map(move |&m| Self { sizes: [m, WIDTH, WIDTH], transposed });
        squares.chain(skinny(false)).chain(skinny(true)).collect()
    }

    fn name(&self) -> String {
        match self.sizes {
            [m, n, _] if m == n => format!("gemm {m}"),
            [m, n, k] => format!("gemm {m}x{n}x{k}{}", if self.transposed { " T" } else { "" }),
        }
    }

    fn operations(&self) -> usize {
        2 * self.sizes.iter().product::<usize>()
    }
}

/// Measures and prints a table per number of threads; gives how many results were wrong.
pub fn tables(bench: &Bench) -> usize {
    let options = &bench.options;
    let wanted = |shape: &Shape| options.wants(&shape.name()) && !(options.quick && shape.operations() > QUICK);
    let table = |&threads: &usize| {
        bench.peers.set_threads(threads);
        let rows: Vec<Row> =
            Shape::all().iter().filter(|shape| wanted(shape)).map(|shape| row(bench, shape, threads)).collect();
        let title = format!("GFLOP/s, threads: {threads}; T: an output per row");
        bench.print(&Subject { title, limit: "peak", one_limit: true, columns: COLUMNS }, &rows)
    };
    options.threads.iter().map(table).sum()
}

fn row(bench: &Bench, shape: &Shape, threads: usize) -> Row {
    let [m, n, k] = shape.sizes;
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let pool = Pool::new(threads);
    let product = Product { shape: shape.sizes, a: &a, b: &b, b_transposed: shape.transposed, pool: &pool };
    let contest = Contest {
        row: shape.name(),
        work: shape.operations() as f64,
        threads,
        contenders: bench.wanted(contenders(bench, product)),
        limit: Limit::Floats,
        check: Box::new(move |c| product.check(c)),
    };
    contest.hold(&bench.options)
}

fn contenders<'a>(bench: &'a Bench, product: Product<'a>) -> Vec<Box<dyn Contender + 'a>> {
    let mut all = vec![ours(bench, product), ours_packed(bench, product)];
    all.extend(rust::gemm(product));
    all.extend(bench.peers.blas.iter().flat_map(|blas| blas.gemm(product)));
    all.extend(bench.peers.onednn.iter().flat_map(|onednn| onednn.gemm(product)));
    all.extend(ggml_product(bench, product));
    all
}

/// With the right factor as it lies.
pub fn ours<'a>(bench: &'a Bench, product: Product<'a>) -> Box<dyn Contender + 'a> {
    let ([m, n, _], [a, b]) = (product.shape, factors(product));
    product.contender("ours", move |c| {
        bench.kernels.gemm_on(product.pool, kernels::Product::new(a, b), MatrixMut::new(c, m, n));
    })
}

/// With the right factor packed beforehand.
pub fn ours_packed<'a>(bench: &'a Bench, product: Product<'a>) -> Box<dyn Contender + 'a> {
    let ([m, n, _], [a, b]) = (product.shape, factors(product));
    let packed = PackedMatrix::new(b);
    product.contender("ours packed", move |c| {
        bench.kernels.gemm_on(product.pool, kernels::Product::with_packed(a, &packed), MatrixMut::new(c, m, n));
    })
}

fn factors<'a>(product: Product<'a>) -> [Matrix<'a>; 2] {
    let [m, n, k] = product.shape;
    let b = if product.b_transposed { Matrix::new(product.b, n, k).transposed() } else { Matrix::new(product.b, k, n) };
    [Matrix::new(product.a, m, k), b]
}

/// ggml has weights an output per row alone.
pub fn ggml_product<'a>(bench: &'a Bench, product: Product<'a>) -> Option<Box<dyn Contender + 'a>> {
    let ggml = bench.peers.ggml.as_ref().filter(|_| product.b_transposed)?;
    let [vectors, outputs, _] = product.shape;
    let bytes = ggml::bytes_of(product.b);
    ggml.product(&ggml::Weights {
        kind: ggml::F32,
        bytes,
        outputs,
        inputs: product.a,
        vectors,
        threads: product.threads(),
    })
}
