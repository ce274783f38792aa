//! The two 16-bit floats, one value at a time: IEEE half precision (f16) and the upper half of an f32 (bf16).
//!
//! Narrowing rounds to nearest, ties to even; what is too large becomes infinite, what is too small
//! becomes subnormal and then zero; a NaN stays a NaN of the same sign, with an unspecified
//! payload.

/// 2¹¹²: the exponent biases of f32 and f16 differ by 112.
const BIAS_GAP: f32 = f32::from_bits((127 + 112) << 23);

/// The bits of an f16, as f32. Exact.
#[inline(always)]
pub fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    // The product rebiases the exponent and also makes subnormal halves normal.
    let finite = (f32::from_bits(magnitude) * BIAS_GAP).to_bits();
    let special = magnitude | 0x7f80_0000;
    f32::from_bits(sign | if magnitude >= 0x7c00 << 13 { special } else { finite })
}

/// The f16 nearest to `value`, as bits.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    let rebiased = magnitude.wrapping_sub(112 << 23);
    let normal = (rebiased.wrapping_add(0xfff + ((magnitude >> 13) & 1))) >> 13;
    // Near one half the spacing of f32 is that of subnormal halves, so the addition rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let half = match magnitude {
        0..0x3880_0000 => subnormal,
        0x3880_0000..0x4780_0000 => normal,
        0x4780_0000..=0x7f80_0000 => 0x7c00,
        _ => nan,
    };
    (sign | half) as u16
}

/// The bits of a bf16, as f32. Exact.
#[inline(always)]
pub fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The bf16 nearest to `value`, as bits.
#[inline(always)]
pub fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    (if value.is_nan() { nan } else { rounded }) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of an f16 by the definition of the format.
    fn f16_by_definition(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let (exponent, fraction) = (i32::from((bits >> 10) & 31), f64::from(bits & 0x3ff));
        match exponent {
            31 if fraction == 0.0 => sign * f64::INFINITY,
            31 => f64::NAN,
            0 => sign * fraction * 2f64.powi(-24),
            _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
        }
    }

    #[test]
    fn every_f16_is_what_the_format_says_and_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let (wide, exact) = (f16_to_f32(bits), f16_by_definition(bits));
            if exact.is_nan() {
                assert!(wide.is_nan() && wide.is_sign_negative() == (bits >> 15 == 1), "{bits:04x}");
                let back = f32_to_f16(wide);
                assert!(f16_by_definition(back).is_nan() && back >> 15 == bits >> 15, "{bits:04x} {back:04x}");
            } else {
                assert_eq!(f64::from(wide).to_bits(), exact.to_bits(), "{bits:04x}");
                assert_eq!(f32_to_f16(wide), bits);
            }
        }
    }

    #[test]
    fn every_bf16_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let wide = bf16_to_f32(bits);
            assert_eq!(wide.to_bits(), u32::from(bits) << 16);
            let back = f32_to_bf16(wide);
            assert!(if wide.is_nan() { bf16_to_f32(back).is_nan() } else { back == bits }, "{bits:04x} {back:04x}");
        }
    }

    /// Between each two neighbours: the midpoint goes to the even one, its f32 neighbours to the nearer one.
    #[track_caller]
    fn rounds_to_nearest_even(widen: fn(u16) -> f32, narrow: fn(f32) -> u16, infinity: u16) {
        for lower in 0..infinity {
            let upper = lower + 1;
            // Beyond the largest finite value lies what would be the next one, were there more exponents.
            let below = f64::from(widen(lower));
            let above =
                if upper == infinity { 2.0 * below - f64::from(widen(lower - 1)) } else { f64::from(widen(upper)) };
            let middle = ((below + above) / 2.0) as f32;
            let even = if lower % 2 == 0 { lower } else { upper };
            for sign in [0, 0x8000] {
                let signed = |value: f32| if sign == 0 { value } else { -value };
                assert_eq!(narrow(signed(middle)), even | sign, "{lower:04x}");
                assert_eq!(narrow(signed(middle.next_down())), lower | sign, "{lower:04x}");
                assert_eq!(narrow(signed(middle.next_up())), upper | sign, "{lower:04x}");
            }
        }
    }

    #[test]
    fn narrowing_rounds_to_nearest_even() {
        rounds_to_nearest_even(f16_to_f32, f32_to_f16, 0x7c00);
        rounds_to_nearest_even(bf16_to_f32, f32_to_bf16, 0x7f80);
    }

    #[test]
    fn specials_keep_their_kind_and_sign() {
        for (value, f16, bf16) in [
            (0.0, 0, 0),
            (-0.0, 0x8000, 0x8000),
            (f32::INFINITY, 0x7c00, 0x7f80),
            (f32::NEG_INFINITY, 0xfc00, 0xff80),
            (f32::MAX, 0x7c00, 0x7f80),
            (f32::MIN_POSITIVE, 0, 0x0080),
            (f32::from_bits(1), 0, 0),
        ] {
            assert_eq!((f32_to_f16(value), f32_to_bf16(value)), (f16, bf16), "{value}");
        }
        for nan in [0x7f80_0001, 0xff80_0001, 0x7fff_ffff, 0xffff_ffff, 0x7fc0_0000].map(f32::from_bits) {
            assert!(f16_to_f32(f32_to_f16(nan)).is_nan() && bf16_to_f32(f32_to_bf16(nan)).is_nan());
        }
    }
}
