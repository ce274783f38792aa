//! How long lists take in a large store, which this makes first: `cargo run -p hotloop-store --release --example scale -- DIR [RUNS]`.
//! Each figure is of a store opened anew, as the command line does it; the best and the slowest of ten.

#![allow(clippy::print_stdout, reason = "a measurement for developers: its output is the terminal")]

use std::path::Path;
use std::time::{Duration, Instant};

use record::{Git, Model, RUN_SCHEMA, RUN_VERSION, Row, Run, Sample};
use store::{Filter, Store};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder for the store is given");
    let runs = arguments.next().map_or(100_000, |runs| runs.parse().expect("a number of runs is given"));
    let folder = Path::new(&folder);
    make(folder, runs);
    let all = Filter { limit: Some(20), ..Filter::default() };
    let filtered = Filter { workload: Some("deep".to_owned()), model: Some("tiny-7".to_owned()), ..all.clone() };
    let none = Filter { model: Some("no such model".to_owned()), ..all.clone() };
    let list = |filter: &Filter| Store::open(folder).list(filter).expect("they are listed").runs.len();
    let begin = Instant::now();
    println!("first list, catching up: {} runs in {:.1?}", list(&all), begin.elapsed());
    // Folders are not trusted for some seconds after a change.
    timed("newest 20, all folders just changed", || list(&all));
    std::thread::sleep(Duration::from_secs(5));
    list(&all);
    timed("newest 20", || list(&all));
    timed("newest 20 of a workload and a model", || list(&filtered));
    timed("none of all", || list(&none));
    timed("@previous", || Store::open(folder).resolve("@previous").map_or(0, |_| 1));
    let begin = Instant::now();
    let id = Store::open(folder).save(&run(runs)).expect("it is saved");
    println!("one run saved in {:.1?}", begin.elapsed());
    timed("a prefix loaded", || Store::open(folder).load(id.short()).map_or(0, |_| 1));
    Store::open(folder).remove(&id).expect("it is removed");
}

/// Makes the files as the store does, but without waiting for the disk at each.
fn make(folder: &Path, runs: u64) {
    let store = Store::open(folder);
    let begin = Instant::now();
    for number in 0..runs {
        let text = run(number).to_json();
        let path = store.run_path(&store::Id::of(text.as_bytes()));
        if path.exists() {
            continue;
        }
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is made");
        let packed = zstd::bulk::compress(text.as_bytes(), 3).expect("it is packed");
        std::fs::write(&path, packed).expect("it is written");
    }
    println!("{runs} files of {} bytes before packing in {:.1?}", run(0).to_json().len(), begin.elapsed());
}

fn timed(what: &str, work: impl Fn() -> usize) {
    let mut times: Vec<Duration> = Vec::new();
    let mut found = 0;
    for _ in 0..10 {
        let begin = Instant::now();
        found = work();
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    println!("{what}: {found} in {:.1?}, at most {:.1?}", times[0], times[9]);
}

fn run(number: u64) -> Run {
    let mut run = Run { schema: RUN_SCHEMA.to_owned(), version: RUN_VERSION, ..Run::default() };
    let (day, second) = (number / 86_400 % 28, number % 86_400);
    run.created = format!("2026-01-{:02}T{:02}:{:02}:{:02}Z", day + 1, second / 3600, second / 60 % 60, second % 60);
    run.subject.name = "hotloop".to_owned();
    run.subject.git = Some(Git { commit: format!("{:040x}", number * 7919), dirty: number % 2 == 1, ..Git::default() });
    run.workload.name = ["standard", "deep", "enhanced", "memory"][number as usize % 4].to_owned();
    run.workload.parameters.insert("threads".to_owned(), "2".to_owned());
    run.models = vec![Model { name: format!("tiny-{}.gguf", number % 13), ..Model::default() }];
    run.rows = vec![Row { name: "decode".to_owned(), calls: 49, tokens: Some(1.0), ..Row::default() }];
    let sample = |at: u64| Sample {
        row: "decode".to_owned(),
        start_ns: at * 1_000_000,
        values: [("wall_s".to_owned(), (number + at) as f64 / 7.0)].into(),
        ..Sample::default()
    };
    run.samples = (0..10).map(sample).collect();
    run
}
