//! Text to tokens and back.

mod hostile;
mod pieces;
mod small;
mod vocabularies;
