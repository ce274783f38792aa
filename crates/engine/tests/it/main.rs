//! The engine through its public face, one module per room.

mod reference;
mod sources;
mod trials;

mod equal;
mod models;
