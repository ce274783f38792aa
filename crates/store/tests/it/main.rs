//! The store through its public face.

mod samples;
mod selectors;
