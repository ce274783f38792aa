//! Files of checkpoints: damaged ones, processes that die while they write, and disks that are full.

pub mod child;
mod damage;
mod death;
