//! The trials.

mod gates;
mod known_changes;
mod links;
mod models;
mod same_code;

use crate::bench::Bench;

/// Measures its rows and adds what they have to show.
pub type Trial = fn(&mut Bench) -> Result<(), String>;

/// All of them, by the names that `--only` takes, in the order in which they run.
pub const ALL: [(&str, Trial); 8] = [
    ("same", same_code::same),
    ("position", same_code::position),
    ("sticky", same_code::sticky),
    ("planted", known_changes::planted),
    ("quick", known_changes::quick),
    ("links", links::links),
    ("gate", gates::gate),
    ("models", models::models),
];
