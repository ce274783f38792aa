//! Random numbers and texts: the same in every run.

/// A generator with 64 bits of state (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number less than `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u32 << 24) as f32
    }

    /// A number from −1 to 1.
    pub fn value(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    /// Some tokens of a vocabulary.
    pub fn tokens(&mut self, count: usize, vocab: usize) -> Vec<u32> {
        (0..count).map(|_| self.below(vocab) as u32).collect()
    }

    /// A text of up to `length` characters: some of all Unicode, most of those that rules treat in their own ways.
    pub fn text(&mut self, length: usize) -> String {
        const LIKELY: [&str; 9] = [
            "abcxyzABC",
            "0123456789",
            " \t\n\r\u{A0}\u{3000}\u{85}",
            "'sStTrReEvVmMlLdD'",
            "!?.,-_()$+<=>^~|`",
            "äößéжшЪ我想",
            "😶🌫\u{200D}\u{FE0F}",
            "½²Ⅷ٣ª",
            "e\u{301}ិ्",
        ];
        let mut text = String::new();
        for _ in 0..self.below(length + 1) {
            let pool: Vec<char> = LIKELY[self.below(LIKELY.len())].chars().collect();
            let any = char::from_u32(self.below(0x11_0000) as u32);
            text.push(if self.below(12) == 0 { any.unwrap_or('a') } else { pool[self.below(pool.len())] });
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut random = Random(1234567);
        let expected = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!([random.next(), random.next(), random.next()], expected);
        assert!((0..1000).all(|_| random.below(7) < 7 && (0.0..1.0).contains(&random.unit())));
        assert!((0..100).all(|_| random.text(9).chars().count() <= 9));
    }
}
