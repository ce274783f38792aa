//! Little stories without end: a seed in, a story out. Everything that they are made of was written here.

mod cast;
mod chance;
mod critic;
mod plots;
mod template;
mod words;

pub use critic::Critic;

use cast::Cast;
use plots::{PLOTS, Plot};
use template::{Bindings, fill};

/// A story.
pub struct Story {
    /// The name of the plot.
    pub plot: &'static str,
    pub text: String,
}

impl Story {
    /// The story of this seed: the same on every machine.
    pub fn new(seed: u64) -> Self {
        tell(seed).0
    }
}

/// The story, and what its slots were bound to.
fn tell(seed: u64) -> (Story, Bindings) {
    let mut cast = Cast::new(seed);
    let Plot { name, cast: choose, beats: all } = cast.row(PLOTS);
    choose(&mut cast);
    let Cast { mut chance, bindings } = cast;
    let mut beats = Vec::new();
    for forms in *all {
        let beat = fill(chance.pick(forms), &bindings, &mut chance);
        if !beat.is_empty() {
            beats.push(beat);
        }
    }
    (Story { plot: name, text: beats.join(" ") }, bindings)
}

#[cfg(test)]
mod tests;
