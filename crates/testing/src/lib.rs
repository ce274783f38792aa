//! What the tests of several crates share: temporary folders, repeatable random numbers, and files of other programs.

mod folder;
mod random;
mod shared;

pub use folder::Folder;
pub use random::Random;
pub use shared::shared;
