//! Sums and products, element by element and over whole slices.

use super::fold::{Fold, fold};
use super::map::{Formula, map, map_in_place, map_onto};
use crate::simd::Simd;

/// Writes formulas that are so short that loads and stores bound them.
macro_rules! formulas {
    ($($name:ident $(($factor:ident))?, $in:literal: |$simd:ident, $values:pat_param| $value:expr;)+) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name $((pub(super) formulas!(@f32 $factor)))?;

        impl Formula<$in, 1> for $name {
            const TOGETHER: usize = 4;

            #[inline(always)]
            fn apply<S: Simd>(self, $simd: S, $values: [S::F; $in]) -> [S::F; 1] {
                $(let $factor = $simd.splat(self.0);)?
                [$value]
            }
        }
    )+};
    (@f32 $factor:ident) => { f32 };
}

formulas! {
    Add, 2: |simd, [a, b]| simd.add(a, b);
    Sub, 2: |simd, [a, b]| simd.sub(a, b);
    Mul, 2: |simd, [a, b]| simd.mul(a, b);
    Scale(factor), 1: |simd, [x]| simd.mul(x, factor);
    Axpy(factor), 2: |simd, [y, x]| simd.fma(factor, x, y);
}

/// See [`Kernels::add`](crate::Kernels::add).
#[inline(always)]
pub(crate) fn add<S: Simd>(simd: S, a: &[f32], b: &[f32], out: &mut [f32]) {
    map(simd, Add, [a, b], out);
}

/// See [`Kernels::sub`](crate::Kernels::sub).
#[inline(always)]
pub(crate) fn sub<S: Simd>(simd: S, a: &[f32], b: &[f32], out: &mut [f32]) {
    map(simd, Sub, [a, b], out);
}

/// See [`Kernels::mul`](crate::Kernels::mul).
#[inline(always)]
pub(crate) fn mul<S: Simd>(simd: S, a: &[f32], b: &[f32], out: &mut [f32]) {
    map(simd, Mul, [a, b], out);
}

/// See [`Kernels::add_assign`](crate::Kernels::add_assign).
#[inline(always)]
pub(crate) fn add_assign<S: Simd>(simd: S, x: &mut [f32], y: &[f32]) {
    map_onto(simd, Add, x, y);
}

/// See [`Kernels::mul_assign`](crate::Kernels::mul_assign).
#[inline(always)]
pub(crate) fn mul_assign<S: Simd>(simd: S, x: &mut [f32], y: &[f32]) {
    map_onto(simd, Mul, x, y);
}

/// See [`Kernels::scale`](crate::Kernels::scale).
#[inline(always)]
pub(crate) fn scale<S: Simd>(simd: S, x: &mut [f32], factor: f32) {
    map_in_place(simd, Scale(factor), x);
}

/// See [`Kernels::axpy`](crate::Kernels::axpy).
#[inline(always)]
pub(crate) fn axpy<S: Simd>(simd: S, factor: f32, x: &[f32], y: &mut [f32]) {
    map_onto(simd, Axpy(factor), y, x);
}

/// See [`Kernels::add_rows`](crate::Kernels::add_rows).
#[inline(always)]
pub(crate) fn add_rows<S: Simd>(simd: S, x: &mut [f32], row: &[f32]) {
    for x in x.chunks_exact_mut(row.len().max(1)) {
        map_onto(simd, Add, x, row);
    }
}

/// See [`Kernels::mul_rows`](crate::Kernels::mul_rows).
#[inline(always)]
pub(crate) fn mul_rows<S: Simd>(simd: S, x: &mut [f32], row: &[f32]) {
    for x in x.chunks_exact_mut(row.len().max(1)) {
        map_onto(simd, Mul, x, row);
    }
}

#[derive(Clone, Copy)]
struct AddFour;

impl Formula<5, 1> for AddFour {
    #[inline(always)]
    fn apply<S: Simd>(self, simd: S, [sum, a, b, c, d]: [S::F; 5]) -> [S::F; 1] {
        [simd.add(sum, simd.add(simd.add(a, b), simd.add(c, d)))]
    }
}

/// See [`Kernels::sum_rows`](crate::Kernels::sum_rows). Four rows at once: the sums are loaded and
/// stored a quarter as often.
#[inline(always)]
pub(crate) fn sum_rows<S: Simd>(simd: S, x: &[f32], sums: &mut [f32]) {
    let cols = sums.len();
    if cols == 0 {
        return;
    }
    let mut fours = x.chunks_exact(4 * cols);
    for rows in &mut fours {
        let row = |i: usize| rows[i * cols..].as_ptr();
        let to = sums.as_mut_ptr();
        // SAFETY: all five have `cols` values, and the sums are read and written place by place through one pointer.
        unsafe { super::map::run(simd, AddFour, [to.cast_const(), row(0), row(1), row(2), row(3)], [to], cols) };
    }
    for row in fours.remainder().chunks_exact(cols) {
        map_onto(simd, Add, sums, row);
    }
}

/// Writes sums over slices.
macro_rules! sums {
    ($($name:ident, $in:literal: |$simd:ident, $total:ident, $values:pat_param| $value:expr;)+) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Fold<$in, 1> for $name {
            #[inline(always)]
            fn step<S: Simd>(self, $simd: S, [$total]: [S::F; 1], $values: [S::F; $in]) -> [S::F; 1] {
                [$value]
            }
        }
    )+};
}

sums! {
    Sum, 1: |simd, total, [x]| simd.add(total, x);
    SumOfSquares, 1: |simd, total, [x]| simd.fma(x, x, total);
    Dot, 2: |simd, total, [a, b]| simd.fma(a, b, total);
}

/// See [`Kernels::sum`](crate::Kernels::sum).
#[inline(always)]
pub(crate) fn sum<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let [total] = fold(simd, Sum, [x]);
    simd.reduce_add(total)
}

/// See [`Kernels::sum_of_squares`](crate::Kernels::sum_of_squares).
#[inline(always)]
pub(crate) fn sum_of_squares<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let [total] = fold(simd, SumOfSquares, [x]);
    simd.reduce_add(total)
}

/// See [`Kernels::dot`](crate::Kernels::dot).
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let [total] = fold(simd, Dot, [a, b]);
    simd.reduce_add(total)
}

#[derive(Clone, Copy)]
struct Max;

impl Fold<1, 1> for Max {
    #[inline(always)]
    fn start<S: Simd>(self, simd: S) -> S::F {
        simd.splat(f32::NEG_INFINITY)
    }

    #[inline(always)]
    fn missing<S: Simd>(self, simd: S) -> S::F {
        simd.splat(f32::NEG_INFINITY)
    }

    /// The total is second: it stays where x is NaN.
    #[inline(always)]
    fn step<S: Simd>(self, simd: S, [total]: [S::F; 1], [x]: [S::F; 1]) -> [S::F; 1] {
        [simd.max(x, total)]
    }

    #[inline(always)]
    fn join<S: Simd>(self, simd: S, a: S::F, b: S::F) -> S::F {
        simd.max(a, b)
    }
}

/// See [`Kernels::max`](crate::Kernels::max).
#[inline(always)]
pub(crate) fn max<S: Simd>(simd: S, x: &[f32]) -> f32 {
    let [total] = fold(simd, Max, [x]);
    simd.reduce_max(total)
}
