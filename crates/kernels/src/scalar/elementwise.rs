//! Sums and products, element by element and over whole slices. What is added up is added up in f64.

/// See [`Kernels::add`](crate::Kernels::add).
pub(crate) fn add(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a + b;
    }
}

/// See [`Kernels::sub`](crate::Kernels::sub).
pub(crate) fn sub(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a - b;
    }
}

/// See [`Kernels::mul`](crate::Kernels::mul).
pub(crate) fn mul(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a * b;
    }
}

/// See [`Kernels::add_assign`](crate::Kernels::add_assign).
pub(crate) fn add_assign(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += y;
    }
}

/// See [`Kernels::mul_assign`](crate::Kernels::mul_assign).
pub(crate) fn mul_assign(x: &mut [f32], y: &[f32]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x *= y;
    }
}

/// See [`Kernels::scale`](crate::Kernels::scale).
pub(crate) fn scale(x: &mut [f32], factor: f32) {
    for x in x {
        *x *= factor;
    }
}

/// See [`Kernels::axpy`](crate::Kernels::axpy).
pub(crate) fn axpy(factor: f32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// See [`Kernels::add_rows`](crate::Kernels::add_rows).
pub(crate) fn add_rows(x: &mut [f32], row: &[f32]) {
    for x in x.chunks_exact_mut(row.len().max(1)) {
        add_assign(x, row);
    }
}

/// See [`Kernels::mul_rows`](crate::Kernels::mul_rows).
pub(crate) fn mul_rows(x: &mut [f32], row: &[f32]) {
    for x in x.chunks_exact_mut(row.len().max(1)) {
        mul_assign(x, row);
    }
}

/// See [`Kernels::sum_rows`](crate::Kernels::sum_rows).
pub(crate) fn sum_rows(x: &[f32], sums: &mut [f32]) {
    for x in x.chunks_exact(sums.len().max(1)) {
        add_assign(sums, x);
    }
}

/// See [`Kernels::sum`](crate::Kernels::sum).
pub(crate) fn sum(x: &[f32]) -> f32 {
    x.iter().map(|&x| f64::from(x)).sum::<f64>() as f32
}

/// See [`Kernels::sum_of_squares`](crate::Kernels::sum_of_squares).
pub(crate) fn sum_of_squares(x: &[f32]) -> f32 {
    dot(x, x)
}

/// See [`Kernels::dot`](crate::Kernels::dot).
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>() as f32
}

/// See [`Kernels::max`](crate::Kernels::max).
pub(crate) fn max(x: &[f32]) -> f32 {
    x.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}
