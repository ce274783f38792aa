//! Stores runs. Each run is a file named by the hash of its text and never rewritten; tags are files that
//! contain an id. The files are authoritative: the index only makes lists fast, and is rebuilt if it is lost.
//!
//! ```text
//! runs/ab/ab3f….json.zst   a run: zstd of its JSON; the name is BLAKE3 of the JSON
//! tags/NAME                the id of a run
//! tmp/                     what is being written; nothing is listed from here
//! index-2.sqlite           what lists show; `index.lock` says who uses it
//! ```
//!
//! A run appears by one rename of a file that is whole and on the disk, so that neither a killed process nor a full disk
//! nor a loss of power takes anything but the run that was being written. Several processes may read and write at once.

mod error;
mod files;
mod id;
mod index;
mod location;
mod read;
mod store;
mod sync;
mod tags;
mod time;
mod write;

pub use error::{Error, ErrorKind, Result};
pub use id::Id;
pub use location::default_path;
pub use store::{Filter, Listing, Loaded, Store};
pub use tags::check as check_tag;
pub use time::moment;
