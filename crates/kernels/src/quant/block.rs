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

    /// The weights of this block, `LEN` of them. Every product and sum is rounded to f32 in the order that the format's file
    /// gives, so that every instruction set has the same bits.
    fn dequantise(&self, out: &mut [f32]);

    /// The block that stands for `LEN` values.
    fn quantise(values: &[f32]) -> Self;
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

/// The codes of 5-bit blocks of 32: low four bits as in [`nibbles`], bit i of `high` is the fifth of element i.
#[inline(always)]
pub(crate) fn nibbles_and_fifth(low: &[u8; 16], high: [u8; 4]) -> [u8; 32] {
    let mut codes = nibbles(low);
    let high = u32::from_le_bytes(high);
    for (i, code) in codes.iter_mut().enumerate() {
        *code |= (((high >> i) & 1) << 4) as u8;
    }
    codes
}

/// The fifth bits of 32 codes, as [`nibbles_and_fifth`] reads them.
#[inline(always)]
pub(crate) fn pack_fifth(codes: &[u8; 32]) -> [u8; 4] {
    let high = codes.iter().enumerate().fold(0, |high, (i, code)| high | (u32::from((code >> 4) & 1) << i));
    high.to_le_bytes()
}
