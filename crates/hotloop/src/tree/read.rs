//! Reading one thread's tree while the thread goes on.

use std::sync::atomic::Ordering::*;

use super::FLAGS;
use super::events::{Cleaner, DEEPEST, Event, Ring};
use super::histogram::HistogramCopy;
use super::measure::{self, Cost};
use super::mode;
use super::node::Node;
use super::registry::{Paths, Room, lock};
use super::settle::{Counters, settle};
use super::switch::{self, intervals};
use super::thread::{FRESH, Label, Thread};
use crate::clock;

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
    /// The part of it that it was ready to run but had no CPU, and that it was blocked.
    pub(crate) waited: u64,
    pub(crate) blocked: u64,
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
    /// Calls with an index that lay too deep for a row of their own: counted nowhere else.
    pub calls_with_folded_index: u64,
    /// Scopes that were never ended (`longjmp`, a forgotten exit), closed when the profiler noticed.
    pub leaked_scopes: u64,
}

impl Losses {
    pub(super) fn add(&mut self, other: &Losses) {
        self.timeline_events += other.timeline_events;
        self.calls_without_room += other.calls_without_room;
        self.calls_with_other_index += other.calls_with_other_index;
        self.unbalanced_scopes += other.unbalanced_scopes;
        self.scopes_after_thread_end += other.scopes_after_thread_end;
        self.timings_without_percentile += other.timings_without_percentile;
        self.calls_with_folded_index += other.calls_with_folded_index;
        self.leaked_scopes += other.leaked_scopes;
    }
}

/// One thread's tree as it was read.
pub(super) struct ThreadRead {
    /// By node.
    paths: Vec<u32>,
    counters: Vec<Counters>,
    histograms: Vec<HistogramCopy>,
    pub(super) events: Vec<Event>,
    pub(super) record: ThreadRecord,
    pub(super) lost: Losses,
    /// When its root was read.
    pub(super) read_at: u64,
}

impl ThreadRead {
    /// Reads a thread, and looks up the paths of its nodes. Under the registry's lock.
    pub(super) fn new(thread: &'static Thread, known: &mut Paths) -> ThreadRead {
        let mut counters = read_counters(thread);
        let read_at = clock::now();
        let nodes: Vec<&Node> = thread.all_nodes().take(counters.len()).collect();
        // SAFETY: a node's parent is null at the root, otherwise a node, which is never freed.
        let parent = |node: &Node| unsafe { node.parent.as_ref() }.map_or(0, |parent| parent.id as usize);
        let parents: Vec<usize> = nodes.iter().map(|node| parent(node)).collect();
        let cost = cost(thread, &counters);
        settle(&mut counters, &parents, &cost);
        let (paths, crowded) = look_up(known, &nodes, &parents, &mut counters);
        let is_current = thread.epoch.load(Acquire) == FLAGS.load(Relaxed) >> 32;
        let ring = thread.ring().filter(|_| is_current);
        let histograms = if is_current { histograms(&nodes, ring, &mut counters) } else { Vec::new() };
        let timeline = ring.filter(|_| switch::last_modes() & mode::TIMELINE != 0);
        let (mut events, overwritten) = timeline.map(Ring::read).unwrap_or_default();
        lock(&thread.waits).put_back(&mut events);
        let label = lock(&thread.label).clone();
        counters.iter_mut().filter(|node| node.threads > 0).for_each(|node| node.thread_set = 1 << (label.id % 128));
        let mut lost = if is_current { losses(thread, overwritten) } else { Losses::default() };
        lost.add(&crowded);
        let mut record = ThreadRecord::new(&label, &counters, &parents);
        if is_current {
            record.add_waiting(thread);
        }
        ThreadRead { paths, counters, histograms, events, record, lost, read_at }
    }

    /// A thread that opened no scope since the last reset has nothing to say.
    pub(super) fn has_scopes(&self) -> bool {
        self.counters.iter().skip(1).any(|node| node.entries > 0 || node.attached > 0)
    }

    /// The thread has ended, and what it left open with it.
    pub(super) fn end(&mut self) {
        self.record.alive = false;
        for node in self.counters.iter_mut().filter(|node| node.open > 0) {
            if node.timed == 0 {
                (node.min, node.clean_min) = (node.open_ticks, node.open_ticks);
            }
            node.min = node.min.min(node.open_ticks);
            node.clean_min = node.clean_min.min(node.open_ticks);
            node.max = node.max.max(node.open_ticks);
            node.clean_max = node.clean_max.max(node.open_ticks);
            node.timed += std::mem::take(&mut node.open);
            node.open_ticks = 0;
        }
    }

    pub(super) fn add_to(&self, counters: &mut [Counters], histograms: &mut [HistogramCopy]) {
        for (path, counted) in self.paths.iter().zip(&self.counters) {
            counters[*path as usize].add(counted);
        }
        for (path, histogram) in self.paths.iter().zip(&self.histograms) {
            histograms[*path as usize].add(histogram);
        }
    }

    pub(super) fn events_by_path(&self) -> Vec<Event> {
        let path = |node: u32| self.paths.get(node as usize).copied();
        self.events.iter().filter_map(|event| Some(Event { path: path(event.path)?, ..*event })).collect()
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
            waited: 0,
            blocked: 0,
            allocs: nodes.iter().map(|node| node.allocs).sum(),
            alloc_bytes: nodes.iter().map(|node| node.alloc_bytes).sum(),
        }
    }

    /// Waiting and finding out about it are in no scope's time, but in the thread's.
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    fn add_waiting(&mut self, thread: &Thread) {
        self.waited = thread.waited.get();
        self.blocked = thread.blocked.get();
        let finding_out = thread.reading_waits.get() as f64;
        self.own_cost += finding_out;
        self.ticks += self.waited as f64 + finding_out;
    }

    /// The CPU time of the thread.
    pub(crate) fn cpu_ticks(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a duration")]
        let off_cpu = (self.waited + self.blocked) as f64;
        (self.ticks - off_cpu).max(0.0)
    }

    pub(super) fn add(&mut self, other: &ThreadRecord) {
        self.name = None;
        self.count += other.count;
        self.calls += other.calls;
        self.ticks += other.ticks;
        self.in_scopes += other.in_scopes;
        self.own_cost += other.own_cost;
        self.waited += other.waited;
        self.blocked += other.blocked;
        self.allocs += other.allocs;
        self.alloc_bytes += other.alloc_bytes;
    }
}

/// What recording cost on this thread: at some of the entries that were only counted the clock was read too.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn cost(thread: &Thread, counters: &[Counters]) -> Cost {
    let untimed: u64 = counters.iter().map(|node| node.closed().saturating_sub(node.timed)).sum();
    let cost = measure::cost();
    let readings = thread.readings.get() as f64 / untimed.max(1) as f64;
    Cost { untimed: cost.untimed + readings.min(1.0) * cost.reading, ..cost }
}

/// Reads a thread's nodes, children before parents, at one epoch.
fn read_counters(thread: &Thread) -> Vec<Counters> {
    loop {
        let epoch = thread.epoch.load(Acquire);
        // Nothing was counted yet, or nothing since the reset that is being carried out.
        if epoch == FRESH || thread.is_clearing() {
            break;
        }
        let mut counters: Vec<Counters> = thread.all_nodes().rev().map(Node::read).collect();
        counters.reverse();
        if thread.epoch.load(Acquire) == epoch {
            take_pauses_out(thread, epoch, &mut counters);
            return counters;
        }
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

/// The paths of a thread's nodes, and what had no room among them.
fn look_up(known: &mut Paths, nodes: &[&Node], parents: &[usize], counters: &mut [Counters]) -> (Vec<u32>, Losses) {
    let mut crowded = Losses::default();
    let mut paths: Vec<u32> = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let above = paths.get(parents[i]).copied();
        let (path, room) = known.id(above.unwrap_or(0), node);
        match room {
            Room::Own => {}
            Room::OtherIndex => crowded.calls_with_other_index += counters[i].entries,
            Room::None => crowded.calls_without_room += counters[i].entries,
        }
        if i > 0 && above == Some(path) {
            // Both went to the same place for want of room: the parent's time includes this one's.
            counters[i].total = 0.0;
        }
        paths.push(path);
    }
    (paths, crowded)
}

/// The histograms of a thread's nodes, with what the ring holds that is in none yet.
fn histograms(nodes: &[&Node], ring: Option<&Ring>, counters: &mut [Counters]) -> Vec<HistogramCopy> {
    let mut copies = vec![HistogramCopy::default(); nodes.len()];
    for (copy, node) in copies.iter_mut().zip(nodes) {
        if let Some(histogram) = node.histogram() {
            histogram.add_to(copy);
        }
    }
    if let Some(ring) = ring {
        add_pending(nodes, ring, counters, &mut copies);
    }
    copies
}

/// Adds what no fold has seen yet, where all the rest is there too.
fn add_pending(nodes: &[&Node], ring: &Ring, counters: &mut [Counters], copies: &mut [HistogramCopy]) {
    let mut nesting = [0; DEEPEST + 2];
    let mut cleaner = Cleaner::new(&mut nesting, ring.modes(), ring.weight());
    for event in ring.pending() {
        let place = event.path as usize;
        let Some(node) = nodes.get(place) else { continue };
        let ticks = cleaner.clean(node.depth, event.ticks);
        counters[place].clean_min = counters[place].clean_min.min(ticks);
        counters[place].clean_max = counters[place].clean_max.max(ticks);
        if ring.modes() & mode::PERCENTILES != 0 && (node.histogram().is_some() || node.timed.get() < Ring::UNFOLDED) {
            copies[place].record(ticks, cleaner.weight(node).into());
        }
    }
}

fn losses(thread: &Thread, timeline_events: u64) -> Losses {
    Losses {
        timeline_events: timeline_events + thread.lost.events.get(),
        calls_without_room: thread.lost.no_room.get(),
        calls_with_other_index: thread.lost.indices.get(),
        unbalanced_scopes: thread.lost.unbalanced.get(),
        scopes_after_thread_end: 0,
        timings_without_percentile: thread.lost.histograms.get(),
        calls_with_folded_index: thread.lost.folded_indices.get(),
        leaked_scopes: thread.lost.leaked.get(),
    }
}
