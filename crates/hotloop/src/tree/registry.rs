//! All threads' trees: those that live, what remains of those that ended, and when recording was on.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::charge::OUTSIDE;
use super::events::{ENDED_EVENTS, Event};
use super::histogram::HistogramCopy;
use super::local::{AFTER_END, Local, ancestors};
use super::measure;
use super::node::{NO_INDEX, Node};
use super::settle::{Counters, settle};
use super::thread::{FRESH, Label, Thread};
use super::{FLAGS, mode};
use crate::clock;
use crate::site::Site;

/// Records of ended threads kept one by one; the rest are summed.
const ENDED_THREADS: usize = 256;

/// The most paths of all threads together, over the life of the process: about 64 MiB. The rest share one.
const MAX_PATHS: usize = 1 << 20;

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);
static TIMES: Mutex<Times> = Mutex::new(Times { reset_at: 0, paused_at_reset: 0, paused: 0, paused_since: 1 });
static RING_CAPACITY: AtomicUsize = AtomicUsize::new(0);
static BUDGET: AtomicU64 = AtomicU64::new(0);
/// What was recorded last, also while stopped.
static LAST_MODES: AtomicU64 = AtomicU64::new(0);

/// All threads' trees.
#[derive(Default)]
pub(crate) struct Registry {
    live: Vec<&'static Thread>,
    free: Vec<&'static Thread>,
    scratch: Option<&'static Thread>,
    threads_seen: u64,
    paths: Paths,
    ended: Ended,
}

/// What remains of threads that ended.
#[derive(Default)]
struct Ended {
    /// By path.
    counters: Vec<Counters>,
    histograms: Vec<HistogramCopy>,
    threads: Vec<ThreadRecord>,
    events: VecDeque<(u64, Event)>,
    lost: Losses,
}

/// One path from the root of the merged tree.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub(crate) site: &'static Site,
    pub(crate) index: u64,
    /// Comes before it in the list; the root's is itself.
    pub(crate) parent: u32,
}

/// Every path ever entered; ids are never given away again.
#[derive(Default)]
struct Paths {
    list: Vec<Path>,
    ids: HashMap<(u32, usize, u64), u32>,
}

/// One thread, or several that ended, summed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadRecord {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    pub(crate) alive: bool,
    /// How many threads this is; more than one when summed.
    pub(crate) count: u64,
    pub(crate) calls: u64,
    /// From its first scope to its end, or now.
    pub(crate) ticks: f64,
    pub(crate) in_scopes: f64,
    pub(crate) own_cost: f64,
    pub(crate) allocs: u64,
    pub(crate) alloc_bytes: u64,
}

/// What could not be recorded as asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Timeline events that were overwritten by later ones.
    pub timeline_events: u64,
    /// Calls that found no room in the tree (its limit of paths or depth): counted nowhere else.
    pub calls_without_room: u64,
    /// Calls with an index beyond those a parent keeps apart: counted together under the index "other".
    pub calls_with_other_index: u64,
    /// Scopes that ended in another order than they began.
    pub unbalanced_scopes: u64,
    /// Scopes opened while their thread was being torn down.
    pub scopes_after_thread_end: u64,
    /// Timings that are in no percentile because the memory for histograms was used up.
    pub timings_without_percentile: u64,
}

impl Losses {
    fn add(&mut self, other: &Losses) {
        self.timeline_events += other.timeline_events;
        self.calls_without_room += other.calls_without_room;
        self.calls_with_other_index += other.calls_with_other_index;
        self.unbalanced_scopes += other.unbalanced_scopes;
        self.scopes_after_thread_end += other.scopes_after_thread_end;
        self.timings_without_percentile += other.timings_without_percentile;
    }
}

/// Everything recorded since the last reset, settled and merged.
pub(crate) struct Collected {
    pub(crate) wall_ticks: u64,
    pub(crate) reset_at: u64,
    pub(crate) paths: Vec<Path>,
    /// By path, as are the histograms.
    pub(crate) counters: Vec<Counters>,
    pub(crate) histograms: Vec<HistogramCopy>,
    pub(crate) threads: Vec<ThreadRecord>,
    /// By thread id; the paths are those above.
    pub(crate) events: Vec<(u64, Vec<Event>)>,
    pub(crate) lost: Losses,
    /// Allocations, their bytes, frees and their bytes, of threads that never opened a scope.
    pub(crate) outside: [u64; 4],
}

/// When recording was on: ticks spent paused, and when the last reset was.
struct Times {
    reset_at: u64,
    paused_at_reset: u64,
    paused: u64,
    /// 0 while recording.
    paused_since: u64,
}

/// [`Times`] as of one moment.
pub(super) struct Intervals {
    pub(super) reset_at: u64,
    pub(super) paused_at_reset: u64,
    pub(super) paused: u64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` under the registry's lock, with nothing recorded on this thread meanwhile.
pub(crate) fn with_registry<R>(work: impl FnOnce(&mut Registry) -> R) -> R {
    Local::with(|local| local.quietly(|| work(lock(&REGISTRY).get_or_insert_default())))
}

pub(super) fn intervals() -> Intervals {
    let times = lock(&TIMES);
    let pause = if times.paused_since == 0 { 0 } else { clock::now().saturating_sub(times.paused_since) };
    Intervals { reset_at: times.reset_at, paused_at_reset: times.paused_at_reset, paused: times.paused + pause }
}

/// Ticks since `start` in which recording was on, for a start since which it was paused or reset.
pub(super) fn active_since(start: u64) -> u64 {
    let times = intervals();
    let since = clock::now().saturating_sub(start.max(times.reset_at));
    since.saturating_sub(times.paused - times.paused_at_reset)
}

pub(super) fn ring_capacity() -> usize {
    RING_CAPACITY.load(Relaxed)
}

pub(super) fn budget() -> f64 {
    f64::from_bits(BUDGET.load(Relaxed))
}

/// The share of the run that the profiler may take, as of the last start.
pub(crate) fn budget_in_force() -> Option<f64> {
    (LAST_MODES.load(Relaxed) & mode::BUDGET != 0).then(budget)
}

/// Whether allocations are counted, as of the last start.
pub(crate) fn allocations_counted() -> bool {
    LAST_MODES.load(Relaxed) & mode::ALLOCATIONS != 0
}

/// Starts or changes what is recorded.
pub(crate) fn start(modes: u64, ring_capacity: usize, budget: f64) {
    RING_CAPACITY.store(ring_capacity, Relaxed);
    BUDGET.store(budget.to_bits(), Relaxed);
    LAST_MODES.store(modes, Relaxed);
    set_modes(modes);
    // The thread that starts the profiler is there from the start, not only from its first scope on.
    Local::with(|local| local.fall_in_step(FLAGS.load(Relaxed)));
}

/// Stops recording.
pub(crate) fn stop() {
    set_modes(0);
}

fn set_modes(modes: u64) {
    with_registry(|_| {
        let mut times = lock(&TIMES);
        let now = clock::now();
        let (recording, started) = (times.paused_since == 0, modes & mode::STARTED != 0);
        if times.reset_at == 0 && started {
            // The first start: time before it was no pause.
            *times = Times { reset_at: now, paused_at_reset: 0, paused: 0, paused_since: 0 };
        } else if recording && !started {
            times.paused_since = now;
        } else if !recording && started {
            times.paused += now.saturating_sub(times.paused_since);
            times.paused_since = 0;
        }
        let flags = FLAGS.load(Relaxed);
        let epoch = flags & !(mode::EPOCH - 1);
        let generation = (flags + mode::GENERATION) & (mode::EPOCH - 1) & !mode::MASK;
        FLAGS.store(epoch | generation | flags & mode::WATCH | modes, Release);
    });
}

/// Counts allocations for an assertion, or stops doing so; several may be at it at once.
pub(crate) fn set_watch(on: bool) {
    static WATCHERS: AtomicUsize = AtomicUsize::new(0);
    with_registry(|_| {
        let before = if on { WATCHERS.fetch_add(1, Relaxed) } else { WATCHERS.fetch_sub(1, Relaxed) - 1 };
        let flags = FLAGS.load(Relaxed);
        FLAGS.store(if on || before > 0 { flags | mode::WATCH } else { flags & !mode::WATCH }, Release);
    });
}

/// Names the calling thread.
pub(crate) fn name_thread(name: &str) {
    Local::with(|local| {
        if let Some(thread) = local.registered() {
            local.quietly(|| lock(&thread.label).name = Some(name.to_owned()));
        }
    });
}

/// Forgets all that was recorded. Scopes that are open count from now.
pub(crate) fn reset() {
    with_registry(|registry| {
        registry.ended = Ended::default();
        OUTSIDE.clear();
        AFTER_END.store(0, Relaxed);
        let mut times = lock(&TIMES);
        let now = clock::now();
        let pause = if times.paused_since == 0 { 0 } else { now.saturating_sub(times.paused_since) };
        times.reset_at = now;
        times.paused_at_reset = times.paused + pause;
        FLAGS.store(FLAGS.load(Relaxed).wrapping_add(mode::EPOCH), Release);
    });
}

/// A tree for a thread that opens its first scope.
pub(super) fn adopt() -> Option<&'static Thread> {
    let name = std::thread::current().name().map(str::to_owned);
    with_registry(|registry| {
        let thread = registry.free.pop().or_else(Thread::leak)?;
        registry.threads_seen += 1;
        *lock(&thread.label) = Label { id: registry.threads_seen, name };
        registry.live.push(thread);
        Some(thread)
    })
}

/// Takes the tree of a thread that ends.
pub(super) fn retire(thread: &'static Thread) {
    with_registry(|registry| {
        registry.live.retain(|other| !std::ptr::eq(*other, thread));
        let mut read = registry.read(thread);
        read.record.alive = false;
        if read.has_scopes() {
            let events = registry.absorb_ended(&read);
            registry.ended.keep(read, events);
        }
        thread.root().open_since.set(0);
        thread.forget_paths();
        thread.epoch.store(FRESH, Release);
        registry.free.push(thread);
    });
}

/// Reads everything, while the threads go on.
pub(crate) fn collect() -> Collected {
    Local::with(Local::publish_peaks);
    with_registry(Registry::collect)
}

/// One thread's tree as it was read.
struct ThreadRead {
    /// By node.
    paths: Vec<u32>,
    counters: Vec<Counters>,
    histograms: Vec<HistogramCopy>,
    events: Vec<Event>,
    record: ThreadRecord,
    lost: Losses,
}

impl Registry {
    pub(super) fn scratch(&mut self) -> Option<&'static Thread> {
        if self.scratch.is_none() {
            self.scratch = Thread::leak();
        }
        self.scratch
    }

    /// The sites and indices from the root down to a path.
    pub(super) fn steps_to(&self, path: u32) -> Vec<(&'static Site, u64)> {
        let mut steps = Vec::new();
        let mut at = path;
        while let Some(step) = self.paths.list.get(at as usize).filter(|_| at != 0) {
            steps.push((step.site, step.index));
            at = step.parent;
        }
        steps.reverse();
        steps
    }

    pub(super) fn path_of(&mut self, node: &Node) -> u32 {
        let chain: Vec<&Node> = ancestors(node).collect();
        chain.into_iter().rev().fold(0, |parent, node| self.paths.id(parent, node))
    }

    fn collect(&mut self) -> Collected {
        let live = self.live.clone().into_iter();
        let reads: Vec<ThreadRead> = live.map(|thread| self.read(thread)).filter(ThreadRead::has_scopes).collect();
        let size = self.paths.list.len();
        let mut counters = self.ended.counters.clone();
        let mut histograms = self.ended.histograms.clone();
        counters.resize_with(size, Counters::default);
        histograms.resize_with(size, HistogramCopy::default);
        let mut threads = self.ended.threads.clone();
        let mut lost = self.ended.lost;
        lost.scopes_after_thread_end += AFTER_END.load(Relaxed);
        let mut events = self.ended.events_by_thread();
        for read in reads {
            read.add_to(&mut counters, &mut histograms);
            lost.add(&read.lost);
            events.push((read.record.id, read.events_by_path()));
            threads.push(read.record);
        }
        threads.sort_by_key(|thread| (thread.count > 1, thread.id));
        let times = intervals();
        Collected {
            wall_ticks: clock::now()
                .saturating_sub(times.reset_at)
                .saturating_sub(times.paused - times.paused_at_reset),
            reset_at: times.reset_at,
            paths: self.paths.list.clone(),
            counters,
            histograms,
            threads,
            events,
            lost,
            outside: OUTSIDE.get(),
        }
    }

    fn read(&mut self, thread: &'static Thread) -> ThreadRead {
        let mut counters = read_counters(thread);
        let nodes: Vec<&Node> = thread.all_nodes().take(counters.len()).collect();
        // SAFETY: a node's parent is null at the root, otherwise a node, which is never freed.
        let parent = |node: &Node| unsafe { node.parent.as_ref() }.map_or(0, |parent| parent.id as usize);
        let parents: Vec<usize> = nodes.iter().map(|node| parent(node)).collect();
        settle(&mut counters, &parents, &measure::cost());
        let mut paths = Vec::with_capacity(nodes.len());
        for (node, parent) in nodes.iter().zip(&parents) {
            let parent = paths.get(*parent).copied().unwrap_or(0);
            paths.push(self.paths.id(parent, node));
        }
        let current = thread.epoch.load(Acquire) == FLAGS.load(Relaxed) >> 32;
        let mut histograms = vec![HistogramCopy::default(); if current { nodes.len() } else { 0 }];
        for (copy, node) in histograms.iter_mut().zip(&nodes) {
            if let Some(histogram) = node.histogram() {
                histogram.add_to(copy);
            }
        }
        let modes = LAST_MODES.load(Relaxed);
        let mut events = (Vec::new(), 0);
        if let Some(ring) = thread.ring().filter(|_| current) {
            ring.add_pending(&mut histograms);
            if modes & mode::TIMELINE != 0 {
                events = ring.read();
            }
        }
        ThreadRead {
            record: ThreadRecord::new(&lock(&thread.label), &counters, &parents),
            lost: losses(thread, events.1, current),
            events: events.0,
            paths,
            counters,
            histograms,
        }
    }

    /// Adds an ended thread's counts to those of the others before it, and gives back its events by path.
    fn absorb_ended(&mut self, read: &ThreadRead) -> Vec<Event> {
        let size = self.paths.list.len();
        self.ended.counters.resize_with(size, Counters::default);
        self.ended.histograms.resize_with(size, HistogramCopy::default);
        read.add_to(&mut self.ended.counters, &mut self.ended.histograms);
        // What a thread left open ended with it.
        for counters in &mut self.ended.counters {
            counters.timed += std::mem::take(&mut counters.open);
        }
        read.events_by_path()
    }
}

impl ThreadRead {
    /// A thread that opened no scope since the last reset has nothing to say.
    fn has_scopes(&self) -> bool {
        self.counters.iter().skip(1).any(|node| node.entries > 0 || node.attached > 0)
    }

    fn add_to(&self, counters: &mut [Counters], histograms: &mut [HistogramCopy]) {
        for (path, counted) in self.paths.iter().zip(&self.counters) {
            counters[*path as usize].add(counted);
        }
        for (path, histogram) in self.paths.iter().zip(&self.histograms) {
            histograms[*path as usize].add(histogram);
        }
    }

    fn events_by_path(&self) -> Vec<Event> {
        let path = |node: u32| self.paths.get(node as usize).copied();
        self.events.iter().filter_map(|event| Some(Event { path: path(event.path)?, ..*event })).collect()
    }
}

impl Ended {
    fn keep(&mut self, read: ThreadRead, events: Vec<Event>) {
        self.lost.add(&read.lost);
        for event in events {
            if self.events.len() >= ENDED_EVENTS {
                self.events.pop_front();
                self.lost.timeline_events += 1;
            }
            self.events.push_back((read.record.id, event));
        }
        let is_full = self.threads.len() > ENDED_THREADS;
        match self.threads.last_mut() {
            Some(rest) if is_full => rest.add(&read.record),
            _ => self.threads.push(read.record),
        }
    }

    fn events_by_thread(&self) -> Vec<(u64, Vec<Event>)> {
        let mut by_thread: Vec<(u64, Vec<Event>)> = Vec::new();
        let mut places: HashMap<u64, usize> = HashMap::new();
        for (thread, event) in &self.events {
            let place = *places.entry(*thread).or_insert(by_thread.len());
            if place == by_thread.len() {
                by_thread.push((*thread, Vec::new()));
            }
            by_thread[place].1.push(*event);
        }
        by_thread
    }
}

impl Paths {
    fn id(&mut self, parent: u32, node: &Node) -> u32 {
        // SAFETY: sites are 'static.
        let site: &'static Site = unsafe { &*node.site };
        match self.ids.get(&(parent, node.site.addr(), node.index)) {
            Some(id) => *id,
            None if self.list.len() < MAX_PATHS => self.add(Path { site, index: node.index, parent }),
            None => self.no_room(),
        }
    }

    fn add(&mut self, path: Path) -> u32 {
        let id = u32::try_from(self.list.len()).unwrap_or(0);
        self.ids.insert((path.parent, std::ptr::from_ref(path.site).addr(), path.index), id);
        self.list.push(path);
        id
    }

    /// The one path for all that come when there are too many.
    fn no_room(&mut self) -> u32 {
        static SITE: Site = Site::new("", "(too many paths)", "", 0);
        let known = self.ids.get(&(0, (&raw const SITE).addr(), NO_INDEX)).copied();
        known.unwrap_or_else(|| self.add(Path { site: &SITE, index: NO_INDEX, parent: 0 }))
    }
}

impl ThreadRecord {
    fn new(label: &Label, nodes: &[Counters], parents: &[usize]) -> Self {
        let top_level = nodes.iter().zip(parents).skip(1).filter(|(_, parent)| **parent == 0);
        let root = nodes.first().cloned().unwrap_or_default();
        ThreadRecord {
            id: label.id,
            name: label.name.clone(),
            alive: true,
            count: 1,
            calls: nodes.iter().skip(1).map(|node| node.entries + node.folded - node.reentries.min(node.entries)).sum(),
            ticks: root.total + root.own_cost,
            in_scopes: top_level.map(|(node, _)| node.total).sum(),
            own_cost: root.own_cost,
            allocs: nodes.iter().map(|node| node.allocs).sum(),
            alloc_bytes: nodes.iter().map(|node| node.alloc_bytes).sum(),
        }
    }

    fn add(&mut self, other: &ThreadRecord) {
        self.name = None;
        self.count += other.count;
        self.calls += other.calls;
        self.ticks += other.ticks;
        self.in_scopes += other.in_scopes;
        self.own_cost += other.own_cost;
        self.allocs += other.allocs;
        self.alloc_bytes += other.alloc_bytes;
    }
}

/// Reads a thread's nodes, children before parents, at one epoch.
fn read_counters(thread: &Thread) -> Vec<Counters> {
    // A thread clears its tree within microseconds, unless it is descheduled just then.
    for _ in 0..1000 {
        let epoch = thread.epoch.load(Acquire);
        let mut counters: Vec<Counters> = thread.all_nodes().rev().map(Node::read).collect();
        counters.reverse();
        if epoch == FRESH {
            break;
        }
        if !thread.is_clearing() && thread.epoch.load(Acquire) == epoch {
            take_pauses_out(thread, epoch, &mut counters);
            return counters;
        }
        std::thread::yield_now();
    }
    vec![Counters::default(); thread.nodes.len() as usize]
}

/// Accounts for pauses and resets that the thread itself has not noticed yet.
fn take_pauses_out(thread: &Thread, epoch: u64, counters: &mut [Counters]) {
    let times = intervals();
    let is_current = epoch == FLAGS.load(Relaxed) >> 32;
    let since_reset = clock::now().saturating_sub(times.reset_at);
    let unseen = times.paused.saturating_sub(thread.paused_seen.load(Acquire));
    for node in counters {
        if !is_current {
            let (open, open_ticks) = (node.open, node.open_ticks.min(since_reset));
            *node = Counters { open, open_ticks, entries: open, ..Counters::default() };
        }
        let pause = if is_current { unseen } else { times.paused - times.paused_at_reset };
        node.open_ticks = node.open_ticks.saturating_sub(pause);
    }
}

fn losses(thread: &Thread, timeline_events: u64, current: bool) -> Losses {
    if !current {
        return Losses::default();
    }
    Losses {
        timeline_events,
        calls_without_room: thread.lost.no_room.get(),
        calls_with_other_index: thread.lost.indices.get(),
        unbalanced_scopes: thread.lost.unbalanced.get(),
        scopes_after_thread_end: 0,
        timings_without_percentile: thread.lost.histograms.get(),
    }
}
