//! Tests through the public interface, one file for each room.

mod schedule;
