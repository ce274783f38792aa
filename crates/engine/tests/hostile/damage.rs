//! Ways to damage a file.

/// One way to damage a file.
#[derive(Debug, Clone, Copy)]
pub enum Damage {
    /// Cut off after so many bytes.
    Cut(usize),
    /// This bit is another.
    Bit(usize, u8),
    /// A number of so many bytes stands at this place.
    Number(usize, usize, u64),
    /// Several things at once, by this seed.
    Random(u64),
}

/// Numbers that lead to overflows, to huge sizes or to nothing.
const NUMBERS: [u64; 12] = [
    0,
    1,
    4,
    9,
    0x7f,
    0xff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

impl Damage {
    /// Every cut, every bit and every number at every place of a file of this length; in large files at some.
    pub fn every(length: usize) -> impl Iterator<Item = Self> {
        let step = 1 + length / 4096;
        let places = move || (0..length).step_by(step);
        let bits = places().flat_map(|at| (0..8).map(move |bit| Self::Bit(at, bit)));
        let numbers = places().flat_map(|at| {
            NUMBERS.into_iter().flat_map(move |number| [4, 8].map(|width| Self::Number(at, width, number)))
        });
        places().map(Self::Cut).chain(bits).chain(numbers)
    }

    /// The damaged file.
    pub fn to(self, sound: &[u8]) -> Vec<u8> {
        let mut bytes = sound.to_vec();
        match self {
            Self::Cut(length) => bytes.truncate(length),
            Self::Bit(at, bit) => bytes[at] ^= 1 << bit,
            Self::Number(at, width, number) => put(&mut bytes, at, width, number),
            Self::Random(seed) => {
                let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
                for _ in 0..=random.below(4) {
                    random.damage(&mut bytes);
                }
            }
        }
        bytes
    }
}

fn put(bytes: &mut [u8], at: usize, width: usize, number: u64) {
    let end = bytes.len().min(at + width);
    bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
}

/// Xorshift: the same files on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let (at, from) = (self.below(bytes.len()), self.below(bytes.len()));
        let length = self.below(40).min(bytes.len() - from);
        match self.below(8) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.next() as u8,
            2 => put(bytes, at, 4, NUMBERS[self.below(NUMBERS.len())]),
            3 => put(bytes, at, 8, NUMBERS[self.below(NUMBERS.len())]),
            4 => bytes.truncate(at),
            // A piece is gone, is there twice, or stands at another place.
            5 => drop(bytes.drain(from..from + length)),
            6 => {
                let piece = bytes[from..from + length].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let piece = bytes[from..from + length].to_vec();
                let end = bytes.len().min(at + length);
                bytes[at..end].copy_from_slice(&piece[..end - at]);
            }
        }
    }
}
