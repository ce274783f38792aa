//! Files byte by byte, as the writer would never write them.

/// What each type of value is called by number.
pub const U32: u32 = 4;
pub const TEXT: u32 = 8;
pub const ARRAY: u32 = 9;

/// The bytes of a file, part by part.
#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// The beginning of a file of version 3.
    pub fn header(tensors: u64, keys: u64) -> Self {
        Self(b"GGUF".to_vec()).u32(3).u64(tensors).u64(keys)
    }

    pub fn u32(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub fn u64(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    pub fn text(self, text: impl AsRef<[u8]>) -> Self {
        let mut bytes = self.u64(text.as_ref().len() as u64);
        bytes.0.extend(text.as_ref());
        bytes
    }

    /// A key whose value is a whole number.
    pub fn number(self, key: &str, number: u32) -> Self {
        self.text(key).u32(U32).u32(number)
    }

    /// What is told of a tensor.
    pub fn tensor(self, name: &str, shape: &[u64], format: u32, offset: u64) -> Self {
        let mut bytes = self.text(name).u32(shape.len() as u32);
        for length in shape {
            bytes = bytes.u64(*length);
        }
        bytes.u32(format).u64(offset)
    }

    /// Zeros up to the next multiple of 32, then so many bytes of data.
    pub fn data(mut self, length: usize) -> Self {
        let start = self.0.len().next_multiple_of(32);
        self.0.resize(start, 0);
        self.0.extend((0..length).map(|i| (i % 128) as u8));
        self
    }
}
