//! The measuring code that the benchmarks share: interleaved rounds of short batches on one and on two threads.
//! See `README.md`. It reads the CPU clocks of threads, so it is for Linux; elsewhere this crate is empty.
#![cfg(target_os = "linux")]

pub mod clock;
pub mod crew;
pub mod hogs;
pub mod options;
pub mod rounds;
pub mod spread;
pub mod table;

pub use hogs::Hogs;
pub use options::Options;
pub use rounds::{Costs, Row, When, measure};
pub use spread::Spread;
pub use table::Table;
