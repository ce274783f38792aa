//! What samples say. Pure: slices in, numbers out; no file, clock or random source.

mod comparable;
mod quantiles;
mod roofline;
mod runs;

pub use comparable::{Side, comparable, same_subject};
pub use quantiles::{Interval, median, quantile, quantile_interval, sorted};
pub use roofline::{Arithmetic, Bounds, Roof, Work, row_work};
pub use runs::{RunsSettings, Stored, runs, without_indices};
