//! Texts that are packed by gzip, unpacked piece by piece within a limit.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

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
/// Deflate packs up to 1032 to 1; traces and logs rarely reach 50 to 1. What is packed tighter is no measurement.
const MOST_TO_ONE: usize = 128;
/// A small file may unpack to this much whatever its ratio.
const ALWAYS_ALLOWED: usize = 16 << 20;
/// Bytes that are unpacked at a time.
const PIECE: usize = 1 << 16;

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
    loop {
        let before = text.len();
        rest = inflated(data(rest)?, &mut text, most)?;
        let (trailer, behind) = rest.split_at_checked(TRAILER).ok_or_else(cut)?;
        let word = |at: usize| trailer[at..].first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
        if word(4) != Some((text.len() - before) as u32) || word(0) != Some(checksum(&text[before..])) {
            return Err("it is packed by gzip and damaged: its checksum or length does not match".to_owned());
        }
        rest = behind;
        if !rest.starts_with(&MAGIC) {
            break;
        }
    }
    // Zeros are padding, as tapes and some tools leave it.
    if rest.iter().any(|byte| *byte != 0) {
        return Err("it is packed by gzip, and something else stands behind the packed text".to_owned());
    }
    Ok(text)
}

fn cut() -> String {
    "it is packed by gzip and was cut off".to_owned()
}

/// What stands behind the header.
fn data(bytes: &[u8]) -> Result<&[u8], String> {
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
    Ok(rest)
}

/// Adds one member to the text; gives back what stands behind it.
fn inflated<'a>(mut rest: &'a [u8], text: &mut Vec<u8>, most: usize) -> Result<&'a [u8], String> {
    let mut state = InflateState::new_boxed(DataFormat::Raw);
    let mut piece = vec![0; PIECE];
    loop {
        let step = inflate(&mut state, rest, &mut piece, MZFlush::None);
        rest = &rest[step.bytes_consumed..];
        if text.len() + step.bytes_written > most {
            return Err(format!(
                "it is packed by gzip and unpacks to more than {most} bytes, the limit for a file of its size \
                 ({MOST_TO_ONE} times the packed size, at least {} MiB)",
                ALWAYS_ALLOWED >> 20
            ));
        }
        text.extend_from_slice(&piece[..step.bytes_written]);
        match step.status {
            Ok(MZStatus::StreamEnd) => return Ok(rest),
            Ok(_) if step.bytes_consumed > 0 || step.bytes_written > 0 => {}
            Ok(_) | Err(MZError::Buf) => return Err(cut()),
            Err(error) => return Err(format!("it is packed by gzip and cannot be unpacked: {error:?}")),
        }
    }
}

/// CRC-32, as gzip has it.
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes.iter().fold(!0, |sum, byte| (sum >> 8) ^ TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize])
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut value = at as u32;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ (if value & 1 == 1 { 0xedb8_8320 } else { 0 });
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
}
