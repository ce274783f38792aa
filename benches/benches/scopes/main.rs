//! What an empty scope costs: the clock alone, Hotloop, and its peers, interleaved in one run. See `README.md`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod floors;
mod ours;
mod peers;
mod tracy;

use std::io::Write;

use benches::{Costs, Options, Row, Spread, Table, measure};

fn main() {
    let options = Options::from_environment();
    let mut rows = floors::rows();
    rows.extend(ours::rows().into_iter().chain(peers::rows()).filter(|row| options.wants(row.name)));
    peers::start();
    let costs = measure(&rows, &options, tracy::connect);
    println!("{}", table(&rows, &costs));
    std::io::stdout().flush().expect("the table can be printed");
    // Tracy's destructor would talk to the server that ends with this process.
    benches::clock::exit_now();
}

fn table(rows: &[Row], costs: &[Costs]) -> Table {
    let floor = rows.iter().position(|row| row.name == floors::FLOOR).expect("the floor is always measured");
    let floor = costs[floor];
    let mut table = Table::new(&[
        "ns per scope, best / median",
        "1 thread",
        "2 threads",
        "CPU of all threads, 1 / 2",
        "median × floor, 1 / 2",
        "B per scope",
        "records",
    ]);
    for (row, costs) in rows.iter().zip(costs) {
        table.push(vec![
            row.name.into(),
            spread(costs.one),
            spread(costs.two),
            format!("{} / {}", figure(costs.total[0]), figure(costs.total[1])),
            format!("{:.2} / {:.2}", costs.one.median / floor.one.median, costs.two.median / floor.two.median),
            costs.kept_bytes.map_or(String::from("–"), |bytes| format!("{bytes:.1}")),
            row.note.into(),
        ]);
    }
    table
}

fn spread(spread: Spread) -> String {
    format!("{} / {}", figure(spread.best), figure(spread.median))
}

/// Three digits are more than the noise leaves.
fn figure(ns: f64) -> String {
    if ns < 10.0 { format!("{ns:.2}") } else { format!("{ns:.1}") }
}
