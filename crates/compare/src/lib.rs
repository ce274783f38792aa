//! What samples say. Pure: slices and documents in, numbers and verdicts out; no file, clock or random source.

mod cells;
mod judge;
mod quantiles;
pub mod rules;
pub mod stats;
mod tails;
mod waterfall;

pub use cells::{CommonMode, common_mode, confirm, geomean};
pub use judge::{Outcome, judge, overall};
pub use quantiles::{Interval, median, quantile, quantile_interval, sorted};
pub use stats::{Fit, fit};
pub use tails::{Tail, tail};
pub use waterfall::waterfall;
