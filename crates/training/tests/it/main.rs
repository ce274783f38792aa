//! Tests through the public interface, one file for each room.

mod folder;

mod checkpoint;
mod config;
mod run;
mod schedule;
