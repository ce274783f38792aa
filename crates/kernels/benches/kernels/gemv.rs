//! f32 matrix by vector: bound by reading the matrix.

use kernels::Pool;

use crate::Bench;
use crate::contest::{Contender, Contest, Row};
use crate::gemm::{COLUMNS, ggml_product, ours, ours_packed};
use crate::limits::Limit;
use crate::peers::rust;
use crate::product::{Product, numbers};
use crate::table::Subject;

/// Square matrices: within L2, L3, partly beyond, and beyond.
const SIZES: &[usize] = &[256, 768, 2048, 4096, 8192];
/// A quick run leaves out larger ones.
const QUICK: usize = 2048;

/// Measures and prints a table per number of threads; gives how many results were wrong.
pub fn tables(bench: &Bench) -> usize {
    let table = |&threads: &usize| {
        bench.peers.set_threads(threads);
        let mut rows = Vec::new();
        for (size, transposed) in SIZES.iter().flat_map(|&size| [(size, true), (size, false)]) {
            let name = format!("gemv {size} {}", if transposed { "W·x" } else { "x·W" });
            if bench.options.wants(&name) && !(bench.options.quick && size > QUICK) {
                rows.push(row(bench, name, [size, threads], transposed));
            }
        }
        let title = format!("GB/s of weights (= 2 × GFLOP/s), threads: {threads}");
        bench.print(&Subject { title, limit: "reading", one_limit: false, columns: COLUMNS }, &rows)
    };
    bench.options.threads.iter().map(table).sum()
}

fn row(bench: &Bench, name: String, [size, threads]: [usize; 2], b_transposed: bool) -> Row {
    let (x, w) = (numbers(size, 1), numbers(size * size, 2));
    let pool = Pool::new(threads);
    let product = Product { shape: [1, size, size], a: &x, b: &w, b_transposed, pool: &pool };
    let bytes = size_of_val(&w[..]);
    let contest = Contest {
        row: name,
        work: bytes as f64,
        threads,
        contenders: bench.wanted(contenders(bench, product)),
        limit: Limit::Reading(bytes),
        check: Box::new(move |y| product.check(y)),
    };
    contest.hold(&bench.options)
}

fn contenders<'a>(bench: &'a Bench, product: Product<'a>) -> Vec<Box<dyn Contender + 'a>> {
    let mut all = vec![ours_packed(bench, product)];
    all.push(if product.b_transposed { our_gemv(bench, product) } else { ours(bench, product) });
    all.extend(rust::gemm(product));
    all.extend(bench.peers.blas.iter().map(|blas| blas.gemv(product)));
    all.extend(bench.peers.onednn.iter().flat_map(|onednn| onednn.gemm(product)));
    all.extend(ggml_product(bench, product));
    all
}

/// An output per row has a kernel of its own.
fn our_gemv<'a>(bench: &'a Bench, product: Product<'a>) -> Box<dyn Contender + 'a> {
    product.contender("ours", move |y| bench.kernels.gemv_on(product.pool, product.b, product.a, y))
}
