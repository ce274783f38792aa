//! Reads runs' files within memory limits, whatever they claim.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use record::DocumentError;

use crate::{Error, ErrorKind, Id, Result};

/// The maximum size of a text. A call tree of 100,000 scopes has 60 MB.
pub const MOST_BYTES: u64 = 1 << 30;
/// The maximum window size of zstd, 8 MiB: enough for levels up to 19.
const WINDOW_LOG: u32 = 23;
/// The magic number of zstd.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The text of a file, compressed or not, and its id. `expected` is the id in the file's name.
pub fn text(path: &Path, expected: Option<&Id>) -> Result<(Id, String)> {
    let corrupt = |what: String| Error::corrupt(path, what);
    let (id, length) = survey(path)?;
    if let Some(expected) = expected.filter(|expected| **expected != id) {
        return Err(corrupt(format!(
            "the contents do not match the file name: their hash is {}, not {expected}",
            id.short()
        )));
    }
    let mut bytes = Vec::with_capacity(length);
    let read = open(path)?.take(MOST_BYTES).read_to_end(&mut bytes);
    match read {
        Ok(read) if read == length => {}
        Ok(_) => return Err(corrupt("it changed while it was read".to_owned())),
        Err(error) => return Err(unreadable(path, &error)),
    }
    let text = String::from_utf8(bytes).map_err(|error| corrupt(format!("not UTF-8 text: {}", error.utf8_error())))?;
    Ok((id, text))
}

/// Reads it a first time in small pieces, so that memory is allocated only for a text that matches its name.
fn survey(path: &Path) -> Result<(Id, usize)> {
    let mut source = open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut piece = vec![0; 1 << 16];
    let mut length = 0;
    loop {
        let read = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(path, &error)),
        };
        length += read;
        if length as u64 > MOST_BYTES {
            return Err(Error::corrupt(path, format!("its text is larger than {} MiB", MOST_BYTES >> 20)));
        }
        hasher.update(&piece[..read]);
    }
    Ok((Id::from_hash(hasher.finalize()), length))
}

/// An error from the decoder means a damaged file; the others come from the system.
fn unreadable(path: &Path, error: &io::Error) -> Error {
    match error.raw_os_error() {
        None => Error::corrupt(path, format!("cannot decompress it: {error}")),
        Some(_) => Error::io("cannot read", path, error),
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    let failed = |error: io::Error| Error::io("cannot read", path, &error);
    // Opening a pipe would block until somebody writes to it.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Error::new(ErrorKind::BadName, format!("{} is not a regular file", path.display())));
    }
    let mut beginning = Vec::new();
    File::open(path).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut beginning)).map_err(failed)?;
    let file = BufReader::new(File::open(path).map_err(failed)?);
    if beginning != MAGIC {
        return Ok(Box::new(file));
    }
    let mut unpacked = zstd::stream::read::Decoder::with_buffer(file).map_err(failed)?;
    unpacked.window_log_max(WINDOW_LOG).map_err(failed)?;
    Ok(Box::new(unpacked))
}

/// Reads a text as a run, or as the head of one.
pub fn parse<T>(path: &Path, text: &str, read: fn(&str) -> std::result::Result<T, DocumentError>) -> Result<T> {
    read(text).map_err(|error| {
        let kind = match error {
            DocumentError::Newer { .. } => ErrorKind::Newer,
            _ => ErrorKind::Corrupt,
        };
        Error::new(kind, format!("{}: {error}", path.display()))
    })
}
