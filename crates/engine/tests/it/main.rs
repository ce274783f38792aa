//! The engine through its public face, one module per room.

mod folder;
mod memory;
mod random;
mod reference;
mod sources;
mod trials;

mod equal;
mod gguf;
mod golden;
mod llama2c;
mod models;
mod open;
mod quantise;
mod refusals;
mod tokenizer;
