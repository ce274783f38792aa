//! The table of formats.

use super::block::{Block, dequantise_row, first_non_finite, quantise_row};
use super::float::{BlockBF16, BlockF16, BlockF32};
use super::*;
use crate::simd::Simd;
use crate::vector::quant::ByVectors;

/// How far from the weights a format may lead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The root mean square of the errors over that of the weights, where these are drawn from a normal distribution.
    pub rms: f64,
    /// No weight is off by more than `max` times the largest magnitude in its block, plus `tiny`;
    /// as long as its scale is finite. It follows from the definition where there is no search
    /// (half a step, or a whole one at the end that Q4_0 and Q5_0 cut off, and the rounding of the
    /// scale); for Q4_K, Q5_K and Q6_K it is what hard blocks have not passed.
    pub max: f64,
    /// What the coarseness of subnormal halves adds: it matters where the scale is below 2⁻¹⁴.
    pub tiny: f64,
}

/// Half the spacing of subnormal halves.
const HALF_SPACING: f64 = 1.0 / (1 << 25) as f64;

/// One arm of `with_layout!`.
macro_rules! layout_of {
    (@is packed) => {
        true
    };
    (@is plain) => {
        false
    };
    (packed $block:ident $name:ident, $layout:ident => $body:expr) => {{
        type $layout = $crate::quant::$block;
        $body
    }};
    (plain $block:ident $name:ident, $layout:ident => $body:expr) => {
        $crate::quant::format::not_packed($crate::quant::Format::$name)
    };
}
pub(crate) use layout_of;

/// Writes [`Format`] and all that depends on it from one row per format: its GGUF id, its name, its
/// block, whether products have a packed layout for it, the file type, what stands in for it where
/// rows are not whole blocks, the format of the head, and its [`Bound`].
macro_rules! formats {
    ($(
        $(#[$doc:meta])*
        $name:ident = $id:literal, $cli:literal, $block:ident, $kind:ident,
            file_type $file_type:literal, fallback $fallback:ident, head $head:ident,
            rms $rms:literal, max $max:literal, tiny $tiny:literal;
    )+) => {
        /// A format of weights, as GGUF files name it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, reason = "the formats' own names")]
        pub enum Format {
            $($(#[$doc])* $name,)+
        }

        impl Format {
            /// Every format, in the order of their ids.
            pub const ALL: &[Format] = &[$(Format::$name),+];

            /// The type's number in a GGUF file.
            pub const fn id(self) -> u32 {
                match self { $(Format::$name => $id,)+ }
            }

            /// The type's name in GGUF, such as `Q4_K`.
            pub const fn gguf_name(self) -> &'static str {
                match self { $(Format::$name => stringify!($name),)+ }
            }

            /// The name on the command line and in reports, such as `q4_k`.
            pub const fn name(self) -> &'static str {
                match self { $(Format::$name => $cli,)+ }
            }

            /// How many weights a block holds; 1 for the formats without blocks.
            pub const fn block_len(self) -> usize {
                match self { $(Format::$name => <$block>::LEN,)+ }
            }

            /// How many bytes a block takes.
            pub const fn block_bytes(self) -> usize {
                match self { $(Format::$name => <$block>::BYTES,)+ }
            }

            /// How far [`Kernels::quantise`](crate::Kernels::quantise) and back may lead away from the weights.
            pub const fn bound(self) -> Bound {
                match self { $(Format::$name => Bound { rms: $rms, max: $max, tiny: $tiny * HALF_SPACING },)+ }
            }

            /// The number of `general.file_type` of a file whose matrices are mostly of this
            /// format, as llama.cpp has it.
            pub const fn file_type(self) -> u32 {
                match self { $(Format::$name => $file_type,)+ }
            }

            /// The format of rows that are not whole blocks of this one.
            pub const fn fallback(self) -> Format {
                match self { $(Format::$name => Format::$fallback,)+ }
            }

            /// The format of the head in a model of this format: its rounding errors reach every token directly.
            pub const fn head(self) -> Format {
                match self { $(Format::$name => Format::$head,)+ }
            }

            /// The largest magnitude that can be quantised: what is above would become infinite, or its scale would.
            pub const fn largest(self) -> f32 {
                match self { $(Format::$name => <$block>::LARGEST,)+ }
            }

            /// The first block of these bytes with a weight that is infinite or NaN.
            pub fn first_non_finite(self, bytes: &[u8]) -> Option<usize> {
                match self { $(Format::$name => first_non_finite::<$block>(bytes),)+ }
            }

            /// Whether there is a packed layout for products: every format with blocks has one.
            pub(crate) const fn is_packable(self) -> bool {
                self.block_len() > 1
            }

            #[inline(always)]
            pub(crate) fn dequantise_by_vectors<S: Simd>(self, simd: S, from: &[u8], out: &mut [f32]) {
                match self { $(Format::$name => <$block as ByVectors>::dequantise_row(simd, from, out),)+ }
            }

            #[inline(always)]
            pub(crate) fn quantise_by_vectors<S: Simd>(self, simd: S, from: &[f32], out: &mut [u8]) {
                match self { $(Format::$name => <$block as ByVectors>::quantise_row(simd, from, out),)+ }
            }

            #[inline(always)]
            pub(crate) fn dequantise(self, from: &[u8], out: &mut [f32]) {
                match self { $(Format::$name => dequantise_row::<$block>(from, out),)+ }
            }

            #[inline(always)]
            pub(crate) fn quantise(self, from: &[f32], out: &mut [u8]) {
                match self { $(Format::$name => quantise_row::<$block>(from, out),)+ }
            }
        }

        // What is packed has blocks, and what has blocks is packed.
        $(const _: () = assert!((<$block>::LEN > 1) == layout_of!(@is $kind));)+

        formats! { @layouts ($) $($name $kind $block;)+ }
    };
    (@layouts ($dollar:tt) $($name:ident $kind:ident $block:ident;)+) => {
        /// The value of an expression in which a name stands for the block type of a [`Format`] that can be packed.
        macro_rules! with_layout {
            ($dollar format:expr, $dollar layout:ident => $dollar body:expr) => {
                match $dollar format {
                    $($crate::quant::Format::$name => $crate::quant::format::layout_of!(
                        $kind $block $name, $dollar layout => $dollar body
                    ),)+
                }
            };
        }
        pub(crate) use with_layout;
    };
}

/// Ends a product with a format that has no packed layout.
#[cold]
#[track_caller]
pub(crate) fn not_packed(format: Format) -> ! {
    panic!("{format} has no packed layout")
}

formats! {
    /// Single precision.
    F32 = 0, "f32", BlockF32, plain,
        file_type 0, fallback F16, head F32,
        rms 0.0, max 0.0, tiny 0.0;
    /// Half precision.
    F16 = 1, "f16", BlockF16, plain,
        file_type 1, fallback F16, head F16,
        rms 0.000212, max 0.00049, tiny 1.0;
    /// 4 bits and a scale per 32 weights.
    Q4_0 = 2, "q4_0", BlockQ4_0, packed,
        file_type 2, fallback F16, head Q4_0,
        rms 0.0870, max 0.1255, tiny 8.0;
    /// 4 bits, a scale and a minimum per 32 weights.
    Q4_1 = 3, "q4_1", BlockQ4_1, packed,
        file_type 3, fallback F16, head Q4_1,
        rms 0.0790, max 0.0682, tiny 16.0;
    /// 5 bits and a scale per 32 weights.
    Q5_0 = 6, "q5_0", BlockQ5_0, packed,
        file_type 8, fallback F16, head Q5_0,
        rms 0.0432, max 0.0630, tiny 16.0;
    /// 5 bits, a scale and a minimum per 32 weights.
    Q5_1 = 7, "q5_1", BlockQ5_1, packed,
        file_type 9, fallback F16, head Q5_1,
        rms 0.0383, max 0.0338, tiny 32.0;
    /// 8 bits and a scale per 32 weights.
    Q8_0 = 8, "q8_0", BlockQ8_0, packed,
        file_type 7, fallback F16, head Q8_0,
        rms 0.00544, max 0.00443, tiny 127.0;
    /// 4 bits, and 6 bits each of scale and minimum per 32 weights.
    Q4_K = 12, "q4_k", BlockQ4_K, packed,
        file_type 14, fallback Q5_0, head Q6_K,
        rms 0.0713, max 0.13, tiny 16.0;
    /// 5 bits, and 6 bits each of scale and minimum per 32 weights.
    Q5_K = 13, "q5_k", BlockQ5_K, packed,
        file_type 16, fallback Q5_1, head Q6_K,
        rms 0.0350, max 0.06, tiny 32.0;
    /// 6 bits, and 8 bits of scale per 16 weights.
    Q6_K = 14, "q6_k", BlockQ6_K, packed,
        file_type 18, fallback Q8_0, head Q6_K,
        rms 0.0178, max 0.035, tiny 32.0;
    /// The upper half of single precision.
    BF16 = 30, "bf16", BlockBF16, plain,
        file_type 32, fallback F16, head BF16,
        rms 0.00168, max 0.0040, tiny 0.0;
}

impl Format {
    /// The format of this number in a GGUF file, where it is one of these.
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.id() == id)
    }

    /// The format of this name in any case: `q4_k`, `Q4_K`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name().eq_ignore_ascii_case(name))
    }

    /// How many bytes a row of `cols` weights takes; nothing where that is not whole blocks.
    pub fn row_bytes(self, cols: usize) -> Option<usize> {
        let whole = cols.is_multiple_of(self.block_len());
        whole.then(|| cols / self.block_len()).and_then(|blocks| blocks.checked_mul(self.block_bytes()))
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
