//! Writing files, version 3.

use std::collections::BTreeSet;
use std::path::Path;

use super::{ALIGNMENT_KEY, MAGIC, MAX_KEY, VERSION, alignment, kind};
use crate::error::Escaped;
use crate::{Array, AtomicFile, Error, Metadata, Result, TensorInfo, Value};

/// Longer names llama.cpp does not take.
const MAX_NAME: usize = 63;

/// Writes a file, one tensor after another. The target is there when all is written and
/// [`Writer::finish`] was called, not before; a writer that is dropped earlier leaves nothing.
///
/// Whole numbers are written with 32 bits where these hold them, else with 64; others as f32 where
/// that keeps their value.
#[derive(Debug)]
pub struct Writer {
    file: AtomicFile,
    tensors: Vec<(TensorInfo, usize)>,
    alignment: usize,
    /// Which tensor is being written.
    current: usize,
    /// How many of its bytes are.
    written: usize,
    /// How many bytes the file has so far.
    length: u64,
}

impl Writer {
    /// Begins a file with these metadata and, in this order, these tensors. Where the target is there already, it is
    /// refused unless `overwrite` says otherwise.
    pub fn create(target: &Path, overwrite: bool, metadata: &Metadata, tensors: Vec<TensorInfo>) -> Result<Self> {
        let named = |error: Error| error.in_file(target);
        let alignment = alignment(metadata).map_err(named)?;
        let tensors = declare(tensors).map_err(named)?;
        let header = header(metadata, &tensors, alignment).map_err(named)?;
        let mut file = AtomicFile::create(target, overwrite)?;
        file.write(&header)?;
        Ok(Self { file, tensors, alignment, current: 0, written: 0, length: header.len() as u64 })
    }

    /// Appends bytes to the tensor that is not yet whole: all of it at once, or in pieces.
    ///
    /// The error says so where these are more bytes than it has.
    pub fn write(&mut self, piece: &[u8]) -> Result<()> {
        let Some((info, bytes)) = self.tensors.get(self.current) else {
            return Err(Error::refused(format!("{} bytes after the last tensor", piece.len())));
        };
        if piece.len() > bytes - self.written {
            let message = format!("{} bytes are more than its {bytes}", self.written + piece.len());
            return Err(Error::refused(message).about(info.shown()));
        }
        self.file.write(piece)?;
        self.written += piece.len();
        self.length += piece.len() as u64;
        if self.written == *bytes {
            let padding = bytes.next_multiple_of(self.alignment) - bytes;
            self.file.write(&vec![0; padding])?;
            self.length += padding as u64;
            self.current += 1;
            self.written = 0;
        }
        Ok(())
    }

    /// Ends the file, and gives it its name. Returns how many bytes it has.
    pub fn finish(self) -> Result<u64> {
        if let Some((info, bytes)) = self.tensors.get(self.current) {
            let message = format!("{} of its {bytes} bytes were not written", bytes - self.written);
            return Err(Error::refused(message).about(info.shown()));
        }
        self.file.finish()?;
        Ok(self.length)
    }
}

/// Each tensor with its size, where there can be one.
fn declare(tensors: Vec<TensorInfo>) -> Result<Vec<(TensorInfo, usize)>> {
    let mut names = BTreeSet::new();
    for info in &tensors {
        let refused = |message: String| Err(Error::refused(message).about(info.shown()));
        if info.name.is_empty() || info.name.len() > MAX_NAME {
            return refused(format!("its name has {} bytes; the limit is 1 to {MAX_NAME}", info.name.len()));
        }
        if !names.insert(info.name.as_str()) {
            return refused("duplicate name".to_owned());
        }
    }
    let sized = |info: TensorInfo| {
        let bytes = info.bytes().map_err(|error| error.about(info.shown()))?;
        Ok((info, bytes))
    };
    tensors.into_iter().map(sized).collect()
}

/// All that stands before the data, and the bytes that align them.
fn header(metadata: &Metadata, tensors: &[(TensorInfo, usize)], alignment: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((metadata.iter().count() as u64).to_le_bytes());
    for (key, value) in metadata.iter() {
        let long = key.is_empty() || key.len() > MAX_KEY;
        if long || (key == ALIGNMENT_KEY && !matches!(value, Value::Unsigned(_))) {
            return Err(Error::refused(format!("key {}: cannot be written", Escaped(key))));
        }
        put_text(&mut out, key);
        put_value(&mut out, value);
    }
    let mut offset = 0u64;
    for (info, bytes) in tensors {
        put_text(&mut out, &info.name);
        out.extend((info.shape.len() as u32).to_le_bytes());
        for length in &info.shape {
            out.extend((*length as u64).to_le_bytes());
        }
        out.extend(info.format.id().to_le_bytes());
        out.extend(offset.to_le_bytes());
        let after = bytes.checked_next_multiple_of(alignment).and_then(|bytes| offset.checked_add(bytes as u64));
        offset = after.ok_or_else(|| Error::refused("all tensors together exceed any file"))?;
    }
    out.resize(out.len().next_multiple_of(alignment), 0);
    Ok(out)
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Float(number) if f64::from(*number as f32) != *number && !number.is_nan() => {
            out.extend(kind::F64.to_le_bytes());
            out.extend(number.to_le_bytes());
        }
        Value::Unsigned(number) => put_one(out, &Array::Unsigned(vec![*number])),
        Value::Signed(number) => put_one(out, &Array::Signed(vec![*number])),
        Value::Float(number) => put_one(out, &Array::Float(vec![*number as f32])),
        Value::Bool(yes) => put_one(out, &Array::Bool(vec![*yes])),
        Value::Text(text) => {
            out.extend(kind::TEXT.to_le_bytes());
            put_text(out, text);
        }
        Value::Array(array) => {
            out.extend(kind::ARRAY.to_le_bytes());
            out.extend(kind_of(array).to_le_bytes());
            out.extend((array.len() as u64).to_le_bytes());
            put_elements(out, array);
        }
    }
}

/// A single value: its type, and what would stand in an array.
fn put_one(out: &mut Vec<u8>, array: &Array) {
    out.extend(kind_of(array).to_le_bytes());
    put_elements(out, array);
}

/// The narrowest type of 32 bits or more that holds all elements.
fn kind_of(array: &Array) -> u32 {
    match array {
        Array::Unsigned(numbers) if numbers.iter().all(|number| u32::try_from(*number).is_ok()) => kind::U32,
        Array::Unsigned(_) => kind::U64,
        Array::Signed(numbers) if numbers.iter().all(|number| i32::try_from(*number).is_ok()) => kind::I32,
        Array::Signed(_) => kind::I64,
        Array::Float(_) => kind::F32,
        Array::Bool(_) => kind::BOOL,
        Array::Text(_) => kind::TEXT,
    }
}

fn put_elements(out: &mut Vec<u8>, array: &Array) {
    match array {
        Array::Unsigned(numbers) if kind_of(array) == kind::U32 => {
            out.extend(numbers.iter().flat_map(|number| (*number as u32).to_le_bytes()));
        }
        Array::Unsigned(numbers) => out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        Array::Signed(numbers) if kind_of(array) == kind::I32 => {
            out.extend(numbers.iter().flat_map(|number| (*number as i32).to_le_bytes()));
        }
        Array::Signed(numbers) => out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        Array::Float(numbers) => out.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
        Array::Bool(all) => out.extend(all.iter().map(|yes| u8::from(*yes))),
        Array::Text(texts) => texts.iter().for_each(|text| put_text(out, text)),
    }
}
