//! Weights laid out for the vectors that multiply them.
//!
//! Rows go in groups of 16, the last one filled up with zeros. A tile of 16 rows × 32 columns is
//! eight steps of 16 rows × 4 columns: 64 bytes, in which 32 bits are four columns of one row. A
//! vector multiplies such words by four activations that are the same for all rows, so its lanes
//! are the rows and nothing is ever added across lanes.
//!
//! | bits | a tile in memory |
//! |---|---|
//! | 8 | the eight steps, codes counted from 0 (−128 is 0) |
//! | 4 | four lines of 64 bytes: the low halves of line j are step 2j, the high halves step 2j + 1 |
//! | 5 | a line in which bit j is the fifth bit of step j, then as 4 |
//! | 6 | three lines whose low six bits are steps 0, 1 and 2, the upper two those of step 3 from the highest on; the same for steps 4 + j |
//!
//! A chunk is pairs of tiles, each behind its scales; a group is a row of chunks. The chunks of
//! four groups lie in turn (a band; the last one may have fewer groups), and the matrix is a column
//! of bands: memory is read in the order in which it lies, and activations are read once for four
//! groups. With one group after the other, activations had left L1 each time they were needed
//! again, and from DRAM q4_0 came at 75 % of the bandwidth instead of 93 %; with the scales of
//! eight tiles before all of them, q4_k came up to 3 % slower. Chunks are whole cache lines:
//!
//! | formats | tiles | before all of them | before each pair (16 rows each) |
//! |---|---|---|---|
//! | Q4_0, Q5_0, Q8_0 | 2 | | f16 scales of each tile |
//! | Q4_1, Q5_1 | 2 | | the same, then f16 offsets of each tile |
//! | Q4_K, Q5_K | 8 | f16 d, f16 dmin of 16 rows | u8 scales of each tile, u8 mins of each tile |
//! | Q6_K | 8 | f16 d of 16 rows, 32 bytes of nothing | i8 scales of both halves of each tile |
//!
//! An odd tile at the end of a row has a chunk of its own, with nothing behind its codes: filled
//! up, rows of nine tiles would take 11 % more memory.

use std::marker::PhantomData;
use std::ops::Range;

use super::block::blocks;
use super::format::Format;
pub(crate) use super::format::with_layout;
use super::half::f32_to_f16;
use super::tile::{TILE, Tiled};
use crate::memory::{AlignedBuffer, HugePageArena};

/// How many rows a group has.
pub const GROUP: usize = 16;

/// How many groups a band has.
pub(crate) const BAND: usize = 4;

/// A step of one group: 16 rows × 4 columns.
pub(crate) const LINE: usize = 64;

/// The line of a tile of codes of four or five bits that holds the low four bits of a step. The
/// fifth bits come first, since they are needed first.
pub(crate) const fn low_line(bits: usize, step: usize) -> usize {
    (bits - 4) + step / 2
}

/// The line of a tile of codes of six bits that holds those of a step, the fourth of each four
/// excepted; that is in this and the two behind it.
pub(crate) const fn six_bit_line(step: usize) -> usize {
    step / 4 * 3 + step % 4 % 3
}

/// How a format lies in a [`PackedWeights`]. Offsets are in bytes from the beginning of a chunk.
pub(crate) trait Layout: Tiled {
    /// Whether scales are small integers times an f16 of the chunk.
    const NESTED: bool = false;
    /// Tiles per chunk.
    const TILES: usize = if Self::NESTED { 8 } else { 2 };
    /// Where the first pair of tiles begins.
    const PAIRS: usize = if Self::NESTED { LINE } else { 0 };
    /// Bytes of scales per tile.
    const TILE_SCALES: usize = GROUP * (if Self::NESTED { 1 } else { 2 }) * (if Self::HALVED { 2 } else { 1 });
    /// Bytes of scales and offsets of a pair of tiles.
    const PAIR_SCALES: usize = 2 * Self::TILE_SCALES * (if Self::OFFSETS { 2 } else { 1 });
    /// Bytes of codes per tile.
    const TILE_CODES: usize = LINE * Self::BITS;
    /// Bytes per chunk.
    const CHUNK: usize = Self::PAIRS + Self::TILES / 2 * (Self::PAIR_SCALES + 2 * Self::TILE_CODES);

    /// Where the f16 scales of a tile, or the small integers, begin.
    #[inline(always)]
    fn scales_at(tile: usize) -> usize {
        Self::PAIRS + tile / 2 * (Self::PAIR_SCALES + 2 * Self::TILE_CODES) + tile % 2 * Self::TILE_SCALES
    }
    /// Where its offsets begin; they are as long as the scales.
    #[inline(always)]
    fn offsets_at(tile: usize) -> usize {
        Self::scales_at(tile) + 2 * Self::TILE_SCALES
    }
    /// Where its codes begin.
    #[inline(always)]
    fn codes_at(tile: usize) -> usize {
        Self::scales_at(tile - tile % 2) + Self::PAIR_SCALES + tile % 2 * Self::TILE_CODES
    }

    /// Writes the scales of row `row` of a group into its chunk. This is for formats that are not
    /// nested: one f16 scale per tile, and perhaps an f16 offset.
    fn write_scales(&self, chunk: &mut [u8], first_tile: usize, row: usize) {
        let tile = self.tile_scales(0);
        put_half(chunk, Self::scales_at(first_tile) + 2 * row, tile.scales[0]);
        if Self::OFFSETS {
            put_half(chunk, Self::offsets_at(first_tile) + 2 * row, tile.offset);
        }
    }
}

/// Writes an f16.
pub(crate) fn put_half(chunk: &mut [u8], at: usize, value: f32) {
    chunk[at..at + 2].copy_from_slice(&f32_to_f16(value).to_le_bytes());
}

/// A matrix of weights, one row per output, laid out for
/// [`Kernels::matvec_packed`](crate::Kernels::matvec_packed) and
/// [`Kernels::matmul_packed`](crate::Kernels::matmul_packed). Where rows come in sixteens and
/// blocks in pairs it takes the memory that the file takes, Q4_K, Q5_K and Q6_K up to 3 % more;
/// else rows are filled up to sixteens, and the scales of an odd block take a pair's room.
#[derive(Debug, Clone)]
pub struct PackedWeights {
    format: Format,
    rows: usize,
    columns: usize,
    shape: Shape,
    bytes: AlignedBuffer<u8>, // (band, chunk, group of the band, scales and tiles); odd chunks at the end of a band
}

impl PackedWeights {
    /// Whether weights of this format can be packed: all but the floats can.
    pub const fn supports(format: Format) -> bool {
        format.is_packable()
    }

    /// A matrix of zeros, to be filled by [`PackedWeights::groups_mut`].
    ///
    /// # Panics
    /// Where the format cannot be packed, or `columns` are no whole blocks.
    pub fn zeroed(format: Format, rows: usize, columns: usize) -> Self {
        Self::zeroed_in(&mut HugePageArena::new(0), format, rows, columns)
    }

    /// As [`PackedWeights::zeroed`], in memory of an arena.
    ///
    /// # Panics
    /// As that.
    pub fn zeroed_in(arena: &mut HugePageArena, format: Format, rows: usize, columns: usize) -> Self {
        let len = format.block_len();
        assert!(columns.is_multiple_of(len), "{columns} columns are no whole blocks of {len}");
        let shape = with_layout!(format, L => Shape::new::<L>(rows, columns));
        let bytes = shape.bytes();
        let bytes = arena.zeroed(bytes.expect("a matrix no larger than memory can be"));
        Self { format, rows, columns, shape, bytes }
    }

    /// The matrix whose rows lie one behind the other in `file`, as blocks of that format.
    ///
    /// # Panics
    /// Where the format cannot be packed, `columns` are no whole blocks, or `file` has another length than so many rows have.
    pub fn pack(format: Format, rows: usize, columns: usize, file: &[u8]) -> Self {
        let mut matrix = Self::zeroed(format, rows, columns);
        let row_bytes = matrix.row_bytes();
        assert_eq!(file.len(), rows * row_bytes, "the bytes of {rows} rows of {columns} columns");
        if row_bytes > 0 {
            for (group, rows) in matrix.groups_mut().zip(file.chunks(GROUP * row_bytes)) {
                group.pack(rows);
            }
        }
        matrix
    }

    /// The format of the weights.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How many rows there are: outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are: inputs.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// How many groups of [`GROUP`] rows there are; the last one may be filled up with zeros.
    pub fn groups(&self) -> usize {
        self.rows.div_ceil(GROUP)
    }

    /// All rows.
    pub fn whole(&self) -> PackedRows<'_> {
        self.part(0..self.groups())
    }

    /// The rows of some groups, which are what threads divide among them.
    ///
    /// # Panics
    /// Where there are not so many groups.
    #[track_caller]
    pub fn part(&self, groups: Range<usize>) -> PackedRows<'_> {
        assert!(groups.start <= groups.end && groups.end <= self.groups(), "groups {groups:?} of {}", self.groups());
        PackedRows { matrix: self, first: groups.start, end: groups.end }
    }

    /// The bytes that a row takes in the file.
    pub fn row_bytes(&self) -> usize {
        self.columns / self.format.block_len() * self.format.block_bytes()
    }

    /// The memory that the matrix takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The groups one by one, to be packed, on several threads if you like.
    pub fn groups_mut(&mut self) -> impl Iterator<Item = GroupMut<'_>> {
        let (format, columns, shape) = (self.format, self.columns, self.shape);
        let groups = if columns == 0 { 0 } else { self.groups() };
        let start = self.bytes.as_mut_ptr();
        (0..groups).map(move |group| GroupMut { format, columns, shape, group, start, borrowed: PhantomData })
    }
}

/// How many groups there are, of how many chunks.
#[derive(Debug, Clone, Copy)]
struct Shape {
    groups: usize,
    /// Whole chunks of a group, and the bytes of one.
    chunks: usize,
    chunk_bytes: usize,
    /// The bytes of the chunk of the odd tile; nothing where there is none.
    odd_bytes: usize,
}

impl Shape {
    fn new<L: Layout>(rows: usize, columns: usize) -> Self {
        let tiles = columns / TILE;
        let odd_bytes = match tiles % L::TILES {
            0 => 0,
            odd => {
                assert!(odd == 1, "formats whose chunks are larger have whole chunks");
                L::codes_at(0) + L::TILE_CODES
            }
        };
        Self { groups: rows.div_ceil(GROUP), chunks: tiles / L::TILES, chunk_bytes: L::CHUNK, odd_bytes }
    }

    /// Of the whole matrix, if so much can be addressed.
    fn bytes(self) -> Option<usize> {
        let group = self.chunks.checked_mul(self.chunk_bytes)?.checked_add(self.odd_bytes)?;
        self.groups.checked_mul(group)
    }

    fn group_bytes(self) -> usize {
        self.chunks * self.chunk_bytes + self.odd_bytes
    }

    /// Where the chunks of a group are, in bytes.
    #[inline(always)]
    fn strand(self, group: usize) -> Strand {
        let (band, place) = (group - group % BAND, group % BAND);
        let step = BAND.min(self.groups - band) * self.chunk_bytes;
        let start = band * self.group_bytes();
        Strand {
            first: start + place * self.chunk_bytes,
            step,
            odd: start + self.chunks * step + place * self.odd_bytes,
        }
    }

    /// The bytes of a chunk of a group.
    fn chunk(self, group: usize, chunk: usize) -> Range<usize> {
        let strand = self.strand(group);
        let whole = chunk < self.chunks;
        assert!(whole || chunk == self.chunks && self.odd_bytes > 0, "chunk {chunk} of {}", self.chunks);
        let start = if whole { strand.first + chunk * strand.step } else { strand.odd };
        start..start + if whole { self.chunk_bytes } else { self.odd_bytes }
    }
}

/// Where the chunks of a group are: the first, how far it is to the next, and that of the odd tile.
#[derive(Debug, Clone, Copy)]
struct Strand {
    first: usize,
    step: usize,
    odd: usize,
}

/// Groups of one band, side by side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Band {
    /// The first chunk of the first group; those of the others follow.
    pub start: *const u8,
    /// From a chunk to the next of the same group, in bytes.
    pub step: usize,
    /// The chunk of the first group's odd tile, if there is one; those of the others follow, each of so many bytes.
    pub odd: *const u8,
    pub odd_bytes: usize,
    /// How many groups, up to [`BAND`].
    pub groups: usize,
}

/// Some rows of a [`PackedWeights`]: whole groups of them.
#[derive(Debug, Clone, Copy)]
pub struct PackedRows<'a> {
    matrix: &'a PackedWeights,
    first: usize,
    end: usize,
}

impl PackedRows<'_> {
    /// Which rows of the matrix these are.
    pub fn rows(self) -> Range<usize> {
        (self.first * GROUP).min(self.matrix.rows)..(self.end * GROUP).min(self.matrix.rows)
    }

    /// How many columns there are.
    pub fn columns(self) -> usize {
        self.matrix.columns
    }

    pub(crate) fn format(self) -> Format {
        self.matrix.format
    }

    pub(crate) fn groups(self) -> usize {
        self.end - self.first
    }

    /// How many tiles a row has.
    pub(crate) fn tiles(self) -> usize {
        self.matrix.columns / TILE
    }

    /// The groups from `group` on that lie in one band.
    #[inline(always)]
    pub(crate) fn band(&self, group: usize) -> Band {
        let group = self.first + group;
        assert!(group < self.end);
        let shape = self.matrix.shape;
        let strand = shape.strand(group);
        // A matrix without columns has no chunk that could be pointed to.
        let at = |offset| self.matrix.bytes.as_ptr().wrapping_add(offset);
        Band {
            start: at(strand.first),
            step: strand.step,
            odd: at(strand.odd),
            odd_bytes: shape.odd_bytes,
            groups: (BAND - group % BAND).min(self.end - group),
        }
    }

    /// One chunk of a group.
    pub(crate) fn chunk(&self, group: usize, chunk: usize) -> &[u8] {
        &self.matrix.bytes[self.matrix.shape.chunk(self.first + group, chunk)]
    }
}

/// One group of a [`PackedWeights`] that is being packed.
#[derive(Debug)]
pub struct GroupMut<'a> {
    format: Format,
    columns: usize,
    shape: Shape,
    group: usize,
    /// Where the matrix begins.
    start: *mut u8,
    borrowed: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for a unique borrow of the chunks of its group.
unsafe impl Send for GroupMut<'_> {}
// SAFETY: a shared one gives nothing away.
unsafe impl Sync for GroupMut<'_> {}

impl GroupMut<'_> {
    /// Fills the group with up to [`GROUP`] rows of a file, one behind the other.
    ///
    /// # Panics
    /// Where `file` has more rows than that, or not whole ones.
    pub fn pack(self, file: &[u8]) {
        with_layout!(self.format, L => pack_group::<L>(self, blocks::<L>(file)));
    }

    /// The bytes of one chunk.
    fn chunk(&mut self, chunk: usize) -> &mut [u8] {
        let place = self.shape.chunk(self.group, chunk);
        // SAFETY: the group has such a chunk, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(place.start), place.len()) }
    }
}

fn pack_group<L: Layout>(mut group: GroupMut<'_>, file: &[L]) {
    let row_blocks = group.columns / L::LEN;
    assert!(file.len().is_multiple_of(row_blocks) && file.len() <= GROUP * row_blocks, "up to {GROUP} whole rows");
    let block_tiles = L::LEN / TILE;
    let chunks = (row_blocks * block_tiles).div_ceil(L::TILES);
    (0..chunks).for_each(|chunk| group.chunk(chunk).fill(0));
    for b in 0..row_blocks {
        let (chunk, first_tile) = (b * block_tiles / L::TILES, b * block_tiles % L::TILES);
        let chunk = group.chunk(chunk);
        for (row, block) in file[b..].iter().step_by(row_blocks).enumerate() {
            block.write_scales(chunk, first_tile, row);
            for (tile, codes) in block.all_codes()[..L::LEN].as_chunks::<TILE>().0.iter().enumerate() {
                write_codes::<L>(codes, row, &mut chunk[L::codes_at(first_tile + tile)..][..L::TILE_CODES]);
            }
        }
    }
}

/// Writes the codes of one row into a tile, four at a time: no byte of such a word meets its
/// neighbour, as codes are small.
#[inline(always)]
fn write_codes<L: Layout>(codes: &[u8; TILE], row: usize, tile: &mut [u8]) {
    let words: [u32; 8] = std::array::from_fn(|step| u32::from_le_bytes(codes.as_chunks::<4>().0[step]));
    let mut write = |line: usize, word: u32| {
        tile[LINE * line + 4 * row..][..4].copy_from_slice(&word.to_le_bytes());
    };
    if L::BITS == 8 {
        return words.iter().enumerate().for_each(|(step, word)| write(step, *word));
    }
    if L::BITS == 6 {
        for (half, [a, b, c, spread]) in words.as_chunks::<4>().0.iter().enumerate() {
            for (line, (code, shift)) in [(a, 2), (b, 4), (c, 6)].into_iter().enumerate() {
                write(3 * half + line, code | spread << shift & 0xc0c0_c0c0);
            }
        }
        return;
    }
    for (pair, two) in words.as_chunks::<2>().0.iter().enumerate() {
        let [low, high] = two.map(|word| word & 0x0f0f_0f0f);
        write(low_line(L::BITS, 2 * pair), low | high << 4);
    }
    if L::BITS == 5 {
        write(0, (0..8).fold(0, |line, step| line | (words[step] >> 4 & 0x0101_0101) << step));
    }
}
