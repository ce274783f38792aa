//! Just enough of the protobuf wire format to write messages: a field is its number and kind, then a number or bytes.

/// A message while it is written.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// A number of a field: `uint32`, `uint64`, `bool` or an enum.
    pub(super) fn number(mut self, field: u32, value: u64) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    /// A text or bytes.
    pub(super) fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// A message in this one.
    pub(super) fn message(self, field: u32, value: Message) -> Self {
        self.bytes(field, value.0)
    }

    /// Fields that were written before.
    pub(super) fn raw(mut self, fields: &[u8]) -> Self {
        self.0.extend_from_slice(fields);
        self
    }

    /// What is written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits at a time, the lowest first; the eighth says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_are_on_the_wire_as_specified() {
        assert_eq!(Message::default().number(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().bytes(2, "testing").into_bytes(), b"\x12\x07testing");
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().number(16, u64::MAX).into_bytes().len(), 2 + 10);
        assert_eq!(Message::default().number(1, 0).into_bytes(), [0x08, 0x00]);
    }
}
