//! Statistics: slices in, numbers out.

mod batch_means;
mod fit;
mod multiple;
mod paired;
mod sign;
mod student;

pub use batch_means::batch_mean_interval;
pub use fit::{Fit, fit};
pub use multiple::{benjamini_hochberg, bonferroni, holm};
pub use paired::{PairedEstimate, launches_to_resolve, locate, locate_mean};
pub use sign::{binomial_interval, sign_interval, sign_p};
pub use student::{mean_interval, mean_p, t_factor};
