//! The engine through its public face, one module per room.

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

mod folder;
mod random;

mod allocations;
mod chat;
mod gguf;
mod llama2c;
mod open;
mod sample;
mod tokenizer;
