//! One step of learning.

use engine::steps;
use engine::train::{Examples, Loss, Mode, StepSize, clip_scale, gradient_norm};
use record::TrainingStep;

use super::Run;
use super::clock::Phase;
use super::fault::{self, Where};
use crate::data::Batch;
use crate::{Error, Result};

/// What a network reads of a batch: the rows that are filled.
pub(super) fn examples(batch: &Batch, length: usize) -> Examples<'_> {
    let filled = batch.sequences * length;
    Examples { tokens: &batch.tokens[..filled], targets: &batch.targets[..filled] }
}

/// What the masks of dropout of a batch follow from: other ones for every batch.
fn dropout_key(seed: u64, batch: u64) -> u64 {
    let mut bits = seed ^ (batch + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl Run<'_> {
    /// Some batches forward and backward, and a step of the optimiser. Gradients are summed as they
    /// are and divided by the number of all targets at the end, so that several batches are the
    /// same as one large one, also where some have fewer targets.
    pub(super) fn step(&mut self) -> Result<TrainingStep> {
        hotloop::scope!(steps::BATCH);
        let begin = std::time::Instant::now();
        self.parts.network.renew_gradients();
        self.clock.lap(Phase::Optimizer);
        self.before = self.parts.state.batches;
        let epoch = self.parts.state.position.epoch;
        let (mut loss, mut sequences) = (Loss::default(), 0);
        for _ in 0..self.settings.training.gradient_accumulation {
            let (batch, rows) = self.batch()?;
            loss.sum += batch.sum;
            loss.targets += batch.targets;
            sequences += rows;
            if self.parts.state.position.epoch != epoch {
                break;
            }
        }
        let (gradient_norm, learning_rate) = self.learn(&loss)?;
        let state = &mut self.parts.state;
        state.step += 1;
        state.tokens += loss.targets as u64;
        state.epoch.loss += loss.sum;
        state.epoch.tokens += loss.targets as u64;
        Ok(TrainingStep {
            step: state.step,
            epoch: epoch + 1,
            loss: loss.mean(),
            gradient_norm,
            learning_rate,
            tokens: loss.targets as u64,
            sequences,
            seconds: begin.elapsed().as_secs_f64(),
        })
    }

    /// One batch forward and backward; its loss and how many sequences it had.
    fn batch(&mut self) -> Result<(Loss, u64)> {
        let parts = &mut self.parts;
        let batch = {
            hotloop::scope!(steps::DATA_WAIT);
            parts.feed.next()?
        };
        self.clock.lap(Phase::DataWait);
        let missing =
            || Error::new("the corpus has fewer batches than expected", "do not change the corpus during training");
        let batch = batch.ok_or_else(missing)?;
        let length = parts.corpus.length();
        let examples = examples(batch, length);
        let key = dropout_key(self.settings.training.random_seed, parts.state.batches);
        let loss = parts.network.forward(self.compute, &parts.parameters, examples, Mode::Learn { key, scale: 1.0 });
        self.clock.lap(Phase::Forward);
        if !loss.sum.is_finite() {
            let place = Where { step: parts.state.step + 1, batch, length, vocabulary: &parts.vocabulary };
            let first = parts.network.first_non_finite(self.compute, &parts.parameters);
            return Err(fault::error("the loss", loss.mean(), first, &place, self.saved.as_ref()));
        }
        parts.network.backward(self.compute, &parts.parameters, examples);
        self.clock.lap(Phase::Backward);
        let sequences = batch.sequences as u64;
        parts.state.position = parts.feed.position();
        parts.state.batches += 1;
        Ok((loss, sequences))
    }

    /// The step of the optimiser; the length of the mean gradient and the rate.
    fn learn(&mut self, loss: &Loss) -> Result<(f64, f64)> {
        let (parts, training) = (&mut self.parts, &self.settings.training);
        let targets = loss.targets.max(1) as f64;
        let norm = gradient_norm(self.compute, parts.network.gradients()) / targets;
        if !norm.is_finite() {
            let first = parts.network.first_non_finite(self.compute, &parts.parameters);
            let (batch, length) = (parts.feed.current(), parts.corpus.length());
            let place = Where { step: parts.state.step + 1, batch, length, vocabulary: &parts.vocabulary };
            return Err(fault::error("the gradient", norm, first, &place, self.saved.as_ref()));
        }
        let clip = if training.gradient_clip > 0.0 { clip_scale(norm, training.gradient_clip) } else { 1.0 };
        let size = StepSize {
            learning_rate: parts.rate.rate(parts.state.step),
            gradient_scale: (f64::from(clip) / targets) as f32,
            gradient_limit: if training.clip_value > 0.0 { training.clip_value } else { f32::INFINITY },
        };
        parts.optimiser.step(self.compute, &mut parts.parameters, parts.network.gradients(), size);
        self.clock.lap(Phase::Optimizer);
        Ok((norm, size.learning_rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_batch_has_masks_of_its_own() {
        let mut keys: Vec<u64> = (0..4).flat_map(|seed| (0..100).map(move |batch| dropout_key(seed, batch))).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 400);
    }
}
