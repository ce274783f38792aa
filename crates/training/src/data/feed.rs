//! Batches, made on threads of their own while the one before is computed.
//!
//! Each batch follows from the seed, the epoch and its number alone, so that it is the same however
//! many threads make them and wherever a training begins. Threads take the next number that nobody
//! has taken and a batch that nobody uses, fill it without a lock, and put it where the caller
//! waits for that number. Batches are used again and again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use super::order::{Permutation, hash};
use super::sequences::{Row, Scratch, Sequences, pad};
use crate::{Error, Result};

/// More threads than this do not make batches faster than a training can use them.
const MOST_WORKERS: usize = 16;
/// And more batches than this wait for nothing.
const MOST_WAITING: usize = 1 << 10;

/// CorpusRole batch of which epoch, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Position {
    /// How often the corpus was read before.
    pub epoch: u64,
    /// How many batches of this epoch were before.
    pub batch: u64,
}

/// How batches are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedOptions {
    /// Sequences of a batch: `training.batch_size`.
    pub batch: usize,
    /// Whether every epoch has its own order.
    pub shuffle: bool,
    /// `training.random_seed`
    pub seed: u64,
    /// The first batch.
    pub start: Position,
    /// After so many epochs there are no more batches; without it they never end.
    pub epochs: Option<u64>,
    /// Batches of an epoch, where that is not all there is: `training.max_batches_per_epoch`, or the steps of windows.
    pub batches: Option<u64>,
    /// So many batches wait at most: `training.prefetch_batches`.
    pub prefetch: usize,
    /// So many threads make them: `training.num_workers`.
    pub workers: usize,
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self {
            batch: 1,
            shuffle: false,
            seed: 42,
            start: Position::default(),
            epochs: None,
            batches: None,
            prefetch: 3,
            workers: 1,
        }
    }
}

/// Sequences that are computed together. What is filled up has ignored targets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// Inputs: (sequence, position).
    pub tokens: Vec<u32>,
    /// What follows each of them: (sequence, position).
    pub targets: Vec<u32>,
    /// The numbers of its sequences in the corpus.
    pub numbers: Vec<u64>,
    /// How many sequences there are; the rest of the last batch of an epoch is filled up.
    pub sequences: usize,
    /// How many tokens are to be predicted.
    pub predicted: usize,
    /// CorpusRole one it is.
    pub position: Position,
}

/// Batches one after another.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// What was handed out last.
    current: Batch,
    /// The number of the batch that comes next.
    next: u64,
    waiting: usize,
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    sequences: Sequences,
    options: FeedOptions,
    per_epoch: u64,
    /// After the last batch.
    end: u64,
    queue: Mutex<Queue>,
    /// Something was put where the caller waits, or there is something to do for a worker.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Batches that nobody uses.
    free: Vec<Batch>,
    /// Batches that wait, in the place of their number modulo the places.
    ready: Vec<Option<(u64, Batch)>>,
    /// The next number that nobody has taken.
    next: u64,
    /// Raised when the caller goes elsewhere: what was being made for the way before is thrown away.
    way: u64,
    failed: Option<Error>,
    ended: bool,
}

impl Feed {
    /// Begins to make batches.
    ///
    /// # Errors
    /// Where there is nothing to make them from, or no thread can be made.
    pub fn new(sequences: &Sequences, options: FeedOptions) -> Result<Self> {
        if options.batch == 0 || sequences.is_empty() {
            return Err(Error::new("a batch needs at least one sequence", "choose a training.batch_size of 1 or more"));
        }
        let all = sequences.len().div_ceil(options.batch as u64);
        // Windows may be as many as one likes; others are not read twice in one epoch.
        let per_epoch = match options.batches.filter(|batches| *batches > 0) {
            Some(batches) if sequences.are_random() => batches,
            Some(batches) => batches.min(all),
            None => all,
        };
        let waiting = options.prefetch.clamp(1, MOST_WAITING);
        let next = number(options.start, per_epoch);
        let cells = options.batch.checked_mul(sequences.length());
        let cells = cells.filter(|cells| *cells <= 1 << 32).ok_or_else(|| too_large(&options, sequences))?;
        let empty = || Batch {
            tokens: vec![0; cells],
            targets: vec![0; cells],
            numbers: Vec::with_capacity(options.batch),
            ..Batch::default()
        };
        let queue = Queue {
            free: (0..waiting).map(|_| empty()).collect(),
            ready: (0..waiting).map(|_| None).collect(),
            next,
            ..Queue::default()
        };
        let shared = Arc::new(Shared {
            sequences: sequences.clone(),
            options,
            per_epoch,
            end: options.epochs.map_or(u64::MAX, |epochs| epochs.saturating_mul(per_epoch)),
            queue: Mutex::new(queue),
            changed: Condvar::new(),
        });
        let mut feed = Self { shared, workers: Vec::new(), current: empty(), next, waiting };
        for _ in 0..options.workers.clamp(1, MOST_WORKERS).min(waiting) {
            feed.start_worker()?;
        }
        Ok(feed)
    }

    /// The next batch; nothing after the last. It is waited for where it is not made yet.
    ///
    /// # Errors
    /// What went wrong on a thread that makes batches; again at every call.
    #[expect(clippy::should_implement_trait, reason = "a batch is lent, which an iterator cannot do")]
    pub fn next(&mut self) -> Result<Option<&Batch>> {
        if self.next >= self.shared.end {
            return Ok(None);
        }
        let place = (self.next % self.waiting as u64) as usize;
        let mut queue = self.shared.lock();
        loop {
            if let Some((_, batch)) = queue.ready[place].take_if(|(number, _)| *number == self.next) {
                queue.free.push(std::mem::replace(&mut self.current, batch));
                break;
            }
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        drop(queue);
        self.shared.changed.notify_all();
        self.next += 1;
        Ok(Some(&self.current))
    }

    /// The batch that was handed out last.
    #[must_use]
    pub fn current(&self) -> &Batch {
        &self.current
    }

    /// The position of the batch that [`Feed::next`] gives next: where to go on after a pause.
    #[must_use]
    pub fn position(&self) -> Position {
        position(self.next, self.shared.per_epoch)
    }

    /// How many batches an epoch has.
    #[must_use]
    pub fn batches_per_epoch(&self) -> u64 {
        self.shared.per_epoch
    }

    /// Goes on from another batch: to validate again, for one.
    pub fn seek(&mut self, position: Position) {
        self.next = number(position, self.shared.per_epoch);
        let mut queue = self.shared.lock();
        let Queue { free, ready, next, way, .. } = &mut *queue;
        free.extend(ready.iter_mut().filter_map(Option::take).map(|(_, batch)| batch));
        *next = self.next;
        *way += 1;
        drop(queue);
        self.shared.changed.notify_all();
    }

    fn start_worker(&mut self) -> Result<()> {
        let shared = self.shared.clone();
        let started = thread::Builder::new().name("batches".to_owned()).spawn(move || work(&shared));
        let worker = started.map_err(|error| {
            Error::new(format!("cannot start a batch thread: {error}"), "choose fewer training.num_workers")
        })?;
        self.workers.push(worker);
        Ok(())
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        for worker in self.workers.drain(..) {
            // A worker that panicked has told so already.
            worker.join().ok();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A batch to fill, its number and the way it belongs to; nothing at the end.
    fn take(&self) -> Option<(Batch, u64, u64)> {
        let mut queue = self.lock();
        loop {
            if queue.ended || queue.failed.is_some() {
                return None;
            }
            let number = queue.next;
            if number < self.end
                && let Some(batch) = queue.free.pop()
            {
                queue.next += 1;
                return Some((batch, number, queue.way));
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts a batch where it is waited for.
    fn put(&self, batch: Batch, number: u64, way: u64, made: Result<()>) {
        let mut queue = self.lock();
        match made {
            _ if way != queue.way => queue.free.push(batch),
            Err(error) => queue.failed = Some(error),
            Ok(()) => {
                let place = (number % queue.ready.len() as u64) as usize;
                queue.ready[place] = Some((number, batch));
            }
        }
        drop(queue);
        self.changed.notify_all();
    }

    /// Makes the batch of this number.
    fn fill(&self, batch: &mut Batch, number: u64, scratch: &mut Scratch) -> Result<()> {
        hotloop::scope!(engine::steps::MAKE_BATCH, tokens = batch.tokens.len());
        let (length, options) = (self.sequences.length(), &self.options);
        batch.position = position(number, self.per_epoch);
        let key = hash(options.seed, batch.position.epoch);
        let all = self.sequences.len();
        let order = Permutation::new(all, key);
        let first = batch.position.batch * options.batch as u64;
        (batch.sequences, batch.predicted) = (0, 0);
        batch.numbers.clear();
        let rows = batch.tokens.chunks_exact_mut(length).zip(batch.targets.chunks_exact_mut(length));
        for (place, (tokens, targets)) in (first..).zip(rows) {
            if place >= all && !self.sequences.are_random() {
                pad(tokens, targets);
                continue;
            }
            let shuffled = options.shuffle && !self.sequences.are_random();
            let number = if shuffled { order.at(place) } else { place };
            batch.predicted += self.sequences.read(number, key, &mut Row { tokens, targets }, scratch)?;
            batch.sequences += 1;
            batch.numbers.push(number);
        }
        Ok(())
    }
}

/// Says so where a worker panics, because the caller would wait for ever.
struct Alarm<'a>(&'a Shared);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let error = Error::new("a batch thread panicked", "this is a bug in hotloop; please report it");
            self.0.lock().failed.get_or_insert(error);
            self.0.changed.notify_all();
        }
    }
}

fn work(shared: &Shared) {
    let _alarm = Alarm(shared);
    let mut scratch = Scratch::default();
    while let Some((mut batch, number, way)) = shared.take() {
        let made = shared.fill(&mut batch, number, &mut scratch);
        shared.put(batch, number, way, made);
    }
}

fn number(position: Position, per_epoch: u64) -> u64 {
    position.epoch.saturating_mul(per_epoch).saturating_add(position.batch)
}

fn position(number: u64, per_epoch: u64) -> Position {
    Position { epoch: number / per_epoch, batch: number % per_epoch }
}

fn too_large(options: &FeedOptions, sequences: &Sequences) -> Error {
    let message = format!("a batch of {} sequences of {} tokens is too large", options.batch, sequences.length());
    Error::new(message, "choose a smaller training.batch_size or training.max_length")
}

#[cfg(test)]
mod tests {
    use super::super::{Corpus, CorpusRequest, CorpusRole, DataSettings, SequenceForm, Sources, VocabularySettings};
    use super::*;
    use crate::vocabulary::{Vocabulary, train};

    #[global_allocator]
    static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

    #[test]
    fn batches_are_made_without_allocations_once_it_is_warm() {
        let folder = std::env::temp_dir().join(format!("hotloop-training-feed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let text = "some lines\nof text\nto learn from\n".repeat(100);
        std::fs::write(folder.join("text"), &text).expect("a temporary file");
        let metadata = train(&VocabularySettings::default(), [text.as_str()]).expect("a vocabulary");
        let vocabulary = Vocabulary::new(&metadata).expect("a vocabulary");
        for sequences in [SequenceForm::Lines, SequenceForm::Chunks, SequenceForm::Windows] {
            let settings = DataSettings { input_file: "text".into(), sequences, ..DataSettings::default() };
            let sources = Sources::find(&settings, CorpusRole::Training, &folder, &folder).expect("files");
            let request =
                CorpusRequest { settings: &settings, sources: &sources, validation: None, max_length: 8, seed: 1 };
            let corpus = Corpus::build(&request, &vocabulary, &folder, &mut |_| true).expect("a corpus");
            let options = FeedOptions { batch: 4, shuffle: true, ..FeedOptions::default() };
            let feed = Feed::new(corpus.training(), options).expect("a feed");
            let (mut batch, mut scratch) = (feed.current.clone(), Scratch::default());
            for number in 0..100 {
                feed.shared.fill(&mut batch, number, &mut scratch).expect("a batch");
            }
            hotloop::assert_no_alloc!(for number in 0..1000 {
                feed.shared.fill(&mut batch, number, &mut scratch).expect("a batch");
            });
        }
        std::fs::remove_dir_all(&folder).ok();
    }
}
