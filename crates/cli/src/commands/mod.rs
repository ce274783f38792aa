//! What each command does, from its options to the text that it prints.

pub mod demo;
pub mod doctor;
