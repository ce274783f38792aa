//! What a gate is asked for: the file `hotloop.toml`, read and checked before anything is measured.

mod file;
mod metrics;
mod sides;
#[cfg(test)]
mod tests;

use std::fmt;

use compare::rules::DuelMode;
use record::{Acceptance, Budget};

pub use sides::{BIN, CellSides};

/// A commented example of the file.
pub const EXAMPLE: &str = include_str!("example.toml");

/// What is measured, and what has to hold.
#[derive(Debug, Clone, PartialEq)]
pub struct GateConfig {
    /// The RNG seed of the orders in all cells.
    pub seed: u64,
    /// Whether an unresolved verdict fails the gate.
    pub fail_on_unresolved: bool,
    /// How revisions are built.
    pub build: BuildConfig,
    /// What is compared, in the order of the file.
    pub cells: Vec<CellConfig>,
    /// Accepted regressions.
    pub accepted: Vec<Acceptance>,
}

/// How a revision of a Cargo project is built.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BuildConfig {
    /// The package; absent: that of the folder.
    pub package: Option<String>,
    /// The program; absent: the package's only one.
    pub bin: Option<String>,
    /// Features that are chosen.
    pub features: Vec<String>,
    /// The profile; absent: `release`.
    pub profile: Option<String>,
}

/// Something that is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CellConfig {
    /// Its name.
    pub name: String,
    /// Whether its speed is advisory: it never fails the gate.
    pub advisory: bool,
    /// How much is measured.
    pub effort: CellEffort,
    /// What is compared with what.
    pub sides: CellSides,
    /// Whether the sides have to put out the same; absent: commands have to, settings unless they change numbers on purpose.
    pub same_output: Option<bool>,
    /// Whether instructions are counted one by one, which takes long.
    pub exact: bool,
    /// What it is judged by; empty where there are only budgets.
    pub gates: Vec<MetricGate>,
    /// Limits that hold whatever the base does.
    pub budgets: Vec<Budget>,
}

/// How much of a cell is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CellEffort {
    /// The mode.
    pub mode: DuelMode,
    /// Launches at most; absent: as the mode has it.
    pub launches: Option<u64>,
    /// Rounds of each launch; absent: as the mode has it.
    pub rounds: Option<u64>,
    /// What a round takes at least, in seconds.
    pub round_s: Option<f64>,
}

/// A metric that a cell is judged by.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricGate {
    /// Its name.
    pub metric: String,
    /// The change that matters, as a share; absent: as the metric has it.
    pub threshold: Option<f64>,
    /// Whether it is advisory: it never fails the gate.
    pub advisory: bool,
}

/// What is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateConfigError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what could stand there instead.
    pub message: String,
}

impl fmt::Display for GateConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl GateConfig {
    /// Reads the file.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn read(text: &str) -> Result<Self, GateConfigError> {
        file::read(text)
    }

    /// A cell that could not but fail: what is not decided fails, and its mode decides nothing.
    #[must_use]
    pub fn cannot_pass(&self) -> Option<&CellConfig> {
        let counts = |cell: &CellConfig| !cell.advisory && cell.gates.iter().any(|gate| !gate.advisory);
        let is_hopeless = |cell: &&CellConfig| cell.effort.mode.is_screening() && counts(cell);
        self.cells.iter().find(is_hopeless).filter(|_| self.fail_on_unresolved)
    }
}
