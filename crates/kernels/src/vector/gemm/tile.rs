//! The innermost loop: a tile of the result that stays in registers while it walks over the depth.
//!
//! Every element of the result is one chain of fused multiply-adds over k, begun with what stands
//! in the result (or zero, or the bias). Tiles of other sizes, other instruction sets, other splits
//! among threads and other blocks of the depth compute the same chain, so they all give the same
//! bits.

use super::element::Element;
use crate::gemm::PANEL;
use crate::simd::Simd;

/// A tile of `rows` × `panels · PANEL` elements of the result.
#[derive(Clone, Copy)]
pub(crate) struct Tile<E> {
    /// How many k to walk over.
    pub depth: usize,
    /// The first row of the left factor.
    pub a: *const f32,
    /// From one row of the left factor to the next.
    pub a_row: usize,
    /// From one k to the next in the left factor.
    pub a_step: usize,
    /// The first panel of the right factor; its columns are contiguous.
    pub b: *const E,
    /// From one k to the next in the right factor.
    pub b_step: usize,
    /// From one panel of the right factor to the next.
    pub b_panel: usize,
    /// The first element of the result; its columns are contiguous.
    pub c: *mut f32,
    /// From one row of the result to the next.
    pub c_row: usize,
    /// What is added at the start, or null.
    pub bias: *const f32,
    /// Whether the chain goes on from what stands in the result.
    pub add: bool,
}

/// What comes after a tile, and is asked for while that is computed.
#[derive(Clone, Copy)]
pub(crate) struct Coming<E> {
    /// A line that will be read; with every k another one.
    pub read: *const E,
    /// From one line to the next.
    pub step: usize,
    /// How much further after [`CHUNK`] lines.
    pub jump: usize,
    /// The corner of the next tile of the result, or null.
    pub c: *mut f32,
}

impl<E> Coming<E> {
    /// Nothing but what is there already.
    #[inline(always)]
    pub(crate) fn nothing(tile: &Tile<E>) -> Self {
        Self { read: tile.b, step: 0, jump: 0, c: std::ptr::null_mut() }
    }
}

/// After so many k the lines that are asked for may go on elsewhere.
pub(crate) const CHUNK: usize = 64;

/// The most elements that a tile has, on any instruction set.
pub(crate) const MAX_TILE: usize = 32 * PANEL;

impl<E> Tile<E> {
    /// The tile that begins `rows` and `panels` further on.
    ///
    /// # Safety
    /// All that it points to is there.
    #[inline(always)]
    pub(crate) unsafe fn moved(&self, rows: usize, panels: usize) -> Self {
        let cols = panels * PANEL;
        // SAFETY: as the caller promises.
        unsafe {
            Self {
                // Where the depth is nothing, there is no memory that the factors could point into.
                a: self.a.wrapping_add(rows * self.a_row),
                b: self.b.wrapping_add(panels * self.b_panel),
                c: self.c.add(rows * self.c_row + cols),
                bias: if self.bias.is_null() { self.bias } else { self.bias.add(cols) },
                ..*self
            }
        }
    }
}

/// The tiles of an instruction set: as many accumulators as its registers hold.
pub(crate) trait Tiles: Simd {
    /// The rows of a tile where there are many.
    const ROWS: usize;
    /// The most rows that a tile has: so few are one tile, which reads the right factor once.
    const MOST_ROWS: usize;
    /// The depth of a block.
    const DEPTH: usize;

    /// The most panels that a tile of `rows` rows has.
    fn panels(rows: usize) -> usize;

    /// Computes one.
    ///
    /// # Safety
    /// All that the tile points to is there, `rows` from 1 to `MOST_ROWS`, `panels` from 1 to `Self::panels(rows)`.
    unsafe fn run<E: Element>(self, rows: usize, panels: usize, tile: &Tile<E>, coming: &Coming<E>);

    /// Computes `count` tiles below each other, the first of which is `tile`, and asks for nothing.
    ///
    /// # Safety
    /// As for [`Tiles::run`], for all of them, with [`Tiles::ROWS`] rows or one less, and panels for as many.
    unsafe fn run_down<E: Element>(self, rows: usize, panels: usize, count: usize, tile: &Tile<E>);
}

/// Writes [`Tiles`]: per number of rows the most panels, and each width up to that; behind `down`
/// each width of the usual number.
macro_rules! tiles {
    (
        $simd:ty, $features:literal, rows: $rows:literal, depth: $depth:literal, vectors: $vectors:literal,
        down: $($down:literal)+,
        $($r:literal: $($p:literal)+;)+
    ) => {
        const _: () = {$($(assert!($r * $p * PANEL <= MAX_TILE);)+)+};

        impl Tiles for $simd {
            const ROWS: usize = $rows;
            const MOST_ROWS: usize = [$($r),+].len();
            const DEPTH: usize = $depth;

            #[inline(always)]
            fn panels(rows: usize) -> usize {
                match rows {
                    $($r => [$($p),+].len(),)+
                    _ => unreachable!("no tile has that many rows"),
                }
            }

            #[inline(always)]
            unsafe fn run<E: Element>(self, rows: usize, panels: usize, tile: &Tile<E>, coming: &Coming<E>) {
                /// A function of its own: inlined wherever tiles are run, they would be compiled for minutes.
                #[inline(never)]
                #[target_feature(enable = $features)]
                unsafe fn sized<E: Element, const R: usize, const V: usize>(
                    simd: $simd,
                    tile: &Tile<E>,
                    coming: &Coming<E>,
                ) {
                    // SAFETY: as the caller promises.
                    unsafe { run::<$simd, E, R, V>(simd, tile, coming) }
                }
                match (rows, panels) {
                    // SAFETY: as the caller promises; `self` exists only where the CPU has the features.
                    $($(($r, $p) => unsafe { sized::<E, $r, { $p * $vectors }>(self, tile, coming) },)+)+
                    _ => unreachable!("no tile has that size"),
                }
            }

            #[inline(always)]
            unsafe fn run_down<E: Element>(self, rows: usize, panels: usize, count: usize, tile: &Tile<E>) {
                #[inline(never)]
                #[target_feature(enable = $features)]
                unsafe fn sized<E: Element, const R: usize, const V: usize>(simd: $simd, count: usize, tile: &Tile<E>) {
                    // SAFETY: as the caller promises.
                    unsafe { down::<$simd, E, R, V>(simd, count, tile) }
                }
                const ONE_LESS: usize = $rows - 1;
                match (rows, panels) {
                    // SAFETY: as the caller promises; `self` exists only where the CPU has the features.
                    $(($rows, $down) => unsafe { sized::<E, $rows, { $down * $vectors }>(self, count, tile) },)+
                    // SAFETY: the same.
                    $((ONE_LESS, $down) => unsafe { sized::<E, ONE_LESS, { $down * $vectors }>(self, count, tile) },)+
                    _ => unreachable!("no tile has that size"),
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
tiles! { crate::x86_64::Avx2, "avx2,fma,f16c", rows: 6, depth: 512, vectors: 2,
    down: 1,
    1: 1 2 3 4;
    2: 1 2 3;
    3: 1 2;
    4: 1;
    5: 1;
    6: 1;
}

#[cfg(target_arch = "x86_64")]
tiles! { crate::x86_64::Avx512, "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni", rows: 6, depth: 1024, vectors: 1,
    down: 1 2 3 4,
    1: 1 2 3 4;
    2: 1 2 3 4;
    3: 1 2 3 4;
    4: 1 2 3 4;
    5: 1 2 3 4 5;
    6: 1 2 3 4;
    7: 1 2 3 4;
    8: 1 2 3;
}

#[cfg(target_arch = "aarch64")]
tiles! { crate::aarch64::Neon, "neon", rows: 6, depth: 512, vectors: 4,
    down: 1,
    1: 1 2;
    2: 1 2;
    3: 1 2;
    4: 1;
    5: 1;
    6: 1;
}

/// A tile of `R` rows and `V` vectors.
#[inline(always)]
unsafe fn run<S: Simd, E: Element, const R: usize, const V: usize>(simd: S, tile: &Tile<E>, coming: &Coming<E>) {
    // SAFETY: every address lies within what the caller promises to be there.
    unsafe {
        let mut sums = begin::<S, E, R, V>(simd, tile);
        ask_for_result::<S, R, V>(simd, coming.c, tile.c_row);
        let (mut a, mut b, mut read) = (tile.a, tile.b, coming.read);
        let mut left = tile.depth;
        while left > 0 {
            let some = left.min(CHUNK);
            for _ in 0..some {
                step(simd, tile, (a, b), &mut sums);
                simd.prefetch(read.cast());
                read = read.wrapping_add(coming.step);
                // Behind the last k of a factor that is read where it lies, memory may have ended.
                a = a.wrapping_add(tile.a_step);
                b = b.wrapping_add(tile.b_step);
            }
            read = read.wrapping_add(coming.jump);
            left -= some;
        }
        end(simd, tile, &sums);
    }
}

/// `count` tiles of `R` rows and `V` vectors, one below the other. The factors are near, and nothing is asked for.
#[inline(always)]
unsafe fn down<S: Simd, E: Element, const R: usize, const V: usize>(simd: S, count: usize, first: &Tile<E>) {
    let mut tile = *first;
    for _ in 0..count {
        // SAFETY: every address lies within what the caller promises to be there.
        unsafe {
            let mut sums = begin::<S, E, R, V>(simd, &tile);
            let (mut a, mut b) = (tile.a, tile.b);
            for _ in 0..tile.depth {
                step(simd, &tile, (a, b), &mut sums);
                a = a.wrapping_add(tile.a_step);
                b = b.wrapping_add(tile.b_step);
            }
            end(simd, &tile, &sums);
        }
        tile.a = tile.a.wrapping_add(R * tile.a_row);
        tile.c = tile.c.wrapping_add(R * tile.c_row);
    }
}

/// One k.
#[inline(always)]
unsafe fn step<S: Simd, E: Element, const R: usize, const V: usize>(
    simd: S,
    tile: &Tile<E>,
    (a, b): (*const f32, *const E),
    sums: &mut [[S::F; V]; R],
) {
    let mut right = [simd.splat(0.0); V];
    // SAFETY: as the caller of `run` promises.
    unsafe {
        for (v, right) in right.iter_mut().enumerate() {
            *right = E::load(simd, b.add(offset::<S>(v, tile.b_panel)));
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let left = simd.splat(*a.add(r * tile.a_row));
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = simd.fma(left, right, *sum);
            }
        }
    }
}

#[inline(always)]
unsafe fn end<S: Simd, E, const R: usize, const V: usize>(simd: S, tile: &Tile<E>, sums: &[[S::F; V]; R]) {
    for (r, sums) in sums.iter().enumerate() {
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: as the caller of `run` promises.
            unsafe { simd.store_ptr(*sum, tile.c.add(r * tile.c_row + v * S::LANES)) };
        }
    }
}

/// Without it every tile begins with a wait for as many lines as it has vectors, and ends with another one.
#[inline(always)]
fn ask_for_result<S: Simd, const R: usize, const V: usize>(simd: S, c: *mut f32, row: usize) {
    if !c.is_null() {
        for r in 0..R {
            for v in 0..V {
                simd.prefetch_write(c.wrapping_add(r * row + v * S::LANES));
            }
        }
    }
}

#[inline(always)]
unsafe fn begin<S: Simd, E, const R: usize, const V: usize>(simd: S, tile: &Tile<E>) -> [[S::F; V]; R] {
    let mut sums = [[simd.splat(0.0); V]; R];
    // SAFETY: as the caller of `run` promises.
    unsafe {
        if tile.add {
            for (r, sums) in sums.iter_mut().enumerate() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.load_ptr(tile.c.add(r * tile.c_row + v * S::LANES));
                }
            }
        }
        if !tile.bias.is_null() {
            for sums in sums.iter_mut() {
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = simd.add(*sum, simd.load_ptr(tile.bias.add(v * S::LANES)));
                }
            }
        }
    }
    sums
}

/// Where vector `v` of a row of panels begins.
#[inline(always)]
fn offset<S: Simd>(v: usize, panel_stride: usize) -> usize {
    let column = v * S::LANES;
    column / PANEL * panel_stride + column % PANEL
}
