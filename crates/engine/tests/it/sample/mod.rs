//! Choosing tokens, and ending.

mod chance;
mod settings;
mod stop;
