//! Rounds of generating: what a model does, again and again, as one side of a duel.
//!
//! A call generates some sequences, each from its prompt; how many of them are computed together is the engine's setting, so that
//! the work of all sides is the same, and what they put out can be compared.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

use record::{Better, Metric, Per};

use crate::duel::Reading;
use crate::metrics::{self, AllocationCount, counted, forget_peak, peak_rss, timed};
use crate::recorder::{WALL, bookkeeping};
use crate::workload::{profiler, take_profile, tokens_at_random};

/// Rates of a round, whose more is better: name, definition.
const RATES: [(&str, &str); 3] = [
    (
        "tokens_per_s",
        "tokens that were chosen in the round, by its time: of all sequences, their prompts included in the time",
    ),
    (
        "prefill_tokens_per_s",
        "tokens of the prompts, by the time until all sequences that are computed together have their first",
    ),
    ("decode_tokens_per_s", "tokens chosen after that, by the time from then on"),
];
const PEAK_RSS: &str = "peak_rss_bytes";
/// Of what one call has, those that are kept.
const METRICS: [&str; 6] = [WALL, "cpu_s", "ttft_s", "token_s", "allocs", "alloc_bytes"];

/// What a call generates: a model knows how.
pub trait Sequences {
    /// Generates all sequences from nothing, and tells the watch when some begin and when each token is there.
    ///
    /// # Errors
    /// Why it is invalid.
    fn generate(&mut self, watch: &mut Stopwatch) -> Result<(), String>;
}

/// How much a call generates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Sequences.
    pub sequences: usize,
    /// Tokens of each one's prompt.
    pub prompt: usize,
    /// Tokens behind it.
    pub tokens: usize,
}

/// Takes the times of tokens. Its memory is there from the beginning: calls allocate nothing for it.
#[derive(Debug)]
pub struct Stopwatch {
    sizes: Sizes,
    /// When the sequences that are computed now began.
    begun: Instant,
    /// How many of them have no token yet.
    waiting: usize,
    /// When the last of those had its first.
    prefilled: Instant,
    /// When each sequence had its last token; all begin at the same time.
    last: Vec<Instant>,
    /// Of all sequences of a call, one after the other.
    ids: Vec<Vec<u32>>,
    first_s: Vec<f64>,
    token_s: Vec<f64>,
    prefill_s: f64,
    decode_s: f64,
    decoded: usize,
}

impl Stopwatch {
    /// For rounds of so many calls.
    fn new(sizes: Sizes, calls: usize) -> Self {
        let (now, Sizes { sequences, tokens, .. }) = (Instant::now(), sizes);
        Self {
            sizes,
            begun: now,
            waiting: 0,
            prefilled: now,
            last: vec![now; sequences],
            ids: (0..sequences).map(|_| Vec::with_capacity(tokens)).collect(),
            first_s: Vec::with_capacity(calls * sequences),
            token_s: Vec::with_capacity(calls * sequences * tokens),
            prefill_s: 0.0,
            decode_s: 0.0,
            decoded: 0,
        }
    }

    /// Computing these sequences begins.
    ///
    /// # Panics
    /// Where there are not so many.
    pub fn begin(&mut self, sequences: Range<usize>) {
        self.begun = Instant::now();
        self.waiting = sequences.len();
        self.last[sequences].fill(self.begun);
    }

    /// Whether some of them have no token yet.
    #[must_use]
    pub fn is_in_prompts(&self) -> bool {
        self.waiting > 0
    }

    /// A sequence has a token more.
    ///
    /// # Panics
    /// Where there is no such sequence.
    pub fn token(&mut self, sequence: usize, id: u32) {
        let now = Instant::now();
        let took = now.duration_since(std::mem::replace(&mut self.last[sequence], now)).as_secs_f64();
        let ids = &mut self.ids[sequence];
        ids.push(id);
        if ids.len() > 1 {
            self.token_s.push(took);
            self.decoded += usize::from(self.waiting == 0);
            return;
        }
        self.first_s.push(took);
        self.waiting -= 1;
        if self.waiting == 0 {
            self.prefilled = now;
            self.prefill_s += now.duration_since(self.begun).as_secs_f64();
        }
    }

    /// Those that began have ended.
    pub fn end(&mut self) {
        self.decode_s += self.prefilled.elapsed().as_secs_f64();
    }

    /// Forgets the tokens, and keeps the times.
    fn restart(&mut self) {
        self.ids.iter_mut().for_each(Vec::clear);
    }

    /// The values of a round that took so long.
    fn values(&self, wall_s: f64, calls: f64) -> impl Iterator<Item = (&'static str, f64)> {
        let Sizes { sequences, prompt, tokens } = self.sizes;
        let (all, prompts) = (calls * (sequences * tokens) as f64, calls * (sequences * prompt) as f64);
        let rate = |count: f64, seconds: f64| (count > 0.0 && seconds > 0.0).then(|| count / seconds);
        let values = [
            ("ttft_s", compare::median(&self.first_s)),
            ("token_s", compare::median(&self.token_s)),
            (RATES[0].0, rate(all, wall_s)),
            (RATES[1].0, rate(prompts, self.prefill_s)),
            (RATES[2].0, rate(self.decoded as f64, self.decode_s)),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

/// Rounds of one model.
pub struct Rounds<S> {
    sequences: S,
    sizes: Sizes,
    /// What a call allocates, once that was counted; `None` within where it cannot be.
    allocated: Option<Option<AllocationCount>>,
}

impl<S: Sequences> Rounds<S> {
    /// The peak of the process counts from here on: it is that of generating, not of loading.
    pub fn new(sequences: S, sizes: Sizes) -> Self {
        forget_peak();
        Self { sequences, sizes, allocated: None }
    }

    /// The tokens of all sequences, generated once.
    ///
    /// # Errors
    /// Why they cannot be.
    pub fn ids(&mut self) -> Result<Vec<Vec<u32>>, String> {
        let mut watch = Stopwatch::new(self.sizes, 1);
        self.sequences.generate(&mut watch)?;
        Ok(watch.ids)
    }

    /// So many calls; with `profiled` the profiler records them, and their times are not to be compared with others.
    ///
    /// # Errors
    /// Why they cannot be done.
    pub fn round(&mut self, calls: u64, profiled: bool) -> Result<Reading, String> {
        let count = usize::try_from(calls).unwrap_or(usize::MAX).max(1);
        let mut watch = Stopwatch::new(self.sizes, count);
        let mut outputs = Vec::with_capacity(count);
        if profiled {
            profiler(None).start();
            hotloop::reset();
        }
        let (result, taken) = timed(|| -> Result<(), String> {
            for _ in 0..count {
                call(&mut self.sequences, &mut watch)?;
                bookkeeping(|| outputs.push(hash(&watch.ids)));
            }
            Ok(())
        });
        let profile = if profiled { Some(take_profile()?) } else { None };
        result?;
        let mut values = taken.values;
        let wall_s = values.get(WALL).copied().unwrap_or_default();
        values.extend(watch.values(wall_s, count as f64).map(|(name, value)| (name.to_owned(), value)));
        if let Some(allocated) = self.allocated(&mut watch)? {
            let allocated = allocated.times(count as u64);
            values.insert("allocs".to_owned(), allocated.allocs as f64);
            values.insert("alloc_bytes".to_owned(), allocated.bytes as f64);
        }
        values.extend(peak_rss().map(|bytes| (PEAK_RSS.to_owned(), bytes as f64)));
        let nanoseconds = |seconds: &f64| (seconds * 1e9).round() / 1e9;
        let series = |times: &[f64]| times.iter().map(nanoseconds).collect();
        Ok(Reading {
            values,
            series: BTreeMap::from([
                ("ttft_s".to_owned(), series(&watch.first_s)),
                ("token_s".to_owned(), series(&watch.token_s)),
            ]),
            output: output_of(&outputs),
            profile,
        })
    }

    /// Counted in a call of its own, behind the first round of the process.
    fn allocated(&mut self, watch: &mut Stopwatch) -> Result<Option<AllocationCount>, String> {
        if let Some(known) = self.allocated {
            return Ok(known);
        }
        // Times of this call are in no value: they were taken already.
        let mut apart = Stopwatch::new(watch.sizes, 1);
        let mut result = Ok(());
        let found = counted(|| result = call(&mut self.sequences, &mut apart));
        result?;
        self.allocated = Some(found);
        Ok(found)
    }
}

fn call(sequences: &mut dyn Sequences, watch: &mut Stopwatch) -> Result<(), String> {
    hotloop::scope!("Inference", tokens = watch.sizes.sequences * watch.sizes.tokens);
    watch.restart();
    sequences.generate(watch)
}

/// What tells tokens apart: BLAKE3 of their ids, one sequence after the other.
#[must_use]
pub fn blake3_of(sequences: &[Vec<u32>]) -> String {
    hash(sequences).to_hex().to_string()
}

fn hash(sequences: &[Vec<u32>]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    for id in sequences.iter().flatten() {
        hasher.update(&id.to_le_bytes());
    }
    hasher.finalize()
}

/// The output of a round is that of one call: it must not depend on how many there were. Where calls differ it is that of all.
fn output_of(calls: &[blake3::Hash]) -> Option<String> {
    let first = calls.first()?;
    let mut all = blake3::Hasher::new();
    for call in calls {
        all.update(call.as_bytes());
    }
    let agree = calls.iter().all(|call| call == first);
    Some(if agree { *first } else { all.finalize() }.to_hex().to_string())
}

/// What the values of rounds mean.
#[must_use]
pub fn metrics() -> BTreeMap<String, Metric> {
    let known = metrics::metrics().filter(|(name, _)| METRICS.contains(&name.as_str())).map(|(name, mut metric)| {
        // A round may have many calls; of the times of tokens it has the median, beside all of them as a series.
        if metric.per == Some(Per::Call) {
            metric.per = Some(Per::MedianOfCalls);
        }
        (name, metric)
    });
    let rates = RATES.iter().map(|(name, definition)| {
        let metric = Metric {
            definition: (*definition).to_owned(),
            unit: "tokens/s".to_owned(),
            better: Better::Higher,
            per: Some(Per::MeanOfCalls),
            exact: false,
        };
        ((*name).to_owned(), metric)
    });
    let peak = Metric {
        definition: "the most memory that the process had while it generated".to_owned(),
        unit: "bytes".to_owned(),
        better: Better::Lower,
        per: Some(Per::MaximumOfCalls),
        exact: false,
    };
    known.chain(rates).chain([(PEAK_RSS.to_owned(), peak)]).collect()
}

/// The tokens that sequences begin with: at random, each its own.
#[must_use]
pub fn prompts(seed: u64, vocab: usize, sizes: Sizes) -> Vec<Vec<u32>> {
    let prompt = |sequence: usize| tokens_at_random(seed.wrapping_add(sequence as u64), vocab as u64, sizes.prompt);
    (0..sizes.sequences).map(prompt).collect()
}

/// How far tokens are the same, from the beginning of each sequence on.
#[must_use]
pub fn agreement(base: &[Vec<u32>], candidate: &[Vec<u32>]) -> record::Agreement {
    let equal = |(base, candidate): (&Vec<u32>, &Vec<u32>)| {
        base.iter().zip(candidate).take_while(|(base, candidate)| base == candidate).count()
    };
    record::Agreement {
        equal: base.iter().zip(candidate).map(equal).sum::<usize>() as u64,
        of: base.iter().map(Vec::len).sum::<usize>() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sequences at a time, whose tokens count up from what the call begins with.
    struct Counting {
        begins: Vec<u32>,
        fails: bool,
    }

    /// The profiler is the whole program's.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    const SIZES: Sizes = Sizes { sequences: 4, prompt: 3, tokens: 5 };

    impl Sequences for Counting {
        fn generate(&mut self, watch: &mut Stopwatch) -> Result<(), String> {
            let begin = if self.begins.len() > 1 { self.begins.remove(0) } else { self.begins[0] };
            for group in [0..2, 2..4] {
                watch.begin(group.clone());
                for step in 0..SIZES.tokens {
                    assert_eq!(watch.is_in_prompts(), step == 0);
                    group.clone().for_each(|sequence| watch.token(sequence, begin + step as u32));
                }
                watch.end();
            }
            std::hint::black_box(vec![0u8; 100]);
            if self.fails { Err("it is broken".to_owned()) } else { Ok(()) }
        }
    }

    fn rounds(begins: &[u32]) -> Rounds<Counting> {
        Rounds::new(Counting { begins: begins.to_vec(), fails: false }, SIZES)
    }

    #[test]
    fn a_round_has_every_value_that_has_a_meaning() {
        let _alone = ALONE.lock();
        let reading = rounds(&[7]).round(3, false).unwrap();
        let mut names: Vec<_> = metrics().into_keys().collect();
        // Allocations are counted where the program has the profiler's allocator, which this one has not.
        names.retain(|name| !name.starts_with("alloc"));
        if !cfg!(target_os = "linux") {
            names.retain(|name| name != PEAK_RSS);
        }
        assert_eq!(reading.values.keys().cloned().collect::<Vec<_>>(), names);
        assert!(reading.values.values().all(|value| *value > 0.0 && value.is_finite()), "{:?}", reading.values);
        assert_eq!(reading.series["token_s"].len(), 3 * 4 * 4, "all but the first of each sequence");
        assert_eq!(reading.series["ttft_s"].len(), 3 * 4, "the first of each sequence");
        assert!(reading.profile.is_none());
        let rate = reading.values["tokens_per_s"] * reading.values[WALL];
        assert!((rate - 60.0).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn output_is_the_same_however_many_calls() {
        let _alone = ALONE.lock();
        let one = rounds(&[7]).round(1, false).unwrap().output;
        let three = rounds(&[7]).round(3, false).unwrap().output;
        assert!(one.is_some() && one == three);
        assert_ne!(one, rounds(&[8]).round(1, false).unwrap().output);
        assert_ne!(one, rounds(&[7, 7, 8]).round(3, false).unwrap().output, "one call differs");
    }

    #[test]
    fn what_is_profiled_has_a_profile() {
        let _alone = ALONE.lock();
        let profile = rounds(&[7]).round(2, true).unwrap().profile.expect("it was asked for");
        let inference = profile.scopes.iter().find(|scope| scope.name.ends_with("Inference"));
        assert_eq!(inference.map(|scope| scope.calls), Some(2));
    }

    #[test]
    fn what_fails_is_told() {
        let _alone = ALONE.lock();
        let mut rounds = Rounds::new(Counting { begins: vec![1], fails: true }, SIZES);
        assert_eq!(rounds.round(1, false).err().as_deref(), Some("it is broken"));
    }

    #[test]
    fn every_sequence_has_a_prompt_of_its_own() {
        let all = prompts(1, 500, SIZES);
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [3; 4]);
        assert!(all[1..].iter().all(|prompt| *prompt != all[0]));
        assert_eq!(all, prompts(1, 500, SIZES));
        assert_eq!(all[0], prompts(1, 500, Sizes { sequences: 1, ..SIZES })[0], "it does not depend on the others");
    }

    #[test]
    fn agreement_ends_with_the_first_other_token() {
        let base = vec![vec![1, 2, 3], vec![4, 5, 6]];
        assert_eq!(agreement(&base, &base), record::Agreement { equal: 6, of: 6 });
        let other = vec![vec![1, 9, 3], vec![4, 5, 7]];
        assert_eq!(agreement(&base, &other), record::Agreement { equal: 3, of: 6 });
    }
}
