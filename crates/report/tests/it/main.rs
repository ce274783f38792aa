//! Reports of runs that were made by hand.

mod machine;
mod originals;
mod properties;
mod runs;
mod snapshots;
