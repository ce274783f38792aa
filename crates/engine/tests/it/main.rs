//! The engine through its public face, one module per room.

mod folder;

mod gguf;
mod open;
