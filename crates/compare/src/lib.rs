//! Statistics, comparisons and verdicts. Pure functions from slices and documents to numbers and verdicts.

mod budget;
mod cells;
mod comparable;
mod confirm;
mod drift;
mod gate;
mod judge;
mod meaning;
mod models;
mod quantiles;
mod roofline;
pub mod rules;
mod runs;
pub mod stats;
mod tails;
mod waterfall;

pub use budget::budget;
pub use cells::geomean;
pub use comparable::{ComparisonSide, comparable, same_subject};
pub use confirm::{confirm, confirm_duel, has_changed, unconfirmed};
pub use drift::common_mode;
pub use gate::{exit_code, gate};
pub use judge::{JudgedDuel, judge, overall};
pub use meaning::{arithmetic, kind_of_name, per, workload_kind};
pub use models::{CPU_THRESHOLD, ModelRun, WALL_THRESHOLD, fitness, models};
pub use profile::{Estimate, duration_quantile, error_of_sum, error_of_sum_ns, merged_durations};
pub use quantiles::{Interval, median, quantile, quantile_interval, sorted};
pub use roofline::{MachineLimits, RooflineLimit, RowWork, row_work};
pub use runs::{NamedRun, RunsSettings, runs, without_indices};
pub use stats::{Fit, fit};
pub use tails::{Tail, tail};
pub use waterfall::waterfall;
