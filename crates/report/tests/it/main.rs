//! Reports and exports of runs that were made by hand.

mod comparisons;
mod duels;
mod estimates;
mod export;
mod gate;
mod machine;
mod models;
mod originals;
mod properties;
mod runs;
mod selftest;
mod snapshots;
mod text;
mod training;
mod training_run;
