//! The engine, as it generates several sequences.

use engine::{Batch, BatchSettings, Compute, Encode, Request, Sampling, StateOptions};
use lab::sequences::{Sequences, Stopwatch};

use super::{ModelKind, Settings, Subject};

/// What trained models go on from: with random tokens, they would be asked about what no text has.
const STORY: &str = "Once upon a time there was a little girl who had a small red boat. One day she went to the lake with her \
    father, and the boat was so happy to see the water that it began to sing. The girl laughed and said: where do you want to go? \
    The boat thought for a while, for it had never been farther than the old bridge. A duck came by and told them of an island where \
    the trees were blue and nobody was ever tired.";

/// One model with the memory of some sequences.
pub struct EngineSequences<'a> {
    batch: Batch<'a>,
    /// Of each sequence.
    prompts: Vec<Vec<u32>>,
    tokens: usize,
    /// How many are computed together.
    together: usize,
    sampling: Sampling,
}

impl<'a> EngineSequences<'a> {
    /// Ready for the first call.
    pub fn new(subject: &'a Subject, compute: &'a Compute, settings: &Settings) -> Result<Self, String> {
        let (config, sizes) = (&subject.model.config, settings.sizes());
        let positions = sizes.prompt.saturating_add(sizes.tokens);
        if positions > config.context {
            let (prompt, tokens, context) = (sizes.prompt, sizes.tokens, config.context);
            return Err(format!(
                "a prompt of {prompt} tokens and {tokens} behind it do not fit into the model's context of {context} tokens: \
                 choose fewer with tokens= or prompt="
            ));
        }
        let options = StateOptions {
            sequences: settings.batch.min(sizes.sequences),
            context: Some(positions),
            cache: settings.cache,
            pooled: settings.pooled,
            ..StateOptions::default()
        };
        let ways = BatchSettings { keep: settings.keeps, shift: false };
        let batch = Batch::new(&subject.model, compute, &options, ways).map_err(|error| error.to_string())?;
        Ok(Self {
            batch,
            prompts: prompts(subject, settings),
            tokens: sizes.tokens,
            together: options.sequences,
            sampling: Sampling::greedy(),
        })
    }

    /// Computes the sequences from `first` on, as many as there is room for.
    fn group(&mut self, first: usize, watch: &mut Stopwatch) -> Result<(), String> {
        let told = |error: engine::Error| error.to_string();
        let end = self.prompts.len().min(first + self.together);
        watch.begin(first..end);
        for prompt in &self.prompts[first..end] {
            let request = Request { prompt, sampling: &self.sampling, limit: self.tokens };
            self.batch.join(&request).map_err(told)?;
        }
        while self.batch.is_busy() {
            let chosen = if watch.is_in_prompts() {
                hotloop::scope!("Prefill");
                self.batch.step()
            } else {
                hotloop::scope!("GenerateToken");
                self.batch.step()
            };
            for token in chosen.map_err(told)? {
                // Places are given from the first on, and all are free when a group begins.
                watch.token(first + token.sequence, token.token);
            }
        }
        watch.end();
        (0..end - first).for_each(|place| drop(self.batch.leave(place)));
        Ok(())
    }
}

/// What each sequence begins with: of a trained model the story, each from another word on, told over again until it is long enough; of
/// random weights random tokens.
pub fn prompts(subject: &Subject, settings: &Settings) -> Vec<Vec<u32>> {
    let sizes = settings.sizes();
    if matches!(settings.model.kind(), ModelKind::Synthetic(_)) {
        return lab::sequences::prompts(settings.seed, subject.model.config.vocab, sizes);
    }
    let words: Vec<&str> = STORY.split_whitespace().collect();
    let prompt = |sequence: usize| {
        // Any number would do that has no divisor in common with that of the words.
        let first = settings.seed.wrapping_add(sequence as u64).wrapping_mul(5) % words.len() as u64;
        // No word is less than a token.
        let some: Vec<&str> = words.iter().copied().cycle().skip(first as usize).take(sizes.prompt).collect();
        let mut tokens = subject.tokenizer.encode(&some.join(" "), Encode { add_special: true, parse_special: false });
        tokens.truncate(sizes.prompt);
        tokens
    };
    (0..sizes.sequences).map(prompt).collect()
}

impl Sequences for EngineSequences<'_> {
    fn generate(&mut self, watch: &mut Stopwatch) -> Result<(), String> {
        (0..self.prompts.len()).step_by(self.together).try_for_each(|first| self.group(first, watch))
    }
}
