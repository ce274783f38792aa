//! What samples say. Pure: slices in, numbers out; no file, clock or random source.

mod comparable;
mod quantiles;

pub use comparable::{Side, comparable, same_subject};
pub use quantiles::{Interval, median, quantile, quantile_interval, sorted};
