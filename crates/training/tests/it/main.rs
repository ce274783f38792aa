//! Tests through the public interface, one file for each room.

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

mod folder;
mod random;

mod data;

mod checkpoint;
mod config;
mod run;
mod schedule;
mod vocabulary;
