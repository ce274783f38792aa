//! What can happen. Each plot chooses who and what is in it, and tells it beat by beat; each beat has several forms.

mod children;
mod helping;
mod learning;
mod losing;
mod making;
mod wonder;

use super::cast::Cast;

/// One way for a story to go.
pub struct Plot {
    pub name: &'static str,
    /// Chooses who and what is in it.
    pub cast: fn(&mut Cast),
    /// What happens, one after the other; of each beat one form is told, and an empty one tells nothing.
    pub beats: &'static [&'static [&'static str]],
}

/// All of them.
pub const PLOTS: &[Plot] = &[
    losing::LOST,
    losing::BROKEN,
    losing::BABY,
    helping::RESCUE,
    helping::SHARED,
    helping::TINY,
    children::QUARREL,
    children::NEW_FRIEND,
    children::AFRAID,
    learning::LEARNER,
    making::GIFT,
    making::SEED,
    making::RAIN,
    wonder::SOUND,
    wonder::MOON,
];
