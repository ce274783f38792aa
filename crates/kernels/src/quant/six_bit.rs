//! The eight scales and eight mins of Q4_K and Q5_K, six bits each, in twelve bytes.
//!
//! The first four scales are the low six bits of bytes 0 to 3, the first four mins those of bytes 4
//! to 7. Byte 8 + j holds the low four bits of scale 4 + j and, above them, of min 4 + j; their
//! upper two bits are the upper two of bytes j and 4 + j.

/// The scales and mins of a block of Q4_K or Q5_K.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScalesAndMins {
    /// The scale of the scales, as bits of an f16.
    pub d: u16,
    /// The scale of the mins, as bits of an f16.
    pub dmin: u16,
    /// The scale of each sub-block, 0 to 63.
    pub scales: [u8; 8],
    /// What is subtracted in each sub-block, 0 to 63.
    pub mins: [u8; 8],
}

/// Scales and mins, 0 to 63.
#[inline(always)]
pub(crate) fn unpack(bytes: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let (mut scales, mut mins) = ([0; 8], [0; 8]);
    for j in 0..4 {
        scales[j] = bytes[j] & 63;
        mins[j] = bytes[j + 4] & 63;
        scales[j + 4] = (bytes[j + 8] & 15) | ((bytes[j] >> 6) << 4);
        mins[j + 4] = (bytes[j + 8] >> 4) | ((bytes[j + 4] >> 6) << 4);
    }
    (scales, mins)
}

/// The weights of a block; `d` and `dmin` together in `scale`.
#[inline(always)]
pub(crate) fn dequantise(packed: &[u8; 12], [d, dmin]: [f32; 2], codes: &[u8; 256], out: &mut [f32]) {
    let (scales, mins) = unpack(packed);
    for (s, (out, codes)) in out.chunks_exact_mut(32).zip(codes.as_chunks::<32>().0).enumerate() {
        let (scale, min) = (d * f32::from(scales[s]), dmin * f32::from(mins[s]));
        for (out, &code) in out.iter_mut().zip(codes) {
            *out = scale * f32::from(code) - min;
        }
    }
}

/// The inverse of [`unpack`]; only the low six bits of each are used.
#[inline(always)]
pub(crate) fn pack(from: &ScalesAndMins) -> [u8; 12] {
    let mut bytes = [0; 12];
    for j in 0..4 {
        let (scale, min) = (from.scales[j + 4], from.mins[j + 4]);
        bytes[j] = (from.scales[j] & 63) | (scale >> 4) << 6;
        bytes[j + 4] = (from.mins[j] & 63) | (min >> 4) << 6;
        bytes[j + 8] = (scale & 15) | min << 4;
    }
    bytes
}
