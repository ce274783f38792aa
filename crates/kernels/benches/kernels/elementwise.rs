//! Activations, softmax and norms.

use kernels::{Kernels, LayerNorm, RmsNorm};

use crate::Bench;
use crate::contest::{Contender, Contest, Function, Row};
use crate::limits::Limit;
use crate::peers::python;
use crate::product::numbers;
use crate::table::Subject;

const COLUMNS: &[&str] = &["ours", "PyTorch", "ONNX Runtime"];

/// Elements: within L1, L2, L3.
const LENGTHS: &[usize] = &[1 << 10, 1 << 14, 1 << 17, 1 << 20];
/// A quick run leaves out more.
const QUICK: usize = 1 << 17;
/// Rows and columns for what works on rows.
const ROWS: &[[usize; 2]] = &[[1, 128], [1, 4096], [32, 768], [128, 2048], [8, 32_000]];
/// Inputs lie between minus and plus this.
const REACH: f32 = 6.0;
/// Relative: a check that the right thing is computed, not how well. Peers are far off where GELU is near zero.
const TOLERANCE: f64 = 1e-3;
/// See [`Operation`].
const SMALL: f64 = 0.1;
const EPSILON: f64 = 1e-5;

/// A kernel of ours.
type Ours = fn(Kernels, &Input, &mut [f32]);

/// What a kernel reads.
struct Input<'a> {
    x: &'a [f32],
    /// Ones and zeros, as long as a row.
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// Something that is done to rows of numbers.
struct Operation {
    /// The name of the row, and what the script calls it.
    name: &'static str,
    ours: Ours,
    /// Whether ours writes into the place of x. Then it computes over and over what it has left there.
    in_place: bool,
    meaning: Meaning,
    /// Smaller values are judged by their distance, larger ones by their relative distance.
    small: f64,
}

/// The definition.
enum Meaning {
    /// Of each element.
    Element(fn(f64) -> f64),
    /// Of each element together with its row.
    Row(fn(f64, &[f32]) -> f64),
}

const OPERATIONS: &[Operation] = &[
    element("add", |kernels, input, out| kernels.add(input.x, input.x, out), |x| x + x),
    element("exp", |kernels, input, out| kernels.exp(input.x, out), f64::exp),
    element("gelu_tanh", |kernels, input, out| kernels.gelu_tanh(input.x, out), gelu_tanh),
    element("gelu_erf", |kernels, input, out| kernels.gelu_erf(input.x, out), gelu_erf),
    element("silu", |kernels, input, out| kernels.silu(input.x, out), |x| x / (1.0 + (-x).exp())),
    Operation { name: "softmax", ours: our_softmax, in_place: true, meaning: Meaning::Row(softmax), small: 1e-6 },
    Operation {
        name: "layer_norm",
        ours: our_layer_norm,
        in_place: false,
        meaning: Meaning::Row(layer_norm),
        small: SMALL,
    },
    Operation { name: "rms_norm", ours: our_rms_norm, in_place: false, meaning: Meaning::Row(rms_norm), small: SMALL },
];

const fn element(name: &'static str, ours: Ours, of: fn(f64) -> f64) -> Operation {
    Operation { name, ours, in_place: false, meaning: Meaning::Element(of), small: SMALL }
}

fn our_softmax(kernels: Kernels, input: &Input, out: &mut [f32]) {
    kernels.softmax_rows(out, input.weight.len());
}

fn our_layer_norm(kernels: Kernels, input: &Input, out: &mut [f32]) {
    let norm = LayerNorm { weight: &input.weight, bias: &input.bias, eps: EPSILON as f32 };
    kernels.layer_norm_rows(input.x, norm, out);
}

fn our_rms_norm(kernels: Kernels, input: &Input, out: &mut [f32]) {
    kernels.rms_norm_rows(input.x, RmsNorm { weight: &input.weight, eps: EPSILON as f32 }, out);
}

/// Measures and prints the table; gives how many results were wrong.
pub fn tables(bench: &Bench) -> usize {
    let options = &bench.options;
    let cases = OPERATIONS.iter().flat_map(|operation| operation.shapes().map(move |shape| (operation, shape)));
    let wanted = |&(operation, shape): &(&Operation, [usize; 2])| {
        options.wants(&name(operation, shape)) && !(options.quick && shape[0] * shape[1] > QUICK)
    };
    if !options.threads.contains(&1) {
        return 0;
    }
    let rows: Vec<Row> = cases.filter(wanted).map(|(operation, shape)| row(bench, operation, shape)).collect();
    let title = "elements/ns, threads: 1".to_owned();
    bench.print(&Subject { title, limit: "copying", one_limit: false, columns: COLUMNS }, &rows)
}

fn name(operation: &Operation, [rows, cols]: [usize; 2]) -> String {
    match operation.meaning {
        Meaning::Element(_) => format!("{} {}", operation.name, cols),
        Meaning::Row(_) => format!("{} {rows}x{cols}", operation.name),
    }
}

fn row(bench: &Bench, operation: &Operation, shape: [usize; 2]) -> Row {
    let [rows, cols] = shape;
    let mut x = numbers(rows * cols, 1);
    x.iter_mut().for_each(|x| *x *= REACH);
    let input = Input { x: &x, weight: vec![1.0; cols], bias: vec![0.0; cols] };
    let (kernels, ours) = (bench.kernels, operation.ours);
    let ours = move |out: &mut [f32]| ours(kernels, &input, out);
    let mut contenders = vec![if operation.in_place {
        Function::in_place("ours", &x, ours)
    } else {
        Function::contender("ours", x.len(), 1, ours)
    }];
    let python = bench.peers.python.as_ref();
    if let Some(python) = python {
        let operation = python::Operation { name: operation.name, input: &x, rows };
        // Where the temporary folder cannot be used, the columns stay empty.
        let theirs = python::contenders(python, &operation).unwrap_or_default();
        contenders.extend(theirs.into_iter().map(|contender| contender as Box<dyn Contender>));
    }
    let contest = Contest {
        row: name(operation, shape),
        work: x.len() as f64,
        threads: 1,
        contenders: bench.wanted(contenders),
        limit: Limit::Copying(x.len()),
        check: Box::new(|out| operation.check(&x, out, cols)),
    };
    let row = contest.hold(&bench.options);
    if let Some(python) = python {
        // What was prepared for this row is not needed again.
        let _ = python.borrow_mut().ask("forget");
    }
    row
}

impl Operation {
    /// The rows and columns it is measured with.
    fn shapes(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let elements = matches!(self.meaning, Meaning::Element(_));
        let lengths = LENGTHS.iter().map(|&len| [1, len]).filter(move |_| elements);
        lengths.chain(ROWS.iter().copied().filter(move |_| !elements))
    }

    /// What is wrong with `out`: some of its elements are computed again.
    fn check(&self, x: &[f32], out: &[f32], cols: usize) -> Option<String> {
        if out.len() != x.len() {
            return Some(format!("{} elements instead of {}", out.len(), x.len()));
        }
        (0..x.len()).step_by((x.len() / 97).max(1)).find_map(|at| {
            let row = &x[at / cols * cols..][..cols];
            let expected = match self.meaning {
                Meaning::Element(of) => of(f64::from(x[at])),
                Meaning::Row(of) => of(f64::from(x[at]), row),
            };
            let close = (f64::from(out[at]) - expected).abs() <= TOLERANCE * expected.abs().max(self.small);
            (!close).then(|| format!("element {at} is {}, should be {expected:.6}", out[at]))
        })
    }
}

fn gelu_tanh(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
}

fn gelu_erf(x: f64) -> f64 {
    unsafe extern "C" {
        safe fn erf(x: f64) -> f64;
    }
    0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

fn softmax(x: f64, row: &[f32]) -> f64 {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|&other| f64::from(other - largest).exp()).sum();
    (x - f64::from(largest)).exp() / sum
}

fn layer_norm(x: f64, row: &[f32]) -> f64 {
    let mean = mean(row.iter().map(|&other| f64::from(other)), row.len());
    let variance = self::mean(row.iter().map(|&other| (f64::from(other) - mean).powi(2)), row.len());
    (x - mean) / (variance + EPSILON).sqrt()
}

fn rms_norm(x: f64, row: &[f32]) -> f64 {
    x / (mean(row.iter().map(|&other| f64::from(other).powi(2)), row.len()) + EPSILON).sqrt()
}

fn mean(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}
