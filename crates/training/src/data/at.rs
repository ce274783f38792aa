//! Reading a file at a place, by several threads at once.

use std::fs::File;
use std::io;

/// Fills the buffer from this place of the file on.
#[cfg(unix)]
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

/// Fills the buffer from this place of the file on.
#[cfg(windows)]
pub(super) fn read_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                at += read as u64;
            }
        }
    }
    Ok(())
}
