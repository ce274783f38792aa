//! What this machine is, read from what the system tells about itself.
//!
//! Each room turns text into values with pure functions, so that machines which are not at hand can be tested; what the
//! text is read from is a [`Files`]. What the system does not tell stays unknown.

mod cgroup;
mod clock;
mod counters;
mod cpu;
mod cpu_list;
mod files;
mod frequency;
mod host;
mod memory;
mod moment;
mod noise;
mod topology;

use kernels::Kernels;
use record::{InstructionSets, Machine};

pub use cgroup::free_bytes as cgroup_free_bytes;
pub use counters::counters;
pub use files::{Files, System};
pub(crate) use moment::Moment;
pub use noise::NoiseWatch;

/// The kernels that are used, and whether somebody asked for them.
#[derive(Debug, Clone, Copy)]
pub struct KernelChoice {
    /// Those that are used.
    pub kernels: Kernels,
    /// Whether [`kernels::ISA_VARIABLE`] names them.
    pub forced: bool,
}

impl KernelChoice {
    /// As [`Kernels::chosen`] has it.
    ///
    /// # Errors
    /// Where the variable names instructions that are unknown or that this CPU has not.
    pub fn from_environment() -> Result<Self, String> {
        let forced = std::env::var_os(kernels::ISA_VARIABLE).is_some_and(|name| !name.is_empty());
        Ok(KernelChoice { kernels: Kernels::chosen()?, forced })
    }

    /// Those whose limits count: the forced ones alone, or all but plain Rust, which nobody would choose beside others.
    pub fn candidates(self) -> Vec<Kernels> {
        let vectors = || Kernels::available().into_iter().filter(|kernels| kernels.isa() != kernels::Isa::Scalar);
        let found: Vec<Kernels> = if self.forced { Vec::new() } else { vectors().collect() };
        if found.is_empty() { vec![self.kernels] } else { found }
    }
}

/// The machine that these files tell of.
pub fn machine(files: &impl Files, chosen: KernelChoice) -> Machine {
    let cpuinfo = files.read("/proc/cpuinfo").unwrap_or_default();
    let topology = topology::read(files, &cpuinfo);
    let memory = memory::read(files);
    let cgroup = cgroup::read(files);
    let allowed = files.read("/proc/self/status").and_then(|text| cpu::allowed_cpus(&text));
    let cpus = topology.cpus.unwrap_or_else(parallelism);
    let cpu = cpu::read(files, &cpuinfo);
    let cpuset = allowed.as_deref().map(cpu_list::text);
    Machine {
        machine_key: machine_key(cpu.model.as_deref(), cpu.revision.as_deref(), cpus, memory.total),
        os: std::env::consts::OS.to_owned(),
        kernel: files.word("/proc/sys/kernel/osrelease"),
        arch: std::env::consts::ARCH.to_owned(),
        isa: instruction_sets(chosen, &cpuinfo),
        cpu,
        cpus,
        cores: topology.cores,
        smt: topology.smt,
        sockets: topology.sockets,
        core_kinds: topology.core_kinds,
        caches: topology.caches,
        numa: topology.numa,
        mem_bytes: memory.total,
        mem_available_bytes: memory.available,
        threads: usable_threads(allowed.map_or_else(parallelism, |cpus| cpus.len() as u32), cgroup.cgroup_cpu_max),
        cgroup,
        cpuset,
        frequency: frequency::read(files),
        hypervisor: host::hypervisor(files, &cpuinfo),
        container: host::container(files),
        huge_pages: memory.huge_pages,
        clock: clock::read(files),
    }
}

/// How many CPUs this process may be scheduled on: with more threads than that some of them only wait.
pub fn allowed_cpus(machine: &Machine) -> u32 {
    let listed = machine.cpuset.as_deref().and_then(cpu_list::parse);
    listed.map_or(machine.cpus, |cpus| cpus.len() as u32).max(1)
}

/// Where the files tell nothing.
fn parallelism() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// A thread more than the control group pays for would only make all of them wait.
fn usable_threads(allowed: u32, cgroup_cpu_max: Option<f64>) -> u32 {
    cgroup_cpu_max.map_or(allowed, |cpus| allowed.min(cpus as u32)).max(1)
}

fn instruction_sets(chosen: KernelChoice, cpuinfo: &str) -> InstructionSets {
    InstructionSets {
        chosen: chosen.kernels.isa().name().to_owned(),
        available: Kernels::available().iter().map(|kernels| kernels.isa().name().to_owned()).collect(),
        forced: chosen.forced,
        features: cpu::features(cpuinfo),
    }
}

/// Of facts that stay the same from boot to boot. Memory is rounded: kernels keep a little more or less of it.
fn machine_key(model: Option<&str>, revision: Option<&str>, cpus: u32, memory: Option<u64>) -> String {
    let gibibytes = memory.map(|bytes| (bytes as f64 / f64::from(1 << 30)).round());
    let facts = format!("{model:?} {revision:?} {cpus} {gibibytes:?}");
    // FNV-1a: the key names a machine and guards nothing.
    let hash = facts
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests;
