//! Rotary position embedding.

use crate::rope::{RopePairing, RopeRows, RopeTable};

/// See [`Kernels::rope`](crate::Kernels::rope).
pub(crate) fn rope(x: &mut [f32], rows: RopeRows, table: &RopeTable) {
    rotate(x, rows, table, 1.0);
}

/// See [`Kernels::rope_backward`](crate::Kernels::rope_backward).
pub(crate) fn rope_backward(x: &mut [f32], rows: RopeRows, table: &RopeTable) {
    rotate(x, rows, table, -1.0);
}

fn rotate(x: &mut [f32], rows: RopeRows, table: &RopeTable, direction: f32) {
    for row in 0..rows.rows {
        let (cos, sin) = table.at(rows.first_position + row);
        for head in 0..rows.heads {
            let start = row * rows.stride + head * rows.head_dim;
            let values = &mut x[start..][..table.dims()];
            for (pair, (cos, sin)) in cos.iter().zip(sin).enumerate() {
                let (first, second) = match table.pairing() {
                    RopePairing::Adjacent => (2 * pair, 2 * pair + 1),
                    RopePairing::Halves => (pair, pair + table.dims() / 2),
                };
                let (a, b, sin) = (values[first], values[second], direction * sin);
                values[first] = a * cos - b * sin;
                values[second] = a * sin + b * cos;
            }
        }
    }
}
