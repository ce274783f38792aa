//! Text to tokens and back.

mod hostile;
mod small;
mod vocabularies;
