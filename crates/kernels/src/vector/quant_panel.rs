//! Packed weights times many rows of activations.
//!
//! For some groups of weights, 256 columns at a time are decoded into a panel that stays in the
//! first cache: codes as bytes, which codes of eight bits are where they lie, scales as f32. Then a
//! few rows of activations at a time are multiplied by it, with all sums in registers. So decoding
//! is paid once for up to [`BATCH`] rows, and weights come from memory once for as many.

use std::ops::Range;

use super::quant_packed::{MOST_VECTORS, Row, TileHalf, begin, load_codes, offset, scale};
use crate::quant::activations::Activations;
use crate::quant::byte_simd::{ByteSimd, steps, unrolled};
use crate::quant::matmul::Outputs;
use crate::quant::packed::{GROUP, LINE, Layout, PackedRows};

/// Rows of activations per pass over the weights, at most. Their sums take 16 KiB, and decoding is
/// paid once for all of them: with 64 it was a sixth of a product.
const BATCH: usize = 128;
/// Tiles that all groups are multiplied with before the next ones, at most: so much of all rows of a pass stays in L2.
const DEEP: usize = 64;

/// Results of no more elements stay in L2, and are not asked for: doing so cost 3 % where rows have 256 columns.
const RESULT_IN_L2: usize = 128 << 10;

/// Tiles in a panel, at most.
const TILES: usize = 8;

/// Rows of weights in a panel.
const WIDTH: usize = 2 * GROUP;

/// Some tiles of one or two groups, decoded.
#[repr(C, align(64))]
struct Panel {
    codes: [u8; TILES * 8 * 4 * WIDTH], // (tile, step, vector, lane, column); not used for codes that are bytes already
    places: [CodePlace; TILES],
    scales: [f32; TILES * 2 * WIDTH], // (tile, half, row)
    offsets: [f32; TILES * WIDTH],    // (tile, row)
    sums: [f32; BATCH * WIDTH],       // (row of activations, row of weights)
}

/// Where the codes of a tile are: in the panel, or in the weights themselves where they are bytes.
#[derive(Clone, Copy)]
struct CodePlace {
    start: *const u8,
    /// How far it is to those of the second group.
    second: usize,
}

impl CodePlace {
    /// From a step to the next.
    const fn step<L: Layout, const G: usize>() -> usize {
        if L::BITS == 8 { LINE } else { LINE * G }
    }
}

/// See [`Kernels::matmul_packed`](crate::Kernels::matmul_packed).
#[inline(always)]
pub(super) fn matmul<S: ByteSimd, L: Layout>(simd: S, weights: PackedRows<'_>, x: &Activations, out: &mut Outputs<'_>) {
    let mut panel = Panel {
        codes: [0; TILES * 8 * 4 * WIDTH],
        places: [CodePlace { start: std::ptr::null(), second: 0 }; TILES],
        scales: [0.0; TILES * 2 * WIDTH],
        offsets: [0.0; TILES * WIDTH],
        sums: [0.0; BATCH * WIDTH],
    };
    let job = Job { weights, group: 0, x, first_tile: 0, tiles: weights.tiles(), steps: std::hint::black_box(8) };
    // Groups whose sums have no place of their own in the result come at the end, with all tiles at once.
    let whole = out.columns() / WIDTH * (WIDTH / GROUP);
    let blocks = weights.tiles().div_ceil(DEEP).max(1);
    let mut first = 0;
    while first < x.rows() {
        let rows = first..(first + BATCH).min(x.rows());
        for block in 0..blocks {
            let tiles = block * weights.tiles() / blocks..(block + 1) * weights.tiles() / blocks;
            let job = Job { first_tile: tiles.start, tiles: tiles.len(), ..job };
            all_groups::<S, L>(simd, job, (0..whole, rows.clone()), &mut panel, out);
        }
        all_groups::<S, L>(simd, job, (whole..weights.groups(), rows), &mut panel, out);
        first += BATCH;
    }
}

/// The job's tiles of some groups times some rows.
#[inline(always)]
fn all_groups<S: ByteSimd, L: Layout>(
    simd: S,
    mut job: Job<'_>,
    (groups, rows): (Range<usize>, Range<usize>),
    panel: &mut Panel,
    out: &mut Outputs<'_>,
) {
    job.group = groups.start;
    while job.group < groups.end {
        job.group += if S::GROUPS == 2 && job.group + 2 <= groups.end {
            by_panel::<S, L, 2>(simd, job, rows.clone(), panel, out)
        } else {
            by_panel::<S, L, 1>(simd, job, rows.clone(), panel, out)
        };
    }
}

/// What a panel is multiplied by, and which part of it.
#[derive(Clone, Copy)]
struct Job<'a> {
    weights: PackedRows<'a>,
    /// The first of the groups.
    group: usize,
    x: &'a Activations,
    /// The first of its tiles, and how many there are.
    first_tile: usize,
    tiles: usize,
    /// Eight, which the compiler must not know: it would unroll the loop over steps and then do one
    /// sum after the other, for which there are not enough registers (measured: a third of the
    /// speed with AVX2).
    steps: usize,
}

/// Where the sums of some rows of activations are: one behind the other in the panel, or in the result itself.
#[derive(Clone, Copy)]
struct Sums {
    start: *mut f32,
    stride: usize,
}

impl Sums {
    /// So many rows further.
    ///
    /// # Safety
    /// There are so many.
    #[inline(always)]
    unsafe fn skip(self, rows: usize) -> Self {
        // SAFETY: as the caller promises.
        Self { start: unsafe { self.start.add(rows * self.stride) }, ..self }
    }
}

/// Where sums come from and go to.
#[derive(Clone, Copy)]
struct SumPlaces {
    from: Sums,
    to: Sums,
    /// Those of the two that are in no near cache, and are asked for before their turn.
    far: Option<Sums>,
}

/// The sums of `G` groups and some rows of activations; returns `G`.
#[inline(always)]
fn by_panel<S: ByteSimd, L: Layout, const G: usize>(
    simd: S,
    mut job: Job<'_>,
    rows: Range<usize>,
    panel: &mut Panel,
    out: &mut Outputs<'_>,
) -> usize {
    let panel = std::ptr::from_mut(panel);
    let first_column = job.group * GROUP;
    let (first, tiles) = (job.first_tile, job.tiles);
    let width = (out.columns() - first_column).min(G * GROUP);
    let narrow = width < G * GROUP;
    // SAFETY: the panel is there, and has that field.
    let beside = Sums { start: unsafe { (&raw mut (*panel).sums).cast() }, stride: G * GROUP };
    let result = Sums { start: out.place(rows.start, first_column), stride: out.stride() };
    // Panels of about the same size: where a row has nine tiles, the ninth would not be worth a panel of its own.
    let panels = tiles.div_ceil(TILES);
    let part = |number: usize| first + number * tiles / panels..first + (number + 1) * tiles / panels;
    for number in 0..panels {
        (job.first_tile, job.tiles) = (part(number).start, part(number).len());
        let last = number + 1 == panels;
        let from = if number == 0 { result } else { beside };
        let to = if last && !narrow { result } else { beside };
        let far = (number == 0 && first > 0 || last && !narrow) && rows.len() * result.stride > RESULT_IN_L2;
        let way = SumPlaces { from, to, far: far.then_some(result) };
        let ahead = match last {
            false => Prefetch::new::<L, G>(job, job.group, part(number + 1)),
            true => Prefetch::new::<L, G>(job, job.group + G, part(0)),
        };
        // SAFETY: the groups exist and have so many tiles; there are so many rows of activations, and sums for them.
        unsafe {
            decode::<S, L, G>(simd, job, panel);
            all_rows::<S, L, G>(simd, (job, ahead), rows.clone(), panel, way);
        }
    }
    if panels == 0 || narrow {
        for (number, row) in rows.enumerate() {
            let to = &mut out.row_mut(row)[first_column..][..width];
            // SAFETY: so many sums are in the panel.
            let sums = unsafe { std::slice::from_raw_parts(beside.skip(number).start, width) };
            if panels == 0 { to.fill(0.0) } else { to.copy_from_slice(sums) }
        }
    }
    G
}

/// Weights that will be decoded next. They are asked for while the panel is multiplied, because the
/// CPU does not find them by itself: two of four groups that lie in turn are read.
struct Prefetch {
    chunk: *const u8,
    /// From a chunk to the next.
    step: usize,
    /// How many chunks are left, the lines that are wanted of each, and which of them is next.
    chunks: usize,
    lines: usize,
    line: usize,
    /// The chunk of the odd tile, and the lines that are wanted of it.
    odd: *const u8,
    odd_lines: usize,
}

impl Prefetch {
    /// Some tiles of the groups from `group` on, if there are any.
    #[inline(always)]
    fn new<L: Layout, const G: usize>(job: Job<'_>, group: usize, tiles: Range<usize>) -> Self {
        if group >= job.weights.groups() {
            let null = std::ptr::null();
            return Self { chunk: null, step: 0, chunks: 0, lines: 0, line: 0, odd: null, odd_lines: 0 };
        }
        let band = job.weights.band(group);
        let (first, end, whole) =
            (tiles.start / L::TILES, tiles.end.div_ceil(L::TILES), job.weights.tiles() / L::TILES);
        Self {
            chunk: band.start.wrapping_add(first * band.step),
            step: band.step,
            chunks: end.min(whole) - first,
            lines: G * L::CHUNK / LINE,
            line: 0,
            odd: band.odd,
            odd_lines: if end > whole { G * band.odd_bytes / LINE } else { 0 },
        }
    }

    /// How many lines are left.
    fn left(&self) -> usize {
        self.chunks * self.lines + self.odd_lines
    }

    /// Asks for so many lines more.
    #[inline(always)]
    fn ask<S: ByteSimd>(&mut self, simd: S, count: usize) {
        for _ in 0..count {
            if self.chunks == 0 {
                if self.odd_lines == 0 {
                    return;
                }
                (self.chunk, self.chunks, self.lines) = (self.odd, 1, self.odd_lines);
                self.odd_lines = 0;
            }
            simd.prefetch(self.chunk.wrapping_add(self.line * LINE).cast());
            self.line += 1;
            if self.line == self.lines {
                (self.line, self.chunks) = (0, self.chunks - 1);
                self.chunk = self.chunk.wrapping_add(self.step);
            }
        }
    }
}

/// Rows of activations times the panel, as many at a time as registers allow.
///
/// # Safety
/// The rows are there, and sums for them.
#[inline(always)]
unsafe fn all_rows<S: ByteSimd, L: Layout, const G: usize>(
    simd: S,
    (job, mut ahead): (Job<'_>, Prefetch),
    rows: Range<usize>,
    panel: *const Panel,
    way: SumPlaces,
) {
    let lines = ahead.left().div_ceil(rows.len().div_ceil(S::ROWS));
    let mut done = 0;
    while done < rows.len() {
        ahead.ask(simd, lines);
        let (row, left) = (rows.start + done, rows.len() - done);
        if let Some(far) = way.far {
            for row in done + S::ROWS..(done + 2 * S::ROWS).min(rows.len()) {
                // SAFETY: there is such a row.
                let sums = unsafe { far.skip(row) }.start;
                (0..G * GROUP).step_by(LINE / 4).for_each(|at| simd.prefetch_write(sums.wrapping_add(at)));
            }
        }
        // SAFETY: so many rows are left.
        done += unsafe {
            let sums = [way.from.skip(done), way.to.skip(done)];
            match S::ROWS {
                6 if left >= 6 && left != 8 => some_rows::<S, L, G, 6>(simd, job, row, panel, sums),
                4 | 6 if left >= 4 => some_rows::<S, L, G, 4>(simd, job, row, panel, sums),
                _ if left >= 2 => some_rows::<S, L, G, 2>(simd, job, row, panel, sums),
                _ => some_rows::<S, L, G, 1>(simd, job, row, panel, sums),
            }
        };
    }
}

/// Fills the panel.
///
/// # Safety
/// The job's `G` groups exist and have its tiles.
#[inline(always)]
unsafe fn decode<S: ByteSimd, L: Layout, const G: usize>(simd: S, job: Job<'_>, panel: *mut Panel) {
    let vectors = GROUP / S::LANES;
    for g in 0..G {
        let band = job.weights.band(job.group + g);
        for t in 0..job.tiles {
            let (chunk, tile) = ((job.first_tile + t) / L::TILES, (job.first_tile + t) % L::TILES);
            let whole = (chunk + 1) * L::TILES <= job.weights.tiles();
            let chunk = if whole { band.start.wrapping_add(chunk * band.step) } else { band.odd };
            for v in 0..vectors {
                let row = g * GROUP + v * S::LANES;
                // SAFETY: the tile is one of the group's, and the panel has room for eight of two groups.
                unsafe {
                    place_codes::<S, L, G>(simd, (t, g, v), chunk.add(L::codes_at(tile)), panel);
                    for half in 0..if L::HALVED { 2 } else { 1 } {
                        let to = (&raw mut (*panel).scales).cast::<f32>().add((2 * t + half) * G * GROUP + row);
                        simd.store_ptr(scale::<S, L>(simd, TileHalf { chunk, tile, half }, v), to);
                    }
                    if L::OFFSETS {
                        let to = (&raw mut (*panel).offsets).cast::<f32>().add(t * G * GROUP + row);
                        simd.store_ptr(offset::<S, L>(simd, chunk, tile, v), to);
                    }
                }
            }
        }
    }
}

/// Decodes the codes of vector `v` of group `g` in tile `t` of the panel, or remembers where they are.
///
/// # Safety
/// A tile lies at `from`, and the panel has room for it.
#[inline(always)]
unsafe fn place_codes<S: ByteSimd, L: Layout, const G: usize>(
    simd: S,
    (t, g, v): (usize, usize, usize),
    from: *const u8,
    panel: *mut Panel,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let place = &mut (*panel).places[t];
        if L::BITS == 8 {
            match g {
                0 => *place = CodePlace { start: from, second: 0 },
                _ => place.second = from.addr().wrapping_sub(place.start.addr()),
            }
            return;
        }
        let start = (&raw mut (*panel).codes).cast::<u8>().add(t * 8 * LINE * G);
        *place = CodePlace { start, second: LINE };
        let (from, to) = (from.add(4 * S::LANES * v), start.add(LINE * g + 4 * S::LANES * v));
        steps!(STEP in [0 1 2 3 4 5 6 7] {
            simd.store_bytes(load_codes::<S, L, STEP>(simd, from), to.add(STEP * LINE * G));
        });
    }
}

/// Adds the products of `R` rows of activations by the panel to their sums, which it takes from one
/// place and brings to another; returns `R`.
///
/// # Safety
/// There are `R` rows of activations from `row` on, and of sums at both places.
#[inline(always)]
unsafe fn some_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    job: Job<'_>,
    row: usize,
    panel: *const Panel,
    [from, to]: [Sums; 2],
) -> usize {
    let vectors = G * GROUP / S::LANES;
    // SAFETY: the rows have the tiles of the job; the panel has them too; all else as the caller promises.
    unsafe {
        let first = Row::first_of(job.x, row).skip(job.first_tile);
        let mut x = [first; R];
        unrolled!(r < rows R => {
            x[r] = first.skip(r * job.weights.tiles());
        });
        let mut acc = [[simd.splat(0.0); MOST_VECTORS]; R];
        if job.first_tile > 0 {
            unrolled!(r < rows R => {
                unrolled!(u < vectors vectors => {
                    acc[r][u] = simd.load_ptr(from.skip(r).start.add(u * S::LANES));
                });
            });
        }
        for t in 0..job.tiles {
            let tile = PanelTile {
                codes: (*panel).places[t],
                scales: (&raw const (*panel).scales).cast::<f32>().add(2 * t * G * GROUP),
                offsets: (&raw const (*panel).offsets).cast::<f32>().add(t * G * GROUP),
                steps: job.steps,
            };
            tile_by_rows::<S, L, G, R>(simd, tile, &x, &mut acc);
            unrolled!(r < rows R => {
                x[r] = x[r].skip(1);
            });
        }
        unrolled!(r < rows R => {
            unrolled!(u < vectors vectors => {
                simd.store_ptr(acc[r][u], to.skip(r).start.add(u * S::LANES));
            });
        });
    }
    R
}

/// One tile of a panel.
#[derive(Clone, Copy)]
struct PanelTile {
    codes: CodePlace,
    scales: *const f32,
    offsets: *const f32,
    steps: usize,
}

/// # Safety
/// `tile` is one of a panel of `G` groups, and the rows have 32 more activations.
#[inline(always)]
unsafe fn tile_by_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    tile: PanelTile,
    x: &[Row; R],
    acc: &mut [[S::F; MOST_VECTORS]; R],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut sums = [[simd.zero(); MOST_VECTORS]; R];
        unrolled!(r < rows R => {
            sums[r] = begin::<S, L>(simd, &*x[r].blocks, 0);
        });
        let half = tile.steps / 2;
        if L::HALVED {
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, 0..half, &mut sums);
            scale_rows::<S, G, R>(simd, tile.scales, x, &sums, acc);
            unrolled!(r < rows R => {
                sums[r] = begin::<S, L>(simd, &*x[r].blocks, 1);
            });
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, half..tile.steps, &mut sums);
        } else if L::BITS == 5 {
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, 0..half, &mut sums);
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, half..tile.steps, &mut sums);
        } else {
            steps_by_rows::<S, L, G, R>(simd, tile.codes, x, 0..tile.steps, &mut sums);
        }
        let scales = tile.scales.add(if L::HALVED { G * GROUP } else { 0 });
        scale_rows::<S, G, R>(simd, scales, x, &sums, acc);
        if L::OFFSETS {
            unrolled!(u < vectors G * GROUP / S::LANES => {
                let offset = simd.load_ptr(tile.offsets.add(u * S::LANES));
                unrolled!(r < rows R => {
                    acc[r][u] = simd.fma(offset, simd.splat((*x[r].blocks).scaled_sum), acc[r][u]);
                });
            });
        }
    }
}

/// Some steps of a tile, settled at the end. With codes of six bits an even number of them, settled two by two.
///
/// # Safety
/// As for [`tile_by_rows`].
#[inline(always)]
unsafe fn steps_by_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    codes: CodePlace,
    x: &[Row; R],
    steps: Range<usize>,
    sums: &mut [[S::Sum; MOST_VECTORS]; R],
) {
    let mut step = steps.start;
    while step < steps.end {
        // SAFETY: as the caller promises.
        unsafe {
            step_by_rows::<S, L, G, R>(simd, codes, x, step, sums);
            if L::BITS == 6 {
                step += 1;
                step_by_rows::<S, L, G, R>(simd, codes, x, step, sums);
                settle_rows::<S, G, R>(simd, sums);
            }
        }
        step += 1;
    }
    if L::BITS < 6 {
        settle_rows::<S, G, R>(simd, sums);
    }
}

#[inline(always)]
fn settle_rows<S: ByteSimd, const G: usize, const R: usize>(simd: S, sums: &mut [[S::Sum; MOST_VECTORS]; R]) {
    unrolled!(r < rows R => {
        unrolled!(u < vectors G * GROUP / S::LANES => {
            sums[r][u] = simd.settle(sums[r][u]);
        });
    });
}

/// # Safety
/// As for [`tile_by_rows`].
#[inline(always)]
unsafe fn step_by_rows<S: ByteSimd, L: Layout, const G: usize, const R: usize>(
    simd: S,
    codes: CodePlace,
    x: &[Row; R],
    step: usize,
    sums: &mut [[S::Sum; MOST_VECTORS]; R],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let first = codes.start.add(step * CodePlace::step::<L, G>());
        let mut bytes = [simd.load_bytes(first); MOST_VECTORS];
        unrolled!(u < vectors G * GROUP / S::LANES => {
            let (g, v) = (u * S::LANES / GROUP, u % (GROUP / S::LANES));
            bytes[u] = simd.load_bytes(first.wrapping_add(g * codes.second).add(4 * S::LANES * v));
        });
        let mut wide = [simd.wide(bytes[0]); MOST_VECTORS];
        unrolled!(u < vectors G * GROUP / S::LANES => {
            wide[u] = simd.wide(bytes[u]);
        });
        unrolled!(r < rows R => {
            if L::BITS == 8 {
                let word = simd.wide_word(x[r].codes.add(4 * step), x[r].wide.add(4 * step));
                unrolled!(u < vectors G * GROUP / S::LANES => {
                    sums[r][u] = simd.dot_wide(sums[r][u], wide[u], word);
                });
            } else {
                let word = simd.word(x[r].codes.add(4 * step));
                unrolled!(u < vectors G * GROUP / S::LANES => {
                    sums[r][u] = simd.dot(sums[r][u], bytes[u], word);
                });
            }
        });
    }
}

/// # Safety
/// As for [`tile_by_rows`].
#[inline(always)]
unsafe fn scale_rows<S: ByteSimd, const G: usize, const R: usize>(
    simd: S,
    scales: *const f32,
    x: &[Row; R],
    sums: &[[S::Sum; MOST_VECTORS]; R],
    acc: &mut [[S::F; MOST_VECTORS]; R],
) {
    unrolled!(u < vectors G * GROUP / S::LANES => {
        // SAFETY: as the caller promises.
        unsafe {
            let scale = simd.load_ptr(scales.add(u * S::LANES));
            unrolled!(r < rows R => {
                let both = simd.mul(scale, simd.splat((*x[r].blocks).scale));
                acc[r][u] = simd.fma(simd.sum_to_f32(sums[r][u]), both, acc[r][u]);
            });
        }
    });
}
