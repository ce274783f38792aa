//! Weights as they lie in a file, times activations.

use super::quant_packed::{XTile, add_tile};
use crate::quant::activations::ActivationRow;
use crate::quant::packed::{Layout, with_layout};
use crate::quant::tile::TILE;
use crate::quant::{Block, Format, blocks};

/// See [`Kernels::matvec_blocks`](crate::Kernels::matvec_blocks).
pub(crate) fn matvec_blocks(format: Format, weights: &[u8], x: ActivationRow<'_>, out: &mut [f32]) {
    with_layout!(format, L => {
        let rows = blocks::<L>(weights).chunks_exact((x.columns() / L::LEN).max(1));
        out.fill(0.0);
        for (out, blocks) in out.iter_mut().zip(rows) {
            *out = dot_blocks::<L>(blocks, x);
        }
    });
}

fn dot_blocks<L: Layout>(weights: &[L], x: ActivationRow<'_>) -> f32 {
    let mut x = x.codes().as_chunks::<TILE>().0.iter().zip(x.blocks);
    let mut acc = 0.0;
    for block in weights {
        let weights = block.all_codes();
        for (t, (weights, (codes, x_block))) in weights[..L::LEN].as_chunks::<TILE>().0.iter().zip(&mut x).enumerate() {
            acc = add_tile::<L>(acc, weights, &block.tile_scales(t), XTile { codes, block: x_block });
        }
    }
    acc
}
