//! Quantised weights times quantised activations.

use kernels::quant::*;
use kernels::{Kernels, Pool};

use crate::effort::{rounds, sizes};

/// The formats that can be packed: all that have blocks.
fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.iter().copied().filter(|format| format.block_len() > 1)
}

/// Numbers that look random and are the same everywhere (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// From −1 to 1.
    fn value(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn values(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.value()).collect()
    }
}

/// The bits of an f16 that is neither subnormal nor huge.
fn half(value: f32) -> u16 {
    f32_to_f16(value)
}

/// What the blocks of a test are made of.
struct Parts<'a> {
    /// Gives a code of so many bits.
    code: &'a mut dyn FnMut(u32) -> u8,
    /// Gives the bits of an f16.
    scale: &'a mut dyn FnMut() -> u16,
}

impl Parts<'_> {
    fn codes<const N: usize>(&mut self, bits: u32) -> [u8; N] {
        std::array::from_fn(|_| (self.code)(bits))
    }

    fn scales_and_mins(&mut self) -> ScalesAndMins {
        let (d, dmin) = ((self.scale)(), (self.scale)());
        ScalesAndMins { d, dmin, scales: self.codes(6), mins: self.codes(6) }
    }
}

fn bytes_of<B: Block>(count: usize, mut block: impl FnMut() -> B) -> Vec<u8> {
    let mut bytes = vec![0; count * B::BYTES];
    blocks_mut::<B>(&mut bytes).fill_with(&mut block);
    bytes
}

/// So many blocks of a format.
fn weights(format: Format, count: usize, p: &mut Parts<'_>) -> Vec<u8> {
    match format {
        Format::Q4_0 => bytes_of(count, || BlockQ4_0::from_parts((p.scale)(), &p.codes(4))),
        Format::Q4_1 => bytes_of(count, || BlockQ4_1::from_parts((p.scale)(), (p.scale)(), &p.codes(4))),
        Format::Q5_0 => bytes_of(count, || BlockQ5_0::from_parts((p.scale)(), &p.codes(5))),
        Format::Q5_1 => bytes_of(count, || BlockQ5_1::from_parts((p.scale)(), (p.scale)(), &p.codes(5))),
        Format::Q8_0 => bytes_of(count, || BlockQ8_0::from_parts((p.scale)(), &p.codes(8).map(|code| code as i8))),
        Format::Q4_K => bytes_of(count, || BlockQ4_K::from_parts(&p.scales_and_mins(), &p.codes(4))),
        Format::Q5_K => bytes_of(count, || BlockQ5_K::from_parts(&p.scales_and_mins(), &p.codes(5))),
        Format::Q6_K => {
            bytes_of(count, || BlockQ6_K::from_parts((p.scale)(), &p.codes(8).map(|code| code as i8), &p.codes(6)))
        }
        // Formats without a line here are made from random weights, which leaves out rare bits.
        _ => {
            let len = count * format.block_len();
            let values: Vec<f32> = (0..len).map(|_| f32::from((p.code)(8)) - 127.5).collect();
            let mut bytes = vec![0; count * format.block_bytes()];
            Kernels::with(kernels::Isa::Scalar).unwrap().quantise(format, &values, &mut bytes);
            bytes
        }
    }
}

fn random_weights(format: Format, rows: usize, columns: usize, random: &mut Random) -> Vec<u8> {
    let (mut codes, mut scales) = (Random(random.next() | 1), Random(random.next() | 1));
    let mut code = |bits: u32| (codes.next() >> (64 - bits)) as u8;
    let mut scale = || half(scales.value() * 0.1);
    weights(format, rows * columns / format.block_len(), &mut Parts { code: &mut code, scale: &mut scale })
}

fn quantised(kernels: Kernels, values: &[f32], columns: usize) -> Activations {
    let mut out = Activations::new(values.len() / columns, columns);
    kernels.quantise_activations(values, &mut out);
    out
}

/// Bits, with all NaNs alike.
fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }).collect()
}

/// The definition: every row of weights by every row of activations, as they lie in the file.
fn defined(format: Format, file: &[u8], rows: usize, x: &Activations) -> Vec<f32> {
    let mut out = vec![0.0; rows * x.rows()];
    for (row, out) in out.chunks_exact_mut(rows).enumerate() {
        Kernels::with(kernels::Isa::Scalar).unwrap().matvec_blocks(format, file, x.row(row), out);
    }
    out
}

/// All ways to the product give the bits of the definition.
#[track_caller]
fn check_all_ways(format: Format, rows: usize, columns: usize, file: &[u8], x: &[f32]) {
    let packed = PackedWeights::pack(format, rows, columns, file);
    let scalar = quantised(Kernels::with(kernels::Isa::Scalar).unwrap(), x, columns);
    let expected = defined(format, file, rows, &scalar);
    for kernels in Kernels::available() {
        let (isa, batch) = (kernels.isa(), x.len() / columns);
        let context = format!("{format} on {isa}: {batch} × {columns} × {rows}");
        let x = quantised(kernels, x, columns);
        let mut out = vec![0.0; rows];
        for (row, expected) in expected.chunks_exact(rows).enumerate() {
            kernels.matvec_packed(packed.whole(), x.row(row), &mut out);
            assert_eq!(bits(&out), bits(expected), "vector, packed, {context}, row {row}");
            kernels.matvec_blocks(format, file, x.row(row), &mut out);
            assert_eq!(bits(&out), bits(expected), "vector, in blocks, {context}, row {row}");
        }
        let stride = rows + 3;
        let mut out = vec![7.5; batch * stride];
        kernels.matmul_packed(packed.whole(), &x, &mut Outputs::new(&mut out, rows, stride));
        for (row, (out, expected)) in out.chunks_exact(stride).zip(expected.chunks_exact(rows)).enumerate() {
            assert_eq!(bits(&out[..rows]), bits(expected), "matrix, {context}, row {row}");
            assert_eq!(out[rows..], [7.5; 3], "{context}, behind row {row}");
        }
    }
}

#[test]
fn every_way_gives_the_bits_of_the_definition() {
    let mut random = Random(1);
    for format in formats() {
        let block = format.block_len();
        for rows in sizes(1..=rounds(40, 3)) {
            let (batch, columns) = (1 + rows % 20, block * (1 + rows % rounds(4, 1)));
            let file = random_weights(format, rows, columns, &mut random);
            check_all_ways(format, rows, columns, &file, &random.values(batch * columns));
        }
        // Many rows; more columns than are multiplied at a time; results that leave L2.
        let large =
            [(64, block, 33), (65, 3 * block, 33), (130, 2 * block, 33), (1, 1024 + block, 33), (13, 1536 + block, 33)];
        let larger = [(9, 2048 + block, 65), (7, 4096 + 3 * block, 49), (130, 3 * block, 1100)];
        for (batch, columns, rows) in large.into_iter().chain(larger).take(rounds(8, 0)) {
            let file = random_weights(format, rows, columns, &mut random);
            check_all_ways(format, rows, columns, &file, &random.values(batch * columns));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn extreme_codes_overflow_nowhere() {
    for format in formats() {
        for code in [0, u8::MAX, 1, 127, 128] {
            for sign in [1.0, -1.0] {
                let columns = 512;
                let mut code = |bits: u32| code & ((1u32 << bits) - 1) as u8;
                let mut scale = || half(0.5);
                let count = 20 * columns / format.block_len();
                let file = weights(format, count, &mut Parts { code: &mut code, scale: &mut scale });
                check_all_ways(format, 20, columns, &file, &vec![sign * 3.0; 5 * columns]);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn scales_may_be_zero_huge_subnormal_or_no_numbers() {
    let mut random = Random(2);
    for format in formats() {
        for bits in [0, 0x8000, 0x7bff, 0xfbff, 0x0001, 0x8001, 0x7c00, 0xfc00, 0x7e00] {
            let mut codes = Random(3);
            let mut code = |bits: u32| (codes.next() >> (64 - bits)) as u8;
            let mut scale = || bits;
            let columns = 2 * format.block_len();
            let file = weights(format, 17 * 2, &mut Parts { code: &mut code, scale: &mut scale });
            check_all_ways(format, 17, columns, &file, &random.values(7 * columns));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn activations_may_be_anything() {
    let mut random = Random(4);
    let specials =
        [0.0, -0.0, 1e-45, -1e-38, 9.9e-37, 1.1e-36, 1e30, -f32::MAX, f32::NAN, f32::INFINITY, -f32::INFINITY];
    for format in formats() {
        let columns = 512;
        let file = random_weights(format, 18, columns, &mut random);
        let mut x = random.values(specials.len() * columns);
        for (special, row) in specials.iter().zip(x.chunks_exact_mut(columns)) {
            row[37] = *special;
            row[64..96].fill(*special);
        }
        check_all_ways(format, 18, columns, &file, &x);
        for kernels in Kernels::available() {
            let (x, packed) = (quantised(kernels, &x, columns), PackedWeights::pack(format, 18, columns, &file));
            for (row, special) in specials.iter().enumerate() {
                let mut out = [0.0; 18];
                kernels.matvec_packed(packed.whole(), x.row(row), &mut out);
                let right = |value: &f32| match special.abs() {
                    0.0..1e31 => value.is_finite(),
                    _ if special.is_finite() => true, // The sum may be beyond f32.
                    _ => value.is_nan(),
                };
                assert!(out.iter().all(right), "{format} by {special}: {out:?}");
            }
        }
    }
}

/// The rounding of a quantised activation, in units of its scale: half a step, and what the scale's own rounding adds.
const HALF_STEP: f64 = 0.501;

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn activations_come_back_within_half_a_step() {
    let mut random = Random(5);
    for kernels in Kernels::available() {
        for rows in 1..=5 {
            for columns in [32, 64, 96, 320] {
                let mut x = random.values(rows * columns + 1);
                x[5] *= 1e20;
                let x = &x[1..];
                let out = quantised(kernels, x, columns);
                assert_eq!((out.rows(), out.columns()), (rows, columns));
                for (i, value) in x.iter().enumerate() {
                    let (row, column) = (i / columns, i % columns);
                    let (code, scale) = (out.row(row).codes()[column], f64::from(out.row(row).scale(column / 32)));
                    assert!((-127..=127).contains(&code));
                    let back = scale * f64::from(code);
                    assert!((f64::from(*value) - back).abs() <= HALF_STEP * scale, "{value} {back}");
                }
            }
        }
    }
}

/// f32 rounding over a sum of up to 64 tiles, three roundings each, relative to the sum of amounts.
const SUM_ROUNDING: f64 = 200.0 / (1u64 << 24) as f64;

/// Against f64 arithmetic with the activations as they were: an activation is off by half a step of
/// its block at most, so the product is off by Σ |weight| · step / 2, and f32 rounding of the sums.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn the_product_is_near_the_true_one() {
    let mut random = Random(6);
    let (rows, columns, batch) = (24, 1024, 6);
    for format in formats() {
        let file = random_weights(format, rows, columns, &mut random);
        let x = random.values(batch * columns);
        let mut wide = vec![0.0; rows * columns];
        Kernels::best().dequantise(format, &file, &mut wide);
        for kernels in Kernels::available() {
            let q = quantised(kernels, &x, columns);
            let mut out = vec![0.0; batch * rows];
            let packed = PackedWeights::pack(format, rows, columns, &file);
            kernels.matmul_packed(packed.whole(), &q, &mut Outputs::new(&mut out, rows, rows));
            for (i, out) in out.iter().enumerate() {
                let (m, n) = (i / rows, i % rows);
                let (mut exact, mut bound) = (0.0, 0.0);
                for (k, (w, x)) in wide[n * columns..][..columns].iter().zip(&x[m * columns..][..columns]).enumerate() {
                    let (w, x) = (f64::from(*w), f64::from(*x));
                    exact += w * x;
                    // With an offset, |weight| may be less than the parts it is the difference of:
                    // four times is ample here.
                    bound +=
                        w.abs() * HALF_STEP * f64::from(q.row(m).scale(k / 32)) + 4.0 * SUM_ROUNDING * (w * x).abs();
                }
                assert!((f64::from(*out) - exact).abs() <= bound, "{format}: {out} {exact} ± {bound}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn parts_of_the_groups_make_the_whole() {
    let mut random = Random(7);
    let (rows, columns, batch) = (16 * 6 + 5, 512, 9);
    for format in formats() {
        let file = random_weights(format, rows, columns, &mut random);
        let packed = PackedWeights::pack(format, rows, columns, &file);
        for kernels in Kernels::available() {
            let x = quantised(kernels, &random.values(batch * columns), columns);
            let (mut whole, mut parts) = (vec![0.0; batch * rows], vec![f32::NAN; batch * rows]);
            kernels.matmul_packed(packed.whole(), &x, &mut Outputs::new(&mut whole, rows, rows));
            std::thread::scope(|scope| {
                let mut rest = Outputs::new(&mut parts, rows, rows);
                for groups in [0..3, 3..4, 4..4, 4..7] {
                    let (packed, x) = (&packed, &x);
                    let mut part;
                    (part, rest) = rest.split_at(packed.part(groups.clone()).rows().len());
                    scope.spawn(move || kernels.matmul_packed(packed.part(groups), x, &mut part));
                }
            });
            assert_eq!(bits(&whole), bits(&parts));
            let mut out = vec![0.0; 16 + 5];
            kernels.matvec_packed(packed.part(5..7), x.row(4), &mut out);
            assert_eq!(bits(&out), bits(&whole[4 * rows + 80..5 * rows]));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn threads_change_nothing() {
    let mut random = Random(8);
    // Large enough to be divided, with a last group that is not full.
    let (rows, columns, batch) = (16 * 80 + 3, 1024, 7);
    for threads in [1, 2, 3, 5] {
        let pool = Pool::new(threads);
        for format in [Format::Q8_0, Format::Q4_K] {
            let file = random_weights(format, rows, columns, &mut random);
            let packed = PackedWeights::pack(format, rows, columns, &file);
            for kernels in Kernels::available() {
                let x = quantised(kernels, &random.values(batch * columns), columns);
                let (mut one, mut many) = (vec![0.0; batch * rows], vec![f32::NAN; batch * rows]);
                kernels.matmul_packed(packed.whole(), &x, &mut Outputs::new(&mut one, rows, rows));
                kernels.matmul_packed_on(&pool, &packed, &x, &mut Outputs::new(&mut many, rows, rows));
                assert_eq!(bits(&one), bits(&many), "{format}, {threads} threads");
                let mut out = vec![f32::NAN; rows];
                kernels.matvec_packed_on(&pool, &packed, x.row(3), &mut out);
                assert_eq!(bits(&out), bits(&one[3 * rows..4 * rows]), "{format}, {threads} threads");
            }
        }
    }
}

#[test]
fn packing_takes_little_more_than_the_file() {
    for format in formats() {
        let (rows, columns) = (64, 1024);
        let packed = PackedWeights::zeroed(format, rows, columns);
        let file = rows * packed.row_bytes();
        assert!(packed.bytes() * 100 <= file * 103, "{format}: {} for {file}", packed.bytes());
    }
    assert!(!PackedWeights::supports(Format::F16));
}

#[test]
fn nothing_gives_nothing() {
    for kernels in Kernels::available() {
        for format in formats() {
            let none = PackedWeights::pack(format, 0, format.block_len(), &[]);
            let x = quantised(kernels, &vec![1.0; format.block_len()], format.block_len());
            kernels.matvec_packed(none.whole(), x.row(0), &mut []);
            kernels.matmul_packed(none.whole(), &x, &mut Outputs::new(&mut [0.0], 0, 1));
            let empty = PackedWeights::pack(format, 3, 0, &[]);
            let mut out = [1.0; 3];
            let mut x = Activations::new(1, 0);
            kernels.quantise_activations(&[], &mut x);
            assert_eq!(x.rows(), 0);
            kernels.matmul_packed(empty.whole(), &x, &mut Outputs::new(&mut out, 3, 3));
            assert_eq!(out, [1.0; 3]);
        }
    }
}

#[test]
#[should_panic(expected = "no larger than memory can be")]
fn weights_beyond_memory_are_refused() {
    PackedWeights::pack(Format::Q8_0, 1 << 60, 256, &[]);
}

/// So many chunks that their bytes, counted in 64 bits, would be few again.
#[test]
#[should_panic(expected = "no larger than memory can be")]
fn rows_beyond_memory_are_refused() {
    PackedWeights::zeroed(Format::Q8_0, 1, 1_085_102_592_571_150_144);
}

#[test]
#[should_panic(expected = "no larger than memory can be")]
fn activations_beyond_memory_are_refused() {
    Activations::new((1 << 59) + 1, 32);
}

/// Chunks of four groups lie in turn, of the last ones fewer.
#[test]
fn groups_may_be_cut_from_each_other_anywhere() {
    let mut random = Random(29);
    let rows = 16 * rounds(9, 4) + 5;
    for format in formats() {
        let columns = 3 * format.block_len();
        let file = random_weights(format, rows, columns, &mut random);
        let x = random.values(columns);
        check_all_ways(format, rows, columns, &file, &x);
        let packed = PackedWeights::pack(format, rows, columns, &file);
        for kernels in Kernels::available() {
            let x = quantised(kernels, &x, columns);
            let mut whole = vec![0.0; rows];
            kernels.matvec_packed(packed.whole(), x.row(0), &mut whole);
            for cut in 1..packed.groups() {
                let mut parts = vec![f32::NAN; rows];
                let (first, second) = parts.split_at_mut(cut * GROUP);
                kernels.matvec_packed(packed.part(0..cut), x.row(0), first);
                kernels.matvec_packed(packed.part(cut..packed.groups()), x.row(0), second);
                assert_eq!(bits(&parts), bits(&whole), "{format} on {}, cut at {cut}", kernels.isa());
            }
        }
    }
}
