//! All threads' trees: those that live, and what remains of those that ended.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::charge::OUTSIDE;
use super::events::{ENDED_EVENTS, Event};
use super::fork;
use super::histogram::HistogramCopy;
use super::link::Link;
use super::local::{AFTER_END, Local, ancestors};
use super::node::{NO_INDEX, Node, OTHER_INDEX};
use super::read::{Losses, ThreadRead, ThreadRecord};
use super::settle::Counters;
use super::switch::intervals;
use super::thread::{FRESH, Label, Thread};
use crate::clock;
use crate::site::Site;

/// Records of ended threads kept one by one; the rest are summed.
const ENDED_THREADS: usize = 256;

/// The most paths of all threads together, about 100 MiB. The rest share one.
const MAX_PATHS: usize = 1 << 18;
/// A reset forgets the paths if they are more than this; fewer stay, so that links stay good.
const KEPT_PATHS: usize = 1 << 10;
/// The indices of one site that a parent keeps apart, all threads together.
const MAX_INDICES: u32 = 4096;

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);
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

/// Every path entered since they were last forgotten.
#[derive(Default)]
pub(super) struct Paths {
    list: Vec<Path>,
    ids: HashMap<(u32, usize, u64), u32>,
    /// How many indices, by parent and site.
    indices: HashMap<(u32, usize), u32>,
}

/// Whether a node found a path of its own.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Room {
    Own,
    /// With the others of its site whose index had no room.
    OtherIndex,
    /// With all that had no room.
    None,
}

/// How often the paths were forgotten; a link tells by it whether it still leads anywhere.
static PATHS_GENERATION: AtomicU32 = AtomicU32::new(0);

pub(super) fn paths_generation() -> u32 {
    PATHS_GENERATION.load(Relaxed)
}

/// Everything recorded since the last reset, settled and merged.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) wall_ticks: u64,
    /// The start of the last reset in the time of the events, which knows no pauses.
    pub(crate) zero: u64,
    pub(crate) paths: Vec<Path>,
    /// By path, as are the histograms.
    pub(crate) counters: Vec<Counters>,
    pub(crate) histograms: Vec<HistogramCopy>,
    pub(crate) threads: Vec<ThreadRecord>,
    /// By thread id; the paths are those above.
    pub(crate) events: Vec<(u64, Vec<Event>)>,
    pub(crate) lost: Losses,
    /// Allocations, their bytes, frees, their bytes and reallocations of threads before their first scope.
    pub(crate) outside: [u64; 5],
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` under the registry's lock, with nothing recorded on this thread meanwhile.
pub(crate) fn with_registry<R>(work: impl FnOnce(&mut Registry) -> R) -> R {
    Local::with(|local| local.quietly(|| work(lock(&REGISTRY).get_or_insert_default())))
}

/// Names the calling thread.
pub(crate) fn name_thread(name: &str) {
    if !fork::may_lock() {
        return;
    }
    Local::with(|local| {
        if let Some(thread) = local.registered() {
            local.quietly(|| lock(&thread.label).name = Some(name.to_owned()));
        }
    });
}

/// Counts a call of this thread whose index is not one to keep apart.
pub(crate) fn count_other_index() {
    Local::with(Local::note_other_index);
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
        let mut read = ThreadRead::new(thread, &mut registry.paths);
        read.end();
        let events = registry.absorb_ended(&read);
        if read.has_scopes() {
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
    if !fork::may_lock() {
        return Collected::default();
    }
    Local::with(|local| {
        local.publish_peaks();
        local.note_interruptions();
        super::events::fold_rest(local);
    });
    with_registry(Registry::collect)
}

impl Registry {
    /// Forgets what ended threads left, and the paths if they are very many.
    pub(super) fn forget_ended(&mut self) {
        self.ended = Ended::default();
        if self.paths.list.len() > KEPT_PATHS {
            self.paths = Paths::default();
            PATHS_GENERATION.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn scratch(&mut self) -> Option<&'static Thread> {
        if self.scratch.is_none() {
            self.scratch = Thread::leak();
        }
        self.scratch
    }

    /// The sites and indices from the root down to where a link leads; `None` if that was forgotten.
    pub(super) fn steps_to(&self, link: Link) -> Option<Vec<(&'static Site, u64)>> {
        if link.generation != paths_generation() || link.path as usize >= self.paths.list.len() {
            return None;
        }
        let mut steps = Vec::new();
        let mut at = link.path;
        while let Some(step) = self.paths.list.get(at as usize).filter(|_| at != 0) {
            steps.push((step.site, step.index));
            at = step.parent;
        }
        steps.reverse();
        Some(steps)
    }

    /// The path of a node, and the generation of paths it is one of.
    pub(super) fn path_of(&mut self, node: &Node) -> (u32, u32) {
        let chain: Vec<&Node> = ancestors(node).collect();
        let path = chain.into_iter().rev().fold(0, |parent, node| self.paths.id(parent, node).0);
        (path, paths_generation())
    }

    fn collect(&mut self) -> Collected {
        let live = self.live.clone().into_iter();
        let reads: Vec<ThreadRead> = live.map(|thread| ThreadRead::new(thread, &mut self.paths)).collect();
        // The whole ends when its last part was read, so that the parts sum to it.
        let read_at = reads.iter().map(|read| read.read_at).max().unwrap_or_else(clock::now);
        let times = intervals();
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
            if !read.has_scopes() {
                continue;
            }
            events.push((read.record.id, read.events_by_path()));
            threads.push(read.record);
        }
        threads.sort_by_key(|thread| (thread.count > 1, thread.id));
        let since_reset = read_at.saturating_sub(times.reset_at);
        Collected {
            wall_ticks: since_reset.saturating_sub(times.paused_by(read_at) - times.paused_at_reset),
            zero: times.reset_at - times.paused_at_reset,
            paths: self.paths.list.clone(),
            counters,
            histograms,
            threads,
            events,
            lost,
            outside: OUTSIDE.get(),
        }
    }

    /// Adds an ended thread's counts to those of the others before it, and gives back its events by path.
    fn absorb_ended(&mut self, read: &ThreadRead) -> Vec<Event> {
        let size = self.paths.list.len();
        self.ended.counters.resize_with(size, Counters::default);
        self.ended.histograms.resize_with(size, HistogramCopy::default);
        read.add_to(&mut self.ended.counters, &mut self.ended.histograms);
        read.events_by_path()
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
    /// The path of a node below its parent's, made if need be.
    pub(super) fn id(&mut self, parent: u32, node: &Node) -> (u32, Room) {
        // SAFETY: sites are 'static.
        let site: &'static Site = unsafe { &*node.site };
        let known = |paths: &Paths, index| paths.ids.get(&(parent, node.site.addr(), index)).copied();
        if let Some(id) = known(self, node.index) {
            return (id, Room::Own);
        }
        if self.list.len() >= MAX_PATHS {
            return (self.no_room(), Room::None);
        }
        if node.index >= OTHER_INDEX {
            return (self.add(Path { site, index: node.index, parent }), Room::Own);
        }
        let indices = self.indices.entry((parent, node.site.addr())).or_default();
        if *indices < MAX_INDICES {
            *indices += 1;
            return (self.add(Path { site, index: node.index, parent }), Room::Own);
        }
        let other = known(self, OTHER_INDEX);
        (other.unwrap_or_else(|| self.add(Path { site, index: OTHER_INDEX, parent })), Room::OtherIndex)
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
