//! Linear layers on a pool: the bits of the single products, however many are computed together and
//! by how many threads.

use kernels::quant::{Activations, Format, Outputs, PackedWeights};
use kernels::{
    HugePageArena, Kernels, Linear, LinearInput, LinearWeights, Matrix, MatrixMut, PackedMatrix, Pool, Product,
    WeightsInFile,
};

use crate::effort::rounds;
use crate::numbers::Numbers;

/// No product of the numbers here.
const CANARY: f32 = 777.0;
/// Columns beside the results that nobody may write.
const GAP: usize = 3;

/// Weights in the three forms that a layer can have them.
struct Weights {
    format: Format,
    shape: [usize; 2],
    /// Begins at an odd address.
    file: Vec<u8>,
    quantised: Option<PackedWeights>,
    floats: Option<PackedMatrix>,
    bias: Option<Vec<f32>>,
}

impl Weights {
    fn new(format: Format, shape: [usize; 2], biased: bool, numbers: &mut Numbers) -> Self {
        let [inputs, outputs] = shape;
        let mut file = vec![0; 1 + format.row_bytes(inputs).unwrap() * outputs];
        Kernels::best().quantise(format, &numbers.take(inputs * outputs, 1.0), &mut file[1..]);
        let blocks = PackedWeights::supports(format);
        Self {
            format,
            shape,
            quantised: blocks.then(|| PackedWeights::pack(format, outputs, inputs, &file[1..])),
            floats: (!blocks).then(|| {
                PackedMatrix::from_file(&Pool::new(1), &mut HugePageArena::new(0), format, inputs, &file[1..])
            }),
            file,
            bias: biased.then(|| numbers.take(outputs, 2.0)),
        }
    }

    fn packed(&self) -> LinearWeights<'_> {
        match (&self.quantised, &self.floats) {
            (Some(weights), _) => LinearWeights::Quantised(weights),
            (_, Some(weights)) => LinearWeights::Floats(weights),
            _ => unreachable!("one of them"),
        }
    }

    fn in_file(&self) -> LinearWeights<'_> {
        LinearWeights::Rows(WeightsInFile::new(self.format, self.shape[0], &self.file[1..]))
    }

    /// What the kernels give that know of one matrix.
    fn alone(&self, kernels: Kernels, x: &[f32], bytes: Option<&Activations>) -> Vec<f32> {
        let [inputs, outputs] = self.shape;
        let mut all = vec![CANARY; x.len() / inputs * outputs];
        if let Some(weights) = &self.quantised {
            for (row, out) in all.chunks_exact_mut(outputs).enumerate() {
                kernels.matvec_packed(weights.whole(), bytes.unwrap().row(row), out);
                let bias = self.bias.iter().flatten();
                out.iter_mut().zip(bias).for_each(|(out, bias)| *out += bias);
            }
        } else if let Some(weights) = &self.floats {
            let rows = x.len() / inputs;
            let product = Product::with_packed(Matrix::new(x, rows, inputs), weights);
            let product = if let Some(bias) = &self.bias { product.bias(bias) } else { product };
            kernels.gemm(product, MatrixMut::new(&mut all, rows, outputs));
        }
        all
    }
}

/// Layers with one input, and that input.
struct Case {
    layers: Vec<Weights>,
    inputs: usize,
    x: Vec<f32>,
}

impl Case {
    fn new(formats: &[Format], inputs: usize, outputs: &[usize], rows: usize) -> Self {
        let mut numbers = Numbers::new((inputs * 31 + rows) as u64);
        let layer = |(number, (format, outputs)): (usize, (&Format, &usize))| {
            Weights::new(*format, [inputs, *outputs], number % 2 == 0, &mut numbers)
        };
        let layers = formats.iter().zip(outputs).enumerate().map(layer).collect();
        Self { layers, inputs, x: numbers.take(inputs * rows, 3.0) }
    }

    fn bytes(&self, kernels: Kernels) -> Option<Activations> {
        let needed = self.layers.iter().any(|layer| layer.quantised.is_some());
        needed.then(|| {
            let mut bytes = Activations::new(self.x.len() / self.inputs, self.inputs);
            kernels.quantise_activations(&self.x, &mut bytes);
            bytes
        })
    }

    /// The results of all layers, which lie side by side, computed together.
    fn run(&self, kernels: Kernels, pool: &Pool, in_file: bool) -> Vec<Vec<f32>> {
        let rows = self.x.len() / self.inputs;
        let stride = self.layers.iter().map(|layer| layer.shape[1]).sum::<usize>() + GAP;
        let mut all = vec![CANARY; rows * stride];
        let mut rest = Outputs::new(&mut all, stride, stride);
        let mut layers = Vec::new();
        for layer in &self.layers {
            let (out, after) = rest.split_at(layer.shape[1]);
            rest = after;
            let weights = if in_file { layer.in_file() } else { layer.packed() };
            layers.push(Linear { weights, bias: layer.bias.as_deref(), out });
        }
        let bytes = self.bytes(kernels);
        let input = LinearInput { values: &self.x, width: self.inputs, bytes: bytes.as_ref() };
        kernels.linear_on(pool, &input, &mut layers);
        let mut first = 0;
        let mut results = Vec::new();
        for outputs in self.layers.iter().map(|layer| layer.shape[1]) {
            results.push(all.chunks(stride).flat_map(|row| row[first..first + outputs].to_vec()).collect());
            first += outputs;
        }
        assert!(all.chunks(stride).all(|row| row[first..].iter().all(|value| *value == CANARY)), "beside the results");
        results
    }

    /// The largest amount that any output of a layer is away from the exact one, as a share of the sum of all amounts.
    fn away(&self, layer: &Weights, got: &[f32]) -> f64 {
        let [inputs, outputs] = layer.shape;
        let mut weights = vec![0.0; inputs * outputs];
        Kernels::best().dequantise(layer.format, &layer.file[1..], &mut weights);
        let mut most = 0.0f64;
        for (got, x) in got.chunks(outputs).zip(self.x.chunks(inputs)) {
            for (output, (got, weights)) in got.iter().zip(weights.chunks(inputs)).enumerate() {
                let bias = layer.bias.as_ref().map_or(0.0, |bias| f64::from(bias[output]));
                let products = weights.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x));
                let (sum, size) = products.fold((bias, bias.abs()), |(sum, size), p| (sum + p, size + p.abs()));
                most = most.max((f64::from(*got) - sum).abs() / size);
            }
        }
        most
    }

    /// Packed weights give the bits of single products, on any pool; so do quantised rows of a
    /// file. Rows of floats have another order of their sums, the same on every pool.
    fn check(&self, pools: &[Pool]) {
        for kernels in Kernels::available() {
            let bytes = self.bytes(kernels);
            let wanted: Vec<_> =
                self.layers.iter().map(|layer| layer.alone(kernels, &self.x, bytes.as_ref())).collect();
            let rows = self.run(kernels, &pools[0], true);
            for (layer, (wanted, rows)) in self.layers.iter().zip(wanted.iter().zip(&rows)) {
                let what = format!("{} {} {:?}, {} values", kernels.isa(), layer.format, layer.shape, self.x.len());
                if layer.quantised.is_some() {
                    assert!(rows == wanted, "in the file: {what}");
                } else {
                    let away = self.away(layer, rows);
                    assert!(away <= (self.inputs as f64 + 2.0) * 6e-8, "{away:e}: {what}");
                }
            }
            for pool in pools {
                let what = (kernels.isa(), pool, self.inputs, self.x.len() / self.inputs);
                assert!(self.run(kernels, pool, false) == wanted, "packed: {what:?}");
                assert!(self.run(kernels, pool, true) == rows, "in the file: {what:?}");
            }
        }
    }
}

fn pools() -> [Pool; 3] {
    [1, 2, 3].map(Pool::new)
}

#[test]
fn floats_of_any_shape() {
    let formats = [Format::F32, Format::F16, Format::BF16];
    for (inputs, outputs) in [
        (1, [1, 2, 3]),
        (7, [16, 15, 17]),
        (33, [1, 40, 31]),
        (150, [211, 64, 7]),
        // More than a block of the depth.
        (513, [65, 33, 130]),
        (1030, [3, 16, 50]),
    ] {
        for rows in [1, 2, 5, 16, 33].into_iter().take(rounds(5, 1)) {
            Case::new(&formats, inputs, &outputs, rows).check(&pools());
        }
    }
}

#[test]
fn quantised_weights_of_any_shape() {
    let all: Vec<Format> = Format::ALL.iter().copied().filter(|format| PackedWeights::supports(*format)).collect();
    for (round, outputs) in [[1, 16, 15], [17, 100, 64], [210, 33, 500]].into_iter().enumerate() {
        for rows in [1, 2, 3, 4, 9, 40].into_iter().take(rounds(6, 1)) {
            // Three of the formats, each in its turn.
            let formats: Vec<_> = (0..3).map(|i| all[(round * 3 + rows + i * 3) % all.len()]).collect();
            Case::new(&formats, 256, &outputs, rows).check(&pools());
            Case::new(&formats, 768, &outputs, rows).check(&pools());
        }
    }
}

#[test]
fn formats_side_by_side() {
    let pools = pools();
    for formats in [
        [Format::Q4_K, Format::F32, Format::Q6_K],
        [Format::F16, Format::Q8_0, Format::BF16],
        [Format::Q4_0, Format::Q5_1, Format::F16],
    ] {
        for rows in [1, 3, 8].into_iter().take(rounds(3, 1)) {
            Case::new(&formats, 512, &[130, 37, 270], rows).check(&pools);
        }
    }
}

/// Enough for every thread to have a part, and less for one layer than units there are threads.
#[test]
fn large_layers_beside_tiny_ones() {
    let pools = pools();
    let formats = [Format::Q8_0, Format::Q4_0, Format::F32];
    for rows in [1, 6].into_iter().take(rounds(2, 0)) {
        Case::new(&formats, 1024, &[1, 1500, 5], rows).check(&pools);
        Case::new(&formats, 1024, &[700, 1, 300], rows).check(&pools);
    }
}

#[test]
fn nothing_to_do() {
    for kernels in Kernels::available() {
        let case = Case::new(&[Format::F32, Format::Q8_0], 32, &[5, 7], 0);
        assert!(case.run(kernels, &Pool::new(2), false).iter().all(Vec::is_empty));
        let input = LinearInput { values: &[1.0; 32], width: 32, bytes: None };
        kernels.linear_on(&Pool::new(2), &input, &mut []);
    }
}

/// A layer of five outputs over 32 inputs, with something that does not fit.
#[track_caller]
fn refuses(what: &str, run: impl FnOnce(&Weights) + std::panic::UnwindSafe) {
    let weights = Weights::new(Format::Q8_0, [32, 5], true, &mut Numbers::new(1));
    let weights = std::panic::AssertUnwindSafe(weights);
    let panic = std::panic::catch_unwind(move || run(&weights)).expect_err(what);
    let message = panic.downcast_ref::<String>().cloned();
    let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap();
    assert!(message.contains(what), "`{message}` does not say `{what}`");
}

#[test]
fn lengths_that_do_not_fit() {
    let on = |weights: &Weights, values: &[f32], width: usize, bias: &[f32], out: &mut [f32], columns: usize| {
        let mut bytes = Activations::new(4, 32);
        let kernels = Kernels::best();
        kernels.quantise_activations(&[1.0; 64], &mut bytes);
        let out = Outputs::new(out, columns, columns);
        let mut layers = [Linear { weights: weights.packed(), bias: Some(bias), out }];
        kernels.linear_on(&Pool::new(1), &LinearInput { values, width, bytes: Some(&bytes) }, &mut layers);
    };
    refuses("63 values in rows of 32", move |w| on(w, &[1.0; 63], 32, &[0.0; 5], &mut [0.0; 10], 5));
    refuses("16 values in a row for 32 inputs", move |w| on(w, &[1.0; 64], 16, &[0.0; 5], &mut [0.0; 10], 5));
    refuses("4 columns for 5 outputs", move |w| on(w, &[1.0; 64], 32, &[0.0; 5], &mut [0.0; 8], 4));
    refuses("2 rows do not fit into 1", move |w| on(w, &[1.0; 64], 32, &[0.0; 5], &mut [0.0; 5], 5));
    refuses("a bias for each of 5 outputs", move |w| on(w, &[1.0; 64], 32, &[0.0; 4], &mut [0.0; 10], 5));
    refuses("the same activations in both forms", move |w| on(w, &[1.0; 32], 32, &[0.0; 5], &mut [0.0; 10], 5));
    refuses("activations in bytes", |w| {
        let mut out = [0.0; 5];
        let mut layers = [Linear { weights: w.packed(), bias: None, out: Outputs::new(&mut out, 5, 5) }];
        let input = LinearInput { values: &[1.0; 32], width: 32, bytes: None };
        Kernels::best().linear_on(&Pool::new(1), &input, &mut layers);
    });
    refuses("whole blocks", |_| _ = WeightsInFile::new(Format::Q8_0, 33, &[0; 34]));
    refuses("33 bytes in rows of 34", |_| _ = WeightsInFile::new(Format::Q8_0, 32, &[0; 33]));
}

/// Activations that threads make together are those of one.
#[test]
fn activations_on_a_pool() {
    for kernels in Kernels::available() {
        for (rows, columns) in [(1, 32), (3, 64), (5, 992), (70, 256), (401, 96), (1, 40_000)] {
            let mut values = Numbers::new(rows as u64).take(rows * columns, 4.0);
            values[rows * columns / 2] = f32::NAN;
            let mut wanted = Activations::new(rows, columns);
            kernels.quantise_activations(&values, &mut wanted);
            for pool in pools() {
                // Room for more, with what another call left.
                let mut got = Activations::new(rows + 2, columns);
                kernels.quantise_activations(&vec![9.0; (rows + 2) * columns], &mut got);
                kernels.quantise_activations_on(&pool, &values, &mut got);
                assert_eq!(got.rows(), rows);
                for row in 0..rows {
                    let (got, wanted) = (got.row(row), wanted.row(row));
                    assert_eq!(got.codes(), wanted.codes(), "{} {pool:?} {rows} × {columns}", kernels.isa());
                    for block in 0..columns / 32 {
                        assert_eq!(got.scale(block).to_bits(), wanted.scale(block).to_bits());
                    }
                }
                kernels.quantise_activations_on(&pool, &[], &mut got);
                assert_eq!(got.rows(), 0);
            }
        }
    }
}
