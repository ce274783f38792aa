//! The engine through its public face, one module per room.

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

mod folder;
mod memory;
mod random;
mod reference;
mod sources;
mod trials;

mod allocations;
mod batch;
mod chat;
mod equal;
mod gguf;
mod golden;
mod llama2c;
mod models;
mod open;
mod optimiser;
mod perplexity;
mod quantise;
mod refusals;
mod safetensors;
mod sample;
mod tokenizer;
mod train;
#[cfg(unix)]
mod truncated;
