//! The engine through its public face, one module per room.

mod folder;
mod random;
mod reference;
mod sources;
mod trials;

mod equal;
mod gguf;
mod golden;
mod models;
mod open;
mod tokenizer;
