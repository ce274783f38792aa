//! The engine through its public face, one module per room.

mod folder;
mod random;

mod gguf;
mod open;
mod tokenizer;
