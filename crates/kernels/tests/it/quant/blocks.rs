//! The blocks, their parts, and the table of formats.

use super::*;

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

#[test]
#[should_panic(expected = "are no whole blocks")]
fn half_a_block_is_refused() {
    blocks::<BlockQ4_0>(&[0; 19]);
}

#[test]
fn blocks_are_written_where_they_lie() {
    let mut bytes = [0xa5; 2 + 2 * 34];
    blocks_mut::<BlockQ8_0>(&mut bytes[1..69])[1] = BlockQ8_0::from_parts(0x3c00, &[-1; 32]);
    assert_eq!(bytes[..35], [0xa5; 35]);
    assert_eq!(bytes[35..37], [0x00, 0x3c]);
    assert_eq!(bytes[37..69], [0xff; 32]);
    assert_eq!(bytes[69], 0xa5);
}

/// What GGUF says of each: name, number, weights and bytes of a block.
const TABLE: [(&str, u32, usize, usize); 11] = [
    ("f32", 0, 1, 4),
    ("f16", 1, 1, 2),
    ("q4_0", 2, 32, 18),
    ("q4_1", 3, 32, 20),
    ("q5_0", 6, 32, 22),
    ("q5_1", 7, 32, 24),
    ("q8_0", 8, 32, 34),
    ("q4_k", 12, 256, 144),
    ("q5_k", 13, 256, 176),
    ("q6_k", 14, 256, 210),
    ("bf16", 30, 1, 2),
];

#[test]
fn the_table_is_that_of_gguf() {
    assert_eq!(Format::ALL.len(), TABLE.len());
    for (&format, (name, id, len, bytes)) in Format::ALL.iter().zip(TABLE) {
        assert_eq!((format.name(), format.id()), (name, id));
        assert_eq!((format.block_len(), format.block_bytes()), (len, bytes), "{format}");
        assert_eq!(format.gguf_name(), name.to_uppercase());
        assert_eq!(format.to_string(), name);
        assert_eq!(Format::from_id(id), Some(format));
        assert_eq!(Format::from_name(name), Some(format));
        assert_eq!(Format::from_name(&name.to_uppercase()), Some(format));
        assert_eq!(format.row_bytes(0), Some(0));
        assert_eq!(format.row_bytes(3 * len), Some(3 * bytes));
        // Half a block, and more bytes than there are.
        assert!(len == 1 || format.row_bytes(len / 2).is_none(), "{format}");
        assert_eq!(format.row_bytes(usize::MAX / len * len).is_none(), bytes > len, "{format}");
    }
    assert_eq!((Format::from_id(4), Format::from_id(u32::MAX)), (None, None));
    assert_eq!((Format::from_name("q4"), Format::from_name("")), (None, None));
}
