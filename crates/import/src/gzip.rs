//! Texts that are packed by gzip, unpacked within a limit.

use std::io::{self, Read as _};

use flate2::bufread::GzDecoder;

/// What gzip's files begin with, and the one method that there is.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// Deflate packs up to 1032 to 1; traces and logs rarely reach 50 to 1. What is packed tighter is no measurement.
const MOST_TO_ONE: usize = 128;
/// A small file may unpack to this much whatever its ratio.
const ALWAYS_ALLOWED: usize = 16 << 20;

/// The text in bytes that may be packed by gzip; `None` where they are not.
///
/// # Errors
/// What is wrong with packed bytes, or that they unpack to more than `most` bytes or more than 128 times their size.
pub fn unpacked(bytes: &[u8], most: usize) -> Option<Result<Vec<u8>, String>> {
    let by_ratio = bytes.len().saturating_mul(MOST_TO_ONE).max(ALWAYS_ALLOWED);
    bytes.starts_with(&MAGIC).then(|| members(bytes, most.min(by_ratio)))
}

/// All members, one behind the other: `cat a.gz b.gz` is a gzip file too.
fn members(mut rest: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    while rest.starts_with(&MAGIC) {
        let mut member = GzDecoder::new(rest);
        // One byte more than is allowed, so that too long a text is told from one that just fits.
        let left = (most - text.len()) as u64 + 1;
        member.by_ref().take(left).read_to_end(&mut text).map_err(|error| reason(&error))?;
        if text.len() > most {
            return Err(format!(
                "packed by gzip, and unpacks to more than {most} bytes, the limit for a file of its size \
                 ({MOST_TO_ONE} times the packed size, at least {} MiB)",
                ALWAYS_ALLOWED >> 20
            ));
        }
        rest = member.into_inner();
    }
    // Zeros are padding, which tapes and some tools add.
    if rest.iter().any(|byte| *byte != 0) {
        return Err("packed by gzip, with something else after the packed text".to_owned());
    }
    Ok(text)
}

/// Why a member cannot be unpacked.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "packed by gzip and cut off".to_owned(),
        _ => format!("packed by gzip and damaged: {error}"),
    }
}
