//! Checkpoints: everything from which a training goes on bit for bit as if it had never stopped.
//!
//! One safetensors file has the weights by their names of GGUF (`blk.0.attn_q.weight`), what the
//! optimiser remembers of each (`optimizer.m.blk.0.attn_q.weight`), and as notes the [`State`] with
//! the settings, and the vocabulary. Chance needs no state of its own: order and dropout follow
//! from the seed and the numbers of steps and batches. A file gets its name when it is whole and on
//! the disk, and an older one is removed after that.

mod container;
mod folder;
mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use engine::train::{Layout, Optimiser, Parameters};
use engine::{Config, Metadata, Tensor, TensorInfo, TensorSource};
use serde::{Deserialize, Serialize};

use crate::config::Settings;
use crate::data::Position;
use crate::schedule::ScheduleState;
use crate::{Error, Result};
use container::{Container, ContainerPart};

pub(crate) use folder::Lock;
pub use folder::{Folder, find, list};

/// What the files say they are.
const FORMAT: &str = "hotloop-checkpoint";
/// Raised when the meaning of something in them changes.
const VERSION: &str = "1";
const HINT: &str = "use another checkpoint, or start without --resume";

/// How far a training is.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    /// Steps of the optimiser.
    pub step: u64,
    /// The batch that comes next.
    pub position: Position,
    /// Batches in all.
    pub batches: u64,
    /// Tokens that were predicted in all.
    pub tokens: u64,
    /// What the schedule remembers.
    pub schedule: ScheduleState,
    /// The best loss of a validation.
    pub best: Option<f64>,
    /// The loss that early stopping compares with: the last that counted as better.
    pub bar: Option<f64>,
    /// Validations since then.
    pub waited: u64,
    /// The loss of the epoch that is going on.
    pub epoch: EpochState,
    /// The hashes of the tokens that it learns from and validates on.
    pub corpus: Vec<String>,
    /// What was asked for.
    pub settings: Settings,
}

/// The epoch that is going on, as far as it is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EpochState {
    /// The sum of the losses of all tokens.
    pub loss: f64,
    /// How many tokens those are.
    pub tokens: u64,
}

/// What is saved.
#[derive(Debug, Clone, Copy)]
pub struct Saved<'a> {
    /// How far it is.
    pub state: &'a State,
    /// The weights.
    pub parameters: &'a Parameters,
    /// What the optimiser remembers.
    pub optimiser: &'a Optimiser,
    /// The vocabulary, as in GGUF.
    pub vocabulary: &'a Metadata,
}

impl Saved<'_> {
    /// Writes it, whole or not at all; how many bytes it has.
    ///
    /// # Errors
    /// Where it cannot be written; what was there before is there still.
    pub fn write(&self, path: &Path) -> Result<u64> {
        let state = serde_json::to_string(self.state)
            .map_err(|error| Error::new(format!("cannot write the training state: {error}"), HINT))?;
        let model = self.parameters.source(self.vocabulary.clone());
        let notes = BTreeMap::from([
            ("format", FORMAT.to_owned()),
            ("version", VERSION.to_owned()),
            ("state", state),
            ("model", words::write(model.metadata())),
        ]);
        let mut parts = Vec::new();
        self.add(&mut parts, "", &self.parameters.values);
        for (name, values) in self.optimiser.states() {
            self.add(&mut parts, &prefix(name), values);
        }
        container::write(path, &notes, &parts).map_err(Error::while_writing)
    }

    fn add<'a>(&'a self, parts: &mut Vec<ContainerPart<'a>>, prefix: &str, values: &'a [f32]) {
        for entry in self.parameters.layout.entries() {
            let name = format!("{prefix}{}", entry.info.name);
            let shape = entry.info.shape.iter().rev().copied().collect();
            parts.push(ContainerPart { name, shape, values: &values[entry.range.clone()] });
        }
    }
}

/// What is before the names of tensors that belong to the optimiser.
fn prefix(state: &str) -> String {
    format!("optimizer.{state}.")
}

/// A checkpoint that is whole. It is a source of tensors too: those of the model.
#[derive(Debug)]
pub struct Checkpoint {
    container: Container,
    state: State,
    metadata: Metadata,
}

impl Checkpoint {
    /// Opens a file and reads all of it once, to see whether it is whole.
    ///
    /// # Errors
    /// Where it cannot be read, is damaged, cut off, or no checkpoint.
    pub fn open(path: &Path) -> Result<Self> {
        let container = Container::open(path)?;
        let wrong = |message: String| Error::new(format!("{}: {message}", path.display()), HINT);
        if container.note("format")? != FORMAT {
            return Err(wrong("not a training checkpoint".to_owned()));
        }
        let version = container.note("version")?;
        if version != VERSION {
            let version = version.escape_debug();
            return Err(wrong(format!("unsupported version {version}; supported is {VERSION}")));
        }
        let state = serde_json::from_str(container.note("state")?)
            .map_err(|error| wrong(format!("cannot read its state: {error}")))?;
        let metadata = words::read(container.note("model")?)
            .map_err(|error| wrong(format!("cannot read its vocabulary: {error}")))?;
        Ok(Self { container, state, metadata })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.container.path()
    }

    /// How far the training was.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The weights.
    ///
    /// # Errors
    /// Where some are missing, infinite or no numbers.
    pub fn parameters(&self) -> Result<Parameters> {
        let wrong = |message: String| Error::new(format!("{}: {message}", self.path().display()), HINT);
        // Room is made for what the sizes claim: for no more than there is.
        let config = Config::read(self).map_err(|error| wrong(error.to_string()))?;
        let tied = self.container.tensor("output.weight").is_none();
        let layout = Layout::new(&config, tied)?;
        let claimed: u128 = layout.entries().iter().map(|entry| 4 * entry.range.len() as u128).sum();
        let there = self.container.bytes_in_all();
        if claimed > u128::from(there) {
            return Err(wrong(format!("its sizes need {claimed} bytes of weights, but the whole file has {there}")));
        }
        Ok(Parameters::read(self)?)
    }

    /// Gives an optimiser what it remembered.
    ///
    /// # Errors
    /// Where the checkpoint is of another optimiser or model.
    pub fn read_optimiser(&self, layout: &Layout, optimiser: &mut Optimiser) -> Result<()> {
        optimiser.set_steps(self.state.step);
        for (state, values) in optimiser.states_mut() {
            for entry in layout.entries() {
                let name = format!("{}{}", prefix(state), entry.info.name);
                self.container.read(&name, &mut values[entry.range.clone()])?;
            }
        }
        Ok(())
    }
}

/// The same as the engine takes them, whose readers ask for tensors.
fn in_engine(error: Error) -> engine::Error {
    engine::Error::malformed(error.to_string())
}

impl TensorSource for Checkpoint {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn names(&self) -> Vec<&str> {
        self.container.tensors().map(|(name, _)| name).filter(|name| !name.starts_with("optimizer.")).collect()
    }

    fn tensor(&self, name: &str) -> engine::Result<Option<Tensor<'_>>> {
        let Some(stored) = self.container.tensor(name) else { return Ok(None) };
        let data = self.container.bytes(stored).map_err(in_engine)?;
        let shape = stored.shape.iter().rev().copied().collect();
        let format = kernels::quant::Format::F32;
        Ok(Some(Tensor { name: Cow::Owned(name.to_owned()), format, shape, data: Cow::Owned(data) }))
    }

    fn info(&self, name: &str) -> engine::Result<Option<TensorInfo>> {
        Ok(self.container.tensor(name).map(|stored| TensorInfo {
            name: name.to_owned(),
            format: kernels::quant::Format::F32,
            shape: stored.shape.iter().rev().copied().collect(),
        }))
    }

    fn file(&self) -> Option<&Path> {
        Some(self.container.path())
    }
}
