//! What sections and insights are made from: a profile summed up, and what is known beyond it.

use crate::{CallTree, ScopeSum};

/// A call tree, and how it is shown.
#[derive(Clone, Copy)]
pub struct ProfileView<'a> {
    /// The profile summed up.
    pub tree: &'a CallTree<'a>,
    /// Rows of each ranking.
    pub top: usize,
    /// What is known beyond the profile.
    pub context: &'a dyn Context,
}

/// The share of a limit of the machine that a scope reaches.
#[derive(Debug, Clone, PartialEq)]
pub struct LimitShare {
    /// 1.0 at the limit.
    pub share: f64,
    /// The bottleneck, as it is written in a cell: `L2, 1 thread`.
    pub bottleneck: String,
}

/// What is known beyond a profile: of the machine, and of the program.
pub trait Context {
    /// The share of the machine's limit that the declared work of a scope reaches; `None` where it is not known.
    fn limit(&self, _scope: &ScopeSum<'_>) -> Option<LimitShare> {
        None
    }

    /// How columns with such shares are read, as a sentence part that begins with `; `.
    fn limit_legend(&self, _shares: &[f64]) -> String {
        String::new()
    }

    /// The unit of a scope's arithmetic.
    fn arithmetic_unit(&self, _scope: &ScopeSum<'_>) -> &'static str {
        "FLOP/s"
    }

    /// Whether a scope only surrounds the work, so that nothing can be gained in it.
    fn is_frame(&self, _scope: &ScopeSum<'_>) -> bool {
        false
    }

    /// Whether another program's profiler measured it, which does not tell everything.
    fn is_imported(&self) -> bool {
        false
    }

    /// Whether the time of other programs may be in any scope, so that a ranking would be random.
    fn is_attribution_unreliable(&self, tree: &CallTree<'_>) -> bool {
        is_crowded(tree) && is_blind(tree)
    }
}

/// Nothing is known but the profile.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContext;

impl Context for NoContext {}

/// Threads that waited for a CPU for a larger part of the time in which they could run lost most of it to others.
pub const CROWDED: f64 = 0.5;

/// Whether threads waited for a CPU for longer than they had one.
#[must_use]
pub fn is_crowded(tree: &CallTree<'_>) -> bool {
    let waited = tree.waiting_ns().and_then(|ns| crate::units::share(ns, tree.runnable_ns()));
    waited.is_some_and(|waited| waited > CROWDED)
}

/// Whether interruptions were not recognised. Earlier versions recognised none.
#[must_use]
pub fn is_blind(tree: &CallTree<'_>) -> bool {
    tree.profile.interruptions.as_ref().is_none_or(|found| found.source == "none")
}
