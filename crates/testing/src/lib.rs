//! What the tests of several crates share: temporary folders, repeatable random numbers, files of other programs, and the commands
//! in documents.

mod documented;
mod folder;
mod random;
mod shared;

pub use documented::{DocumentedCommand, commands_of_line, documented_commands};
pub use folder::Folder;
pub use random::Random;
pub use shared::shared;
