//! Matrix products: every shape has the bits of the definition, whatever the instruction set, the
//! layout and the threads.

use kernels::quant::Format;
use kernels::{HugePageArena, Isa, Kernels, Matrix, MatrixMut, PackedMatrix, Pool, Product, WeightRows};

use crate::effort::{rounds, sizes};
use crate::guarded::Guarded;
use crate::numbers::{Numbers, SPECIAL};

/// Rows, columns and depth.
type Shape = [usize; 3];

/// What stands between the rows of a result; no product makes this NaN.
const CANARY: u32 = 0x7fc0_beef;

/// Two factors, a bias and what stands in the result before.
struct Case {
    shape: Shape,
    a: Vec<f32>,
    b: Vec<f32>,
    bias: Vec<f32>,
    before: Vec<f32>,
}

#[derive(Debug, Clone, Copy)]
struct Start {
    bias: bool,
    accumulate: bool,
}

const STARTS: [Start; 4] = [
    Start { bias: false, accumulate: false },
    Start { bias: true, accumulate: false },
    Start { bias: false, accumulate: true },
    Start { bias: true, accumulate: true },
];

impl Case {
    fn new(shape: Shape, seed: u64) -> Self {
        let [m, n, k] = shape;
        let mut numbers = Numbers::new(seed);
        let mut take = |len| numbers.take(len, 2.0);
        Self { shape, a: take(m * k), b: take(k * n), bias: take(n), before: take(m * n) }
    }

    /// The definition, said once more.
    fn expected(&self, start: Start) -> Vec<f32> {
        let [m, n, k] = self.shape;
        let mut c = vec![0.0; m * n];
        for (i, c) in c.iter_mut().enumerate() {
            let (row, col) = (i / n, i % n);
            let mut sum = if start.accumulate { self.before[i] } else { 0.0 };
            sum = if start.bias { sum + self.bias[col] } else { sum };
            for step in 0..k {
                sum = self.a[row * k + step].mul_add(self.b[step * n + col], sum);
            }
            *c = sum;
        }
        c
    }

    fn product<'a>(&'a self, product: Product<'a>, start: Start) -> Product<'a> {
        let product = if start.bias { product.bias(&self.bias) } else { product };
        product.accumulate(start.accumulate)
    }

    /// The result of `multiply`, written into rows that are further apart than they are long.
    #[track_caller]
    fn run(&self, start: Start, multiply: impl FnOnce(MatrixMut<'_>)) -> Vec<f32> {
        let [m, n, k] = self.shape;
        let stride = n + 3;
        let mut all = vec![f32::from_bits(CANARY); if m * n == 0 { 0 } else { (m - 1) * stride + n }];
        for (row, before) in self.before.chunks_exact(n.max(1)).enumerate() {
            // Nothing of what stands there may be read, unless it is to be added to.
            let before = if start.accumulate { before } else { &vec![f32::NAN; n] };
            all[row * stride..][..n].copy_from_slice(before);
        }
        // The last row ends where memory ends, or a little before.
        let mut buffer = Guarded::new(&all, k % 3);
        buffer.with(|buffer| multiply(MatrixMut::strided(buffer, [m, n], stride)));
        let mut buffer = buffer.get().to_vec();
        let mut c = Vec::new();
        for row in 0..if n == 0 { 0 } else { m } {
            c.extend_from_slice(&buffer[row * stride..][..n]);
            buffer[row * stride..][..n].fill(f32::from_bits(CANARY));
        }
        assert!(buffer.iter().all(|value| value.to_bits() == CANARY), "written beside the result: {:?}", self.shape);
        c
    }
}

fn turned(values: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|i| values[i % rows * cols + i / rows]).collect()
}

#[track_caller]
fn same_bits(got: &[f32], expected: &[f32], what: impl std::fmt::Debug) {
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
        assert!(same, "{what:?}: element {i} is {got:e}, not {expected:e}");
    }
    assert_eq!(got.len(), expected.len(), "{what:?}");
}

/// Every way to say the same product.
fn check(kernels: Kernels, case: &Case) {
    let [m, n, k] = case.shape;
    let (a_turned, b_turned) = (turned(&case.a, m, k), turned(&case.b, k, n));
    let a = [Matrix::new(&case.a, m, k), Matrix::new(&a_turned, k, m).transposed()];
    let b = [Matrix::new(&case.b, k, n), Matrix::new(&b_turned, n, k).transposed()];
    let packed = PackedMatrix::new(b[0]);
    // The last start touches all that the others do.
    for start in STARTS.into_iter().rev().take(rounds(4, 1)) {
        let expected = case.expected(start);
        for (number, a) in a.into_iter().enumerate() {
            let what = (kernels.isa(), case.shape, start, number);
            for b in b {
                let product = case.product(Product::new(a, b), start);
                same_bits(&case.run(start, |c| kernels.gemm(product, c)), &expected, (what, "plain"));
            }
            let product = case.product(Product::with_packed(a, &packed), start);
            same_bits(&case.run(start, |c| kernels.gemm(product, c)), &expected, (what, "packed"));
        }
    }
}

fn fast() -> impl Iterator<Item = Kernels> {
    Kernels::available().into_iter().filter(|kernels| kernels.isa() != Isa::Scalar)
}

#[test]
fn every_number_of_rows_and_columns_around_the_tiles() {
    for kernels in fast() {
        for m in sizes(0..=rounds(30, 9)) {
            for n in sizes([0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 63, 65, 96, 129, 150]) {
                check(kernels, &Case::new([m, n, 5], (m * 1000 + n) as u64));
            }
        }
    }
}

#[test]
fn every_column_count_with_one_row() {
    for kernels in fast() {
        for n in sizes(0..=300) {
            check(kernels, &Case::new([1, n, 3], n as u64));
        }
    }
}

#[test]
fn every_depth_around_the_blocks() {
    for kernels in fast() {
        for k in sizes((0..=rounds(40, 1)).chain([127, 128, 255, 256, 257, 300, 511, 512, 513, 1025])) {
            for [m, n] in [[1, 40], [3, 17], [16, 33], [30, 16]] {
                check(kernels, &Case::new([m, n, k], k as u64));
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn more_than_one_block_of_rows_and_columns() {
    for kernels in fast() {
        for shape in
            [[169, 20, 30], [340, 17, 258], [2, 2050, 20], [8, 50, 1100], [90, 2065, 40], [25, 2065, 19], [26, 4100, 3]]
        {
            check(kernels, &Case::new(shape, 7));
        }
        // More rows than meet a strip, with a depth of several blocks; left factors whose columns are packed.
        for shape in [
            [520, 40, 1030],
            [30, 300, 2100],
            [1024, 33, 17],
            [2048, 18, 2],
            [1040, 21, 5],
            [61, 1050, 70],
            [13, 1040, 1],
        ] {
            check(kernels, &Case::new(shape, 8));
        }
    }
}

/// Seven to 23 rows, factors beyond L2 that are not packed: depths and columns that are no whole
/// blocks, and one of nothing but a rest.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn some_rows_of_a_large_factor() {
    for kernels in fast() {
        for shape in [[7, 2065, 131], [8, 4100, 70], [9, 2048, 160], [13, 15, 17500], [23, 600, 515]] {
            check(kernels, &Case::new(shape, 9));
        }
    }
}

/// So much that its next rows are asked for; the last rows and columns are no whole ones.
#[test]
#[cfg_attr(miri, ignore = "too long")]
fn one_row_of_a_factor_that_no_cache_holds() {
    let case = Case::new([1, 3109, 2051], 10);
    let [m, n, k] = case.shape;
    let start = STARTS[3];
    let expected = case.expected(start);
    for kernels in fast() {
        let product = case.product(Product::new(Matrix::new(&case.a, m, k), Matrix::new(&case.b, k, n)), start);
        same_bits(&case.run(start, |c| kernels.gemm(product, c)), &expected, (kernels.isa(), case.shape));
    }
}

#[test]
fn crowded_columns_of_any_length() {
    for kernels in fast() {
        for shape in [[1030, 20, 9], [1024, 515, 6], [1041, 16, 1], [1024, 5, 832], [2048, 7, 960]] {
            let (case, start, [m, _, k]) = (Case::new(shape, 9), STARTS[3], shape);
            let mut columns = vec![f32::NAN; (k - 1) * 2048 + m];
            for (column, values) in turned(&case.a, m, k).chunks_exact(m).enumerate() {
                columns[column * 2048..][..m].copy_from_slice(values);
            }
            let a = Matrix::strided(&columns, [k, m], 2048).transposed();
            let product = case.product(Product::new(a, Matrix::new(&case.b, k, shape[1])), start);
            let got = case.run(start, |c| kernels.gemm(product, c));
            same_bits(&got, &case.expected(start), (kernels.isa(), shape));
            let packed = PackedMatrix::new(Matrix::new(&case.b, k, shape[1]));
            let product = case.product(Product::with_packed(a, &packed), start);
            let got = case.run(start, |c| kernels.gemm(product, c));
            same_bits(&got, &case.expected(start), (kernels.isa(), shape, "packed"));
        }
    }
}

#[test]
fn special_values_take_the_same_way() {
    for kernels in fast() {
        for seed in 0..rounds(40, 2) as u64 {
            let mut case = Case::new([7, 35, 20], seed);
            let mut numbers = Numbers::new(seed + 100);
            let mut place = |values: &mut [f32]| {
                let at = (numbers.next(1.0).abs() * values.len() as f32) as usize % values.len();
                values[at] = SPECIAL[seed as usize % SPECIAL.len()];
            };
            place(&mut case.a);
            place(&mut case.b);
            place(&mut case.before);
            check(kernels, &case);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn threads_change_no_bit() {
    let pools = [1, 2, 3, 5].map(Pool::new);
    for kernels in fast() {
        for shape in [[1, 700, 300], [5, 4099, 130], [64, 64, 64], [70, 330, 257], [300, 40, 200], [513, 129, 65]] {
            let [m, n, k] = shape;
            let case = Case::new(shape, 3);
            let (a, b) = (Matrix::new(&case.a, m, k), Matrix::new(&case.b, k, n));
            let packed = PackedMatrix::new(b);
            let start = STARTS[3];
            let expected = case.expected(start);
            for pool in &pools {
                for product in [Product::new(a, b), Product::with_packed(a, &packed)] {
                    let product = case.product(product, start);
                    let got = case.run(start, |c| kernels.gemm_on(pool, product, c));
                    same_bits(&got, &expected, (kernels.isa(), shape, pool.threads()));
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn halves_are_the_numbers_they_stand_for() {
    let [m, n, k] = [5, 37, 300];
    let mut case = Case::new([m, n, k], 11);
    let cut: [fn(f32) -> u16; 2] = [kernels::quant::f32_to_f16, kernels::quant::f32_to_bf16];
    let widened: [fn(u16) -> f32; 2] = [kernels::quant::f16_to_f32, kernels::quant::bf16_to_f32];
    for kind in 0..2 {
        let weights: Vec<u16> = turned(&case.b, k, n).into_iter().map(cut[kind]).collect();
        let rows = if kind == 0 { WeightRows::F16(&weights) } else { WeightRows::Bf16(&weights) };
        let packed = PackedMatrix::from_rows(rows, k);
        assert_eq!([packed.rows(), packed.cols(), packed.bytes()], [k, n, 48 * k * 2]);
        let wide: Vec<f32> = weights.into_iter().map(widened[kind]).collect();
        let plain = PackedMatrix::from_rows(WeightRows::F32(&wide), k);
        case.b = turned(&wide, n, k);
        for kernels in Kernels::available() {
            for start in STARTS {
                let expected = case.expected(start);
                for packed in [&packed, &plain] {
                    let product = case.product(Product::with_packed(Matrix::new(&case.a, m, k), packed), start);
                    same_bits(&case.run(start, |c| kernels.gemm(product, c)), &expected, (kernels.isa(), kind));
                }
            }
        }
    }
}

#[test]
fn scalar_is_the_definition() {
    let scalar = Kernels::with(Isa::Scalar).unwrap();
    for shape in [[0, 3, 2], [3, 0, 2], [3, 4, 0], [1, 1, 1], [7, 19, 33]] {
        check(scalar, &Case::new(shape, 1));
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn the_error_stays_within_its_bound() {
    let case = Case::new([4, 50, 3000], 5);
    let [m, n, k] = case.shape;
    let mut c = vec![0.0; m * n];
    let product = Product::new(Matrix::new(&case.a, m, k), Matrix::new(&case.b, k, n));
    Kernels::best().gemm(product, MatrixMut::new(&mut c, m, n));
    for (i, got) in c.iter().enumerate() {
        let terms = (0..k).map(|step| f64::from(case.a[i / n * k + step]) * f64::from(case.b[step * n + i % n]));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let bound = k as f64 * 2f64.powi(-24) * size;
        assert!((f64::from(*got) - sum).abs() <= bound, "{got} is not within {bound:e} of {sum}");
    }
}

#[test]
#[should_panic(expected = "3 columns of A do not fit 4 rows of B")]
fn factors_that_do_not_fit_are_refused() {
    Product::new(Matrix::new(&[0.0; 6], 2, 3), Matrix::new(&[0.0; 8], 4, 2));
}

#[test]
#[should_panic(expected = "do not hold")]
fn a_slice_that_is_too_short_is_refused() {
    Matrix::new(&[0.0; 5], 2, 3);
}

#[test]
#[should_panic(expected = "do not hold")]
fn a_size_beyond_memory_is_refused() {
    Matrix::strided(&[0.0; 5], [usize::MAX, 3], usize::MAX / 2);
}

#[test]
#[should_panic(expected = "2 × 2 results do not fit into 2 × 3")]
fn a_result_of_another_shape_is_refused() {
    let product = Product::new(Matrix::new(&[0.0; 6], 2, 3), Matrix::new(&[0.0; 6], 3, 2));
    Kernels::best().gemm(product, MatrixMut::new(&mut [0.0; 6], 2, 3));
}

/// Weights as a file has them, at an odd address, packed on any number of threads: the same product
/// as of rows in memory.
#[test]
fn weights_from_a_file() {
    let pools = [1, 2, 3].map(Pool::new);
    let kernels = Kernels::best();
    for (inputs, outputs) in [(1, 1), (5, 16), (16, 17), (31, 40), (512, 33), (513, 15), (1100, 50), (0, 0)] {
        let values = Numbers::new(inputs as u64).take(inputs * outputs, 1.0);
        let a = Numbers::new(9).take(3 * inputs, 1.0);
        for format in [Format::F32, Format::F16, Format::BF16] {
            let mut file = vec![0; 1 + inputs * outputs * format.block_bytes()];
            kernels.quantise(format, &values, &mut file[1..]);
            let halves: Vec<u16> = file[1..].as_chunks().0.iter().copied().map(u16::from_le_bytes).collect();
            let rows = match format {
                Format::F32 => WeightRows::F32(&values),
                Format::F16 => WeightRows::F16(&halves),
                _ => WeightRows::Bf16(&halves),
            };
            let product = |packed: &PackedMatrix| {
                let mut c = vec![f32::NAN; 3 * outputs];
                let product = Product::with_packed(Matrix::new(&a, 3, inputs), packed);
                kernels.gemm(product, MatrixMut::new(&mut c, 3, outputs));
                c
            };
            let wanted = PackedMatrix::from_rows(rows, inputs);
            for pool in &pools {
                let got =
                    PackedMatrix::from_file(pool, &mut HugePageArena::new(file.len()), format, inputs, &file[1..]);
                let what = (format, inputs, outputs, pool.threads());
                assert_eq!((got.rows(), got.cols(), got.bytes()), (inputs, wanted.cols(), wanted.bytes()), "{what:?}");
                same_bits(&product(&got), &product(&wanted), what);
            }
        }
    }
}

#[test]
#[should_panic(expected = "no whole rows")]
fn a_file_of_no_whole_rows_is_refused() {
    PackedMatrix::from_file(&Pool::new(1), &mut HugePageArena::new(0), Format::F16, 3, &[0; 10]);
}

#[test]
#[should_panic(expected = "has blocks")]
fn blocks_are_refused() {
    PackedMatrix::from_file(&Pool::new(1), &mut HugePageArena::new(0), Format::Q8_0, 1, &[0; 34]);
}
