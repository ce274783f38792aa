//! What a machine is.

use serde::{Deserialize, Serialize};

/// A machine, and what of it this program may use.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The same for the same hardware: made of CPU, number of CPUs and memory, of nothing that changes from day to day.
    pub machine_key: String,
    /// The operating system.
    pub os: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kind of CPU, such as `x86_64`.
    pub arch: String,
    /// The CPU.
    pub cpu: Cpu,
    /// What its instructions are.
    pub isa: InstructionSets,
    /// CPUs that the system schedules on, SMT threads counted.
    pub cpus: u32,
    /// Cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Threads that the largest core runs at a time; 1: no SMT, or switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt: Option<u32>,
    /// Sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sockets: Option<u32>,
    /// Where cores differ, each kind of them; empty where all are alike or nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_kinds: Vec<CoreKind>,
    /// Caches of the first CPU, nearest first; empty where nothing is known.
    pub caches: Vec<Cache>,
    /// Nodes of memory; empty where nothing is known.
    pub numa: Vec<NumaNode>,
    /// Memory of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_bytes: Option<u64>,
    /// Memory that could be had without pushing something out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_available_bytes: Option<u64>,
    /// What the control group allows.
    pub cgroup: Cgroup,
    /// CPUs that this process may be scheduled on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuset: Option<String>,
    /// Threads that make sense: CPUs, less what affinity and control group take away.
    pub threads: u32,
    /// The CPU's clock.
    pub frequency: Frequency,
    /// The hypervisor, where the machine is a virtual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The kind of container, where we are in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Pages of 2 MiB and more.
    pub huge_pages: HugePages,
    /// The clock that times everything.
    pub clock: Clock,
}

/// A CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// The vendor's numbers, such as `family 25, model 17, stepping 1`: a virtual machine may hide the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// What the instructions of a CPU are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstructionSets {
    /// Those that our kernels use.
    pub chosen: String,
    /// Those that our kernels could use here.
    pub available: Vec<String>,
    /// Whether somebody asked for the chosen one.
    pub forced: bool,
    /// What else matters to arithmetic, by the names of the vendor.
    pub features: Vec<String>,
}

/// Cores of one kind.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreKind {
    /// CPUs of this kind, such as `0-15`.
    pub cpus: String,
    /// How many that are.
    pub count: u32,
    /// The fastest clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hz: Option<u64>,
}

/// What a cache keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data.
    Data,
    /// Instructions.
    Instruction,
    /// Both.
    Unified,
}

/// A cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is nearest.
    pub level: u32,
    /// What it keeps.
    pub kind: CacheKind,
    /// Its size.
    pub bytes: u64,
    /// How many CPUs share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<u32>,
    /// How many of them there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<u32>,
    /// Size of a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_bytes: Option<u32>,
}

/// A node of memory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NumaNode {
    /// Its number.
    pub id: u32,
    /// The CPUs near to it.
    pub cpus: String,
    /// Its memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_bytes: Option<u64>,
}

/// What the control group of this process allows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cgroup {
    /// 1 or 2; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// How many CPUs' time it may use; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup_cpu_max: Option<f64>,
    /// How much memory it may use; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_max_bytes: Option<u64>,
    /// How much it uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mem_used_bytes: Option<u64>,
}

/// The clock of the CPU and who decides on it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frequency {
    /// The kernel's rule; of several, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Who carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Whether the clock may rise above its nominal rate for a while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boost: Option<bool>,
    /// The fastest clock of the first CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hz: Option<u64>,
}

/// Huge pages.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HugePages {
    /// When the kernel gives them: `always`, `madvise`, `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transparent: Option<String>,
    /// How hard it tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defrag: Option<String>,
    /// Their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Those set aside for programs that ask for them by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<u64>,
}

/// The operating system's monotonic clock.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clock {
    /// What the kernel keeps time by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What it could keep time by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available: Vec<String>,
    /// The smallest step that was seen.
    pub timer_res_ns: f64,
    /// What a reading costs.
    pub read_ns: f64,
    /// The clock that times scopes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profiler: Option<ProfilerClock>,
}

/// The clock that times scopes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfilerClock {
    /// `counter`: the CPU's own; `os`: the operating system's.
    pub source: String,
    /// Why this one.
    pub why: String,
    /// The distance of two readings in a row.
    pub timer_res_ns: f64,
}
