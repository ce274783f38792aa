//! Our kernels beside the best of others, in turns, in one run. See `../README.md`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its tables")]
#![allow(unsafe_code, reason = "the peers are called through C interfaces and raw pointers")]

mod contest;
mod limits;
mod options;
mod peers;
mod product;
mod table;

mod elementwise;
mod gemm;
mod gemv;
mod quant;

use std::process::ExitCode;

use contest::{Contender, Row};
use kernels::Kernels;
use options::Options;
use peers::Peers;
use table::Subject;

/// What every subject needs.
struct Bench {
    options: Options,
    peers: Peers,
    kernels: Kernels,
}

impl Bench {
    /// Ours, and those of the others that were asked for.
    fn wanted<'a>(&self, contenders: Vec<Box<dyn Contender + 'a>>) -> Vec<Box<dyn Contender + 'a>> {
        let is_wanted = |column: &str| column.starts_with(table::OURS) || self.options.wants_peer(column);
        contenders.into_iter().filter(|contender| is_wanted(contender.column())).collect()
    }

    /// Prints the table, if it has rows; gives how many results were wrong.
    fn print(&self, subject: &Subject, rows: &[Row]) -> usize {
        if !rows.is_empty() {
            println!("{}", subject.show(rows));
        }
        rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.speed.is_err()).count()
    }
}

fn main() -> ExitCode {
    let options = Options::from_environment();
    let peers = Peers::find();
    let kernels = Kernels::best();
    println!("Ours: {}. Cells are best / median; `*` marks the best of a row. Peers:", kernels.isa());
    for note in &peers.notes {
        println!("- {note}");
    }
    println!();
    let bench = Bench { options, peers, kernels };
    let subjects = [gemm::tables, gemv::tables, quant::tables, elementwise::tables];
    let wrong: usize = subjects.iter().map(|tables| tables(&bench)).sum();
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
