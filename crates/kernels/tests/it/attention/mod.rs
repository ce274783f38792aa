//! Attention against the plainest computation in f64, on every instruction set.

mod backward;
mod forward;
mod on_pool;
mod special;
mod splits;

use kernels::quant::{Block, BlockQ8_0, f16_to_f32};
use kernels::{
    Attention, AttentionOut, AttentionShape, CacheCells, CacheView, Kernels, Queries, Rows, RowsMut,
    attention_decode_scratch, attention_prefill_scratch,
};

/// Not a result of anything here.
const CANARY: f32 = 777.0;
/// Half an ulp of f32, relative: what one rounding loses.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;

/// Numbers that look random and are the same in every run.
pub struct Noise(pub u64);

impl Noise {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From −1 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub fn units(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.unit()).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    F32,
    F16,
    Q8_0,
}

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub head_dim: usize,
    pub group: usize,
    pub kv_heads: usize,
    pub queries: usize,
    pub first_position: usize,
    pub window: Option<usize>,
    pub kind: Kind,
    /// Whether all positions of a head lie together, or all heads of a position.
    pub by_head: bool,
}

impl Case {
    pub const PLAIN: Case = Case {
        head_dim: 64,
        group: 1,
        kv_heads: 1,
        queries: 1,
        first_position: 0,
        window: None,
        kind: Kind::F32,
        by_head: false,
    };

    pub fn heads(&self) -> usize {
        self.group * self.kv_heads
    }

    pub fn positions(&self) -> usize {
        self.first_position + self.queries
    }

    pub fn shape(&self) -> AttentionShape {
        let scale = 1.0 / (self.head_dim as f32).sqrt();
        AttentionShape { head_dim: self.head_dim, group: self.group, scale, window: self.window }
    }

    fn cells_per_head(&self) -> usize {
        if self.kind == Kind::Q8_0 { self.head_dim.div_ceil(32) } else { self.head_dim }
    }

    /// Position stride and head stride, with a gap so that nothing is where it is by chance.
    fn strides(&self) -> (usize, usize) {
        let per_head = self.cells_per_head();
        if self.by_head { (per_head, self.positions() * per_head) } else { (self.kv_heads * per_head + 1, per_head) }
    }
}

/// Keys or values in one of the formats.
pub struct Cache {
    pub f32: Vec<f32>,
    pub f16: Vec<u16>,
    pub q8: Vec<BlockQ8_0>,
    pub case: Case,
}

impl Cache {
    fn new(case: Case, noise: &mut Noise) -> Self {
        let (position, head) = case.strides();
        // Nothing behind the last cell.
        let last = case.positions().saturating_sub(1) * position + case.kv_heads.saturating_sub(1) * head;
        let len = last + case.cells_per_head();
        let scalar = Kernels::available()[0];
        let mut cache = Cache { f32: noise.units(len), f16: vec![0; len], q8: Vec::new(), case };
        scalar.store_f16(&cache.f32, &mut cache.f16);
        if case.kind == Kind::Q8_0 {
            let values = noise.units(len * 32);
            cache.q8 = vec![BlockQ8_0::quantise(&[0.0; 32]); len];
            scalar.store_q8_0(&values, &mut cache.q8);
        }
        cache
    }

    pub fn view(&self) -> CacheView<'_> {
        let (position_stride, head_stride) = self.case.strides();
        let cells = match self.case.kind {
            Kind::F32 => CacheCells::F32(&self.f32),
            Kind::F16 => CacheCells::F16(&self.f16),
            Kind::Q8_0 => CacheCells::Q8_0(&self.q8),
        };
        CacheView { cells, position_stride, head_stride }
    }

    fn get(&self, position: usize, head: usize, dim: usize) -> f64 {
        let (position_stride, head_stride) = self.case.strides();
        let start = position * position_stride + head * head_stride;
        f64::from(match self.case.kind {
            Kind::F32 => self.f32[start + dim],
            Kind::F16 => f16_to_f32(self.f16[start + dim]),
            Kind::Q8_0 => {
                let block = &self.q8[start + dim / 32];
                block.d() * f32::from(block.codes()[dim % 32])
            }
        })
    }
}

/// The inputs of a case.
pub struct Inputs {
    pub case: Case,
    pub queries: Vec<f32>,
    pub keys: Cache,
    pub values: Cache,
}

/// Queries and outputs have a gap between rows.
const GAP: usize = 3;

impl Inputs {
    pub fn new(case: Case) -> Self {
        let mut noise = Noise(case.head_dim as u64 * 1000 + case.positions() as u64);
        let width = case.heads() * case.head_dim;
        let queries = noise.units((case.queries * (width + GAP)).saturating_sub(GAP));
        let keys = Cache::new(case, &mut noise);
        let values = Cache::new(case, &mut noise);
        Inputs { case, queries, keys, values }
    }

    pub fn width(&self) -> usize {
        self.case.heads() * self.case.head_dim
    }

    pub fn task(&self) -> Attention<'_> {
        let rows = Rows::new(&self.queries, self.case.queries, self.width(), self.width() + GAP);
        Attention {
            shape: self.case.shape(),
            queries: Queries { rows, first_head: 0, first_position: self.case.first_position },
            keys: self.keys.view(),
            values: self.values.view(),
        }
    }

    /// Output and logarithm of a query and head in f64, and how far an f32 computation may be from the output.
    pub fn exact(&self, query: usize, head: usize) -> (Vec<f64>, f64, f64) {
        let case = &self.case;
        let q = &self.queries[query * (self.width() + GAP) + head * case.head_dim..][..case.head_dim];
        let end = case.first_position + query + 1;
        let start = case.window.map_or(0, |window| end.saturating_sub(window));
        let scale = f64::from(case.shape().scale);
        let kv_head = head / case.group;
        let mut magnitude = 0.0f64;
        let scores: Vec<f64> = (start..end)
            .map(|position| {
                let products: Vec<f64> =
                    q.iter().enumerate().map(|(d, q)| f64::from(*q) * self.keys.get(position, kv_head, d)).collect();
                magnitude = magnitude.max(products.iter().map(|product| product.abs()).sum::<f64>() * scale);
                products.iter().sum::<f64>() * scale
            })
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mut out = vec![0.0; case.head_dim];
        let mut largest = 0.0f64;
        for (position, weight) in (start..end).zip(&weights) {
            for (d, out) in out.iter_mut().enumerate() {
                let value = self.values.get(position, kv_head, d);
                largest = largest.max(value.abs());
                *out += weight / sum * value;
            }
        }
        (out, max + sum.ln(), bound(case, magnitude, end - start) * largest)
    }
}

/// A score is off by a rounding for each product and sum, a weight by the score's error, twice since the sum of weights
/// is off likewise; and the sum of values by a rounding for each position of a block, and some for blocks, parts and
/// exp.
fn bound(case: &Case, magnitude: f64, positions: usize) -> f64 {
    2.0 * ROUNDING * ((case.head_dim as f64 + 2.0) * magnitude + positions as f64 + 16.0)
}

/// Which of the two kernels with the same meaning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    Decode,
    Prefill,
}

pub const WAYS: [Way; 2] = [Way::Decode, Way::Prefill];

/// Runs a task into `out`; scratch begins as NaN, so that whoever trusts it is found out.
pub fn run(kernels: Kernels, way: Way, task: &Attention<'_>, out: AttentionOut<'_>) {
    match way {
        Way::Decode => {
            kernels.attention_decode(task, out, &mut vec![f32::NAN; attention_decode_scratch(&task.shape)]);
        }
        Way::Prefill => {
            kernels.attention_prefill(task, out, &mut vec![f32::NAN; attention_prefill_scratch(&task.shape)]);
        }
    }
}

/// Rows with canaries before, between and behind: (query, heads · head_dim), and logarithms.
pub struct Outputs {
    case: Case,
    pub rows: Vec<f32>,
    pub logs: Vec<f32>,
}

impl Outputs {
    pub fn new(case: Case) -> Self {
        let width = case.heads() * case.head_dim;
        let rows = vec![CANARY; GAP + case.queries * (width + GAP)];
        Outputs { case, rows, logs: vec![CANARY; GAP + case.queries * (case.heads() + GAP)] }
    }

    pub fn of(case: Case, kernels: Kernels, way: Way, task: &Attention<'_>) -> Self {
        let mut outputs = Self::new(case);
        run(kernels, way, task, outputs.view());
        outputs.check_canaries();
        outputs
    }

    pub fn view(&mut self) -> AttentionOut<'_> {
        let (queries, heads, width) = (self.case.queries, self.case.heads(), self.case.heads() * self.case.head_dim);
        AttentionOut {
            rows: RowsMut::new(&mut self.rows[GAP..], queries, width, width + GAP),
            log_sum_exp: Some(RowsMut::new(&mut self.logs[GAP..], queries, heads, heads + GAP)),
        }
    }

    pub fn get(&self, query: usize, head: usize) -> (&[f32], f32) {
        let (heads, width) = (self.case.heads(), self.case.heads() * self.case.head_dim);
        let start = GAP + query * (width + GAP) + head * self.case.head_dim;
        (&self.rows[start..][..self.case.head_dim], self.logs[GAP + query * (heads + GAP) + head])
    }

    #[track_caller]
    pub fn check_canaries(&self) {
        for (data, width) in [(&self.rows, self.case.heads() * self.case.head_dim), (&self.logs, self.case.heads())] {
            let untouched = |gap: &[f32]| gap.iter().all(|value| *value == CANARY);
            assert!(untouched(&data[..GAP]), "written before the rows: {:?}", self.case);
            for row in data[GAP..].chunks_exact(width + GAP) {
                assert!(untouched(&row[width..]), "written beyond a row: {:?}", self.case);
            }
        }
    }
}

/// Both ways, all instruction sets, against f64.
#[track_caller]
pub fn check(case: Case) {
    let inputs = Inputs::new(case);
    for kernels in Kernels::available() {
        for way in WAYS {
            let outputs = Outputs::of(case, kernels, way, &inputs.task());
            for query in 0..case.queries {
                for head in 0..case.heads() {
                    let ((exact, log, bound), (out, out_log)) = (inputs.exact(query, head), outputs.get(query, head));
                    let worst = exact.iter().zip(out).map(|(e, o)| (e - f64::from(*o)).abs()).fold(0.0, f64::max);
                    let context = format!("{} {way:?} query {query} head {head} of {case:?}", kernels.isa());
                    assert!(worst <= bound, "{worst:e} > {bound:e}: {context}");
                    assert!(!out.iter().any(|value| value.is_nan()), "{context}");
                    let log_bound = self::bound(&case, 1.0 + log.abs() * 4.0, case.positions());
                    assert!(
                        (log - f64::from(out_log)).abs() <= log_bound || log == f64::from(out_log),
                        "log {log} {out_log}: {context}"
                    );
                }
            }
        }
    }
}
