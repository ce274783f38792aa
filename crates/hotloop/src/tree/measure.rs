//! The profiler's own cost, measured on the paths that are measured with.

use std::hint::black_box;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::events;
use super::frame::Frame;
use super::grow::{Place, find_child};
use super::hot::{Entered, Token, Work};
use super::interruptions::NEVER;
use super::local::{Local, Standing};
use super::mode;
use super::node::{NO_INDEX, Node};
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
    /// What a change from timing to counting and back costs, with the reading of the clock at an entry that is only counted.
    pub(crate) reading: f64,
    /// Charging an allocation or a free.
    pub(crate) alloc: f64,
}

static COST: [AtomicU64; PARTS] = [const { AtomicU64::new(0) }; PARTS];

/// The cost in force.
pub(crate) fn cost() -> Cost {
    let [timed, inside, untimed, reading, alloc] = COST.each_ref().map(|part| f64::from_bits(part.load(Relaxed)));
    Cost { timed, inside, untimed, reading, alloc }
}

static SITE: Site = Site::new("hotloop", "(own cost)", file!(), line!());

/// Turns of a batch, and batches.
const BATCH: u32 = 16;
const TURNS: f64 = BATCH as f64;
const BATCHES: usize = 24;

/// Measures the cost of recording with these modes, and puts it in force. Takes about a millisecond.
pub(super) fn measure(flags: u64) {
    let Some(scratch) = Local::with(|local| local.quietly(scratch_thread)) else { return };
    let cost = Local::with(|local| on_scratch(local, scratch, flags, |flags| measure_all(local, scratch, flags)));
    let parts = [cost.timed, cost.inside, cost.untimed, cost.reading, cost.alloc];
    for (part, value) in COST.iter().zip(usual(flags, parts)) {
        part.store(value.to_bits(), Relaxed);
    }
}

/// The medians of what was measured for these modes at the last starts: a busy moment may spoil one of them.
fn usual(flags: u64, parts: [f64; PARTS]) -> [f64; PARTS] {
    static LAST: Mutex<Last> = Mutex::new(Last { flags: 0, starts: 0, measured: [[0.0; STARTS]; PARTS] });
    let mut last = super::registry::lock(&LAST);
    if last.flags != flags {
        (last.flags, last.starts) = (flags, 0);
    }
    let (place, known) = (last.starts % STARTS, (last.starts + 1).min(STARTS));
    last.starts += 1;
    std::array::from_fn(|part| {
        last.measured[part][place] = parts[part];
        let mut sorted = last.measured[part];
        sorted[..known].sort_unstable_by(f64::total_cmp);
        sorted[known / 2]
    })
}

/// What the last starts measured, by part.
struct Last {
    flags: u64,
    starts: usize,
    measured: [[f64; STARTS]; PARTS],
}

const PARTS: usize = 5;
const STARTS: usize = 9;

/// One record serves all measurements: starting again and again must not grow.
fn scratch_thread() -> Option<&'static Thread> {
    super::registry::with_registry(|registry| registry.scratch())
}

/// Runs `work` with this thread's scopes going to `scratch`.
fn on_scratch<R>(local: &Local, scratch: &'static Thread, flags: u64, work: impl FnOnce(u64) -> R) -> R {
    if flags & mode::EVENTS != 0 {
        events::fit_ring(local, scratch, 0, flags);
    }
    // The budget must not begin to sample what is being measured, but what it notes is part of the cost.
    let seen = if flags & mode::BUDGET != 0 { flags | mode::KEEP_COST } else { flags };
    let ring = scratch.ring.load(Relaxed);
    let (current, settled) = (ptr::from_ref(scratch.root()), ptr::from_ref(scratch.root()));
    let own = local.exchange(Standing { thread: scratch, current, settled, seen, ring });
    let sampling = local.sampling.take();
    // An interruption would lead to the slow paths, which look at the modes in force; it is noticed afterwards.
    let interrupted = local.interrupted.replace(&raw const NEVER);
    let result = work(seen);
    local.interrupted.set(interrupted);
    local.sampling.put_back(&sampling);
    local.last_node.set(ptr::null());
    local.exchange(own);
    result
}

fn measure_all(local: &Local, scratch: &Thread, flags: u64) -> Cost {
    MODES.store(flags, Relaxed);
    let scopes = || {
        for _ in 0..BATCH {
            let entered = match MODES.load(Relaxed) & mode::STARTED {
                0 => Entered::NOTHING,
                _ => enter(&SITE, NO_INDEX, 0, 0, 0),
            };
            work();
            if entered.token != Token::NONE {
                exit(entered);
            }
        }
    };
    // Made first: entering looks no further than its guess here, because the modes are not in force yet.
    let Place::Node(node) = find_child(local, scratch.root(), &SITE, NO_INDEX) else { return Cost::default() };
    scopes();
    let ticks = || if flags & mode::BUDGET != 0 { node.calls.ticks_of_timed() } else { node.ticks.get() };
    let (mut alone, mut timed, mut untimed, mut inside) = (Batches::NONE, Batches::NONE, Batches::NONE, Batches::NONE);
    let mut switched = [Switched::default(); BATCHES];
    // In turns, so that a slow moment is the same for all.
    for (batch, switched) in switched.iter_mut().enumerate() {
        alone.set(batch, time(|| (0..BATCH).for_each(|_| work())));
        timed.set(batch, time(scopes));
        // What lies between the readings is that of an empty scope: what the CPU does beside the work in one is little.
        let before = ticks();
        (0..BATCH).for_each(|_| exit(enter(&SITE, NO_INDEX, 0, 0, 0)));
        inside.set(batch, float(ticks() - before));
        node.set_sampled(true);
        local.sampling.countdown.set(u32::MAX);
        untimed.set(batch, time(scopes));
        local.sampling.time_everything();
        if flags & mode::BUDGET != 0 {
            *switched = Switched::time(local, node, scopes);
        }
        node.time_always();
        local.sampling.time_everything();
    }
    // The work alone is best where the CPU foresees it; with scopes around it, what is usual counts.
    let alone = alone.least();
    let (timed, untimed) = (timed.median() - alone, untimed.median() - alone);
    let reading = Batches { values: switched.map(|one| one.cost(alone, timed, untimed)) }.median();
    let folding = folding(local, scratch, flags);
    // An allocation and its free are two charges.
    let alloc = if flags & mode::ALLOCATIONS == 0 {
        0.0
    } else {
        let charging = (0..BATCHES).map(|_| time(|| charges(local, flags))).fold(f64::INFINITY, f64::min);
        charging / TURNS / 2.0
    };
    Cost {
        timed: timed.max(0.0) / TURNS + folding,
        inside: inside.least() / TURNS,
        untimed: untimed.max(0.0) / TURNS,
        reading: reading.max(float(clock::resolution_ticks())),
        alloc,
    }
}

/// A batch in which timing and counting take turns.
#[derive(Clone, Copy, Default)]
struct Switched {
    took: f64,
    timed: f64,
    switches: f64,
}

impl Switched {
    fn time(local: &Local, node: &Node, batch: impl FnOnce()) -> Self {
        let sampling = &local.sampling;
        sampling.stretch.set(SWITCHED);
        let (readings, timed) = (sampling.readings.get(), node.timed.get());
        let took = time(batch);
        Switched { took, timed: float(node.timed.get() - timed), switches: float(sampling.readings.get() - readings) }
    }

    /// What one change costs: a reading of the clock at an entry that is only counted, and branches that the CPU predicts
    /// wrongly. Given what batches without scopes take, and what all calls timed or all counted add to them.
    fn cost(&self, alone: f64, timed: f64, untimed: f64) -> f64 {
        let unchanged = (self.timed * timed + (TURNS - self.timed) * untimed) / TURNS;
        (self.took - alone - unchanged) / self.switches.max(1.0)
    }
}

/// Entries between bursts while the cost of their change is measured.
const SWITCHED: u16 = 4;

/// What a timed call costs later, when its event is moved from the ring.
fn folding(local: &Local, scratch: &Thread, flags: u64) -> f64 {
    let Some(ring) = scratch.ring().filter(|_| flags & mode::EVENTS != 0) else { return 0.0 };
    let one = || {
        for _ in 0..FOLDED {
            exit(enter(&SITE, NO_INDEX, 0, 0, 0));
        }
        let start = clock::now();
        events::fold_now(local, flags & !mode::KEEP_COST, ring);
        let took = clock::now().saturating_sub(start).saturating_sub(clock::resolution_ticks());
        scratch.all_nodes().for_each(Node::time_always);
        local.sampling.time_everything();
        took
    };
    let least = (0..BATCHES / 4).map(|_| one()).min().unwrap_or_default();
    f64::from(u32::try_from(least).unwrap_or(u32::MAX)) / f64::from(FOLDED)
}

/// Events that are folded at once to measure it.
const FOLDED: u32 = 128;

/// The modes that are measured, which are not in force yet.
static MODES: AtomicU64 = AtomicU64::new(0);

/// As [`hot::enter`](super::hot::enter) is for a scope of the program, but with these modes.
#[inline(never)]
fn enter(site: &'static Site, index: u64, flops: u64, bytes: u64, tokens: u64) -> Entered {
    Local::with(|local| local.enter(MODES.load(Relaxed), site, index, Work { flops, bytes, tokens }, Frame::UNKNOWN))
}

/// As [`hot::exit`](super::hot::exit), likewise.
#[inline(never)]
fn exit(entered: Entered) {
    Local::with(|local| local.exit(MODES.load(Relaxed), entered));
}

/// Work in which each step waits for the one before, in a loop whose end the CPU does not foresee: as scopes have between
/// their boundaries. The compiler merges eight steps into one, so that it takes some 20 to 40 ns. With more or other work the
/// cost differs by up to a third, in both directions.
#[inline(never)]
fn work() {
    let (mut value, steps) = (black_box(1_u64), black_box(400));
    for _ in 0..steps {
        value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    }
    black_box(value);
}

fn charges(local: &Local, flags: u64) {
    for _ in 0..BATCH {
        local.charge_alloc(black_box(flags), black_box(64));
        local.charge_free(black_box(flags), black_box(64));
    }
}

/// How long a batch takes, in ticks.
fn time(batch: impl FnOnce()) -> f64 {
    let start = clock::now();
    batch();
    float(clock::now().saturating_sub(start).saturating_sub(clock::resolution_ticks()))
}

#[expect(clippy::cast_precision_loss, reason = "ticks of a millisecond")]
fn float(ticks: u64) -> f64 {
    ticks as f64
}

/// What each of several batches found.
struct Batches {
    values: [f64; BATCHES],
}

impl Batches {
    const NONE: Batches = Batches { values: [0.0; BATCHES] };

    fn set(&mut self, batch: usize, value: f64) {
        self.values[batch] = value;
    }

    /// Batches that were disturbed, or that the CPU happened to foresee well, do not count.
    fn median(mut self) -> f64 {
        self.values.sort_unstable_by(f64::total_cmp);
        self.values[BATCHES / 2]
    }

    fn least(self) -> f64 {
        self.values.into_iter().fold(f64::INFINITY, f64::min)
    }
}
