//! Tests through the public face, a module for each room.

mod export;
