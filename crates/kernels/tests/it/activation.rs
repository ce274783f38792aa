//! Activations and their gradients.

use kernels::{Kernels, SwigluGrads};

use crate::effort::rounds;
use crate::guarded::{Guarded, lengths_and_offsets};
use crate::numbers::{Numbers, SPECIAL, all_f32, normal_distribution, slope, ulps};

type Unary = fn(Kernels, &[f32], &mut [f32]);
type InPlace = fn(Kernels, &mut [f32]);
type Truth = fn(f64) -> f64;
type Backward = fn(Kernels, &[f32], &[f32], &mut [f32]);

struct Activation {
    name: &'static str,
    out: Unary,
    in_place: InPlace,
    truth: Truth,
    /// The bound that the method's documentation states, in ulp.
    bound: fn(f64) -> f64,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn silu(x: f64) -> f64 {
    x.max(-1e3) * sigmoid(x)
}

fn gelu_tanh(x: f64) -> f64 {
    x.max(-1e3) * sigmoid((8.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3)))
}

fn gelu_erf(x: f64) -> f64 {
    x.max(-1e3) * normal_distribution(x)
}

const ACTIVATIONS: [Activation; 6] = [
    Activation { name: "exp", out: Kernels::exp, in_place: Kernels::exp_in_place, truth: f64::exp, bound: |_| 1.1 },
    Activation { name: "tanh", out: Kernels::tanh, in_place: Kernels::tanh_in_place, truth: f64::tanh, bound: |_| 5.0 },
    Activation {
        name: "sigmoid",
        out: Kernels::sigmoid,
        in_place: Kernels::sigmoid_in_place,
        truth: sigmoid,
        bound: |_| 3.0,
    },
    Activation { name: "silu", out: Kernels::silu, in_place: Kernels::silu_in_place, truth: silu, bound: |_| 4.0 },
    Activation {
        name: "gelu_tanh",
        out: Kernels::gelu_tanh,
        in_place: Kernels::gelu_tanh_in_place,
        truth: gelu_tanh,
        bound: |x| if x < -1.0 { 8.0 - 0.25 * x.powi(3) } else { 6.0 },
    },
    Activation {
        name: "gelu_erf",
        out: Kernels::gelu_erf,
        in_place: Kernels::gelu_erf_in_place,
        truth: gelu_erf,
        bound: |_| 7.0,
    },
];

/// How far apart the tested f32 are: a prime, so that all low bits come up.
const STEP: usize = if cfg!(miri) { 200_000_033 } else { 1999 };

/// Where a search of all f32 from −13 to −0.5 found GELU by erf farthest from the truth: 6.8 ulp.
const FARTHEST: f32 = f32::from_bits(0xbfea_dd79);

/// −∞ has no product with zero, but the functions have a limit.
fn is_masked(x: f32) -> bool {
    x == f32::NEG_INFINITY
}

#[test]
fn the_whole_range_is_within_the_stated_bounds() {
    let mut x = all_f32(STEP);
    x.push(FARTHEST);
    let mut got = vec![0.0; x.len()];
    for activation in ACTIVATIONS {
        let truth: Vec<f64> = x.iter().map(|&x| (activation.truth)(f64::from(x))).collect();
        for kernels in Kernels::available() {
            (activation.out)(kernels, &x, &mut got);
            let mut worst = (0.0, 0.0);
            for i in 0..x.len() {
                let away = ulps(got[i], truth[i]);
                let bound = (activation.bound)(f64::from(x[i]));
                let what = (activation.name, kernels.isa());
                assert!(away <= bound, "{what:?} of {}: {} instead of {}, {away} ulp", x[i], got[i], truth[i]);
                if away > worst.0 {
                    worst = (away, x[i]);
                }
            }
            println!("{} {}: {} ulp at {}", activation.name, kernels.isa(), worst.0, worst.1);
        }
    }
}

#[test]
fn tails_keep_their_relative_size_until_they_vanish() {
    for kernels in Kernels::available() {
        for (out, truth, x, relative) in [
            (Kernels::gelu_tanh as Unary, gelu_tanh as Truth, -10.0, 3e-5),
            (Kernels::gelu_tanh, gelu_tanh, -5.0, 4e-6),
            (Kernels::gelu_erf, gelu_erf, -10.0, 8e-7),
            (Kernels::gelu_erf, gelu_erf, -12.9, 8e-7),
            (Kernels::silu, silu, -91.0, 5e-7),
        ] {
            let mut got = [0.0];
            out(kernels, &[x], &mut got);
            let wanted = truth(f64::from(x));
            assert!(wanted.abs() > f64::from(f32::MIN_POSITIVE), "the test is of normal numbers");
            assert!((f64::from(got[0]) / wanted - 1.0).abs() < relative, "{} {x}: {} {wanted}", kernels.isa(), got[0]);
        }
    }
}

#[test]
fn special_values_come_out_as_limits() {
    for kernels in Kernels::available() {
        for activation in ACTIVATIONS {
            let mut got = [0.0; SPECIAL.len()];
            (activation.out)(kernels, &SPECIAL, &mut got);
            for (x, got) in SPECIAL.into_iter().zip(got) {
                let wanted = (activation.truth)(if is_masked(x) { -1e4 } else { f64::from(x) });
                let what = (activation.name, kernels.isa(), x);
                assert_eq!(got.is_nan(), x.is_nan(), "{what:?}");
                assert!(ulps(got, wanted) <= (activation.bound)(f64::from(x).max(-20.0)), "{what:?}: {got} {wanted}");
            }
        }
    }
}

#[test]
fn every_length_and_place_gives_the_same_bits() {
    let x = Numbers::new(5).take(rounds(130, 35), 8.0);
    for kernels in Kernels::available() {
        for activation in ACTIVATIONS {
            let mut alone = vec![0.0; x.len()];
            for (x, out) in x.iter().zip(&mut alone) {
                (activation.out)(kernels, std::slice::from_ref(x), std::slice::from_mut(out));
            }
            for (len, offset) in lengths_and_offsets() {
                let mut out = Guarded::unset(len, offset);
                out.with(|out| (activation.out)(kernels, &x[..len], out));
                assert_eq!(out.get(), &alone[..len], "{} {} of {len}", kernels.isa(), activation.name);
                let mut in_place = Guarded::new(&x[..len], offset);
                in_place.with(|x| (activation.in_place)(kernels, x));
                assert_eq!(in_place.get(), &alone[..len], "{} {} of {len}, in place", kernels.isa(), activation.name);
            }
        }
    }
}

/// Long slices are walked through as their places suggest: from a later beginning, and from the end.
#[test]
fn long_slices_give_the_same_bits_wherever_they_lie() {
    const SHORT: usize = 1000;
    const PAGE: usize = 1024;
    let (most, room) = (PAGE * 4 + 70, PAGE * 8);
    let numbers = Numbers::new(6).take(2 * most, 8.0);
    for kernels in Kernels::available() {
        for len in [PAGE * 4, PAGE * 4 + 1, PAGE * 4 + 31, most].into_iter().take(rounds(4, 1)) {
            let (gate, up) = (&numbers[..len], &numbers[most..most + len]);
            let mut wanted = vec![0.0; len];
            for ((gate, up), out) in gate.chunks(SHORT).zip(up.chunks(SHORT)).zip(wanted.chunks_mut(SHORT)) {
                kernels.swiglu(gate, up, out);
            }
            // How far the result is behind its first input, in the same page; and where that begins.
            for (behind, start) in
                [(0, 0), (0, 3), (4, 0), (5, 1), (16, 0), (19, 7), (64, 2), (127, 0), (128, 0), (1020, 4)]
            {
                let mut memory = vec![f32::NAN; start + room + behind + len + 1];
                memory[start..start + len].copy_from_slice(gate);
                let (before, out) = memory.split_at_mut(start + room + behind);
                kernels.swiglu(&before[start..start + len], up, &mut out[..len]);
                assert_eq!(out[..len], wanted, "{} {len}, {behind} behind {start}", kernels.isa());
                assert!(out[len].is_nan(), "{} {len}: nothing behind the end is written", kernels.isa());
                kernels.swiglu_in_place(&mut memory[start..start + len], up);
                assert_eq!(memory[start..start + len], wanted, "{} {len}, in place at {start}", kernels.isa());
            }
        }
    }
}

#[test]
fn swiglu_is_silu_times_up() {
    for kernels in Kernels::available() {
        for (len, offset) in lengths_and_offsets() {
            let mut numbers = Numbers::new(len as u64);
            let (gate, up) = (numbers.take(len, 20.0), numbers.take(len, 3.0));
            let mut wanted = vec![0.0; len];
            kernels.silu(&gate, &mut wanted);
            kernels.mul_assign(&mut wanted, &up);
            let mut out = Guarded::unset(len, offset);
            out.with(|out| kernels.swiglu(&gate, &up, out));
            assert_eq!(out.get(), wanted, "{} {len}", kernels.isa());
            let mut in_place = Guarded::new(&gate, offset);
            in_place.with(|gate| kernels.swiglu_in_place(gate, &up));
            assert_eq!(in_place.get(), wanted, "{} {len}, in place", kernels.isa());
        }
    }
}

/// The stated bound of the slopes: their size is about 1, and they cross zero.
const SLOPE_BOUND: f64 = 4e-7;
/// What central differences in f64 are away from the truth.
const DIFFERENCES: f64 = 1e-10;

#[test]
fn slopes_are_those_of_central_differences() {
    let of: [(&str, Backward, Truth); 3] = [
        ("silu", Kernels::silu_backward, silu),
        ("gelu_tanh", Kernels::gelu_tanh_backward, gelu_tanh),
        ("gelu_erf", Kernels::gelu_erf_backward, gelu_erf),
    ];
    let x: Vec<f32> =
        (-4000..=4000).step_by(rounds(1, 500)).map(|i| i as f32 / 200.0).chain([-1e30, -200.0, 200.0, 1e30]).collect();
    let grad_out = vec![-1.5; x.len()];
    for (name, backward, truth) in of {
        for kernels in Kernels::available() {
            let mut got = Guarded::unset(x.len(), 1);
            got.with(|grad_x| backward(kernels, &x, &grad_out, grad_x));
            for (&x, &got) in x.iter().zip(got.get()) {
                let wanted = -1.5 * slope(truth, f64::from(x.clamp(-300.0, 300.0)));
                let away = (f64::from(got) - wanted).abs();
                assert!(away <= 1.5 * (SLOPE_BOUND + DIFFERENCES), "{name} {} of {x}: {got} {wanted}", kernels.isa());
            }
        }
    }
}

#[test]
fn slopes_at_the_ends_are_zero_and_one() {
    for kernels in Kernels::available() {
        for backward in [Kernels::silu_backward as Backward, Kernels::gelu_tanh_backward, Kernels::gelu_erf_backward] {
            let mut got = [0.0; 3];
            backward(kernels, &[f32::NEG_INFINITY, f32::INFINITY, f32::NAN], &[2.0; 3], &mut got);
            assert_eq!(got[..2], [0.0, 2.0], "{}", kernels.isa());
            assert!(got[2].is_nan());
        }
    }
}

#[test]
fn slopes_do_not_depend_on_length_or_place() {
    let mut numbers = Numbers::new(9);
    let (x, grad_out) = (numbers.take(130, 6.0), numbers.take(130, 2.0));
    for kernels in Kernels::available() {
        for backward in [Kernels::silu_backward as Backward, Kernels::gelu_tanh_backward, Kernels::gelu_erf_backward] {
            let mut all = vec![0.0; 130];
            backward(kernels, &x, &grad_out, &mut all);
            for (len, offset) in lengths_and_offsets() {
                let mut got = Guarded::unset(len, offset);
                got.with(|grad_x| backward(kernels, &x[..len], &grad_out[..len], grad_x));
                assert_eq!(got.get(), &all[..len], "{} {len}", kernels.isa());
            }
        }
    }
}

#[test]
fn swiglu_hands_back_both_gradients() {
    for kernels in Kernels::available() {
        for (len, offset) in lengths_and_offsets() {
            let mut numbers = Numbers::new(len as u64);
            let (gate, up, grad_out) = (numbers.take(len, 9.0), numbers.take(len, 3.0), numbers.take(len, 2.0));
            let (mut grad_gate, mut grad_up) = (Guarded::unset(len, offset), Guarded::unset(len, offset / 2));
            grad_gate.with(|grad_gate| {
                grad_up.with(|grad_up| {
                    let grads = SwigluGrads { gate: grad_gate, up: grad_up };
                    kernels.swiglu_backward(&gate, &up, &grad_out, grads);
                });
            });
            for i in 0..len {
                let (g, u, o) = (f64::from(gate[i]), f64::from(up[i]), f64::from(grad_out[i]));
                let (wanted_gate, wanted_up) = (o * u * slope(silu, g), o * silu(g));
                let what = (kernels.isa(), len, i);
                let away = (f64::from(grad_gate.get()[i]) - wanted_gate).abs();
                assert!(away <= (SLOPE_BOUND + DIFFERENCES) * (o * u).abs(), "{what:?}");
                let away = (f64::from(grad_up.get()[i]) - wanted_up).abs();
                assert!(away <= 5e-7 * wanted_up.abs(), "{what:?}: {away} {wanted_up}");
            }
        }
    }
}
