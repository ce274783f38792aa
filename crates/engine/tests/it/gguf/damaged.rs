//! Each way in which a file can be wrong has its own words.

use engine::ErrorKind::{Malformed, Unsupported};
use engine::gguf::File;
use engine::{ErrorKind, TensorSource};

use super::build::{ARRAY, Bytes, TEXT, U32};

#[track_caller]
fn refused(bytes: Bytes, kind: ErrorKind, parts: &[&str]) {
    let error = File::from_bytes(bytes.0).expect_err("it is damaged");
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "`{part}` is not in: {error}");
    }
}

/// Two tensors, of 8 f32 and of 32 weights in Q8_0.
fn sound() -> Bytes {
    Bytes::header(2, 1).number("a", 7).tensor("x", &[4, 2], 0, 0).tensor("y", &[32], 8, 32).data(32 + 34)
}

#[test]
fn a_sound_file_is_read() {
    let file = File::from_bytes(sound().0).unwrap();
    assert_eq!(file.names(), ["x", "y"]);
    assert_eq!(file.tensor("x").unwrap().unwrap().data[..], (0..32).collect::<Vec<u8>>());
    assert_eq!(file.tensor("y").unwrap().unwrap().data.len(), 34);
}

#[test]
fn versions() {
    let of = |version: u32| Bytes(b"GGUF".to_vec()).u32(version).u64(0).u64(0);
    assert!(File::from_bytes(of(2).0).is_ok());
    refused(of(1), Unsupported, &["version 1"]);
    refused(of(4), Unsupported, &["version 4", "2 and 3"]);
    refused(of(3u32.swap_bytes()), Unsupported, &["version 3", "big-endian", "gguf-convert-endian"]);
    refused(Bytes(b"GGUG".to_vec()), Malformed, &["not a GGUF file"]);
}

#[test]
fn every_cut_is_noticed() {
    let sound = sound().0;
    for length in 0..sound.len() {
        let error = File::from_bytes(sound[..length].to_vec()).expect_err("it was cut off");
        assert_eq!(error.kind(), Malformed, "{length}: {error}");
    }
}

#[test]
fn counts_beyond_the_file() {
    refused(Bytes::header(u64::MAX, 0), Malformed, &["at byte 8", "18446744073709551615 tensors"]);
    refused(Bytes::header(1 << 40, 0), Malformed, &["1099511627776 tensors"]);
    refused(Bytes::header(0, u64::MAX / 2), Malformed, &["at byte 16", "keys do not fit in the remaining 0 bytes"]);
    refused(Bytes::header(1, 0), Malformed, &["1 tensors do not fit in"]);
}

#[test]
fn keys() {
    let key = |count: u64| Bytes::header(0, count);
    refused(key(1).u64(u64::MAX).data(40), Malformed, &["key 0 of 1", "at byte 32", "18446744073709551615 more bytes"]);
    refused(key(1).text("").u32(U32).u32(1).data(9), Malformed, &["key 0", "its name has 0 bytes"]);
    refused(key(1).text("a".repeat(65536)).u32(U32).u32(1), Malformed, &["its name has 65536 bytes"]);
    refused(key(1).text(b"\xff").u32(U32).u32(1).data(9), Malformed, &["at byte 32: text that is not UTF-8"]);
    refused(key(2).number("twice", 1).number("twice", 2), Malformed, &["key twice", "at byte 45", "duplicate key"]);
    refused(key(1).text("odd").u32(13).u64(1), Malformed, &["key odd", "number 13"]);
    refused(key(1).text("cut").u32(10).u32(1), Malformed, &["key cut", "expected 8 more bytes, found 4"]);
}

#[test]
fn arrays() {
    let array = |kind: u32, length: u64| Bytes::header(0, 1).text("list").u32(ARRAY).u32(kind).u64(length);
    refused(array(U32, u64::MAX).data(8), Malformed, &["key list", "expected 18446744073709551615 more bytes"]);
    refused(array(U32, 3).u64(1), Malformed, &["expected 12 more bytes, found 8"]);
    refused(array(0, 9).u64(1), Malformed, &["expected 9 more bytes, found 8"]);
    refused(array(TEXT, 1 << 60).u64(1), Malformed, &["1152921504606846976 texts do not fit in the remaining 8 bytes"]);
    refused(array(TEXT, 2).text("a").u64(99), Malformed, &["key list: text 1: ", "expected 99 more bytes"]);
    refused(array(TEXT, 2).text("a").text(b"\xc3\x28"), Malformed, &["text 1: ", "not UTF-8"]);
    refused(array(ARRAY, 1).u32(U32).u64(1).u32(1), Unsupported, &["arrays of arrays"]);
    refused(array(77, 0), Malformed, &["key list", "number 77"]);
}

#[test]
fn names_cannot_command_a_terminal() {
    let bytes = Bytes::header(0, 1).text("\x1b[2Jkey").u32(99).u32(0);
    refused(bytes, Malformed, &["key \\u{1b}[2Jkey: "]);
    let long = Bytes::header(0, 1).text("k".repeat(9999)).u32(99).u32(0);
    let error = File::from_bytes(long.0).expect_err("it is damaged").to_string();
    assert!(error.len() < 250 && error.contains("kkk…: "), "{error}");
}

#[test]
fn alignment() {
    let of =
        |alignment: u32| Bytes::header(1, 1).number("general.alignment", alignment).tensor("x", &[1], 0, 0).data(64);
    assert!(File::from_bytes(of(64).0).is_ok());
    refused(of(0), Malformed, &["general.alignment: 0 is not a power of two"]);
    refused(of(48), Malformed, &["general.alignment: 48"]);
    refused(of(1 << 31), Malformed, &["general.alignment: 2147483648"]);
    refused(of(1 << 20), Malformed, &["tensor x", "1048576 + 0"]);
    let text = Bytes::header(0, 1).text("general.alignment").u32(TEXT).text("32");
    refused(text, Malformed, &["general.alignment", "whole number"]);
}

#[test]
fn shapes() {
    let of = |shape: &[u64]| Bytes::header(1, 0).tensor("x", shape, 0, 0).data(64);
    refused(of(&[]), Malformed, &["tensor x (described at byte 24)", "0 dimensions"]);
    refused(of(&[1; 5]), Malformed, &["5 dimensions"]);
    refused(of(&[4, 0]), Malformed, &["tensor x: dimension 1 of [4, 0] is empty"]);
    refused(of(&[u64::MAX, 1]), Malformed, &["tensor x"]);
    refused(of(&[1 << 32, 1 << 32]), Malformed, &["exceeds any memory"]);
    refused(of(&[1 << 31, 1 << 30]), Malformed, &["exceeds any memory"]);
    refused(of(&[1 << 40, 1]), Malformed, &["its 4398046511104 bytes begin at byte", "the file ends after"]);
    let q8_0 = Bytes::header(1, 0).tensor("x", &[33], 8, 0).data(64);
    refused(q8_0, Malformed, &["rows of 33 are not whole blocks of 32, which Q8_0 needs"]);
}

#[test]
fn formats() {
    let of = |format: u32| Bytes::header(1, 0).tensor("blk.0.x", &[256], format, 0).data(1024);
    refused(of(10), Unsupported, &["tensor blk.0.x", "Q2_K is not supported; supported are F32, F16, Q4_0"]);
    refused(of(39), Unsupported, &["MXFP4"]);
    refused(of(99), Malformed, &["number 99", "BF16"]);
}

#[test]
fn places() {
    let of = |first: u64, second: u64| {
        Bytes::header(2, 0).tensor("x", &[4, 2], 0, first).tensor("y", &[32], 8, second).data(32 + 34)
    };
    assert!(File::from_bytes(of(0, 32).0).is_ok());
    refused(of(0, 33), Malformed, &["tensor y", "its offset 33 is not a multiple of the alignment 32"]);
    refused(of(0, 64), Malformed, &["tensor y: its 34 bytes begin at byte", "+ 64, but the file ends after"]);
    refused(of(0, u64::MAX - 31), Malformed, &["tensor y: its 34 bytes"]);
    refused(of(32, 0), Malformed, &["tensor x: it begins at byte", "inside tensor y"]);
    refused(of(0, 0), Malformed, &["inside tensor"]);
    let twice = Bytes::header(2, 0).tensor("x", &[8], 0, 0).tensor("x", &[8], 0, 32).data(64);
    refused(twice, Malformed, &["tensor x: duplicate name"]);
}
