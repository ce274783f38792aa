//! A tokenizer for models without a vocabulary: bytes, or characters folded into few tokens.

use super::vocabulary::{Kind, Vocabulary};

/// Writes each token's bytes: for less than 256 tokens a character that is folded into it, else the byte itself.
pub(super) fn vocabulary(count: usize) -> Vocabulary {
    let mut vocabulary = Vocabulary::with_capacity(0);
    for id in 0..count {
        if count >= 256 && id < 256 {
            push_byte(&mut vocabulary, id as u8);
        } else {
            vocabulary.push(&[if count < 256 { unfold(id, count) } else { graphic(id) }], Kind::Normal);
        }
    }
    vocabulary
}

/// Adds the tokens of a text.
pub(super) fn encode(count: usize, text: &str, ids: &mut Vec<u32>) {
    if count >= 256 {
        ids.extend(text.bytes().map(u32::from));
    } else {
        ids.extend(text.chars().map(|character| u32::from(character) % count as u32));
    }
}

/// A byte as it is; control characters as their pictures, because random models write them to terminals.
fn push_byte(vocabulary: &mut Vocabulary, byte: u8) {
    let picture = match byte {
        b'\n' | b'\t' => None,
        0x00..0x20 => char::from_u32(0x2400 + u32::from(byte)),
        0x7F => Some('\u{2421}'),
        _ => None,
    };
    match picture {
        Some(picture) => vocabulary.push(picture.encode_utf8(&mut [0; 4]).as_bytes(), Kind::Normal),
        None => vocabulary.push(&[byte], Kind::Normal),
    }
}

/// A character that is folded into `id`, letters first; any that can be seen where there is none.
fn unfold(id: usize, count: usize) -> u8 {
    let fits = |byte: &u8| usize::from(*byte) % count == id;
    (b'a'..=b'z').chain(b" \n".iter().copied()).chain(b'!'..=b'~').find(fits).unwrap_or_else(|| graphic(id))
}

/// Some ASCII character that can be seen.
fn graphic(id: usize) -> u8 {
    b'!' + (id % 94) as u8
}
