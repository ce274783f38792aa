//! What the profiler costs, measured from outside, beside what it states itself: quiet and with CPU hogs. See
//! `README.md`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod work;

use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::options::Effort;
use benches::{Hogs, Options, Table};
use hotloop::Snapshot;
use work::{Pass, SCOPES, Work};

/// Work of one scope.
const WORK_NS: [f64; 3] = [200.0, 500.0, 1000.0];

/// A timed batch. Far shorter than a time slice, so that most batches are not preempted, also under load.
const BATCH_NS: f64 = 300_000.0;

/// Low quantiles of the batches by the wall clock: preempted batches lie above them. The CPU clock of the thread would
/// leave preemption out as well, but in a virtual machine it shows too little at times, and low quantiles pick that up.
const QUANTILES: [f64; 2] = [0.1, 0.25];

/// Scopes after a start that are not timed: the sampling adapts once per 512 timed calls.
const WARM_UP_STARTED: u32 = 2000;
/// Scopes before the other batches.
const WARM_UP: u32 = 200;
/// Scopes before the first round, until the sampling has settled. They are recorded too: under 1 % of a full row.
const SETTLE: u32 = 20_000;

fn main() {
    let options = Options::from_environment();
    let kinds = Work::kinds();
    let mut table = Table::new(&[
        "work per scope",
        "no scopes, ns",
        "stopped, %",
        "started, %",
        "started, ns per scope",
        "stated, ns per scope",
        "stated / outside",
        "timed, %",
        "share of CPU, %",
        "within budget, stated / outside",
    ]);
    for load in ["quiet", "loaded"] {
        let _hogs = (load == "loaded").then(Hogs::start);
        for (work, ns) in kinds.iter().flat_map(|work| WORK_NS.map(|ns| (work, ns))) {
            let name = format!("{ns:.0} ns {}, {load}", work.name);
            if options.wants(&name) {
                table.push(Cost::measure(work.pass(ns), ns, options.effort).row(name));
            }
        }
    }
    let [low, high] = QUANTILES;
    println!("Two figures in a cell: quantiles {low} and {high} of the batches.\n\n{table}");
}

/// What a batch runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Variant {
    /// No scopes.
    Plain,
    /// Scopes compiled in, profiler stopped.
    Stopped,
    /// Profiler started with the defaults.
    Started,
}

const VARIANTS: [Variant; 3] = [Variant::Plain, Variant::Stopped, Variant::Started];

impl Variant {
    fn prepare(self, pass: Pass) {
        if self != Variant::Started {
            return self.run(pass, WARM_UP / SCOPES);
        }
        hotloop::start();
        self.run(pass, WARM_UP_STARTED / SCOPES);
    }

    fn run(self, pass: Pass, passes: u32) {
        for _ in 0..passes {
            let pass = black_box(pass);
            black_box(if self == Variant::Plain { pass.plain() } else { pass.scoped() });
        }
    }

    /// Nanoseconds per scope of one batch.
    fn batch(self, pass: Pass, passes: u32) -> f64 {
        self.prepare(pass);
        let start = Instant::now();
        self.run(pass, passes);
        let ns = start.elapsed().as_nanos() as f64;
        hotloop::stop();
        ns / f64::from(passes * SCOPES)
    }
}

/// What one row found.
struct Cost {
    /// Nanoseconds per scope of the [`VARIANTS`], at each of the [`QUANTILES`].
    ns: [[f64; 2]; 3],
    /// All that was recorded: the batches with the profiler started, and what ran before them.
    snapshot: Snapshot,
}

impl Cost {
    fn measure(pass: Pass, work_ns: f64, effort: Effort) -> Self {
        let passes = (BATCH_NS / (work_ns * f64::from(SCOPES))).ceil() as u32;
        settle(pass);
        let mut batches = [const { Vec::new() }; 3];
        let start = Instant::now();
        for round in 0..rounds(effort) {
            // Each variant comes first, second and last equally often.
            for place in 0..VARIANTS.len() {
                let number = (round + place) % VARIANTS.len();
                batches[number].push(VARIANTS[number].batch(pass, passes));
            }
            if start.elapsed() > limit(effort) {
                break;
            }
        }
        let snapshot = hotloop::snapshot();
        Self { ns: batches.map(quantiles), snapshot }
    }

    fn row(&self, name: String) -> Vec<String> {
        let [plain, stopped, started] = self.ns;
        let over = |cost: [f64; 2]| [0, 1].map(|q| cost[q] - plain[q]);
        let percent = |cost: [f64; 2]| [0, 1].map(|q| 100.0 * (cost[q] / plain[q] - 1.0));
        let stated = self.stated_ns();
        vec![
            name,
            pair(plain, |ns| format!("{ns:.0}")),
            pair(percent(stopped), |share| format!("{share:+.2}")),
            pair(percent(started), |share| format!("{share:+.2}")),
            pair(over(started), |ns| format!("{ns:.2}")),
            format!("{stated:.2}"),
            pair(over(started).map(|outside| stated / outside), |ratio| format!("{ratio:.2}")),
            format!("{:.1}", 100.0 * self.timed_share()),
            self.snapshot.own_cost.share_of_cpu.map_or("–".into(), |share| format!("{:.2}", 100.0 * share)),
            self.within_budget(percent(started)[1] / 100.0),
        ]
    }

    fn calls(&self) -> f64 {
        self.snapshot.scopes.iter().map(|scope| scope.calls).sum::<u64>() as f64
    }

    fn timed_share(&self) -> f64 {
        self.snapshot.scopes.iter().map(|scope| scope.timed_calls).sum::<u64>() as f64 / self.calls()
    }

    fn stated_ns(&self) -> f64 {
        self.snapshot.own_cost.total_ns as f64 / self.calls()
    }

    /// By the profiler's own statement, and by the cost seen from outside at the higher quantile.
    fn within_budget(&self, outside: f64) -> String {
        let cost = self.snapshot.own_cost;
        let answer = |share: Option<f64>| match share.zip(cost.budget) {
            Some((share, budget)) if share <= budget => "yes",
            Some(_) => "no",
            None => "–",
        };
        // The share from outside is of the work; the budget is of the whole.
        format!("{} / {}", answer(cost.share_of_cpu), answer(Some(outside / (1.0 + outside))))
    }
}

/// Forgets the row before, then lets the sampling adapt to this work. In this order: a reset forgets the sampling too.
fn settle(pass: Pass) {
    hotloop::reset();
    hotloop::start();
    Variant::Started.run(pass, SETTLE / SCOPES);
    hotloop::stop();
}

fn rounds(effort: Effort) -> usize {
    match effort {
        Effort::Smoke => 3,
        Effort::Quick => 100,
        Effort::Full => 1200,
    }
}

/// When a row stops although rounds are left: a busy machine must not make the run endless.
fn limit(effort: Effort) -> Duration {
    Duration::from_secs(if effort == Effort::Full { 30 } else { 3 })
}

fn quantiles(mut batches: Vec<f64>) -> [f64; 2] {
    batches.sort_unstable_by(f64::total_cmp);
    QUANTILES.map(|quantile| batches[((batches.len() - 1) as f64 * quantile) as usize])
}

fn pair(values: [f64; 2], text: impl Fn(f64) -> String) -> String {
    values.map(text).join(" / ")
}
