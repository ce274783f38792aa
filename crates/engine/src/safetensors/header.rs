//! The list of tensors at the beginning of a `.safetensors` file: its length, then JSON.

use std::fmt;
use std::ops::Range;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::format;
use crate::catalogue::apart;
use crate::error::Escaped;
use crate::{Error, Result, TensorInfo};

/// The most bytes of JSON; the format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// Whether these are the bytes of such a file.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk().copied().map(u64::from_le_bytes);
    length.is_some_and(|length| (2..=MAX_HEADER).contains(&length)) && bytes.get(8) == Some(&b'{')
}

/// All tensors by the names of the file, with the lengths in the order of GGUF, and where their bytes are.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(TensorInfo, Range<usize>)>> {
    let (length, rest) = bytes.split_first_chunk().ok_or_else(|| Error::malformed("shorter than 8 bytes"))?;
    let length = u64::from_le_bytes(*length);
    let json = usize::try_from(length).ok().filter(|_| length <= MAX_HEADER).and_then(|length| rest.get(..length));
    let json = json.ok_or_else(|| {
        let left = rest.len();
        Error::malformed(format!("its header should have {length} bytes (limit {MAX_HEADER}), but {left} follow"))
    })?;
    let header: Header =
        serde_json::from_slice(json).map_err(|error| Error::malformed(format!("invalid header at byte 8: {error}")))?;
    let data = 8 + json.len();
    let mut tensors = Vec::with_capacity(header.0.len());
    for (name, entry) in header.0 {
        let about = |error: Error| error.about(format!("tensor {}", Escaped(&name)));
        let (info, range) = entry.place(&name, data, bytes.len()).map_err(about)?;
        tensors.push((info, range));
    }
    apart(&tensors)?;
    Ok(tensors)
}

/// Tensors in the order of the file; a name may be there twice, which is found later.
struct Header(Vec<(String, Entry)>);

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

impl Entry {
    fn place(self, name: &str, data: usize, length: usize) -> Result<(TensorInfo, Range<usize>)> {
        let format = format(&self.dtype).ok_or_else(|| {
            let message = format!("its type {} is not supported; supported are F32, F16, BF16", Escaped(&self.dtype));
            Error::unsupported(message)
        })?;
        let lengths = self.shape.iter().rev().map(|length| usize::try_from(*length).ok());
        let shape: Option<Vec<usize>> = lengths.collect();
        let shape = shape.ok_or_else(|| Error::malformed("its size exceeds any memory"))?;
        // A single number has no lengths there.
        let shape = if shape.is_empty() { vec![1] } else { shape };
        let info = TensorInfo { name: name.to_owned(), format, shape };
        let bytes = info.bytes()?;
        let [from, to] = self.data_offsets;
        let at = |offset: u64| usize::try_from(offset).ok().and_then(|offset| data.checked_add(offset));
        let range = at(from).zip(at(to)).map(|(from, to)| from..to).filter(|range| range.start <= range.end);
        let range = range.filter(|range| range.end <= length).ok_or_else(|| {
            let place = format!("its bytes are {from} to {to} from byte {data} on");
            Error::malformed(format!("{place}, but the file ends after {length}; it is truncated or damaged"))
        })?;
        if range.len() != bytes {
            let message = format!("it has {} bytes, but shape {:?} needs {bytes}", range.len(), info.shape);
            return Err(Error::malformed(message));
        }
        Ok((info, range))
    }
}

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensors by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Header, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
            } else {
                entries.push((name, map.next_value()?));
            }
        }
        Ok(Header(entries))
    }
}
