//! What the block formats have in common: a fixed number of weights in a fixed number of bytes.

/// A block of weights as it stands in a file.
///
/// # Safety
/// The type has alignment 1, no padding, every pattern of its bytes is a value, and `BYTES` is its size.
pub unsafe trait Block: Copy + Send + Sync + 'static {
    /// How many weights a block holds.
    const LEN: usize;
    /// How many bytes a block takes.
    const BYTES: usize = size_of::<Self>();

    /// The weights of this block, `LEN` of them. Every product and sum is rounded to f32 in the
    /// order that the format's file gives, so that every instruction set has the same bits.
    fn dequantise(&self, out: &mut [f32]);

    /// The block that stands for `LEN` values.
    fn quantise(values: &[f32]) -> Self;

    /// Whether all weights are finite. In formats with codes they are if the scales are: the
    /// product of the largest f16 with the largest codes is far below the largest f32.
    fn is_finite(&self) -> bool;

    /// The largest magnitude that a weight may have before it is quantised: that of a half, where scales are halves.
    const LARGEST: f32 = 65504.0;
}

/// Blocks checked between two decisions to stop: inside, the loop has no branch and becomes vectors.
const STRETCH: usize = 1024;

/// The first block with a weight that is infinite or NaN.
pub(crate) fn first_non_finite<B: Block>(bytes: &[u8]) -> Option<usize> {
    let blocks = blocks::<B>(&bytes[..bytes.len() - bytes.len() % B::BYTES]);
    let mut stretches = blocks.chunks(STRETCH);
    let stretch = stretches.position(|stretch| stretch.iter().fold(false, |any, block| any | !block.is_finite()))?;
    let within = blocks[stretch * STRETCH..].iter().position(|block| !block.is_finite())?;
    Some(stretch * STRETCH + within)
}

/// The blocks of a row or of a whole tensor, where they lie; at any alignment.
///
/// # Panics
/// Where `bytes` are not whole blocks.
#[inline]
#[track_caller]
pub fn blocks<B: Block>(bytes: &[u8]) -> &[B] {
    assert!(bytes.len().is_multiple_of(B::BYTES), "{} bytes are no whole blocks of {}", bytes.len(), B::BYTES);
    // SAFETY: the trait promises alignment 1 and that any bytes are a value; so many whole blocks lie in `bytes`.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / B::BYTES) }
}

/// As [`blocks`], for writing.
///
/// # Panics
/// Where `bytes` are not whole blocks.
#[inline]
#[track_caller]
pub fn blocks_mut<B: Block>(bytes: &mut [u8]) -> &mut [B] {
    assert!(bytes.len().is_multiple_of(B::BYTES), "{} bytes are no whole blocks of {}", bytes.len(), B::BYTES);
    // SAFETY: as in `blocks`; and a block has no padding, so writing one leaves every byte initialised.
    unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / B::BYTES) }
}

/// A row of blocks to its weights; whole blocks on both sides.
#[inline(always)]
pub(crate) fn dequantise_row<B: Block>(from: &[u8], out: &mut [f32]) {
    for (block, out) in blocks::<B>(from).iter().zip(out.chunks_exact_mut(B::LEN)) {
        block.dequantise(out);
    }
}

/// A row of weights to blocks; whole blocks on both sides.
#[inline(always)]
pub(crate) fn quantise_row<B: Block>(from: &[f32], out: &mut [u8]) {
    for (values, block) in from.chunks_exact(B::LEN).zip(blocks_mut::<B>(out)) {
        *block = B::quantise(values);
    }
}

/// A half-precision value as two bytes of a file.
#[inline(always)]
pub(crate) fn half(bytes: [u8; 2]) -> f32 {
    super::half::f16_to_f32(u16::from_le_bytes(bytes))
}

/// Whether such a value is neither infinite nor NaN.
#[inline(always)]
pub(crate) fn half_is_finite(bytes: [u8; 2]) -> bool {
    u16::from_le_bytes(bytes) & 0x7c00 != 0x7c00
}

/// The codes of 16 bytes: the low halves are the first 16 elements, the high halves the other 16.
#[inline(always)]
pub(crate) fn nibbles(bytes: &[u8; 16]) -> [u8; 32] {
    let mut codes = [0; 32];
    for (i, byte) in bytes.iter().enumerate() {
        codes[i] = byte & 15;
        codes[i + 16] = byte >> 4;
    }
    codes
}

/// The inverse of [`nibbles`]; only the low four bits of each code are used.
#[inline(always)]
pub(crate) fn pack_nibbles(codes: &[u8; 32]) -> [u8; 16] {
    let mut bytes = [0; 16];
    for i in 0..16 {
        bytes[i] = (codes[i] & 15) | (codes[i + 16] << 4);
    }
    bytes
}

/// Adds the fifth bits of 32 codes, where there are four bytes of them: bit i of the little-endian
/// number is that of element i.
#[inline(always)]
pub(crate) fn fifth_bits<const HIGH: usize>(mut codes: [u8; 32], high: [u8; HIGH]) -> [u8; 32] {
    if let Some(high) = high.first_chunk::<4>() {
        let high = u32::from_le_bytes(*high);
        for (i, code) in codes.iter_mut().enumerate() {
            *code |= (((high >> i) & 1) << 4) as u8;
        }
    }
    codes
}

/// The fifth bits of 32 codes, as [`fifth_bits`] reads them.
#[inline(always)]
pub(crate) fn pack_fifth_bits<const HIGH: usize>(codes: &[u8; 32]) -> [u8; HIGH] {
    let mut bytes = [0; HIGH];
    if let Some(bytes) = bytes.first_chunk_mut::<4>() {
        let high = codes.iter().enumerate().fold(0, |high, (i, code)| high | (u32::from((code >> 4) & 1) << i));
        *bytes = high.to_le_bytes();
    }
    bytes
}
