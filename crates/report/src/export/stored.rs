//! The record itself.

use super::format::{Format, Writer};

pub(super) const FORMAT: Format = Format {
    name: "json",
    extension: "json",
    is_binary: false,
    about: "the run as it is stored",
    opened_by: "its schema is docs/schema of the source",
    write: Writer::Run(|_, stored| stored.as_bytes().to_vec()),
};
