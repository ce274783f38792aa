//! What a parallel region costs, beside rayon and threads spawned for it.
//!
//! `cargo bench -p hotloop-kernels --bench pool` prints its tables; `-- --quick` (or
//! `HOTLOOP_BENCH_QUICK=1`) takes fewer samples. Each row is a way to run two halves of some work
//! at the same time. The rows take turns, so that a disturbance of the machine hits all of them.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kernels::Pool;

/// Single-threaded work of a region, in microseconds; each thread has half.
const WORKS: [f64; 4] = [0.0, 2.0, 10.0, 50.0];
/// What passes between `wake` and the region: a caller that looks up a token and normalises it.
const AFTER_WAKE: Duration = Duration::from_micros(60);

/// Silence before a region.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    Silence(Duration),
}

/// Times one region of two halves after the silence; the closure runs one half.
type Peer<'a> = (&'static str, Box<dyn Fn(Before, u64) -> f64 + Send + Sync + 'a>);

/// Samples of one row and column.
type Samples = Vec<f64>;

fn main() {
    let has = |option: &str| std::env::args().any(|argument| argument == option);
    // Without `--bench` this was built as a test, which asks only whether it works.
    let quick = has("--quick") || !has("--bench") || std::env::var_os("HOTLOOP_BENCH_QUICK").is_some();
    let per_micro = steps_per_micro();
    let threads = kernels::usable_cpus();
    println!(
        "{threads} usable CPUs; microseconds per region, best / median; work is what one thread alone would take\n"
    );
    two_threads(quick, per_micro);
    more_threads(quick, threads);
    rule(quick, per_micro);
}

/// A chain of multiplications that no compiler shortens and no cache disturbs.
fn spend(steps: u64) {
    let mut value = black_box(steps) | 1;
    for _ in 0..steps {
        value = black_box(value.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
}

fn steps_per_micro() -> f64 {
    const STEPS: u64 = 20_000;
    let best = (0..200).map(|_| micros(|| spend(STEPS))).fold(f64::INFINITY, f64::min);
    STEPS as f64 / best
}

fn micros(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / 1e3
}

/// Waits without giving the core away, so that only the other threads grow cold.
fn silence(length: Duration) {
    let start = Instant::now();
    while start.elapsed() < length {
        std::hint::spin_loop();
    }
}

/// Microseconds of a region. Back to back it is shorter than the clock can tell, so that many make one sample; and the
/// threads are given time to wake from what the other rows did meanwhile. Before a silence there is a region too.
fn sample(before: Before, region: impl Fn()) -> f64 {
    sample_woken(before, || (), region)
}

/// The same with `wake` called some time ahead.
fn sample_woken(before: Before, wake: impl Fn(), region: impl Fn()) -> f64 {
    match before {
        Before::Nothing => {
            const REGIONS: u32 = 32;
            const WARM_UP: Duration = Duration::from_micros(150);
            let start = Instant::now();
            while start.elapsed() < WARM_UP {
                region();
            }
            micros(|| (0..REGIONS).for_each(|_| region())) / f64::from(REGIONS)
        }
        Before::Silence(length) => {
            region();
            silence(length.saturating_sub(AFTER_WAKE));
            wake();
            silence(AFTER_WAKE);
            micros(region)
        }
    }
}

fn two_threads(quick: bool, per_micro: f64) {
    let pool = Pool::new(2);
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("threads");
    let peers: [Peer<'_>; 5] = [
        ("alone", Box::new(|before, steps| sample(before, || (0..2).for_each(|_| spend(steps))))),
        ("pool", Box::new(|before, steps| sample(before, || pool.run(2, |_| spend(steps))))),
        (
            "pool, woken ahead",
            Box::new(|before, steps| sample_woken(before, || pool.wake(), || pool.run(2, |_| spend(steps)))),
        ),
        (
            "rayon::join",
            Box::new(|before, steps| {
                rayon.install(|| sample(before, || _ = rayon::join(|| spend(steps), || spend(steps))))
            }),
        ),
        (
            "std::thread::scope",
            Box::new(|before, steps| {
                sample(before, || {
                    std::thread::scope(|scope| {
                        scope.spawn(|| spend(steps));
                        spend(steps);
                    })
                })
            }),
        ),
    ];
    let short = Before::Silence(Duration::from_micros(100));
    let long = Before::Silence(Duration::from_millis(5));
    for (title, before, count) in [
        ("back to back", Before::Nothing, 60),
        ("after 100 us of silence", short, 150),
        ("after 5 ms of silence", long, 25),
    ] {
        let count = if quick { count / 5 } else { count };
        let mut samples: Vec<Vec<Samples>> = vec![vec![Vec::new(); WORKS.len()]; peers.len()];
        for _ in 0..count {
            for (column, work) in WORKS.iter().enumerate() {
                for ((_, run), row) in peers.iter().zip(&mut samples) {
                    row[column].push(run(before, (work / 2.0 * per_micro) as u64));
                }
            }
        }
        let works: Vec<String> = WORKS.iter().map(|work| format!("{work} us of work")).collect();
        print_table(title, &works, peers.iter().map(|peer| peer.0.to_owned()).zip(samples));
    }
}

/// Regions with as many parts as threads: empty ones, which the caller may run alone if it is faster, and ones in which
/// every thread waits for all others to have begun, so that nobody's way can be spared.
fn more_threads(quick: bool, threads: usize) {
    let counts: Vec<usize> = (1..=threads).filter(|count| *count <= 4 || count % 4 == 0).collect();
    let titles: Vec<String> = counts.iter().map(|count| format!("{count} threads")).collect();
    let mut rows = ["pool, empty", "pool, all meet", "rayon::scope, empty"]
        .map(|name| (name.to_owned(), vec![Vec::new(); counts.len()]));
    for _ in 0..if quick { 3 } else { 10 } {
        for (column, &count) in counts.iter().enumerate() {
            let pool = Pool::new(count);
            rows[0].1[column].extend(samples(|| pool.run(count, |part| _ = black_box(part))));
            rows[1].1[column].extend(samples(|| {
                let begun = AtomicUsize::new(0);
                pool.run(count, |_| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    let mut looks = 0_u32;
                    while begun.load(Ordering::Relaxed) < count {
                        looks += 1;
                        // Whoever is awaited may wait for this core.
                        if looks.is_multiple_of(1000) { std::thread::yield_now() } else { std::hint::spin_loop() }
                    }
                });
            }));
            drop(pool);
            let rayon = rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
            let region = || rayon::scope(|scope| (1..count).for_each(|part| scope.spawn(move |_| _ = black_box(part))));
            rows[2].1[column].extend(rayon.install(|| samples(region)));
        }
    }
    print_table("back to back", &titles, rows);
}

/// Some samples back to back.
fn samples(region: impl Fn()) -> Samples {
    (0..20).map(|_| sample(Before::Nothing, &region)).collect()
}

/// Where dividing begins to pay: the rule of `Pool::parts` comes from here.
fn rule(quick: bool, per_micro: f64) {
    const SMALL: [f64; 7] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0];
    let pool = Pool::new(2);
    let mut rows: [Vec<Samples>; 2] = [vec![Vec::new(); SMALL.len()], vec![Vec::new(); SMALL.len()]];
    for _ in 0..if quick { 20 } else { 200 } {
        for (column, work) in SMALL.iter().enumerate() {
            let half = (work / 2.0 * per_micro) as u64;
            rows[0][column].push(sample(Before::Nothing, || spend(2 * half)));
            rows[1][column].push(sample(Before::Nothing, || pool.run(2, |_| spend(half))));
        }
    }
    let titles: Vec<String> = SMALL.iter().map(|work| format!("{work} us")).collect();
    let [alone, divided] = rows;
    print_table("small work, back to back", &titles, [("alone".to_owned(), alone), ("pool".to_owned(), divided)]);
}

fn print_table(title: &str, columns: &[String], rows: impl IntoIterator<Item = (String, Vec<Samples>)>) {
    print!("{title:24}");
    columns.iter().for_each(|column| print!("{column:>18}"));
    println!();
    for (name, samples) in rows {
        print!("  {name:22}");
        for mut cell in samples {
            cell.sort_by(f64::total_cmp);
            print!("{:>18}", format!("{:.2} / {:.2}", cell[0], cell[cell.len() / 2]));
        }
        println!();
    }
    println!();
}
