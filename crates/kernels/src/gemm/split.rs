//! How a product is divided among threads.

use super::job::Right;
use super::{PANEL, Product};
use crate::Pool;

/// What one thread does per nanosecond at best: multiply-adds, and bytes from the last cache. Only for deciding whether
/// other threads are worth waking.
const FLOPS_PER_NS: f64 = 100.0;
const BYTES_PER_NS: f64 = 40.0;

/// Rows and columns of parts. Their number is the pool's for large products and one for small ones; the result does not
/// depend on it.
pub(super) fn grid(product: &Product<'_>, pool: &Pool) -> [usize; 2] {
    let (rows, depth, cols) = (product.a.rows, product.a.cols, product.b.cols());
    let flops = 2.0 * rows as f64 * depth as f64 * cols as f64;
    let bytes = 4.0 * depth as f64 * (cols + rows) as f64;
    let parts = pool.parts((flops / FLOPS_PER_NS).max(bytes / BYTES_PER_NS));
    let packed = matches!(product.b, Right::Packed(_));
    best_grid([rows, cols], parts, packed)
}

/// Of all grids with so many parts that with the least to do for the largest part: its
/// multiply-adds, and what it packs.
fn best_grid([rows, cols]: [usize; 2], parts: usize, packed: bool) -> [usize; 2] {
    let panels = cols.div_ceil(PANEL);
    let cost = |&[down, across]: &[usize; 2]| {
        let (rows, cols) = (rows.div_ceil(down), panels.div_ceil(across) * PANEL);
        // An element that is packed costs about as much as eight multiply-adds; one that is packed
        // already is only read.
        rows * cols + 8 * rows + if packed { 2 } else { 8 } * cols
    };
    let grids = (1..=parts).filter(|down| parts.is_multiple_of(*down)).map(|down| [down, parts / down]);
    grids.min_by_key(cost).unwrap_or([1, 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_divided_by_columns_and_few_columns_by_rows() {
        assert_eq!(best_grid([1, 4096], 2, true), [1, 2]);
        assert_eq!(best_grid([8, 2048], 16, true), [1, 16]);
        assert_eq!(best_grid([4096, 16], 4, false), [4, 1]);
        assert_eq!(best_grid([4096, 4096], 16, false), [4, 4]);
        assert_eq!(best_grid([512, 512], 1, false), [1, 1]);
    }
}
