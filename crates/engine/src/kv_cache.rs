//! Keys and values of the positions that were computed.
//!
//! (layer, sequence, head, position, value): one head's positions lie in one piece, which is how attention reads them.

use std::ops::Range;

use kernels::quant::{Block, BlockQ8_0};
use kernels::{AlignedBuffer, CacheCells, CacheView, Pool};

use crate::{Compute, Error, Result};

/// How the cache keeps its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheType {
    /// Single precision.
    F32,
    /// Half precision.
    #[default]
    F16,
    /// Bytes with a scale for 32 of them.
    Q8_0,
}

impl CacheType {
    /// All of them.
    pub const ALL: [CacheType; 3] = [CacheType::F32, CacheType::F16, CacheType::Q8_0];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            CacheType::F32 => "f32",
            CacheType::F16 => "f16",
            CacheType::Q8_0 => "q8_0",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Cells that hold one head of one position, and the bytes of a cell.
    fn cells(self, head_dim: usize) -> (usize, usize) {
        match self {
            CacheType::F32 => (head_dim, 4),
            CacheType::F16 => (head_dim, 2),
            CacheType::Q8_0 => (head_dim.div_ceil(BlockQ8_0::LEN), size_of::<BlockQ8_0>()),
        }
    }
}

/// The sizes of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheShape {
    pub kind: CacheType,
    pub layers: usize,
    pub sequences: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub context: usize,
}

impl CacheShape {
    /// The bytes of keys and values of one position of one sequence.
    pub(crate) fn bytes_per_position(&self) -> usize {
        let (cells, bytes) = self.kind.cells(self.head_dim);
        2 * self.layers * self.kv_heads * cells * bytes
    }

    /// The bytes of the whole cache.
    pub(crate) fn bytes(&self) -> Result<usize> {
        let positions = self.sequences.checked_mul(self.context);
        positions
            .and_then(|positions| positions.checked_mul(self.bytes_per_position()))
            .ok_or_else(|| Error::refused("a cache too large for any memory"))
    }

    fn per_head(&self) -> usize {
        self.context * self.kind.cells(self.head_dim).0
    }
}

/// The cache of some sequences.
#[derive(Debug)]
pub(crate) struct KvCache {
    shape: CacheShape,
    keys: Cells,
    values: Cells,
}

#[derive(Debug)]
enum Cells {
    F32(AlignedBuffer<f32>),
    F16(AlignedBuffer<u16>),
    Q8_0(Vec<BlockQ8_0>),
}

impl Cells {
    fn zeroed(kind: CacheType, len: usize) -> Self {
        match kind {
            CacheType::F32 => Cells::F32(AlignedBuffer::zeroed(len)),
            CacheType::F16 => Cells::F16(AlignedBuffer::zeroed(len)),
            CacheType::Q8_0 => Cells::Q8_0(vec![BlockQ8_0::default(); len]),
        }
    }
}

/// Rows of keys or values that go into the cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewRows<'a> {
    /// (token, all that was projected): each row begins `stride` behind the one before, with the first head.
    pub rows: &'a [f32],
    pub stride: usize,
    pub count: usize,
    /// Where they go.
    pub layer: usize,
    pub sequence: usize,
    pub first_position: usize,
}

impl KvCache {
    pub(crate) fn new(shape: CacheShape) -> Self {
        let len = shape.layers * shape.sequences * shape.kv_heads * shape.per_head();
        Self { shape, keys: Cells::zeroed(shape.kind, len), values: Cells::zeroed(shape.kind, len) }
    }

    pub(crate) fn shape(&self) -> &CacheShape {
        &self.shape
    }

    /// The keys and the values of a sequence in a layer.
    pub(crate) fn views(&self, layer: usize, sequence: usize) -> (CacheView<'_>, CacheView<'_>) {
        (self.view(&self.keys, layer, sequence), self.view(&self.values, layer, sequence))
    }

    fn view<'a>(&self, cells: &'a Cells, layer: usize, sequence: usize) -> CacheView<'a> {
        let range = self.range(layer, sequence);
        let cells = match cells {
            Cells::F32(cells) => CacheCells::F32(&cells[range]),
            Cells::F16(cells) => CacheCells::F16(&cells[range]),
            Cells::Q8_0(cells) => CacheCells::Q8_0(&cells[range]),
        };
        let position_stride = cells.per_head(self.shape.head_dim);
        CacheView { cells, position_stride, head_stride: self.shape.per_head() }
    }

    fn range(&self, layer: usize, sequence: usize) -> Range<usize> {
        let len = self.shape.kv_heads * self.shape.per_head();
        let first = (layer * self.shape.sequences + sequence) * len;
        first..first + len
    }

    /// Writes the keys of some tokens.
    pub(crate) fn store_keys(&mut self, compute: &Compute, new: &NewRows<'_>) {
        let range = self.range(new.layer, new.sequence);
        self.keys.store(&self.shape, range, compute, new);
    }

    /// Writes the values of some tokens.
    pub(crate) fn store_values(&mut self, compute: &Compute, new: &NewRows<'_>) {
        let range = self.range(new.layer, new.sequence);
        self.values.store(&self.shape, range, compute, new);
    }
}

/// What one thread stores per nanosecond, for deciding whether others are worth waking.
const VALUES_PER_NS: f64 = 5.0;

impl Cells {
    fn store(&mut self, shape: &CacheShape, range: Range<usize>, compute: &Compute, new: &NewRows<'_>) {
        let Compute { kernels, pool } = compute;
        match self {
            Cells::F32(cells) => store(shape, &mut cells[range], pool, new, |from, to| to.copy_from_slice(from)),
            Cells::F16(cells) => store(shape, &mut cells[range], pool, new, |from, to| kernels.store_f16(from, to)),
            Cells::Q8_0(cells) => store(shape, &mut cells[range], pool, new, |from, to| kernels.store_q8_0(from, to)),
        }
    }
}

/// Stores head by head, since the cells of a head lie in one piece.
fn store<T: Send>(
    shape: &CacheShape,
    cells: &mut [T],
    pool: &Pool,
    new: &NewRows<'_>,
    convert: impl Fn(&[f32], &mut [T]) + Sync,
) {
    let (dim, position) = (shape.head_dim, shape.kind.cells(shape.head_dim).0);
    let parts = pool.parts((new.count * shape.kv_heads * dim) as f64 / VALUES_PER_NS);
    pool.run_rows(parts, cells, shape.per_head(), |heads, cells| {
        for (head, cells) in heads.zip(cells.chunks_mut(shape.per_head())) {
            let places = cells.chunks_mut(position).skip(new.first_position);
            for (row, place) in (0..new.count).zip(places) {
                convert(&new.rows[row * new.stride + head * dim..][..dim], place);
            }
        }
    });
}
