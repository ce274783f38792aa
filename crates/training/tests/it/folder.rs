//! A folder for the files of one test, and where the real ones are.

pub use testing::{Folder, shared};
