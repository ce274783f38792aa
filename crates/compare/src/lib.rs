//! What samples say. Pure: slices in, numbers out; no file, clock or random source.

mod quantiles;

pub use quantiles::{Interval, median, quantile, quantile_interval, sorted};
