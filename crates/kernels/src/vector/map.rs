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
/// From so many elements on it pays to look at where they lie.
const LONG: usize = 4096;
/// Bytes that addresses are compared by at first.
const PAGE: usize = 4096;
/// From so many bytes on nothing was slower any more.
const FOLLOWED: usize = 512;

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
    // What is left at the end is done as a whole vector that overlaps the one before: a partial
    // store costs 12 cycles, and 30 where memory behind it is read soon. Its values are loaded
    // first, because others may be stored over them.
    let last = len - S::LANES;
    // SAFETY: a vector fits, as was just checked.
    let values = unsafe { load(simd, from, last) };
    // The same at the beginning, where that is not at half a line, as allocators that align to 16
    // bytes place it: stores that cross lines elsewhere took a tenth longer.
    let ragged = to[0].addr() / size_of::<f32>() % HALF_LINE;
    let (mut at, mut first) = (0, None);
    if len >= LONG && ragged != 0 {
        at = (HALF_LINE - ragged) % S::LANES;
        // SAFETY: as above.
        first = Some(unsafe { load(simd, from, 0) });
    }
    let block = M::TOGETHER * S::LANES;
    let blocks = (len - at) / block;
    let backward = len >= LONG && blocks > 0 && is_followed(from, to);
    let (mut place, step) = if backward { (at + (blocks - 1) * block, block.wrapping_neg()) } else { (at, block) };
    for _ in 0..blocks {
        for vector in 0..M::TOGETHER {
            let at = place + vector * S::LANES;
            // SAFETY: this vector ends before `len`.
            unsafe { store(simd, formula.apply(simd, load(simd, from, at)), to, at) };
        }
        place = place.wrapping_add(step);
    }
    at += blocks * block;
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

/// Whether what is stored lies, but for whole pages, a little behind what is loaded, so that each
/// store is followed by loads of the same place in another page. The CPU tells such places apart
/// late: `exp` of 2²⁰ values ran at 4.5 to 5.6 per ns, and at 5.9 from the end to the beginning,
/// where nothing follows.
#[inline(always)]
fn is_followed<const IN: usize, const OUT: usize>(from: [*const f32; IN], to: [*mut f32; OUT]) -> bool {
    let behind = |from: *const f32, to: *mut f32| to.addr().wrapping_sub(from.addr()) % PAGE;
    from.iter().any(|&from| to.iter().any(|&to| (1..FOLLOWED).contains(&behind(from, to))))
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
