//! How the learning rate goes over a training.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The shape of the way down, from the first rate to a least one.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "strategy", rename_all = "snake_case", deny_unknown_fields)]
pub enum Schedule {
    /// Always the same.
    #[default]
    Constant,
    /// A straight line that reaches `min_lr` with the last step.
    Linear {
        /// The least rate.
        #[serde(default)]
        min_lr: f64,
    },
    /// Half a wave of the cosine that reaches `min_lr` with the last step.
    Cosine {
        /// The least rate.
        #[serde(default)]
        min_lr: f64,
    },
    /// Half waves of the cosine, one after another, as LoopOS has them: the rate changes with each epoch.
    CosineWarmRestarts {
        /// Epochs of the first wave.
        #[serde(rename = "T_0")]
        first: u64,
        /// How many times as long as the one before the next wave is; parts of an epoch are cut off.
        #[serde(rename = "T_mult", default = "one")]
        growth: f64,
        /// What a wave goes down to.
        #[serde(default)]
        min_lr: f64,
    },
    /// A step down every so many epochs.
    Step {
        /// Epochs between two steps.
        step_size: u64,
        /// What the rate is multiplied with.
        gamma: f64,
        /// The least rate.
        #[serde(default)]
        min_lr: f64,
    },
    /// A step down whenever the loss has not become better for a while. A while is counted in validations.
    Plateau {
        /// What the rate is multiplied with.
        #[serde(default = "half")]
        factor: f64,
        /// So many validations without a better loss, one after another, lead to a step down.
        #[serde(default = "five")]
        patience: u64,
        /// How much less than the best one a loss must be to count as better.
        #[serde(default = "little")]
        threshold: f64,
        /// The least rate.
        #[serde(default)]
        min_lr: f64,
    },
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

fn five() -> u64 {
    5
}

fn little() -> f64 {
    1e-4
}

/// How long a training is, in steps of the optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// All of them.
    pub steps: u64,
    /// Those of one epoch.
    pub steps_per_epoch: u64,
}

/// What a schedule remembers of losses; the others need nothing. Plain data, for checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ScheduleState {
    /// The best loss that counted as better.
    pub best: Option<f64>,
    /// Validations since then, or since the last step down.
    pub waited: u64,
    /// Steps down so far.
    pub reductions: u64,
}

/// The learning rate of every step: a schedule behind a warm-up.
#[derive(Debug, Clone, PartialEq)]
pub struct LearningRate {
    schedule: Schedule,
    initial: f64,
    warmup_steps: u64,
    span: Span,
    /// What was learned from losses.
    pub state: ScheduleState,
}

impl LearningRate {
    /// From `initial` on, behind `warmup_steps` steps that lead up to it in a straight line.
    ///
    /// # Errors
    /// Where a number makes no sense; the error names its key.
    pub fn new(schedule: Schedule, initial: f64, warmup_steps: u64, span: Span) -> Result<Self> {
        if !(initial > 0.0 && initial.is_finite()) {
            return Err(refused("learning_rate", initial, "expected a number above 0"));
        }
        schedule.check(initial)?;
        Ok(Self { schedule, initial, warmup_steps, span, state: ScheduleState::default() })
    }

    /// The rate of a step, counted from 0.
    #[must_use]
    pub fn rate(&self, step: u64) -> f64 {
        // As nanoGPT has it: the first step is not without effect, and the whole rate comes with
        // the first one behind the warm-up.
        let warm = ((step + 1) as f64 / (self.warmup_steps + 1) as f64).min(1.0);
        warm * self.shape(step)
    }

    /// Reports a validation. Only [`Schedule::Plateau`] listens; a loss that is not a number is not better than any.
    pub fn validated(&mut self, loss: f64) {
        let Schedule::Plateau { patience, threshold, .. } = self.schedule else { return };
        let state = &mut self.state;
        let better = match state.best {
            Some(best) => loss < best - threshold,
            None => !loss.is_nan(),
        };
        if better {
            (state.best, state.waited) = (Some(loss), 0);
        } else {
            state.waited += 1;
            if state.waited >= patience {
                (state.waited, state.reductions) = (0, state.reductions + 1);
            }
        }
    }

    fn shape(&self, step: u64) -> f64 {
        let initial = self.initial;
        let epoch = step / self.span.steps_per_epoch.max(1);
        match self.schedule {
            Schedule::Constant => initial,
            Schedule::Linear { min_lr } => min_lr + (initial - min_lr) * (1.0 - self.share(step)),
            Schedule::Cosine { min_lr } => wave(initial, min_lr, self.share(step)),
            Schedule::CosineWarmRestarts { first, growth, min_lr } => {
                let (within, length) = wave_of(epoch, first, growth);
                wave(initial, min_lr, within as f64 / length as f64)
            }
            Schedule::Step { step_size, gamma, min_lr } => lowered(initial, gamma, epoch / step_size).max(min_lr),
            Schedule::Plateau { factor, min_lr, .. } => lowered(initial, factor, self.state.reductions).max(min_lr),
        }
    }

    /// How much of the way behind the warm-up a step has gone: 0 for the first, 1 behind the last.
    fn share(&self, step: u64) -> f64 {
        let way = self.span.steps.saturating_sub(self.warmup_steps).max(1);
        (step.saturating_sub(self.warmup_steps) as f64 / way as f64).min(1.0)
    }
}

/// From `high` to `low` as `share` goes from 0 to 1.
fn wave(high: f64, low: f64, share: f64) -> f64 {
    low + 0.5 * (high - low) * (1.0 + (std::f64::consts::PI * share).cos())
}

/// CorpusRole epoch of its wave this one is, and how long that wave is.
fn wave_of(epoch: u64, first: u64, growth: f64) -> (u64, u64) {
    let (mut within, mut length) = (epoch, first);
    while within >= length {
        within -= length;
        let next = (length as f64 * growth) as u64;
        if next == length {
            return (within % length, length);
        }
        length = next;
    }
    (within, length)
}

/// `rate` multiplied with `factor` so many times.
fn lowered(rate: f64, factor: f64, times: u64) -> f64 {
    rate * factor.powi(i32::try_from(times).unwrap_or(i32::MAX))
}

impl Schedule {
    fn check(&self, initial: f64) -> Result<()> {
        let whole = |key, value: u64, why| if value > 0 { Ok(()) } else { Err(refused(key, value, why)) };
        let share = |key, value: f64| match value {
            0.0..=1.0 if value > 0.0 => Ok(()),
            _ => Err(refused(key, value, "expected a factor above 0 and at most 1")),
        };
        let least = match *self {
            Self::Constant => 0.0,
            Self::Linear { min_lr } | Self::Cosine { min_lr } => min_lr,
            Self::CosineWarmRestarts { first, growth, min_lr } => {
                whole("T_0", first, "expected at least one epoch")?;
                if !(growth >= 1.0 && growth.is_finite()) {
                    return Err(refused("T_mult", growth, "expected a factor of at least 1"));
                }
                min_lr
            }
            Self::Step { step_size, gamma, min_lr } => {
                whole("step_size", step_size, "expected at least one epoch")?;
                share("gamma", gamma)?;
                min_lr
            }
            Self::Plateau { factor, patience, threshold, min_lr } => {
                whole("patience", patience, "expected at least one validation")?;
                share("factor", factor)?;
                if !(threshold >= 0.0 && threshold.is_finite()) {
                    return Err(refused("threshold", threshold, "expected a number of at least 0"));
                }
                min_lr
            }
        };
        if (0.0..=initial).contains(&least) {
            return Ok(());
        }
        Err(refused("min_lr", least, "expected a number from 0 to the learning rate"))
    }
}

fn refused(key: &str, value: impl std::fmt::Display, why: &str) -> Error {
    Error::new(format!("{key} = {value}: {why}"), "correct the value in the config or with --set")
}
