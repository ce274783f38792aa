//! What products of bytes ask of an instruction set, beside [`Simd`].
//!
//! A lane is 32 bits: four codes of one row. Codes are unsigned, activations signed.

use crate::simd::Simd;

/// Vectors of bytes and their products.
pub(crate) trait ByteSimd: Simd {
    /// Four bytes in each lane.
    type Bytes: Copy;
    /// Four bytes in each lane, readied for [`dot_wide`](ByteSimd::dot_wide).
    type Wide: Copy;
    /// Four activations, readied for [`dot_wide`](ByteSimd::dot_wide), the same in each lane.
    type WideWord: Copy;
    /// A sum of products in each lane, perhaps in two parts.
    type Sum: Copy;
    /// Sums of products of one tile of one row, those of its first half in the first lanes.
    type TileSums: Copy;
    /// How many rows of activations the product of matrices handles at a time, as the registers allow.
    const ROWS: usize;
    /// How many groups of rows of weights the product of matrices handles at a time.
    const GROUPS: usize;
    /// What [`wide`](ByteSimd::wide) leaves of the 128 by which codes of eight bits are too large.
    const WIDE_ZERO: i32;

    /// # Safety
    /// A vector can be read from `from`, at any alignment.
    unsafe fn load_bytes(self, from: *const u8) -> Self::Bytes;
    /// # Safety
    /// A vector can be written to `to`, at any alignment.
    unsafe fn store_bytes(self, bytes: Self::Bytes, to: *mut u8);
    /// Unsigned bytes, one per lane.
    ///
    /// # Safety
    /// So many bytes can be read from `from`.
    unsafe fn load_u8(self, from: *const u8) -> Self::F;
    /// Signed bytes, one per lane.
    ///
    /// # Safety
    /// So many bytes can be read from `from`.
    unsafe fn load_i8(self, from: *const u8) -> Self::F;
    /// The low four bits of each byte.
    fn low(self, bytes: Self::Bytes) -> Self::Bytes;
    /// The high four bits of each byte.
    fn high(self, bytes: Self::Bytes) -> Self::Bytes;
    /// `low` with bit `STEP` of `plane` as its fifth bit.
    fn fifth<const STEP: usize>(self, low: Self::Bytes, plane: Self::Bytes) -> Self::Bytes;
    /// The low six bits of each byte.
    fn low_six(self, bytes: Self::Bytes) -> Self::Bytes;
    /// The upper two bits of three bytes, those of `a` above.
    fn upper_twos(self, a: Self::Bytes, b: Self::Bytes, c: Self::Bytes) -> Self::Bytes;

    /// Four bytes, the same in each lane.
    ///
    /// # Safety
    /// Four bytes can be read from `from`.
    unsafe fn word(self, from: *const i8) -> Self::Bytes;
    /// Sums that begin with the same number in each lane.
    ///
    /// # Safety
    /// `from` can be read.
    unsafe fn begin(self, from: *const i32) -> Self::Sum;
    /// Sums that begin with zero.
    fn zero(self) -> Self::Sum;
    /// Adds the products of codes by activations. Between two calls of [`settle`](ByteSimd::settle)
    /// the codes that meet in a lane must not exceed 127 · 2 in sum: eight steps of four bits, four
    /// of five, two of six.
    fn dot(self, sum: Self::Sum, codes: Self::Bytes, word: Self::Bytes) -> Self::Sum;
    /// Adds the products of the high four bits of bytes by activations to two sums that
    /// [`join`](ByteSimd::join) makes one of. Where sums have room for it, they go to the second
    /// one sixteenfold: a shift less for each vector.
    #[inline(always)]
    fn dot_high(self, [sum, sixteenfold]: [Self::Sum; 2], two: Self::Bytes, word: Self::Bytes) -> [Self::Sum; 2] {
        [self.dot(sum, self.high(two), word), sixteenfold]
    }
    /// A sum and one of sixteenfold products, which began with zero.
    #[inline(always)]
    fn join(self, [sum, _]: [Self::Sum; 2]) -> Self::Sum {
        sum
    }
    /// Makes room for more products.
    fn settle(self, sum: Self::Sum) -> Self::Sum;
    /// Codes of eight bits, readied.
    fn wide(self, codes: Self::Bytes) -> Self::Wide;
    /// Four activations, readied: from codes or from wide codes.
    ///
    /// # Safety
    /// Four codes can be read from either.
    unsafe fn wide_word(self, codes: *const i8, wide: *const i16) -> Self::WideWord;
    /// Adds the products of codes of eight bits by activations; needs no settling.
    fn dot_wide(self, sum: Self::Sum, codes: Self::Wide, word: Self::WideWord) -> Self::Sum;
    /// The sums after settling, as f32.
    fn sum_to_f32(self, sum: Self::Sum) -> Self::F;

    /// Sums of the products of 32 codes, counted from 0, by 32 activations. Codes of less than eight bits.
    fn dot_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> Self::TileSums;
    /// The same for codes of eight bits, less 128.
    fn dot_wide_tile(self, codes: &[u8; 32], x: &[i8; 32]) -> Self::TileSums;
    /// The sums of either half of four tiles.
    fn halves(self, tiles: &[Self::TileSums; 4]) -> [[i32; 4]; 2];
    /// The sums of four tiles.
    fn wholes(self, tiles: &[Self::TileSums; 4]) -> [i32; 4];

    /// The bits of the largest amount among 32 values; a NaN counts as larger than infinity.
    ///
    /// # Safety
    /// 32 values can be read from `from`.
    unsafe fn largest_bits(self, from: *const f32) -> u32;
    /// Rounds 32 values times `inverse`, which gives −127 to 127, and returns the sums of the two halves.
    ///
    /// # Safety
    /// 32 values can be read from `from`, and written to `codes` and to `wide`.
    unsafe fn round_block(self, from: *const f32, inverse: f32, codes: *mut i8, wide: *mut i16) -> [i32; 2];
}

/// Writes the body once for each step, with its number as a constant.
macro_rules! steps {
    ($step:ident in [$($number:literal)+] $body:block) => {$({ const $step: usize = $number; $body })+};
}
pub(crate) use steps;

/// Loops from 0 to a constant that are surely unrolled, so that what is indexed by their counter can live in registers:
/// over the vectors of some groups, of which there are up to four, or over up to six rows.
macro_rules! unrolled {
    ($v:ident < vectors $end:expr => $body:block) => {
        $crate::quant::byte_simd::unrolled!($v in [0 1 2 3] < $end => $body)
    };
    ($r:ident < rows $end:expr => $body:block) => {
        $crate::quant::byte_simd::unrolled!($r in [0 1 2 3 4 5] < $end => $body)
    };
    ($i:ident in [$($number:literal)+] < $end:expr => $body:block) => {$(
        if $number < $end {
            let $i = $number;
            $body
        }
    )+};
}
pub(crate) use unrolled;
