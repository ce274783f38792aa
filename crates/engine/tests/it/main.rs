//! The engine through its public face, one module per room.

mod folder;
mod random;

mod gguf;
mod llama2c;
mod open;
mod tokenizer;
