//! Generating: several sequences share each pass over the weights, and join and leave between passes.

use arrayvec::ArrayVec;

use crate::{Compute, Error, Model, Result, Sampler, Sampling, Segment, State, StateOptions, steps};

/// As many sequences as a batch can have.
pub const MOST_SEQUENCES: usize = 256;

/// What happens beyond the ordinary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchSettings {
    /// Whether keys and values are kept. Without, every token computes all tokens before it again,
    /// to see what keeping is worth.
    pub keep: bool,
    /// Whether a sequence that has filled its context goes on with the later half of it, computed
    /// anew; without, it ends.
    pub shift: bool,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self { keep: true, shift: false }
    }
}

/// What a sequence begins with, and how it goes on.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// At least one token.
    pub prompt: &'a [u32],
    /// How tokens are chosen.
    pub sampling: &'a Sampling,
    /// After how many new tokens it ends.
    pub limit: usize,
}

/// A token that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// The sequence, as [`Batch::join`] named it.
    pub sequence: usize,
    /// The token.
    pub token: u32,
    /// Why there will be no other, unless there will.
    pub end: Option<End>,
}

/// Why a sequence ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has as many tokens as were asked for.
    Limit,
    /// Its context is full.
    Context,
}

/// Sequences that are computed together. It owns its state and borrows the model.
#[derive(Debug)]
pub struct Batch<'a> {
    model: &'a Model,
    compute: &'a Compute,
    settings: BatchSettings,
    state: State,
    slots: Vec<Option<Slot>>,
    chosen: ArrayVec<Chosen, MOST_SEQUENCES>,
}

/// A sequence that is going on.
#[derive(Debug)]
struct Slot {
    /// The prompt and all that was chosen; there is room for all that will be.
    tokens: Vec<u32>,
    /// What of them is in the context: all from here on.
    first: usize,
    /// How many of those are computed.
    computed: usize,
    /// At how many tokens it ends.
    limit: usize,
    sampler: Sampler,
    ended: bool,
}

impl Slot {
    fn pending(&self) -> &[u32] {
        if self.ended { &[] } else { &self.tokens[self.first + self.computed..] }
    }
}

impl<'a> Batch<'a> {
    /// Room for `options.sequences` sequences.
    pub fn new(
        model: &'a Model,
        compute: &'a Compute,
        options: &StateOptions,
        settings: BatchSettings,
    ) -> Result<Self> {
        if options.sequences > MOST_SEQUENCES {
            let asked = options.sequences;
            return Err(Error::refused(format!("{asked} concurrent sequences; the limit is {MOST_SEQUENCES}")));
        }
        let options = StateOptions {
            logits: options.logits.max(options.sequences),
            block: options.block.max(options.sequences),
            ..*options
        };
        let state = State::new(model, compute, &options)?;
        let slots = (0..options.sequences).map(|_| None).collect();
        Ok(Self { model, compute, settings, state, slots, chosen: ArrayVec::new() })
    }

    /// A sequence more, from the next pass on; its number. Nothing where all places are taken.
    pub fn join(&mut self, request: &Request<'_>) -> Result<Option<usize>> {
        let Request { prompt, sampling, limit } = *request;
        let context = self.state.context();
        if prompt.is_empty() {
            return Err(Error::refused("the prompt is empty"));
        }
        if prompt.len() > context {
            let len = prompt.len();
            return Err(Error::refused(format!(
                "the prompt has {len} tokens, the context {context}: shorten the prompt or choose a longer context"
            )));
        }
        let vocab = self.model.config.vocab;
        if let Some(token) = prompt.iter().find(|token| **token as usize >= vocab) {
            return Err(Error::refused(format!("token {token} of a vocabulary of {vocab}")));
        }
        sampling.check()?;
        let Some(sequence) = self.slots.iter().position(Option::is_none) else { return Ok(None) };
        let mut tokens = Vec::with_capacity(prompt.len().saturating_add(limit.min(MOST_RESERVED)));
        tokens.extend_from_slice(prompt);
        let mut sampler = Sampler::new(sampling, vocab);
        prompt.iter().for_each(|token| sampler.accept(*token));
        let limit = prompt.len().saturating_add(limit);
        self.state.truncate(sequence, 0);
        self.slots[sequence] =
            Some(Slot { ended: tokens.len() == limit, tokens, first: 0, computed: 0, limit, sampler });
        Ok(Some(sequence))
    }

    /// Takes a sequence out; its place is free then. All its tokens, the prompt's among them.
    pub fn leave(&mut self, sequence: usize) -> Option<Vec<u32>> {
        self.slots.get_mut(sequence)?.take().map(|slot| slot.tokens)
    }

    /// Whether any sequence has something to compute.
    pub fn is_busy(&self) -> bool {
        self.slots.iter().flatten().any(|slot| !slot.ended)
    }

    /// What the sequences write.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// One pass over the weights: a token of every sequence that goes on, and as much of the
    /// prompts that wait as there is room for. The tokens that were chosen, at most one for each
    /// sequence.
    ///
    /// Allocates nothing once all prompts are in, and nothing within a prompt.
    pub fn step(&mut self) -> Result<&[Chosen]> {
        self.chosen.clear();
        let mut segments = ArrayVec::<Segment<'_>, MOST_SEQUENCES>::new();
        let mut room = self.state.block();
        // Those that wait for one token go first: they are many and short.
        for single in [true, false] {
            for (sequence, slot) in self.slots.iter().enumerate() {
                let pending = slot.as_ref().map_or(&[][..], Slot::pending);
                let tokens = &pending[..pending.len().min(room)];
                if (pending.len() == 1) == single && !tokens.is_empty() {
                    let logits = usize::from(tokens.len() == pending.len());
                    segments.push(Segment { sequence, tokens, logits });
                    room -= tokens.len();
                }
            }
        }
        if segments.is_empty() {
            return Ok(&[]);
        }
        self.model.forward(self.compute, &mut self.state, &segments)?;
        let done: ArrayVec<_, MOST_SEQUENCES> =
            segments.iter().map(|segment| (segment.sequence, segment.tokens.len(), segment.logits)).collect();
        drop(segments);
        let mut row = 0;
        for (sequence, computed, logits) in done {
            let slot = self.slots[sequence].as_mut().expect("a sequence that was computed");
            slot.computed += computed;
            if logits > 0 {
                let end = choose(slot, &mut self.state, row, sequence, self.settings);
                let token = slot.tokens[slot.tokens.len() - 1];
                self.chosen.push(Chosen { sequence, token, end });
                row += 1;
            }
        }
        Ok(&self.chosen)
    }
}

/// A limit that nobody reaches must not reserve memory for it.
const MOST_RESERVED: usize = 1 << 20;

/// Chooses a token from the logits and makes the sequence ready for the next pass.
fn choose(slot: &mut Slot, state: &mut State, row: usize, sequence: usize, settings: BatchSettings) -> Option<End> {
    hotloop::scope!(steps::SAMPLING, tokens = 1);
    let token = slot.sampler.sample(state.logits(row));
    slot.sampler.accept(token);
    slot.tokens.push(token);
    let context = state.context();
    let in_context = slot.tokens.len() - slot.first;
    let end = if slot.tokens.len() >= slot.limit {
        Some(End::Limit)
    } else if in_context > context && !settings.shift {
        Some(End::Context)
    } else {
        None
    };
    slot.ended = end.is_some();
    if in_context > context {
        slot.first = slot.tokens.len() - context.div_ceil(2);
    }
    if in_context > context || !settings.keep {
        slot.computed = 0;
        state.truncate(sequence, 0);
    }
    end
}
