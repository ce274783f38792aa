//! The engine through its public face, one module per room.

mod folder;
mod random;

mod gguf;
mod llama2c;
mod memory;
mod open;
mod tokenizer;
mod quantise;
mod reference;
mod sources;
mod trials;

mod equal;
mod models;
