//! The texts of a batch while they are generated.

use engine::{Chosen, End, StopSequences, Stream, Tokenizer};
use record::GeneratedText;

use super::text_output::TextOutput;
use crate::args::Generate;
use crate::commands::interrupt;

/// All texts of a batch, by sequence number.
pub struct Sequences<'a> {
    all: Vec<Sequence<'a>>,
    tokenizer: &'a Tokenizer,
    prompt: &'a [u32],
    /// Shown before each text.
    opening: &'static str,
    ignore_end: bool,
}

struct Sequence<'a> {
    stream: Stream<'a>,
    stop: StopSequences,
    tokens: Vec<u32>,
    text: String,
    /// How much of the text has been shown.
    written: usize,
    ended: Option<&'static str>,
}

impl<'a> Sequences<'a> {
    pub fn new(options: &Generate, tokenizer: &'a Tokenizer, prompt: &'a [u32], opening: &'static str) -> Self {
        let sequence = |_| Sequence {
            stream: tokenizer.stream(),
            stop: StopSequences::new(&options.sampling.stop),
            tokens: Vec::new(),
            text: String::new(),
            written: 0,
            ended: None,
        };
        let all = (0..options.machine.batch).map(sequence).collect();
        Self { all, tokenizer, prompt, opening, ignore_end: options.sampling.ignore_end }
    }

    /// Writes the beginning of a single text.
    pub fn begin(&self, out: &mut TextOutput<'_>) {
        if self.all.len() == 1 {
            out.write(self.opening);
        }
    }

    /// The tokens of all prompts.
    pub fn prompt_tokens(&self) -> usize {
        self.prompt.len() * self.all.len()
    }

    /// Whether every sequence has a token.
    pub fn all_begun(&self) -> bool {
        self.all.iter().all(|sequence| !sequence.tokens.is_empty() || sequence.ended.is_some())
    }

    /// Adds the tokens of a pass; a single text is written at once. Returns the sequences that have ended.
    pub fn take(&mut self, chosen: &[Chosen], out: &mut TextOutput<'_>) -> Vec<usize> {
        let single = self.all.len() == 1;
        let mut ended = Vec::new();
        for chosen in chosen {
            let sequence = &mut self.all[chosen.sequence];
            let ends = self.tokenizer.is_end(chosen.token) && !self.ignore_end;
            sequence.add(chosen, ends);
            if single {
                sequence.show(out);
            }
            if sequence.ended.is_some() {
                ended.push(chosen.sequence);
            }
        }
        ended
    }

    /// Writes the rest; several texts are written here, each under its number.
    pub fn finish(&mut self, out: &mut TextOutput<'_>) {
        let (single, interrupted) = (self.all.len() == 1, interrupt::is_requested());
        for (number, sequence) in self.all.iter_mut().enumerate() {
            sequence.end(if interrupted { "interrupted" } else { "limit" });
            if !single {
                out.write(&format!("--- text {} ---\n{}", number + 1, self.opening));
            }
            sequence.show(out);
            out.write("\n");
        }
    }

    /// For the record.
    pub fn into_texts(self) -> Vec<GeneratedText> {
        let text = |sequence: Sequence<'_>| GeneratedText {
            prompt_tokens: self.prompt.to_vec(),
            tokens: sequence.tokens,
            text: sequence.text,
            ended: sequence.ended.unwrap_or("limit").to_owned(),
        };
        self.all.into_iter().map(text).collect()
    }
}

impl Sequence<'_> {
    fn add(&mut self, chosen: &Chosen, ends: bool) {
        self.tokens.push(chosen.token);
        if ends {
            return self.end("end");
        }
        let shown = self.stop.push(self.stream.push(chosen.token));
        self.text.push_str(shown.text);
        if shown.ended {
            self.ended = Some("stop");
        }
        match chosen.end {
            Some(End::Limit) => self.end("limit"),
            Some(End::Context) => self.end("context"),
            None => {}
        }
    }

    /// Ends it, unless it has ended, with the text that was held back.
    fn end(&mut self, why: &'static str) {
        if self.ended.is_some() {
            return;
        }
        let last = self.stop.push(self.stream.finish());
        self.text.push_str(last.text);
        if last.ended {
            self.ended = Some("stop");
        } else {
            self.text.push_str(self.stop.finish());
            self.ended = Some(why);
        }
    }

    /// Writes what is not written yet.
    fn show(&mut self, out: &mut TextOutput<'_>) {
        out.write(&self.text[self.written..]);
        self.written = self.text.len();
    }
}
