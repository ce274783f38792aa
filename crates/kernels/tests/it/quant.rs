//! Weight formats.

use kernels::quant::*;

/// Numbers that look random and are the same everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| (self.next() >> 56) as u8).collect()
    }
}

/// Any bytes, taken apart and put together again, are the same bytes: no bit is lost, doubled or moved.
/// `rebuild` gives nothing where a scale is NaN, whose payload may change on the way through f32.
#[track_caller]
fn parts_make_the_whole<B: Block + PartialEq + std::fmt::Debug>(rebuild: impl Fn(&B) -> Option<B>) {
    let bytes = Random(1).bytes(1 + 100 * B::BYTES);
    let blocks = blocks::<B>(&bytes[1..]);
    let rebuilt: Vec<_> = blocks.iter().filter_map(|block| Some((block, rebuild(block)?))).collect();
    assert!(rebuilt.len() > 80, "{}", rebuilt.len());
    for (block, rebuilt) in rebuilt {
        assert_eq!(rebuilt, *block);
    }
}

#[test]
fn parts_make_the_whole_block() {
    let bits = |value: f32| (!value.is_nan()).then(|| f32_to_f16(value));
    parts_make_the_whole(|b: &BlockQ8_0| Some(BlockQ8_0::from_parts(bits(b.d())?, &b.codes())));
    parts_make_the_whole(|b: &BlockQ4_0| Some(BlockQ4_0::from_parts(bits(b.d())?, &b.codes())));
    parts_make_the_whole(|b: &BlockQ4_1| Some(BlockQ4_1::from_parts(bits(b.d())?, bits(b.m())?, &b.codes())));
    parts_make_the_whole(|b: &BlockQ5_0| Some(BlockQ5_0::from_parts(bits(b.d())?, &b.codes())));
    parts_make_the_whole(|b: &BlockQ5_1| Some(BlockQ5_1::from_parts(bits(b.d())?, bits(b.m())?, &b.codes())));
    let scales = |d: f32, dmin: f32, scales, mins| Some(ScalesAndMins { d: bits(d)?, dmin: bits(dmin)?, scales, mins });
    parts_make_the_whole(|b: &BlockQ4_K| {
        Some(BlockQ4_K::from_parts(&scales(b.d(), b.dmin(), b.scales(), b.mins())?, &b.codes()))
    });
    parts_make_the_whole(|b: &BlockQ5_K| {
        Some(BlockQ5_K::from_parts(&scales(b.d(), b.dmin(), b.scales(), b.mins())?, &b.codes()))
    });
    parts_make_the_whole(|b: &BlockQ6_K| Some(BlockQ6_K::from_parts(bits(b.d())?, &b.scales(), &b.codes())));
}
