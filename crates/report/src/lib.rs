//! What was measured, as text for people. Pure: no file, clock or terminal is touched here.

mod bench;
mod comparison;
mod doctor;
mod duel;
mod export;
mod gate;
mod generation;
mod history;
mod importing;
mod layout;
mod models;
mod quantisation;
mod run;
mod selftest;
mod tokens;
mod training;
mod units;

pub use bench::{csv as bench_csv, markdown as bench_markdown, text as bench_text};
pub use comparison::{
    markdown as comparison_markdown, smallmind as comparison_smallmind, text as comparison_text,
    verdict_line as comparison_verdict_line,
};
pub use doctor::text as doctor_text;
pub use duel::{markdown as duel_markdown, text as duel_text, verdict_line as duel_line};
pub use export::{Format as ExportFormat, export};
pub use gate::{
    annotations as gate_annotations, badge as gate_badge, comment as gate_comment, junit as gate_junit,
    line as gate_line, text as gate_text,
};
pub use generation::text as generation_text;
pub use history::faults_text as history_faults_text;
pub use history::stored_run_text;
pub use history::text as history_text;
pub use importing::text as importing_text;
pub use models::{markdown as models_markdown, smallmind as models_smallmind, text as models_text};
pub use quantisation::text as quantisation_text;
pub use run::{
    RunOptions, loopos as run_loopos, markdown as run_markdown, smallmind as run_smallmind, summary as run_summary,
    text as run_text,
};
pub use selftest::text as selftest_text;
pub use tokens::{for_terminal as decoded_text, text as tokens_text};
pub use training::{
    Files as TrainingFiles, Progress as TrainingProgress, curve as training_curve, event as training_event_text,
    head as training_head_text, summary as training_summary_text,
};
