//! The profiler's own cost, measured on the paths that are measured with.

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::grow::{Place, find_child};
use super::hot::Work;
use super::local::{Local, Standing};
use super::mode;
use super::node::NO_INDEX;
use super::thread::Thread;
use crate::clock;
use crate::site::Site;

/// What recording costs, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// An entry and exit that are timed, to the thread.
    pub(crate) timed: f64,
    /// The part of it that lies between the two readings of the clock, and so is in the scope's own time.
    pub(crate) inside: f64,
    /// An entry and exit that are only counted.
    pub(crate) untimed: f64,
    /// Charging an allocation or a free.
    pub(crate) alloc: f64,
}

impl Cost {
    /// What recording costs where entries lie so many ticks apart. Work of some length between them fills the caches and
    /// the branch predictor with other things, so that an entry costs more than in the loops here: 60 to 90 ns instead of
    /// 22 between the kernels of a model.
    pub(super) fn among_work(self, distance: f64) -> Cost {
        let factor = if distance > FAR * self.timed { 3.0 } else { 1.0 };
        Cost { timed: factor * self.timed, untimed: factor * self.untimed, ..self }
    }
}

/// Entries that lie this many times their cost apart have other work between them: half a microsecond.
const FAR: f64 = 20.0;

static COST: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// The cost in force.
pub(crate) fn cost() -> Cost {
    let [timed, inside, untimed, alloc] = COST.each_ref().map(|part| f64::from_bits(part.load(Relaxed)));
    Cost { timed, inside, untimed, alloc }
}

static SITE: Site = Site::new("hotloop", "(own cost)", file!(), line!());

const BATCH: u32 = 512;
const BATCHES: u32 = 24;

/// Measures the cost of recording with these modes, and puts it in force. Takes about a third of a millisecond.
pub(super) fn measure(flags: u64) {
    let Some(scratch) = Local::with(|local| local.quietly(scratch_thread)) else { return };
    let cost = Local::with(|local| on_scratch(local, scratch, flags, |flags| measure_all(local, scratch, flags)));
    for (part, value) in COST.iter().zip([cost.timed, cost.inside, cost.untimed, cost.alloc]) {
        part.store(value.to_bits(), Relaxed);
    }
}

/// One record serves all measurements: starting again and again must not grow.
fn scratch_thread() -> Option<&'static Thread> {
    super::registry::with_registry(|registry| registry.scratch())
}

/// Runs `work` with this thread's scopes going to `scratch`.
fn on_scratch<R>(local: &Local, scratch: &'static Thread, flags: u64, work: impl FnOnce(u64) -> R) -> R {
    if flags & mode::EVENTS != 0 {
        super::events::fit_ring(local, scratch, 0, flags);
    }
    // The budget must not begin to sample what is being measured.
    let seen = flags & !mode::BUDGET;
    let ring = scratch.ring.load(Relaxed);
    let (current, settled) = (ptr::from_ref(scratch.root()), ptr::from_ref(scratch.root()));
    let own = local.exchange(Standing { thread: scratch, current, settled, seen, ring });
    let result = work(seen);
    local.exchange(own);
    result
}

fn measure_all(local: &Local, scratch: &Thread, flags: u64) -> Cost {
    let scopes = || {
        for _ in 0..BATCH {
            let entered = local.enter(black_box(flags), &SITE, NO_INDEX, Work::default());
            local.exit(black_box(flags), entered);
        }
    };
    // Made first: entering looks no further than its guess here, because the modes are not in force yet.
    let Place::Node(node) = find_child(local, scratch.root(), &SITE, NO_INDEX) else { return Cost::default() };
    scopes();
    let (timed, inside) = best(|| {
        let before = node.ticks.get();
        scopes();
        node.ticks.get() - before
    });
    node.set_sampled(true);
    local.sampling.countdown.set(u32::MAX);
    let (untimed, _) = best(|| {
        scopes();
        0
    });
    node.time_always();
    local.sampling.time_everything();
    // An allocation and its free are two charges.
    let alloc = if flags & mode::ALLOCATIONS == 0 { 0.0 } else { best(|| charges(local, flags)).0 / 2.0 };
    Cost { timed, inside, untimed, alloc }
}

fn charges(local: &Local, flags: u64) -> u64 {
    for _ in 0..BATCH {
        local.charge_alloc(black_box(flags), black_box(64));
        local.charge_free(black_box(flags), black_box(64));
    }
    0
}

/// The least disturbed of several batches: ticks per turn, and what the batch itself reported, per turn.
fn best(mut batch: impl FnMut() -> u64) -> (f64, f64) {
    let per_turn = |ticks: u64| f64::from(u32::try_from(ticks).unwrap_or(u32::MAX)) / f64::from(BATCH);
    let (ticks, reported) = (0..BATCHES)
        .map(|_| {
            let start = clock::now();
            let reported = batch();
            (clock::now().saturating_sub(start), reported)
        })
        .min()
        .unwrap_or_default();
    (per_turn(ticks), per_turn(reported))
}
