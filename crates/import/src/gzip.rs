//! Texts that are packed by gzip.

use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// What gzip's files begin with, and the one method that there is.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
/// The fixed part of the header, and the checksum and length behind the data.
const HEADER: usize = 10;
const TRAILER: usize = 8;
/// Flags: a checksum of the header, more fields, a name, a comment.
const FLAG_CHECKSUM: u8 = 2;
const FLAG_EXTRA: u8 = 4;
const FLAG_NAME: u8 = 8;
const FLAG_COMMENT: u8 = 16;

/// The text in bytes that may be packed by gzip; `None` where they are not.
///
/// # Errors
/// What is wrong with packed bytes, or that they are more than `most` when unpacked.
pub fn unpacked(bytes: &[u8], most: usize) -> Option<Result<Vec<u8>, String>> {
    bytes.starts_with(&MAGIC).then(|| inflate(bytes, most))
}

fn inflate(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let cut = || "it is packed by gzip and ends in its header".to_owned();
    let flags = *bytes.get(3).ok_or_else(cut)?;
    let mut rest = bytes.get(HEADER..).ok_or_else(cut)?;
    if flags & FLAG_EXTRA != 0 {
        let [low, high, after @ ..] = rest else { return Err(cut()) };
        rest = after.get(usize::from(u16::from_le_bytes([*low, *high]))..).ok_or_else(cut)?;
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & FLAG_CHECKSUM != 0 {
        rest = rest.get(2..).ok_or_else(cut)?;
    }
    let packed = rest.get(..rest.len().saturating_sub(TRAILER)).unwrap_or_default();
    let text = decompress_to_vec_with_limit(packed, most)
        .map_err(|error| format!("it is packed by gzip and cannot be unpacked: {error}"))?;
    let told = rest.last_chunk::<4>().map(|length| u32::from_le_bytes(*length));
    if told != Some(text.len() as u32) {
        return Err("it is packed by gzip and was cut off: its length is not the one it tells".to_owned());
    }
    Ok(text)
}
