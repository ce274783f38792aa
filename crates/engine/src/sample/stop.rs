//! Texts that end a generation, looked for in a stream.
//!
//! Every stop text has its automaton (Knuth, Morris and Pratt): how much of it the stream ends
//! with. So each byte costs the same, however long the texts are.

/// Looks for stop texts, and holds back what may be the beginning of one.
#[derive(Debug, Clone)]
pub struct StopSequences {
    texts: Vec<Automaton>,
    /// What was shown by the last call, and behind it what is held back.
    buffer: String,
    shown: usize,
    ended: bool,
}

/// What may be shown after a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibleText<'s> {
    /// The text that is no part of a stop text.
    pub text: &'s str,
    /// A stop text was found: nothing comes any more.
    pub ended: bool,
}

#[derive(Debug, Clone)]
struct Automaton {
    text: Vec<u8>,
    /// For each length of what has matched, the next shorter beginning of the text that this ends with.
    shorter: Vec<usize>,
    matched: usize,
}

impl StopSequences {
    /// Looks for these texts. Empty ones are never found.
    pub fn new(texts: &[String]) -> Self {
        let texts: Vec<Automaton> =
            texts.iter().filter(|text| !text.is_empty()).map(|text| Automaton::new(text)).collect();
        Self { texts, buffer: String::new(), shown: 0, ended: false }
    }

    /// Goes on with the stream. The stop text that is complete first ends it; of several, the longest.
    pub fn push(&mut self, text: &str) -> VisibleText<'_> {
        self.buffer.drain(..self.shown);
        self.shown = 0;
        if self.ended {
            return VisibleText { text: "", ended: true };
        }
        let held = self.buffer.len();
        self.buffer.push_str(text);
        for (at, byte) in text.bytes().enumerate() {
            let found = self.texts.iter_mut().filter_map(|text| text.push(byte)).max();
            if let Some(length) = found {
                self.shown = held + at + 1 - length;
                self.ended = true;
                self.buffer.truncate(self.shown);
                return VisibleText { text: &self.buffer, ended: true };
            }
        }
        let matched = self.texts.iter().map(|text| text.matched).max().unwrap_or(0);
        self.shown = self.buffer.len() - matched;
        VisibleText { text: &self.buffer[..self.shown], ended: false }
    }

    /// What was held back, when the stream ends without a stop text. Then another stream can begin.
    pub fn finish(&mut self) -> &str {
        self.buffer.drain(..self.shown);
        self.shown = self.buffer.len();
        self.ended = false;
        self.texts.iter_mut().for_each(|text| text.matched = 0);
        &self.buffer
    }
}

impl Automaton {
    fn new(text: &str) -> Self {
        let text = text.as_bytes().to_vec();
        let mut shorter = vec![0; text.len()];
        let mut matched = 0;
        for at in 1..text.len() {
            while matched > 0 && text[at] != text[matched] {
                matched = shorter[matched - 1];
            }
            matched += usize::from(text[at] == text[matched]);
            shorter[at] = matched;
        }
        Self { text, shorter, matched: 0 }
    }

    /// Goes on with a byte; the length of the text if it is complete.
    fn push(&mut self, byte: u8) -> Option<usize> {
        while self.matched > 0 && self.text[self.matched] != byte {
            self.matched = self.shorter[self.matched - 1];
        }
        self.matched += usize::from(self.text[self.matched] == byte);
        (self.matched == self.text.len()).then_some(self.matched)
    }
}
