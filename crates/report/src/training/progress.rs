//! How far a training is, in one line: smoothed, because single steps jump.

use record::{TrainingEvent, TrainingStep};

use super::{loss, per_second, rate, waiting};
use crate::units::{count, fine_digits, tokens_per_s};

/// The weight of what came before in each mean: about the last twenty steps count.
const BEFORE: f64 = 0.95;

/// A mean in which older values fade. The first ones count as much as there are of them, so that it is right from the beginning.
#[derive(Debug, Clone, Copy, Default)]
struct Fading {
    sum: f64,
    weight: f64,
}

impl Fading {
    fn add(&mut self, value: f64) {
        if value.is_finite() {
            self.sum = BEFORE * self.sum + value;
            self.weight = BEFORE * self.weight + 1.0;
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight)
    }
}

/// The state of a training, kept up by its events.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    steps: u64,
    epochs: Option<u64>,
    last: TrainingStep,
    loss: Fading,
    tokens: Fading,
    seconds: Fading,
}

impl Progress {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in what happened.
    pub fn event(&mut self, event: &TrainingEvent) {
        match event {
            TrainingEvent::Started(start) => {
                (self.steps, self.epochs) = (start.steps, start.epochs);
                self.last.step = start.resumed_at.unwrap_or(0);
            }
            TrainingEvent::Step(step) => {
                self.loss.add(step.loss);
                self.tokens.add(step.tokens as f64);
                self.seconds.add(step.seconds);
                self.last = step.clone();
            }
            _ => {}
        }
    }

    /// Steps that were taken, and steps in all.
    #[must_use]
    pub fn steps(&self) -> (u64, u64) {
        (self.last.step, self.steps.max(self.last.step))
    }

    /// The loss of the last steps, averaged; none before the first.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        self.loss.mean()
    }

    /// `120/1,000  loss 3.2101  12,340 tok/s  lr 3.00e-4  grad 0.82  4 min 10 s left`; without the steps, for behind a bar that shows
    /// them.
    #[must_use]
    pub fn figures(&self) -> String {
        let Some(mean_loss) = self.loss() else { return "before the first step".to_owned() };
        let speed = self.tokens.mean().zip(self.seconds.mean());
        let speed = speed.and_then(|(tokens, seconds)| per_second(tokens, seconds));
        let speed = speed.map_or_else(|| "- tok/s".to_owned(), tokens_per_s);
        let left = self.steps.saturating_sub(self.last.step);
        let left = match self.seconds.mean().filter(|_| left > 0) {
            Some(seconds) => format!("  {} left", waiting(seconds * left as f64)),
            None => String::new(),
        };
        format!(
            "loss {}  {speed}  lr {}  grad {}{left}",
            loss(mean_loss),
            rate(self.last.learning_rate),
            fine_digits(self.last.gradient_norm)
        )
    }

    /// The same with the steps before it, as a line.
    #[must_use]
    pub fn line(&self) -> String {
        let (done, all) = self.steps();
        let epoch = match self.epochs.filter(|epochs| *epochs > 1) {
            Some(epochs) => format!(", epoch {}/{}", count(self.last.epoch), count(epochs)),
            None => String::new(),
        };
        format!("step {}/{}{epoch}  {}", count(done), count(all), self.figures())
    }
}

#[cfg(test)]
mod tests {
    use record::TrainingStart;

    use super::*;

    fn step(step: u64, loss: f64, seconds: f64) -> TrainingEvent {
        let (learning_rate, gradient_norm) = (3e-4, 0.82);
        TrainingEvent::Step(TrainingStep {
            step,
            epoch: 1,
            loss,
            gradient_norm,
            learning_rate,
            tokens: 1_000,
            sequences: 8,
            seconds,
        })
    }

    fn started(steps: u64, resumed_at: Option<u64>) -> TrainingEvent {
        TrainingEvent::Started(TrainingStart { steps, resumed_at, ..TrainingStart::default() })
    }

    #[test]
    fn the_first_step_is_its_own_mean_and_later_ones_move_it() {
        let mut progress = Progress::new();
        progress.event(&started(1_000, None));
        assert_eq!(progress.line(), "step 0/1,000  before the first step");
        progress.event(&step(1, 8.0, 0.5));
        assert_eq!(progress.line(), "step 1/1,000  loss 8.0000  2,000 tok/s  lr 3.00e-4  grad 0.82  8 min 20 s left");
        progress.event(&step(2, 4.0, 0.5));
        let mean = progress.loss().expect("there were steps");
        assert!((mean - 5.948_717_9).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn what_is_resumed_goes_on_counting_and_the_end_leaves_nothing() {
        let mut progress = Progress::new();
        progress.event(&started(100, Some(99)));
        assert_eq!(progress.steps(), (99, 100));
        progress.event(&step(100, 1.0, 0.1));
        assert!(!progress.line().contains("left"), "{}", progress.line());
    }

    #[test]
    fn a_loss_that_is_no_number_is_in_no_mean() {
        let mut progress = Progress::new();
        progress.event(&step(1, 2.0, 0.1));
        progress.event(&step(2, f64::NAN, f64::NAN));
        assert_eq!(progress.loss(), Some(2.0));
    }
}
