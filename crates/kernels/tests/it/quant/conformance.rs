//! What an independent implementation gives; `tests/data/formats.py` says how the file came about.

use super::*;

const CASES: &str = include_str!("../../data/formats.txt");

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|two| u8::from_str_radix(str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

fn weights(hex: &str) -> Vec<f32> {
    bytes(hex).chunks(4).map(|four| f32::from_bits(u32::from_be_bytes(four.try_into().unwrap()))).collect()
}

/// The cases of one kind: format, what goes in, what comes out.
fn cases(kind: &str) -> impl Iterator<Item = (Format, &str, &str)> {
    CASES.lines().filter_map(move |line| {
        let [of, name, from, to] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
        (of == kind).then(|| (Format::from_name(name).unwrap(), from, to))
    })
}

#[test]
fn weights_are_bit_for_bit_those_of_the_reference() {
    let mut seen = Vec::new();
    for (format, from, to) in cases("dequantise") {
        let want = weights(to);
        for kernels in Kernels::available() {
            let got = dequantised(kernels, format, &bytes(from), want.len());
            assert_same(&got, &want, (format, kernels.isa()));
        }
        seen.push(format);
    }
    assert!(Format::ALL.iter().all(|format| seen.contains(format)), "{seen:?}");
}

#[test]
fn blocks_are_byte_for_byte_those_of_the_reference() {
    let mut seen = 0;
    for (format, from, to) in cases("quantise") {
        for kernels in Kernels::available() {
            assert_eq!(quantised(kernels, format, &weights(from)), bytes(to), "{format} {}", kernels.isa());
        }
        seen += 1;
    }
    assert_eq!(seen, 7);
}
