//! What counting costs an allocation: the system's allocator alone, under Hotloop's, and under its peers', interleaved
//! in one run. See `README.md`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![allow(unsafe_code, reason = "allocators are called directly: only one could be the global one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Mutex;

use benches::{Costs, Options, Row, Spread, Table, measure};
use hotloop::{Config, scope};

const LAYOUT: Layout = Layout::new::<[u64; 8]>();

static HOTLOOP: hotloop::Allocator = hotloop::Allocator::system();
static HOTPATH: hotpath_meta::CountingAllocator = hotpath_meta::CountingAllocator::new();
static DIVAN: divan::AllocProfiler = divan::AllocProfiler::system();
static DHAT: dhat::Alloc = dhat::Alloc;
static DHAT_PROFILER: Mutex<Option<dhat::Profiler>> = Mutex::new(None);

fn main() {
    let options = Options::from_environment();
    let mut rows = vec![Row::new("system", "nothing", |n| pairs(&System, n))];
    rows.extend(profilers().into_iter().filter(|row| options.wants(row.name)));
    // Forgotten, because dropping it prints a report.
    std::mem::forget(hotpath_meta::HotpathGuardBuilder::new("allocs").build());
    let costs = measure(&rows, &options, || {});
    println!("{}", table(&rows, &costs));
}

fn profilers() -> Vec<Row> {
    vec![
        Row::new("hotloop::Allocator, not started", "nothing", |n| pairs(&HOTLOOP, n)),
        Row {
            setup: start_hotloop,
            drain: hotloop::stop,
            ..Row::new("hotloop::Allocator, in a scope", "count and bytes of both, peak; by scope", |n| {
                scope!("allocating");
                pairs(&HOTLOOP, n);
            })
        },
        Row::new("divan::AllocProfiler", "count and bytes of both, peak; by thread", |n| pairs(&DIVAN, n)),
        Row::new("hotpath::CountingAllocator, in a scope", "count and bytes by scope, bytes of both by thread", |n| {
            hotpath_meta::measure_block!("allocating", pairs(&HOTPATH, n));
        }),
        Row::new("dhat::Alloc, not running", "nothing", |n| pairs(&DHAT, n)),
        Row {
            scopes: 500,
            warm_up: 20,
            setup: || set_dhat(Some(dhat::Profiler::builder().testing().build())),
            drain: || set_dhat(None),
            ..Row::new("dhat::Alloc, running", "every block, by backtrace", |n| pairs(&DHAT, n))
        },
    ]
}

fn pairs(allocator: &impl GlobalAlloc, count: u32) {
    for _ in 0..count {
        // SAFETY: the layout is not empty; the block is given back once, to where it is from, with that layout.
        unsafe {
            let block = black_box(allocator.alloc(LAYOUT));
            assert!(!block.is_null());
            allocator.dealloc(block, LAYOUT);
        }
    }
}

fn start_hotloop() {
    hotloop::__private::allocator_installed();
    hotloop::reset();
    Config::new().budget(None).start();
}

fn set_dhat(profiler: Option<dhat::Profiler>) {
    *DHAT_PROFILER.lock().expect("no holder panics") = profiler;
}

fn table(rows: &[Row], costs: &[Costs]) -> Table {
    let system = costs[0];
    let mut table = Table::new(&[
        "ns per malloc + free of 64 B, best / median",
        "1 thread",
        "over system",
        "2 threads",
        "over system",
        "records",
    ]);
    for (row, costs) in rows.iter().zip(costs) {
        table.push(vec![
            row.name.into(),
            spread(costs.one),
            over(costs.one, system.one),
            spread(costs.two),
            over(costs.two, system.two),
            row.note.into(),
        ]);
    }
    table
}

fn spread(spread: Spread) -> String {
    format!("{:.1} / {:.1}", spread.best, spread.median)
}

fn over(spread: Spread, system: Spread) -> String {
    format!("{:+.1} / {:+.1}", spread.best - system.best, spread.median - system.median)
}
