//! Reading the cells of a cache as vectors of f32.

use crate::attention::{AttentionShape, CacheView};
use crate::quant::{Block, BlockQ8_0};
use crate::simd::Simd;

/// A kind of cell. A row is one head of one position.
pub(super) trait Cell: Copy {
    /// `N` whole vectors from value `dim` of a row on. Where they have scales, `dim` is a multiple of their length or of 32.
    ///
    /// # Safety
    /// The row has so many values.
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const Self, dim: usize) -> [S::F; N];

    /// Less than a vector, zero in the other lanes.
    ///
    /// # Safety
    /// The row has so many values.
    unsafe fn load_part<S: Simd>(simd: S, row: *const Self, dim: usize, len: usize) -> S::F;
}

impl Cell for f32 {
    #[inline(always)]
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const f32, dim: usize) -> [S::F; N] {
        let mut vectors = [simd.splat(0.0); N];
        for (j, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            *vector = unsafe { simd.load_ptr(row.add(dim + j * S::LANES)) };
        }
        vectors
    }

    #[inline(always)]
    unsafe fn load_part<S: Simd>(simd: S, row: *const f32, dim: usize, len: usize) -> S::F {
        // SAFETY: as the caller promises.
        simd.load_part(unsafe { std::slice::from_raw_parts(row.add(dim), len) })
    }
}

impl Cell for u16 {
    #[inline(always)]
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const u16, dim: usize) -> [S::F; N] {
        let mut vectors = [simd.splat(0.0); N];
        for (j, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            *vector = unsafe { simd.load_f16_ptr(row.add(dim + j * S::LANES)) };
        }
        vectors
    }

    #[inline(always)]
    unsafe fn load_part<S: Simd>(simd: S, row: *const u16, dim: usize, len: usize) -> S::F {
        let mut whole = [0; super::MAX_LANES];
        // SAFETY: as the caller promises.
        whole[..len].copy_from_slice(unsafe { std::slice::from_raw_parts(row.add(dim), len) });
        simd.load_f16(&whole)
    }
}

impl Cell for BlockQ8_0 {
    /// The products of codes and scale are exact: eight bits times eleven.
    #[inline(always)]
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const BlockQ8_0, dim: usize) -> [S::F; N] {
        let mut vectors = [simd.splat(0.0); N];
        let mut scale = simd.splat(0.0);
        for (j, vector) in vectors.iter_mut().enumerate() {
            let at = dim + j * S::LANES;
            // SAFETY: as the caller promises, and a block is two bytes of scale before one byte for each code.
            unsafe {
                let block = row.add(at / BlockQ8_0::LEN).cast::<u8>();
                if j == 0 || (j * S::LANES).is_multiple_of(BlockQ8_0::LEN) {
                    scale = simd.splat_f16(u16::from_le(block.cast::<u16>().read_unaligned()));
                }
                *vector = simd.mul(simd.load_i8_ptr(block.add(2 + at % BlockQ8_0::LEN).cast()), scale);
            }
        }
        vectors
    }

    /// A head has whole blocks, so there is always a whole vector to read; what is beyond the row is made zero.
    #[inline(always)]
    unsafe fn load_part<S: Simd>(simd: S, row: *const BlockQ8_0, dim: usize, len: usize) -> S::F {
        let mut whole = [0.0; super::MAX_LANES];
        // SAFETY: as above; a vector does not cross the end of a block.
        let [vector] = unsafe { Self::load::<S, 1>(simd, row, dim) };
        simd.store(vector, &mut whole);
        simd.load_part(&whole[..len])
    }
}

/// The rows of one head: where position 0 is, and how far the others.
#[derive(Clone, Copy)]
pub(super) struct HeadRows<C> {
    first: *const C,
    stride: usize,
}

impl<C> HeadRows<C> {
    #[inline(always)]
    pub(super) fn new(cells: &[C], view: &CacheView<'_>, kv_head: usize) -> Self {
        // Wrapping: a cache of no positions is shorter than this.
        Self { first: cells.as_ptr().wrapping_add(kv_head * view.head_stride), stride: view.position_stride }
    }

    /// The row of a position; to be read only where the cache has it.
    #[inline(always)]
    pub(super) fn row(&self, position: usize) -> *const C {
        self.first.wrapping_add(position * self.stride)
    }
}

/// `head_dim` in whole vectors of any instruction set.
#[inline(always)]
pub(super) fn padded(shape: &AttentionShape) -> usize {
    shape.head_dim.next_multiple_of(super::MAX_LANES)
}
