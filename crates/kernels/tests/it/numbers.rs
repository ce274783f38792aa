//! Numbers to feed kernels with, and distances between what came out and what should have.

/// Pseudo-random numbers, the same in every run.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From −`reach` to `reach`.
    pub fn next(&mut self, reach: f32) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * reach
    }

    pub fn take(&mut self, len: usize, reach: f32) -> Vec<f32> {
        (0..len).map(|_| self.next(reach)).collect()
    }
}

/// What is seldom met and often wrong.
pub const SPECIAL: [f32; 20] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    -f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1e-40,
    88.72284,
    -87.33655,
    -103.98,
    1e30,
    -1e30,
    0.5,
];

/// The spacing of f32 at the size of `x`.
pub fn ulp(x: f64) -> f64 {
    let size = (x.abs() as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
    let exponent = (size.to_bits() >> 23) as i32 - 127;
    2f64.powi(exponent - 23)
}

/// How many units in the last place `got` is away from `wanted`. NaN is nothing away from NaN, nor
/// a value beyond the range from the infinity that it rounds to.
pub fn ulps(got: f32, wanted: f64) -> f64 {
    if (got.is_nan() && wanted.is_nan()) || got == wanted as f32 {
        return ((f64::from(got) - wanted).abs() / ulp(wanted)).min(0.5);
    }
    (f64::from(got) - wanted).abs() / ulp(wanted)
}

/// Every `step`th f32 there is, from both ends of the range through zero and all kinds of NaN.
pub fn all_f32(step: usize) -> Vec<f32> {
    (0..=u32::MAX).step_by(step).map(f32::from_bits).collect()
}

/// The lower tail of the normal distribution for x ≤ 0: a series near 0, a continued fraction elsewhere.
pub fn normal_tail(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if x > -2.5 {
        let mut terms = (0..80).scan(x, |term, i| {
            let now = *term;
            *term *= x * x / f64::from(2 * i + 3);
            Some(now)
        });
        return 0.5 + density * terms.by_ref().sum::<f64>();
    }
    density / (1..200).rev().fold(-x, |below, i| -x + f64::from(i) / below)
}

/// ½ (1 + erf(x / √2))
pub fn normal_distribution(x: f64) -> f64 {
    if x > 0.0 { 1.0 - normal_tail(-x) } else { normal_tail(x) }
}

/// The slope of `f` at `x`, by central differences.
pub fn slope(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    const H: f64 = 1e-4;
    // Two of them, so that the error is of the fourth order.
    let d = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
    (4.0 * d(H / 2.0) - d(H)) / 3.0
}

#[test]
fn the_reference_has_known_values() {
    // From tables of 30 digits.
    for (x, known) in [
        (-0.5, 0.308_537_538_725_986_9),
        (-1.0, 0.158_655_253_931_457_05),
        (-2.0, 0.022_750_131_948_179_21),
        (-3.0, 1.349_898_031_630_094_6e-3),
        (-5.0, 2.866_515_718_791_939e-7),
        (-10.0, 7.619_853_024_160_526e-24),
        (-13.0, 6.117_164_399_549_88e-39),
    ] {
        assert!((normal_tail(x) / known - 1.0).abs() < 1e-12, "{x}: {} {known}", normal_tail(x));
    }
}

#[test]
fn distances_are_in_last_places() {
    assert_eq!(ulps(1.0, 1.0), 0.0);
    assert_eq!(ulps(f32::from_bits(0x3f80_0003), 1.0), 3.0);
    assert_eq!(ulps(1e-45, 0.0), 1.0);
    assert_eq!(ulps(f32::NAN, f64::NAN), 0.5);
    assert!(ulps(f32::NAN, 1.0).is_nan());
    assert_eq!(ulps(1.0, f64::INFINITY), f64::INFINITY);
}
