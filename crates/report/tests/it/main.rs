//! Reports of runs that were made by hand.

mod originals;
mod properties;
mod runs;
mod snapshots;
