//! The engine through its public face, one module per room.

mod random;

mod tokenizer;
