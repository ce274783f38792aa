//! Reading the cells of a cache as vectors of f32.

use crate::attention::{AttentionShape, CacheView};
use crate::quant::{Block, BlockQ8_0};
use crate::simd::Simd;

/// A kind of cell. A row is one head of one position.
///
/// # Safety
/// of all methods: `N` vectors from value `dim` on lie in the row (or `len` values), and `dim` is a multiple of their
/// length or of 32.
pub(super) trait Cell: Copy {
    /// Values of a cell.
    const VALUES: usize = 1;

    /// The values.
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const Self, dim: usize) -> [S::F; N];

    /// Less than a vector, zero in the other lanes.
    unsafe fn load_part<S: Simd>(simd: S, row: *const Self, dim: usize, len: usize) -> S::F;

    /// `sum` plus the products with as many values at `query`.
    #[inline(always)]
    unsafe fn add_products<S: Simd, const N: usize>(
        simd: S,
        row: *const Self,
        dim: usize,
        query: *const f32,
        mut sum: S::F,
    ) -> S::F {
        // SAFETY: as the caller promises.
        let values: [S::F; N] = unsafe { Self::load(simd, row, dim) };
        for (j, value) in values.into_iter().enumerate() {
            // SAFETY: as the caller promises.
            sum = simd.fma(unsafe { simd.load_ptr(query.add(dim + j * S::LANES)) }, value, sum);
        }
        sum
    }

    /// Adds the values times `weight`.
    #[inline(always)]
    unsafe fn add_weighted<S: Simd, const N: usize>(
        simd: S,
        row: *const Self,
        dim: usize,
        weight: S::F,
        sums: &mut [S::F; N],
    ) {
        // SAFETY: as the caller promises.
        let values: [S::F; N] = unsafe { Self::load(simd, row, dim) };
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = simd.fma(weight, value, *sum);
        }
    }
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

/// Whether vector `j` of a run begins a block.
#[inline(always)]
fn begins<S: Simd>(j: usize) -> bool {
    j == 0 || (j * S::LANES).is_multiple_of(BlockQ8_0::LEN)
}

/// The scale of the block with value `dim`.
///
/// # Safety
/// The row has that value.
#[inline(always)]
unsafe fn scale<S: Simd>(simd: S, row: *const BlockQ8_0, dim: usize) -> S::F {
    // SAFETY: as the caller promises; a block begins with its scale.
    simd.splat_f16(u16::from_le(unsafe { row.add(dim / BlockQ8_0::LEN).cast::<u16>().read_unaligned() }))
}

/// The codes from value `dim` on.
///
/// # Safety
/// The row has a vector of values there, in one block.
#[inline(always)]
unsafe fn codes<S: Simd>(simd: S, row: *const BlockQ8_0, dim: usize) -> S::F {
    // SAFETY: as the caller promises; the codes stand behind the two bytes of the scale.
    unsafe {
        let block = row.add(dim / BlockQ8_0::LEN).cast::<i8>();
        simd.load_i8_ptr(block.add(2 + dim % BlockQ8_0::LEN))
    }
}

impl Cell for BlockQ8_0 {
    const VALUES: usize = Self::LEN;

    /// The products of codes and scale are exact: eight bits times eleven.
    #[inline(always)]
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const BlockQ8_0, dim: usize) -> [S::F; N] {
        let mut vectors = [simd.splat(0.0); N];
        let mut factor = simd.splat(0.0);
        for (j, vector) in vectors.iter_mut().enumerate() {
            let at = dim + j * S::LANES;
            // SAFETY: as the caller promises.
            unsafe {
                if begins::<S>(j) {
                    factor = scale(simd, row, at);
                }
                *vector = simd.mul(codes(simd, row, at), factor);
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

    /// The scale once for a block's sum instead of once for each vector.
    #[inline(always)]
    unsafe fn add_products<S: Simd, const N: usize>(
        simd: S,
        row: *const BlockQ8_0,
        dim: usize,
        query: *const f32,
        mut sum: S::F,
    ) -> S::F {
        let mut of_block = simd.splat(0.0);
        for j in 0..N {
            let at = dim + j * S::LANES;
            // SAFETY: as the caller promises.
            unsafe {
                let (codes, query) = (codes(simd, row, at), simd.load_ptr(query.add(at)));
                of_block = if begins::<S>(j) { simd.mul(query, codes) } else { simd.fma(query, codes, of_block) };
                if j + 1 == N || begins::<S>(j + 1) {
                    sum = simd.fma(of_block, scale(simd, row, at), sum);
                }
            }
        }
        sum
    }

    /// The scale in the weight instead of in each vector.
    #[inline(always)]
    unsafe fn add_weighted<S: Simd, const N: usize>(
        simd: S,
        row: *const BlockQ8_0,
        dim: usize,
        weight: S::F,
        sums: &mut [S::F; N],
    ) {
        let mut factor = weight;
        for (j, sum) in sums.iter_mut().enumerate() {
            let at = dim + j * S::LANES;
            // SAFETY: as the caller promises.
            unsafe {
                if begins::<S>(j) {
                    factor = simd.mul(weight, scale(simd, row, at));
                }
                *sum = simd.fma(factor, codes(simd, row, at), *sum);
            }
        }
    }
}

/// A block that several heads use: they share its values, scale and all. Each head's result is the same, however many
/// others there are.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Shared(BlockQ8_0);

impl Cell for Shared {
    const VALUES: usize = BlockQ8_0::LEN;

    #[inline(always)]
    unsafe fn load<S: Simd, const N: usize>(simd: S, row: *const Shared, dim: usize) -> [S::F; N] {
        // SAFETY: as the caller promises; the layout is the same.
        unsafe { BlockQ8_0::load(simd, row.cast(), dim) }
    }

    #[inline(always)]
    unsafe fn load_part<S: Simd>(simd: S, row: *const Shared, dim: usize, len: usize) -> S::F {
        // SAFETY: as the caller promises; the layout is the same.
        unsafe { BlockQ8_0::load_part(simd, row.cast(), dim, len) }
    }
}

impl HeadRows<BlockQ8_0> {
    /// For several heads.
    #[inline(always)]
    pub(super) fn shared(self) -> HeadRows<Shared> {
        HeadRows { first: self.first.cast(), stride: self.stride }
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

    /// Rows in scratch.
    #[inline(always)]
    pub(super) fn in_scratch(rows: &[C], stride: usize) -> Self {
        Self { first: rows.as_ptr(), stride }
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
