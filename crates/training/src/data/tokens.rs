//! The corpus as tokens, in a file that is read by position.
//!
//! ```text
//! HLTOKENS, version and bytes per token     two numbers of 32 bits
//! tokens                                    16 or 32 bits each; filled up to a multiple of 8 bytes
//! where each sequence begins                64 bits each, and one more for the end; where sequences are lines
//! a hash of every mebibyte so far           64 bits each
//! the rest as JSON                          `Trailer`
//! hash of hashes and JSON, length of the JSON, number of hashes, HLTOKEND
//! ```
//!
//! All numbers are little-endian. What the file says is believed when its hashes and lengths fit;
//! else it is made again.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::CorpusFacts;
use super::at::read_at;
use crate::{Error, Result};

pub(super) const MAGIC: &[u8; 8] = b"HLTOKENS";
pub(super) const END: &[u8; 8] = b"HLTOKEND";
/// Raised when anything changes in the file or in how texts become tokens.
pub(super) const VERSION: u32 = 1;
/// Bytes before the tokens.
pub(super) const HEAD: u64 = 16;
/// Bytes behind the JSON.
const FOOT: u64 = 32;
/// What one hash covers.
pub(super) const BLOCK: u64 = 1 << 20;
/// A longer description is none.
const MOST_JSON: u64 = 1 << 24;
/// Of larger files only so many blocks are checked before they are used, evenly spread: reading
/// hundreds of gigabytes would take longer than many trainings.
const CHECKED_BLOCKS: u64 = 1 << 12;

/// What stands at the end of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Trailer {
    /// Bytes of a token.
    pub(super) width: u32,
    pub(super) tokens: u64,
    /// How many; nothing where they are not stored.
    pub(super) sequences: Option<u64>,
    /// Tokens of the longest of them.
    pub(super) longest: u64,
    /// Ids are less than this.
    pub(super) vocabulary: u64,
    pub(super) facts: CorpusFacts,
}

impl Trailer {
    /// Where the list of sequences begins.
    fn index(&self) -> Option<u64> {
        let tokens = self.tokens.checked_mul(u64::from(self.width))?;
        tokens.checked_next_multiple_of(8)?.checked_add(HEAD)
    }

    /// Where the hashes begin.
    fn hashes(&self) -> Option<u64> {
        let entries = match self.sequences {
            None => 0,
            Some(sequences) => sequences.checked_add(1)?,
        };
        self.index()?.checked_add(entries.checked_mul(8)?)
    }
}

/// Tokens on the disk. Threads may share it.
#[derive(Debug)]
pub(super) struct TokenFile {
    file: File,
    path: PathBuf,
    index: u64,
    /// The hash of all tokens and places.
    contents: blake3::Hash,
    pub(super) trailer: Trailer,
}

impl TokenFile {
    /// Opens a file and compares it with what it says of itself.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let damaged =
            |what: &str| Error::new(format!("{}: {what}", path.display()), "remove the file; it is recreated");
        let file = File::open(path).map_err(|error| damaged(&error.to_string()))?;
        let length = file.metadata().map_err(|error| damaged(&error.to_string()))?.len();
        let (trailer, hashes) = read_trailer(&file, length).map_err(|what| damaged(&what))?;
        check_blocks(&file, &trailer, &hashes).map_err(|what| damaged(&what))?;
        let index = trailer.index().ok_or_else(|| damaged("its lengths exceed any file"))?;
        Ok(Self { file, path: path.to_owned(), index, contents: blake3::hash(&hashes), trailer })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What tells its tokens and sequences from others, wherever they came from.
    pub(super) fn contents(&self) -> String {
        self.contents.to_hex().to_string()
    }

    /// Where a sequence begins and ends, in tokens.
    pub(super) fn sequence(&self, number: u64) -> Result<(u64, u64)> {
        let mut bytes = [0; 16];
        let at = self.index + number * 8;
        read_at(&self.file, &mut bytes, at).map_err(|error| self.wrong(at, &error.to_string()))?;
        let (start, end) = (word(&bytes[..8]), word(&bytes[8..]));
        let fits = start <= end && end <= self.trailer.tokens && end - start <= self.trailer.longest;
        if fits { Ok((start, end)) } else { Err(self.wrong(at, "invalid sequence position")) }
    }

    /// The tokens from `start` on: as many as `ids` has room for. `bytes` is memory that is kept from call to call.
    pub(super) fn read(&self, start: u64, ids: &mut [u32], bytes: &mut Vec<u8>) -> Result<()> {
        let width = self.trailer.width as usize;
        bytes.resize(ids.len() * width, 0);
        let at = HEAD + start * width as u64;
        read_at(&self.file, bytes, at).map_err(|error| self.wrong(at, &error.to_string()))?;
        if width == 2 {
            for (id, two) in ids.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *id = u32::from(u16::from_le_bytes(*two));
            }
        } else {
            for (id, four) in ids.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *id = u32::from_le_bytes(*four);
            }
        }
        // A token that is none would be looked up beyond the embedding.
        match ids.iter().position(|id| u64::from(*id) >= self.trailer.vocabulary) {
            None => Ok(()),
            Some(place) => Err(self.wrong(at + (place * width) as u64, "token not in the vocabulary")),
        }
    }

    fn wrong(&self, at: u64, what: &str) -> Error {
        let message = format!("{}: at byte {at}: {what}", self.path.display());
        Error::new(message, "the file changed while in use; remove it and start again")
    }
}

/// The description at the end, and the hashes before it.
fn read_trailer(file: &File, length: u64) -> Result<(Trailer, Vec<u8>), String> {
    let io = |error: std::io::Error| error.to_string();
    if length < HEAD + FOOT {
        return Err("too short for a token file".to_owned());
    }
    let (mut head, mut foot) = ([0; HEAD as usize], [0; FOOT as usize]);
    read_at(file, &mut head, 0).map_err(io)?;
    read_at(file, &mut foot, length - FOOT).map_err(io)?;
    if head[..8] != *MAGIC || foot[24..] != *END {
        return Err("not a token file, or truncated".to_owned());
    }
    let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if version != VERSION {
        return Err(format!("unsupported version {version}; supported is {VERSION}"));
    }
    let (hash, json, hashes) = (&foot[..8], word(&foot[8..16]), word(&foot[16..24]));
    let room = length - HEAD - FOOT;
    if json > MOST_JSON.min(room) || hashes.checked_mul(8).is_none_or(|bytes| bytes > room - json) {
        return Err("inconsistent lengths".to_owned());
    }
    let mut rest = vec![0; (hashes * 8 + json) as usize];
    let start = length - FOOT - rest.len() as u64;
    read_at(file, &mut rest, start).map_err(io)?;
    if block_hash(&rest) != *hash {
        return Err("damaged header".to_owned());
    }
    let text = rest.split_off((hashes * 8) as usize);
    let trailer: Trailer = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let fits = trailer.hashes() == Some(start) && start.div_ceil(BLOCK) == hashes;
    if !fits || !matches!(trailer.width, 2 | 4) || head[12..16] != trailer.width.to_le_bytes() {
        return Err("inconsistent lengths".to_owned());
    }
    Ok((trailer, rest))
}

/// Compares blocks with their hashes: all, or some of very many.
fn check_blocks(file: &File, trailer: &Trailer, hashes: &[u8]) -> Result<(), String> {
    let end = trailer.hashes().unwrap_or_default();
    let blocks = end.div_ceil(BLOCK);
    let mut bytes = vec![0; BLOCK.min(end) as usize];
    for number in (0..blocks).step_by(blocks.div_ceil(CHECKED_BLOCKS).max(1) as usize) {
        let at = number * BLOCK;
        let block = &mut bytes[..(end - at).min(BLOCK) as usize];
        read_at(file, block, at).map_err(|error| error.to_string())?;
        if block_hash(block) != hashes[number as usize * 8..][..8] {
            return Err(format!("bytes {at} to {} are damaged", at + block.len() as u64));
        }
    }
    Ok(())
}

/// The hash of a block.
pub(super) fn block_hash(bytes: &[u8]) -> [u8; 8] {
    let hash = blake3::hash(bytes);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    first
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap_or_default())
}
