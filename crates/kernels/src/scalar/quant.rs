//! Rows of weights, to and from their formats; the formats themselves are defined in [`quant`](crate::quant).

use crate::quant::Format;
use crate::quant::round::{inverse, limited_code};
use crate::quant::search::{Group, LANES, Lanes, Search};

/// See [`Kernels::dequantise`](crate::Kernels::dequantise).
pub(crate) fn dequantise(format: Format, from: &[u8], out: &mut [f32]) {
    format.dequantise(from, out);
}

/// See [`Kernels::quantise`](crate::Kernels::quantise).
pub(crate) fn quantise(format: Format, from: &[f32], out: &mut [u8]) {
    format.quantise(from, out);
}

/// See [`Kernels::has_non_finite`](crate::Kernels::has_non_finite).
pub(crate) fn has_non_finite(values: &[f32]) -> bool {
    values.iter().any(|value| !value.is_finite())
}

/// The search of the quantisers in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Search for Plain {
    fn sums(self, group: Group<'_>, origin: f32, inverses: &Lanes) -> [Lanes; 3] {
        let mut sums = [[0.0; LANES]; 3];
        for (x, w) in group.x.iter().zip(group.w) {
            for c in 0..LANES {
                let l = limited_code((x - origin) * inverses[c], group.codes);
                sums[0][c] += w * l;
                sums[1][c] += w * l * l;
                sums[2][c] += w * x * l;
            }
        }
        sums
    }

    fn errors(self, group: Group<'_>, steps: &Lanes, bases: &Lanes) -> Lanes {
        let mut errors = [0.0; LANES];
        for (x, w) in group.x.iter().zip(group.w) {
            for c in 0..LANES {
                let l = limited_code((x + bases[c]) * inverse(steps[c]), group.codes);
                let off = x - (steps[c] * l - bases[c]);
                errors[c] += w * off * off;
            }
        }
        errors
    }
}
