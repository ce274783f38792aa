//! Where things are measured: what the machine is, what it can do, and how quiet it is.

pub mod command;
mod doctor;
mod limits;
pub mod machine;

pub use doctor::{Options, Step, examine};
