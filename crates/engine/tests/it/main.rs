//! The engine through its public face, one module per room.

mod folder;
mod memory;
mod random;
mod reference;
mod sources;
mod trials;

mod equal;
#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

mod folder;
mod random;

mod allocations;
mod gguf;
mod golden;
mod llama2c;
mod models;
mod open;
mod quantise;
mod sample;
mod tokenizer;
mod safetensors;
