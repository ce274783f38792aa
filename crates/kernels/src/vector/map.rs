//! One formula for every place of some slices.

use crate::simd::Simd;

/// What happens to the values at one place: from `IN` slices to `OUT` slices.
///
/// A trait, not a closure: a closure may stay a call, and then its instructions become calls too.
pub(crate) trait Formula<const IN: usize, const OUT: usize>: Copy {
    /// How many vectors are in flight at once. Long formulas keep the CPU busy with few.
    const TOGETHER: usize = 2;

    fn apply<S: Simd>(self, simd: S, inputs: [S::F; IN]) -> [S::F; OUT];
}

/// out = formula(inputs), place by place.
#[inline(always)]
pub(crate) fn map<S: Simd, M: Formula<IN, 1>, const IN: usize>(
    simd: S,
    formula: M,
    inputs: [&[f32]; IN],
    out: &mut [f32],
) {
    let inputs = pointers(inputs, out.len());
    // SAFETY: all slices are as long as `out`.
    unsafe { run(simd, formula, inputs, [out.as_mut_ptr()], out.len()) }
}

/// Two slices at once.
#[inline(always)]
pub(crate) fn map_to_two<S: Simd, M: Formula<IN, 2>, const IN: usize>(
    simd: S,
    formula: M,
    inputs: [&[f32]; IN],
    out: [&mut [f32]; 2],
) {
    let [first, second] = out;
    assert!(first.len() == second.len());
    let inputs = pointers(inputs, first.len());
    // SAFETY: all slices are as long as `first`.
    unsafe { run(simd, formula, inputs, [first.as_mut_ptr(), second.as_mut_ptr()], first.len()) }
}

/// x = formula(x), place by place.
#[inline(always)]
pub(crate) fn map_in_place<S: Simd, M: Formula<1, 1>>(simd: S, formula: M, x: &mut [f32]) {
    let to = x.as_mut_ptr();
    // SAFETY: one slice, read and written place by place through one pointer.
    unsafe { run(simd, formula, [to.cast_const()], [to], x.len()) }
}

/// x = formula(x, y), place by place.
#[inline(always)]
pub(crate) fn map_onto<S: Simd, M: Formula<2, 1>>(simd: S, formula: M, x: &mut [f32], y: &[f32]) {
    assert!(y.len() == x.len());
    let to = x.as_mut_ptr();
    // SAFETY: both slices are as long as `x`; `x` is read and written place by place through one pointer.
    unsafe { run(simd, formula, [to.cast_const(), y.as_ptr()], [to], x.len()) }
}

#[inline(always)]
fn pointers<const IN: usize>(slices: [&[f32]; IN], len: usize) -> [*const f32; IN] {
    let mut pointers = [std::ptr::null(); IN];
    for (pointer, slice) in pointers.iter_mut().zip(slices) {
        assert!(slice.len() == len);
        *pointer = slice.as_ptr();
    }
    pointers
}

/// Elements of half a cache line.
const HALF_LINE: usize = 8;
/// From so many elements on it pays to begin with the half of a line.
const LONG: usize = 4096;

/// # Safety
/// `len` values can be read from each of `from` and written to each of `to`, and one of `to` overlaps another pointer
/// only where both are the same.
#[inline(always)]
pub(crate) unsafe fn run<S: Simd, M: Formula<IN, OUT>, const IN: usize, const OUT: usize>(
    simd: S,
    formula: M,
    from: [*const f32; IN],
    to: [*mut f32; OUT],
    len: usize,
) {
    if len < S::LANES {
        // SAFETY: as the caller promises.
        unsafe { run_part(simd, formula, from, to, len) };
        return;
    }
    // What is left at the end is done as a whole vector that overlaps the one before: a partial store costs 12 cycles, and 30
    // where memory behind it is read soon. Its values are loaded first, because others may be stored over them.
    let last = len - S::LANES;
    // SAFETY: a vector fits, as was just checked.
    let values = unsafe { load(simd, from, last) };
    let mut at = 0;
    // The same at the beginning, where that is not at half a line, as allocators that align to 16 bytes place it: stores that cross
    // lines elsewhere took a tenth longer.
    let ragged = to[0].addr() / size_of::<f32>() % HALF_LINE;
    let first = (len >= LONG && ragged != 0).then(|| {
        at = (HALF_LINE - ragged) % S::LANES;
        // SAFETY: as above.
        unsafe { load(simd, from, 0) }
    });
    while at + M::TOGETHER * S::LANES <= len {
        for vector in 0..M::TOGETHER {
            let at = at + vector * S::LANES;
            // SAFETY: this vector ends before `len`.
            unsafe { store(simd, formula.apply(simd, load(simd, from, at)), to, at) };
        }
        at += M::TOGETHER * S::LANES;
    }
    while at + S::LANES <= len {
        // SAFETY: this vector ends before `len`.
        unsafe { store(simd, formula.apply(simd, load(simd, from, at)), to, at) };
        at += S::LANES;
    }
    if at < len {
        // SAFETY: this vector ends at `len`.
        unsafe { store(simd, formula.apply(simd, values), to, last) };
    }
    if let Some(values) = first {
        // SAFETY: a vector fits.
        unsafe { store(simd, formula.apply(simd, values), to, 0) };
    }
}

/// # Safety
/// As [`run`], for less than a vector.
#[inline(always)]
unsafe fn run_part<S: Simd, M: Formula<IN, OUT>, const IN: usize, const OUT: usize>(
    simd: S,
    formula: M,
    from: [*const f32; IN],
    to: [*mut f32; OUT],
    len: usize,
) {
    if len == 0 {
        return;
    }
    let mut values = [simd.splat(0.0); IN];
    for i in 0..IN {
        // SAFETY: a slice that the caller promises.
        values[i] = simd.load_part(unsafe { std::slice::from_raw_parts(from[i], len) });
    }
    let results = formula.apply(simd, values);
    for i in 0..OUT {
        // SAFETY: a slice that the caller promises; what was read from it is used no more.
        simd.store_part(results[i], unsafe { std::slice::from_raw_parts_mut(to[i], len) });
    }
}

/// # Safety
/// A vector can be read from each of `from` at the place `at`.
#[inline(always)]
unsafe fn load<S: Simd, const IN: usize>(simd: S, from: [*const f32; IN], at: usize) -> [S::F; IN] {
    let mut values = [simd.splat(0.0); IN];
    for i in 0..IN {
        // SAFETY: as the caller promises.
        values[i] = unsafe { simd.load_ptr(from[i].add(at)) };
    }
    values
}

/// # Safety
/// A vector can be written to each of `to` at the place `at`.
#[inline(always)]
unsafe fn store<S: Simd, const OUT: usize>(simd: S, values: [S::F; OUT], to: [*mut f32; OUT], at: usize) {
    for i in 0..OUT {
        // SAFETY: as the caller promises.
        unsafe { simd.store_ptr(values[i], to[i].add(at)) };
    }
}
