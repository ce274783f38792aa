//! Reports of what was measured. Pure: nothing here touches a file, a clock or a terminal.
//!
//! Each report is a [`Document`], which is written for the terminal or as Markdown.

mod bench;
mod comparison;
mod doctor;
mod duel;
mod export;
mod gate;
mod generation;
mod history;
mod importing;
mod models;
mod quantisation;
mod run;
mod selftest;
mod tokens;
mod training;

use profile::{document, units};

pub use bench::{csv as bench_csv, document as bench};
pub use comparison::{
    document as comparison, smallmind as comparison_smallmind, verdict_line as comparison_verdict_line,
};
pub use doctor::document as doctor;
pub use document::{Document, Page};
pub use duel::{document as duel, verdict_line as duel_verdict_line};
pub use export::{Format as ExportFormat, export};
pub use gate::{
    annotations as gate_annotations, badge as gate_badge, comment as gate_comment, document as gate,
    junit as gate_junit, verdict_line as gate_verdict_line,
};
pub use generation::document as generation;
pub use history::{document as history, faults_text as history_faults_text, stored_run};
pub use importing::document as importing;
pub use models::{document as models, smallmind as models_smallmind};
pub use quantisation::document as quantisation;
pub use run::{
    RunOptions, document as run, first_screen as run_first_screen, loopos as run_loopos, smallmind as run_smallmind,
};
pub use selftest::document as selftest;
pub use tokens::{for_terminal as decoded_text, text as tokens_text};
pub use training::{
    Files as TrainingFiles, Progress as TrainingProgress, curve as training_curve, event as training_event_text,
    plan as training_plan, summary as training_summary,
};
