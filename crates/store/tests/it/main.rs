//! The store through its public face.

mod accidents;
mod child;
mod faults;
mod samples;
mod selectors;
