//! Random numbers and texts for tests: the same in every run.

pub use testing::Random;
