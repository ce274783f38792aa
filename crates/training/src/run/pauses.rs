//! What happens between steps: validation, texts of the model, checkpoints; and the end.

use std::path::{Path, PathBuf};

use engine::train::Mode;
use engine::{Batch, BatchSettings, Encode, LoadOptions, Model, Request, Sampling, StateOptions, steps};
use kernels::quant::Format;
use record::{TrainingCheckpoint, TrainingEvent, TrainingSample, TrainingValidation};

use super::clock::Phase;
use super::fault;
use super::step::examples;
use super::{Postponed, Run, Why};
use crate::checkpoint::{Checkpoint, Saved};
use crate::data::Position;
use crate::{Result, export_checkpoint, export_gguf};

/// The model in the output folder.
const MODEL: &str = "model.gguf";
/// Steps between two tries to write a checkpoint, at most.
const LONGEST_WAIT: u64 = 64;

impl Run<'_> {
    /// All that is due after a step. What decides how the training goes on comes first, and the
    /// checkpoint last: who goes on from it has done all that.
    pub(super) fn pause(&mut self, is_last: bool, epoch_loss: f64) -> Result<()> {
        let (step, training) = (self.parts.state.step, &self.settings.training);
        let is_due = match training.validate_every {
            0 => is_last,
            every => step.is_multiple_of(every),
        };
        let mut is_best = false;
        if self.parts.validation.is_none() {
            if is_last {
                is_best = self.judge(epoch_loss);
            }
        } else if is_due {
            let validated = self.validate()?;
            is_best = self.judge(validated.loss);
            self.tell(TrainingEvent::Validated(TrainingValidation { best: is_best, ..validated }));
        }
        let every = self.settings.sample.every;
        if every > 0 && step.is_multiple_of(every) {
            self.sample()?;
        }
        if is_best && self.settings.checkpointing.keep_best && self.parts.validation.is_some() {
            self.save_best()?;
        }
        self.checkpoint_where_due()
    }

    /// A disk that is full is no reason to lose what was learned since the last checkpoint: it is
    /// tried again, and the training goes on.
    fn checkpoint_where_due(&mut self) -> Result<()> {
        let step = self.parts.state.step;
        if !self.is_checkpoint_due() && self.postponed.is_none_or(|postponed| step < postponed.at) {
            return Ok(());
        }
        match self.checkpoint() {
            Ok(()) => {
                if self.postponed.take().is_some() {
                    self.watch.warning(&format!("step {step}: checkpoint saved on retry"));
                }
                Ok(())
            }
            Err(error) if error.is_output() => {
                let waited = self.postponed.map_or(1, |postponed| (2 * postponed.waited).min(LONGEST_WAIT));
                self.postponed = Some(Postponed { at: step + waited, waited });
                let again = step + waited;
                self.watch.warning(&format!(
                    "step {step}: cannot save a checkpoint: {error}; training continues and retries after step {again}"
                ));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// The model as it is now, as the best one.
    fn save_best(&mut self) -> Result<()> {
        let path = self.parts.folder.best();
        match self.save(&path) {
            Err(error) if error.is_output() => {
                self.has_best = false;
                let step = self.parts.state.step;
                self.watch.warning(&format!("step {step}: cannot save the best model: {error}"));
            }
            done => {
                done?;
                self.has_best = true;
            }
        }
        Ok(())
    }

    /// What a loss means for the rate and for early stopping; whether it is the best so far.
    fn judge(&mut self, loss: f64) -> bool {
        self.parts.rate.validated(loss);
        let state = &mut self.parts.state;
        state.schedule = self.parts.rate.state;
        let is_best = state.best.is_none_or(|best| loss < best);
        if is_best {
            state.best = Some(loss);
        }
        if state.bar.is_none_or(|bar| loss < bar - self.settings.training.early_stopping.min_delta) {
            (state.bar, state.waited) = (Some(loss), 0);
        } else {
            state.waited += 1;
        }
        is_best
    }

    /// The mean loss on what was kept back.
    fn validate(&mut self) -> Result<TrainingValidation> {
        hotloop::scope!(steps::VALIDATION);
        let length = self.parts.corpus.length();
        let (mut sum, mut targets) = (0.0, 0);
        if let Some(feed) = &mut self.parts.validation {
            feed.seek(Position::default());
            while let Some(batch) = feed.next()? {
                let examples = examples(batch, length);
                let loss = self.parts.network.forward(self.compute, &self.parts.parameters, examples, Mode::Evaluate);
                sum += loss.sum;
                targets += loss.targets;
            }
        }
        let loss = sum / targets.max(1) as f64;
        let seconds = self.clock.lap(Phase::Validation);
        let (step, perplexity) = (self.parts.state.step, loss.exp());
        Ok(TrainingValidation { step, loss, perplexity, tokens: targets as u64, seconds, best: false })
    }

    /// A text of the model, as `hotloop generate` would write it.
    fn sample(&mut self) -> Result<()> {
        let (prompt, text) = {
            hotloop::scope!(steps::SAMPLE);
            self.write_text()?
        };
        self.clock.lap(Phase::Sample);
        let step = self.parts.state.step;
        self.tell(TrainingEvent::Sampled(TrainingSample { step, prompt, text }));
        Ok(())
    }

    fn write_text(&self) -> Result<(String, String)> {
        let (settings, parts) = (&self.settings.sample, &self.parts);
        let tokenizer = parts.vocabulary.tokenizer();
        let mut prompt = tokenizer.encode(&settings.prompt, Encode { add_special: true, parse_special: false });
        if prompt.is_empty() {
            prompt.push(tokenizer.bos().or(tokenizer.eos()).unwrap_or_default());
        }
        let context = parts.parameters.config.context;
        prompt.truncate(context.saturating_sub(1).max(1));
        let source = parts.parameters.source(parts.vocabulary.metadata().clone());
        let model = Model::load(&source, self.compute, &mut LoadOptions::default())?;
        let mut batch = Batch::new(&model, self.compute, &StateOptions::default(), BatchSettings::default())?;
        let (temperature, top_k, top_p, seed) = (settings.temperature, settings.top_k, settings.top_p, settings.seed);
        let sampling = Sampling { temperature, top_k, top_p, seed, ..Sampling::default() };
        batch.join(&Request { prompt: &prompt, sampling: &sampling, limit: settings.length })?;
        let mut written = Vec::new();
        while batch.is_busy() {
            let Some(chosen) = batch.step()?.first() else { continue };
            if tokenizer.is_end(chosen.token) {
                break;
            }
            written.push(chosen.token);
        }
        Ok((settings.prompt.clone(), tokenizer.decode(&written)))
    }

    /// Whether the last step has reached or passed a multiple of so many batches.
    fn is_checkpoint_due(&self) -> bool {
        let (every, batches) = (self.settings.checkpointing.save_every_n_batches, self.parts.state.batches);
        every > 0 && batches / every > self.before / every
    }

    fn checkpoint(&mut self) -> Result<()> {
        let path = self.parts.folder.file(self.parts.state.step);
        self.save(&path)?;
        self.saved = Some((self.parts.state.step, path));
        self.parts.folder.keep(self.settings.checkpointing.keep_last_n);
        Ok(())
    }

    fn save(&mut self, path: &Path) -> Result<()> {
        if self.parts.has_earlier {
            self.parts.folder.set_aside()?;
            self.parts.has_earlier = false;
        }
        let bytes = {
            hotloop::scope!(steps::CHECKPOINT);
            let Self { parts, compute, .. } = self;
            if compute.kernels.has_non_finite(&parts.parameters.values) {
                let first = parts.network.first_non_finite(compute, &parts.parameters);
                return Err(fault::weights(parts.state.step, first, self.saved.as_ref()));
            }
            let (state, parameters, optimiser) = (&parts.state, &parts.parameters, &parts.optimiser);
            Saved { state, parameters, optimiser, vocabulary: parts.vocabulary.metadata() }.write(path)?
        };
        let seconds = self.clock.lap(Phase::Checkpoint);
        let (step, path) = (self.parts.state.step, path.display().to_string());
        self.tell(TrainingEvent::Saved(TrainingCheckpoint { step, path, seconds, bytes }));
        Ok(())
    }

    /// After the last step: the checkpoint, a text, and the model as a file, unless somebody is in a hurry.
    pub(super) fn close(&mut self, why: Why) -> Result<Option<PathBuf>> {
        let step = self.parts.state.step;
        if self.saved.as_ref().is_none_or(|(saved, _)| *saved != step) && step > 0 {
            self.checkpoint()?;
        }
        if why == Why::Interrupted {
            return Ok(None);
        }
        let told = |event: &TrainingEvent| event.step() == Some(step);
        let validated = self.events.iter().any(|event| matches!(event, TrainingEvent::Validated(_)) && told(event));
        if self.parts.validation.is_some() && !validated {
            self.validate_at_the_end()?;
        }
        let sampled = self.events.iter().any(|event| matches!(event, TrainingEvent::Sampled(_)) && told(event));
        if self.settings.sample.length > 0 && !sampled {
            self.sample()?;
        }
        let path = self.settings.output().join(MODEL);
        self.export(why, &path)?;
        self.clock.lap(Phase::Checkpoint);
        Ok(Some(path))
    }

    /// Whether the model that is written is not the last one.
    pub(super) fn exports_best(&self, why: Why) -> bool {
        why == Why::EarlyStop && self.has_best
    }

    /// A validation beside the schedule: it may be the best, but changes nothing for those who go on from here.
    fn validate_at_the_end(&mut self) -> Result<()> {
        let validated = self.validate()?;
        let best = self.parts.state.best.is_none_or(|best| validated.loss < best);
        if best {
            self.best_at_the_end = Some(validated.loss);
        }
        self.tell(TrainingEvent::Validated(TrainingValidation { best, ..validated }));
        if best && self.settings.checkpointing.keep_best { self.save_best() } else { Ok(()) }
    }

    /// The model as it is now; after an early stop as it was when it was best.
    fn export(&self, why: Why, path: &Path) -> Result<()> {
        hotloop::scope!(steps::CHECKPOINT);
        let best = self.parts.folder.best();
        if self.exports_best(why) {
            export_checkpoint(&Checkpoint::open(&best)?, path, Format::F32, self.compute)?;
            return Ok(());
        }
        let (parameters, vocabulary) = (&self.parts.parameters, self.parts.vocabulary.metadata());
        export_gguf(parameters, vocabulary, path, Format::F32, self.compute)?;
        Ok(())
    }
}
