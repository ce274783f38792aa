//! The file of a checkpoint: safetensors, whose last tensor is the BLAKE3 hash of every byte before it.
//!
//! A file is: the length of the header in 8 bytes, the header as JSON, the numbers. The header's
//! `__metadata__` has notes as texts. Every byte is under the hash, so that whatever is flipped or
//! cut off is seen before anything is believed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use engine::AtomicFile;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of the hash among the tensors.
const CHECKSUM: &str = "checksum";
const CHECKSUM_BYTES: usize = 32;
/// The most bytes of a header; the format's own limit.
const MAX_HEADER: u64 = 100_000_000;
/// Numbers begin at a multiple of this.
const ALIGNMENT: usize = 64;
/// So many bytes are read, written and hashed at a time.
const PIECE: usize = 1 << 18;

const HINT: &str = "use another checkpoint; the folder may have an earlier one";

/// Numbers that are to be written.
#[derive(Debug, Clone)]
pub(super) struct ContainerPart<'a> {
    pub(super) name: String,
    /// The length of a row last, as safetensors has it.
    pub(super) shape: Vec<usize>,
    pub(super) values: &'a [f32],
}

/// A tensor in the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

#[derive(Serialize)]
struct Header<'a> {
    #[serde(rename = "__metadata__")]
    notes: &'a BTreeMap<&'static str, String>,
    #[serde(flatten)]
    tensors: BTreeMap<&'a str, Entry>,
}

#[derive(Deserialize)]
struct ReadHeader {
    #[serde(rename = "__metadata__")]
    notes: BTreeMap<String, String>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Entry>,
}

/// Writes a file, whole or not at all; how many bytes it has.
pub(super) fn write(path: &Path, notes: &BTreeMap<&'static str, String>, parts: &[ContainerPart<'_>]) -> Result<u64> {
    let header = header(notes, parts)?;
    let file = AtomicFile::create(path, true).map_err(unwritten)?;
    let mut out = Out { file, hash: blake3::Hasher::new(), bytes: 0 };
    out.write(&header)?;
    let mut piece = Vec::with_capacity(PIECE);
    for part in parts {
        for values in part.values.chunks(PIECE / 4) {
            piece.clear();
            piece.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            out.write(&piece)?;
        }
    }
    let hash = *out.hash.finalize().as_bytes();
    out.write(&hash)?;
    out.file.finish().map_err(unwritten)?;
    Ok(out.bytes)
}

/// What is said where the disk takes no more.
fn unwritten(error: engine::Error) -> Error {
    let hint =
        "free disk space, or choose another checkpointing.save_path; earlier checkpoints are intact: use --resume";
    Error::of_output(error.to_string(), hint)
}

struct Out {
    file: AtomicFile,
    hash: blake3::Hasher,
    bytes: u64,
}

impl Out {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write(bytes).map_err(unwritten)
    }
}

fn header(notes: &BTreeMap<&'static str, String>, parts: &[ContainerPart<'_>]) -> Result<Vec<u8>> {
    let mut offset = 0u64;
    let mut place = |dtype: &str, shape: Vec<u64>, bytes: usize| {
        let from = offset;
        offset += bytes as u64;
        Entry { dtype: dtype.to_owned(), shape, data_offsets: [from, offset] }
    };
    let mut tensors = BTreeMap::new();
    for part in parts {
        let shape = part.shape.iter().map(|length| *length as u64).collect();
        tensors.insert(part.name.as_str(), place("F32", shape, 4 * part.values.len()));
    }
    tensors.insert(CHECKSUM, place("U8", vec![CHECKSUM_BYTES as u64], CHECKSUM_BYTES));
    let json = serde_json::to_string(&Header { notes, tensors })
        .map_err(|error| Error::new(format!("cannot write the training state: {error}"), HINT))?;
    let length = (8 + json.len()).next_multiple_of(ALIGNMENT) - 8;
    let mut header = (length as u64).to_le_bytes().to_vec();
    header.extend(json.as_bytes());
    header.resize(8 + length, b' ');
    Ok(header)
}

/// A file that is whole.
#[derive(Debug)]
pub(super) struct Container {
    path: PathBuf,
    file: fs::File,
    notes: BTreeMap<String, String>,
    tensors: BTreeMap<String, Stored>,
}

/// A tensor in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// The length of a row last.
    pub(super) shape: Vec<usize>,
    bytes: Range<u64>,
}

impl Container {
    /// Opens a file and reads all of it once, to see whether it is whole.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let wrong = |message: &str| Error::new(format!("{}: {message}", path.display()), HINT);
        let io = |error: io::Error| wrong(&error.to_string());
        let mut file = fs::File::open(path).map_err(io)?;
        if !file.metadata().map_err(io)?.is_file() {
            return Err(wrong("not a file"));
        }
        let length = file.metadata().map_err(io)?.len();
        check_hash(&mut file, length).map_err(|error| match error {
            ReadError::Io(error) => io(error),
            ReadError::Wrong(message) => wrong(&message),
        })?;
        let header = read_header(&mut file, length).map_err(io)?;
        let header = header.ok_or_else(|| wrong("header longer than the file"))?;
        let data = 8 + header.len() as u64;
        let header: ReadHeader =
            serde_json::from_slice(&header).map_err(|error| wrong(&format!("invalid header: {error}")))?;
        let tensors = places(header.tensors, data, length).map_err(|message| wrong(&message))?;
        Ok(Self { path: path.to_owned(), file, notes: header.notes, tensors })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A note by its name.
    pub(super) fn note(&self, name: &str) -> Result<&str> {
        let missing = || Error::new(format!("{}: {name} is missing from its header", self.path.display()), HINT);
        self.notes.get(name).map(String::as_str).ok_or_else(missing)
    }

    /// The bytes of all tensors together.
    pub(super) fn bytes_in_all(&self) -> u64 {
        self.tensors.values().map(|stored| stored.bytes.end - stored.bytes.start).sum()
    }

    /// All tensors with their names.
    pub(super) fn tensors(&self) -> impl Iterator<Item = (&str, &Stored)> {
        self.tensors.iter().map(|(name, stored)| (name.as_str(), stored))
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&Stored> {
        self.tensors.get(name)
    }

    /// The bytes of a tensor. They are in the file, so there is as much memory as that.
    pub(super) fn bytes(&self, stored: &Stored) -> Result<Vec<u8>> {
        let io = |error: io::Error| Error::new(format!("{}: {error}", self.path.display()), HINT);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(stored.bytes.start)).map_err(io)?;
        let mut bytes = vec![0; (stored.bytes.end - stored.bytes.start) as usize];
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    }

    /// Reads a tensor into its place.
    pub(super) fn read(&self, name: &str, values: &mut [f32]) -> Result<()> {
        let wrong = |message: String| Error::new(format!("{}: tensor {name}: {message}", self.path.display()), HINT);
        let stored = self.tensor(name).ok_or_else(|| wrong("missing".to_owned()))?;
        let bytes = stored.bytes.end - stored.bytes.start;
        if bytes != 4 * values.len() as u64 {
            return Err(wrong(format!("{bytes} bytes; the model needs {}", 4 * values.len())));
        }
        let mut file = &self.file;
        file.seek(SeekFrom::Start(stored.bytes.start)).map_err(|error| wrong(error.to_string()))?;
        let mut piece = vec![0; PIECE.min(4 * values.len())];
        for values in values.chunks_mut(PIECE / 4) {
            let bytes = &mut piece[..4 * values.len()];
            file.read_exact(bytes).map_err(|error| wrong(error.to_string()))?;
            let (quads, _) = bytes.as_chunks();
            values.iter_mut().zip(quads).for_each(|(value, bytes)| *value = f32::from_le_bytes(*bytes));
        }
        Ok(())
    }
}

enum ReadError {
    Io(io::Error),
    Wrong(String),
}

/// Whether the last bytes are the hash of all before them.
fn check_hash(file: &mut fs::File, length: u64) -> Result<(), ReadError> {
    let Some(mut left) = length.checked_sub(CHECKSUM_BYTES as u64).filter(|left| *left >= 8) else {
        return Err(ReadError::Wrong(format!("truncated: {length} bytes are too few for a checkpoint")));
    };
    let mut hash = blake3::Hasher::new();
    let mut piece = vec![0; PIECE];
    while left > 0 {
        let bytes = &mut piece[..PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
        file.read_exact(bytes).map_err(ReadError::Io)?;
        hash.update(bytes);
        left -= bytes.len() as u64;
    }
    let mut written = [0; CHECKSUM_BYTES];
    file.read_exact(&mut written).map_err(ReadError::Io)?;
    if hash.finalize() == written {
        return Ok(());
    }
    Err(ReadError::Wrong("checksum mismatch: truncated or damaged".to_owned()))
}

/// The header, where the file has that many bytes.
fn read_header(file: &mut fs::File, length: u64) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    let header = u64::from_le_bytes(bytes);
    if header > MAX_HEADER.min(length - 8) {
        return Ok(None);
    }
    let mut bytes = vec![0; header as usize];
    file.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// Where each tensor lies: one behind the other, as many bytes as its lengths ask for, up to the end of the file.
fn places(tensors: BTreeMap<String, Entry>, data: u64, length: u64) -> Result<BTreeMap<String, Stored>, String> {
    let mut ordered: Vec<(String, Entry)> = tensors.into_iter().collect();
    ordered.sort_by_key(|(_, entry)| entry.data_offsets);
    let mut places = BTreeMap::new();
    let mut end = 0;
    for (name, Entry { dtype, shape, data_offsets: [from, to] }) in ordered {
        let width = if dtype == "F32" { 4 } else { 1 };
        let known = dtype == "F32" || (dtype == "U8" && name == CHECKSUM);
        let bytes = shape.iter().try_fold(width, |bytes: u64, length| bytes.checked_mul(*length));
        let fits = known && from == end && bytes == to.checked_sub(from) && data.checked_add(to) <= Some(length);
        if !fits {
            return Err(format!("tensor {}: invalid position in the file", name.escape_debug()));
        }
        end = to;
        if dtype == "F32" {
            let shape = shape.iter().map(|length| *length as usize).collect();
            places.insert(name, Stored { shape, bytes: data + from..data + to });
        }
    }
    if data + end != length {
        return Err(format!("{} bytes belong to no tensor", length - data - end));
    }
    Ok(places)
}
