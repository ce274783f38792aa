//! Reading what stands before the data.

use std::ops::Range;

use kernels::quant::Format;

use super::{ALIGNMENT_KEY, MAGIC, MAX_KEY, VERSION, alignment, kind};
use crate::catalogue::apart;
use crate::error::Escaped;
use crate::{Array, Error, Metadata, Result, TensorInfo, Value};

/// All that stands before the data.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) metadata: Metadata,
    /// What each tensor is, and where its bytes are in the file.
    pub(super) tensors: Vec<(TensorInfo, Range<usize>)>,
}

/// The fewest bytes of a key with its value: lengths of key and value, type, one byte each.
const LEAST_KEY: u64 = 8 + 1 + 4 + 1;
/// The fewest bytes that tell of a tensor: name, one length, type, offset.
const LEAST_TENSOR: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// Reads a file up to its data, and checks that these are all there.
pub(super) fn header(bytes: &[u8]) -> Result<Header> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(MAGIC.len() as u64)? != MAGIC {
        return Err(Error::malformed("not a GGUF file: it does not start with `GGUF`"));
    }
    version(reader.u32()?)?;
    let tensors = reader.count("tensors", LEAST_TENSOR)?;
    let keys = reader.count("keys", LEAST_KEY)?;
    let metadata = metadata(&mut reader, keys)?;
    let alignment = alignment(&metadata)?;
    let mut found = Vec::with_capacity(tensors);
    for number in 0..tensors {
        found.push(tensor(&mut reader, number, alignment)?);
    }
    // Without tensors there need not be any data, nor the bytes that align them.
    let data = reader.at.checked_next_multiple_of(alignment).unwrap_or(usize::MAX);
    let tensors = place(found, data, bytes.len())?;
    Ok(Header { metadata, tensors })
}

fn version(version: u32) -> Result<()> {
    match version {
        2 | VERSION => Ok(()),
        1 => Err(Error::unsupported("GGUF version 1 is not supported; convert the model again, to version 3")),
        _ if version.swap_bytes() <= 0xffff => Err(Error::unsupported(format!(
            "this GGUF file (version {}) is big-endian, and only little-endian ones are read; the tool `gguf-convert-endian` \
             of the Python package `gguf` converts it",
            version.swap_bytes()
        ))),
        _ => Err(Error::unsupported(format!("GGUF version {version} is not supported; supported are 2 and {VERSION}"))),
    }
}

fn metadata(reader: &mut Reader<'_>, keys: usize) -> Result<Metadata> {
    let mut metadata = Metadata::default();
    for number in 0..keys {
        let at = reader.at;
        let unnamed = |error: Error| error.about(format!("key {number} of {keys}"));
        let key = reader.text().map_err(unnamed)?;
        if key.is_empty() || key.len() > MAX_KEY {
            let error = format!("at byte {at}: its name has {} bytes; the limit is 1 to {MAX_KEY}", key.len());
            return Err(unnamed(Error::malformed(error)));
        }
        let named = |error: Error| error.about(format!("key {}", Escaped(key)));
        let value = value(reader).map_err(named)?;
        if key == ALIGNMENT_KEY && !matches!(value, Value::Unsigned(_)) {
            return Err(named(Error::malformed(format!("at byte {at}: expected a whole number"))));
        }
        if metadata.set(key, value).is_some() {
            return Err(named(Error::malformed(format!("at byte {at}: duplicate key"))));
        }
    }
    Ok(metadata)
}

fn value(reader: &mut Reader<'_>) -> Result<Value> {
    match reader.u32()? {
        kind::ARRAY => {
            let element = reader.u32()?;
            if element == kind::ARRAY {
                let message = format!("at byte {}: arrays of arrays are not supported", reader.at);
                return Err(Error::unsupported(message));
            }
            let length = reader.u64()?;
            reader.array(element, length).map(Value::Array)
        }
        // The only one that would lose bits in an array.
        kind::F64 => Ok(Value::Float(f64::from_le_bytes(reader.bytes()?))),
        element => {
            let one = match reader.array(element, 1)? {
                Array::Unsigned(one) => one.first().copied().map(Value::Unsigned),
                Array::Signed(one) => one.first().copied().map(Value::Signed),
                Array::Float(one) => one.first().copied().map(|one| Value::Float(one.into())),
                Array::Bool(one) => one.first().copied().map(Value::Bool),
                Array::Text(one) => one.into_iter().next().map(Value::Text),
            };
            one.ok_or_else(|| reader.cut_off(1))
        }
    }
}

/// A tensor with its offset in the data.
fn tensor(reader: &mut Reader<'_>, number: usize, alignment: usize) -> Result<(TensorInfo, u64)> {
    let at = reader.at;
    let name = reader.text().map_err(|error| error.about(format!("tensor {number}")))?;
    let named = |error: Error| error.about(format!("tensor {} (described at byte {at})", Escaped(name)));
    if name.is_empty() || name.len() > MAX_KEY {
        return Err(named(Error::malformed(format!("its name has {} bytes; the limit is 1 to {MAX_KEY}", name.len()))));
    }
    let (format, shape, offset) = format_and_place(reader).map_err(named)?;
    if !offset.is_multiple_of(alignment as u64) {
        let message = format!("its offset {offset} is not a multiple of the alignment {alignment}");
        return Err(named(Error::malformed(message)));
    }
    Ok((TensorInfo { name: name.to_owned(), format, shape }, offset))
}

fn format_and_place(reader: &mut Reader<'_>) -> Result<(Format, Vec<usize>, u64)> {
    let dimensions = reader.u32()?;
    if dimensions == 0 || dimensions as usize > TensorInfo::MAX_DIMENSIONS {
        let most = TensorInfo::MAX_DIMENSIONS;
        return Err(Error::malformed(format!("{dimensions} dimensions; 1 to {most} are supported")));
    }
    let mut shape = Vec::with_capacity(dimensions as usize);
    for _ in 0..dimensions {
        let length = reader.u64()?;
        let fits = usize::try_from(length).ok();
        shape.push(fits.ok_or_else(|| Error::malformed(format!("a length of {length} exceeds any memory")))?);
    }
    let id = reader.u32()?;
    let format = Format::from_id(id).ok_or_else(|| unknown_format(id))?;
    Ok((format, shape, reader.u64()?))
}

/// Gives each tensor its bytes of the file.
fn place(found: Vec<(TensorInfo, u64)>, data: usize, length: usize) -> Result<Vec<(TensorInfo, Range<usize>)>> {
    let mut placed = Vec::with_capacity(found.len());
    for (info, offset) in found {
        let named = |error: Error| error.about(info.shown());
        let bytes = info.bytes().map_err(named)?;
        let start = usize::try_from(offset).ok().and_then(|offset| data.checked_add(offset));
        let range = start.and_then(|start| Some(start..start.checked_add(bytes)?)).filter(|range| range.end <= length);
        let range = range.ok_or_else(|| {
            let place = format!("its {bytes} bytes begin at byte {data} + {offset}");
            named(Error::malformed(format!("{place}, but the file ends after {length}; it is truncated or damaged")))
        })?;
        placed.push((info, range));
    }
    apart(&placed)?;
    Ok(placed)
}

fn unknown_format(id: u32) -> Error {
    let known = || Format::ALL.iter().map(|format| format.gguf_name()).collect::<Vec<_>>().join(", ");
    match NAMES.iter().find(|(named, _)| *named == id) {
        Some((_, name)) => Error::unsupported(format!("its type {name} is not supported; supported are {}", known())),
        None => Error::malformed(format!("its type number {id} is unknown; supported are {}", known())),
    }
}

/// Types that exist in GGUF and that we do not compute with.
const NAMES: &[(u32, &str)] = &[
    (4, "Q4_2"),
    (5, "Q4_3"),
    (9, "Q8_1"),
    (10, "Q2_K"),
    (11, "Q3_K"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (20, "IQ4_NL"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (23, "IQ4_XS"),
    (24, "I8"),
    (25, "I16"),
    (26, "I32"),
    (27, "I64"),
    (28, "F64"),
    (29, "IQ1_M"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
    (39, "MXFP4"),
    (40, "NVFP4"),
    (41, "Q1_0"),
    (42, "Q2_0"),
];

/// Goes through bytes of which nothing is known.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let taken = usize::try_from(length).ok().and_then(|length| self.bytes[self.at..].get(..length));
        let taken = taken.ok_or_else(|| self.cut_off(length))?;
        self.at += taken.len();
        Ok(taken)
    }

    fn cut_off(&self, length: u64) -> Error {
        let (at, left) = (self.at, self.left());
        Error::malformed(format!(
            "at byte {at}: expected {length} more bytes, found {left}; the file is truncated or damaged"
        ))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N as u64)?;
        taken.try_into().map_err(|_| self.cut_off(N as u64))
    }

    fn u32(&mut self) -> Result<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// How many of something follow, where each takes at least so many bytes of the file.
    fn count(&mut self, what: &str, least: u64) -> Result<usize> {
        let (at, count) = (self.at, self.u64()?);
        let fits = count.checked_mul(least).is_some_and(|bytes| bytes <= self.left() as u64);
        fits.then_some(count as usize).ok_or_else(|| {
            let left = self.left();
            Error::malformed(format!("at byte {at}: {count} {what} do not fit in the remaining {left} bytes"))
        })
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.u64()?;
        let at = self.at;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let at = at + error.valid_up_to();
            Error::malformed(format!("at byte {at}: text that is not UTF-8"))
        })
    }

    /// Many values of one type. Allocates at most eight times the bytes that are there.
    fn array(&mut self, element: u32, length: u64) -> Result<Array> {
        Ok(match element {
            kind::U8 => Array::Unsigned(self.numbers(length, |[byte]| u64::from(byte))?),
            kind::U16 => Array::Unsigned(self.numbers(length, |bytes| u16::from_le_bytes(bytes).into())?),
            kind::U32 => Array::Unsigned(self.numbers(length, |bytes| u32::from_le_bytes(bytes).into())?),
            kind::U64 => Array::Unsigned(self.numbers(length, u64::from_le_bytes)?),
            kind::I8 => Array::Signed(self.numbers(length, |bytes| i8::from_le_bytes(bytes).into())?),
            kind::I16 => Array::Signed(self.numbers(length, |bytes| i16::from_le_bytes(bytes).into())?),
            kind::I32 => Array::Signed(self.numbers(length, |bytes| i32::from_le_bytes(bytes).into())?),
            kind::I64 => Array::Signed(self.numbers(length, i64::from_le_bytes)?),
            kind::F32 => Array::Float(self.numbers(length, f32::from_le_bytes)?),
            kind::F64 => Array::Float(self.numbers(length, |bytes| f64::from_le_bytes(bytes) as f32)?),
            kind::BOOL => Array::Bool(self.numbers(length, |[byte]: [u8; 1]| byte != 0)?),
            kind::TEXT => Array::Text(self.texts(length)?),
            _ => {
                let at = self.at;
                return Err(Error::malformed(format!("at byte {at}: unknown type number {element}")));
            }
        })
    }

    fn numbers<const N: usize, T>(&mut self, count: u64, read: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let bytes = self.take(count.saturating_mul(N as u64))?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|number| read(*number)).collect())
    }

    fn texts(&mut self, count: u64) -> Result<Vec<String>> {
        if count.checked_mul(8).is_none_or(|least| least > self.left() as u64) {
            let (at, left) = (self.at, self.left());
            return Err(Error::malformed(format!(
                "at byte {at}: {count} texts do not fit in the remaining {left} bytes"
            )));
        }
        let mut texts = Vec::with_capacity(count as usize);
        for number in 0..count {
            let text = self.text().map_err(|error| error.about(format!("text {number}")))?;
            texts.push(text.to_owned());
        }
        Ok(texts)
    }
}
