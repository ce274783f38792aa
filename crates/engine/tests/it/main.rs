//! The engine through its public face, one module per room.

mod folder;

mod gguf;
mod llama2c;
mod memory;
mod open;
mod quantise;
mod safetensors;
