//! The peers that are written in Rust.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use gemm::Parallelism;

use crate::contest::Contender;
use crate::product::Product;

/// What `Cargo.lock` has chosen.
pub fn note() -> String {
    "gemm 0.19, faer 0.24, matrixmultiply 0.3: built in".to_owned()
}

/// All three; matrixmultiply with one thread alone, because it takes their number from the environment once.
pub fn gemm<'a>(product: Product<'a>) -> Vec<Box<dyn Contender + 'a>> {
    let mut all = vec![
        product.contender("gemm", move |c| gemm_crate(product, c)),
        product.contender("faer", move |c| faer_crate(product, c)),
    ];
    if product.threads() == 1 {
        all.push(product.contender("matrixmultiply", move |c| matrixmultiply_crate(product, c)));
    }
    all
}

/// From one row of B to the next, and from one column to the next.
fn right_strides(product: Product) -> (isize, isize) {
    let [_, n, k] = product.shape.map(|size| size as isize);
    if product.b_transposed { (1, k) } else { (n, 1) }
}

fn gemm_crate(product: Product, c: &mut [f32]) {
    let [m, n, k] = product.shape;
    let (b_row, b_col) = right_strides(product);
    let (a, b) = (product.a.as_ptr(), product.b.as_ptr());
    let threads = if product.threads() == 1 { Parallelism::None } else { Parallelism::Rayon(product.threads()) };
    let (n_step, k_step) = (n as isize, k as isize);
    // SAFETY: the factors and the result have as many elements as the sizes and the steps say.
    unsafe {
        let c = c.as_mut_ptr();
        gemm::gemm(m, n, k, c, 1, n_step, false, a, 1, k_step, b, b_col, b_row, 0.0, 1.0, false, false, false, threads);
    }
}

fn faer_crate(product: Product, c: &mut [f32]) {
    let [m, n, k] = product.shape;
    let a = MatRef::from_row_major_slice(product.a, m, k);
    let b = if product.b_transposed {
        MatRef::from_column_major_slice(product.b, k, n)
    } else {
        MatRef::from_row_major_slice(product.b, k, n)
    };
    let threads = if product.threads() == 1 { Par::Seq } else { Par::rayon(product.threads()) };
    matmul(MatMut::from_row_major_slice_mut(c, m, n), Accum::Replace, a, b, 1.0, threads);
}

fn matrixmultiply_crate(product: Product, c: &mut [f32]) {
    let [m, n, k] = product.shape;
    let (b_row, b_col) = right_strides(product);
    let (a, b) = (product.a.as_ptr(), product.b.as_ptr());
    let (n_step, k_step) = (n as isize, k as isize);
    // SAFETY: the factors and the result have as many elements as the sizes and the steps say.
    unsafe { matrixmultiply::sgemm(m, k, n, 1.0, a, k_step, 1, b, b_row, b_col, 0.0, c.as_mut_ptr(), n_step, 1) };
}
