//! A profile as Hotloop records it: the data, its sums, and the report as text.
//!
//! The library, the C API, the records and the reports share this crate, so that each figure is computed and written in one
//! place. It has no dependencies; the feature `serde` reads and writes [`Profile`] as JSON.
//!
//! [`Profile`] is the data, [`CallTree`] sums it up, [`sections()`] and [`insights`] say it in tables and sentences, and
//! [`document`] writes those in the lines of a terminal.

mod call_tree;
pub mod document;
mod durations;
mod estimate;
pub mod insights;
mod json;
mod sections;
mod text;
mod time_estimate;
mod types;
pub mod units;
mod view;

pub use call_tree::{CallPath, CallTree, IndexSum, IndexedScope, ScopeSum, short_names};
pub use durations::{PERCENTILE_ERROR, duration_quantile, merged_durations};
pub use estimate::{Estimate, error_of_sum, error_of_sum_ns};
pub use sections::{judged_cost, marks, sections, trust};
pub use time_estimate::{
    TimeEstimate, in_words, longest_text, percentile_text, rests_on_few, tied_groups, tilde, whole_percents,
};
pub use types::{
    Allocations, DurationCounts, Interruptions, Losses, OwnCost, Profile, ProfileClock, Scope, Thread, Timeline,
};
pub use view::{CROWDED, Context, LimitShare, NoContext, ProfileView, is_blind, is_crowded};
