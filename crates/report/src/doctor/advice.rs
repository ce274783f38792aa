//! What to change to measure better: one function per piece of advice, which says something only where it applies.

use record::{Doctor, Rate};

use super::noise::{Quietness, quietness};
use crate::units::{digits, plural, seconds, whole_percent};

/// What to change, and the command that does it.
#[derive(Debug, PartialEq)]
pub(super) struct Advice {
    pub(super) sentence: String,
    pub(super) command: Option<String>,
}

impl Advice {
    fn new(sentence: impl Into<String>) -> Self {
        Advice { sentence: sentence.into(), command: None }
    }

    fn by(sentence: impl Into<String>, command: impl Into<String>) -> Self {
        Advice { sentence: sentence.into(), command: Some(command.into()) }
    }
}

/// All that applies, what matters most first.
pub(super) fn all(doctor: &Doctor) -> Vec<Advice> {
    let rules = [
        other_work,
        steal,
        quota,
        lost_threads,
        governor,
        boost,
        huge_pages,
        fragmented,
        smt,
        kinds,
        nodes,
        clock,
        counters,
        memory,
    ];
    rules.iter().filter_map(|rule| rule(doctor)).collect()
}

fn other_work(doctor: &Doctor) -> Option<Advice> {
    let used = doctor.noise.others_cpus.filter(|used| *used >= 0.1)?;
    Some(Advice::by(
        format!("Other programs used {} of {}. Stop them, or measure later.", digits(used), cpus(doctor)),
        "ps -eo pcpu,pid,args --sort=-pcpu | head",
    ))
}

fn cpus(doctor: &Doctor) -> String {
    plural(u64::from(doctor.machine.cpus), "CPU")
}

fn steal(doctor: &Doctor) -> Option<Advice> {
    let share = doctor.noise.steal_share.filter(|share| *share >= 0.01)?;
    Some(Advice::new(format!(
        "The hypervisor gave {} of the CPU time to other guests. Take a machine with CPUs of its own, or compare only what \
         ran interleaved.",
        whole_percent(share)
    )))
}

fn quota(doctor: &Doctor) -> Option<Advice> {
    let cpus = doctor.machine.cgroup.cgroup_cpu_max?;
    let last = (cpus.ceil() as u32).saturating_sub(1);
    let set = if last == 0 { "0".to_owned() } else { format!("0-{last}") };
    let held = doctor.noise.throttled_s.filter(|held| *held > 0.0);
    let held = held.map_or(String::new(), |held| format!(", and held us back for {}", seconds(held)));
    Some(Advice::by(
        format!(
            "The control group allows {} CPUs' time{held}. A limit by time stops all threads in the middle of their work; \
             whole CPUs do not.",
            digits(cpus)
        ),
        format!("docker run --cpuset-cpus={set} …   instead of --cpus"),
    ))
}

/// Arithmetic in registers grows with the cores; where it did not, somebody else had them.
fn lost_threads(doctor: &Doctor) -> Option<Advice> {
    let found = doctor.limits.f32.as_ref()?;
    let (one, all): (&Rate, &Rate) = (found.one.as_ref()?, found.all.as_ref()?);
    let cores = doctor.machine.cores.unwrap_or(doctor.limits.threads).min(doctor.limits.threads);
    let ratio = all.best / one.best;
    let is_lost = quietness(&doctor.noise) != Quietness::Quiet && ratio < 0.75 * f64::from(cores);
    is_lost.then(|| {
        Advice::new(format!(
            "{} did only {} times the arithmetic of one: the limits of all threads are probably too low. Repeat it when \
             the machine is quiet.",
            plural(u64::from(doctor.limits.threads), "thread"),
            digits(ratio)
        ))
    })
}

fn governor(doctor: &Doctor) -> Option<Advice> {
    let governor = doctor.machine.frequency.governor.as_deref().filter(|governor| *governor != "performance")?;
    Some(Advice::by(
        format!("The governor is {governor}: the clock needs time to rise, and short work runs slow."),
        "sudo cpupower frequency-set -g performance",
    ))
}

fn boost(doctor: &Doctor) -> Option<Advice> {
    doctor.machine.frequency.boost.filter(|boost| *boost)?;
    let command = if doctor.machine.frequency.driver.as_deref().is_some_and(|driver| driver.starts_with("intel")) {
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    } else {
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    };
    Some(Advice::by(
        "Boost is on: speed depends on temperature and on how many cores work. Off, it is lower and steadier.",
        command,
    ))
}

fn huge_pages(doctor: &Doctor) -> Option<Advice> {
    let transparent = doctor.machine.huge_pages.transparent.as_deref()?;
    (transparent == "never").then(|| {
        Advice::by(
            "Huge pages are off: reading weights from memory costs up to a third more.",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    })
}

fn fragmented(doctor: &Doctor) -> Option<Advice> {
    if doctor.machine.huge_pages.transparent.as_deref().is_none_or(|transparent| transparent == "never") {
        return None;
    }
    let asked = doctor.limits.read.iter().filter(|level| level.huge_pages && level.name == "DRAM");
    let shares = asked.flat_map(|level| [&level.one, &level.all]).flatten().filter_map(|rate| rate.huge_share);
    let share = shares.min_by(f64::total_cmp).filter(|share| *share < 0.9)?;
    Some(Advice::by(
        format!("Only {} of the memory got huge pages: it is fragmented.", whole_percent(share)),
        "echo 1 | sudo tee /proc/sys/vm/compact_memory",
    ))
}

fn smt(doctor: &Doctor) -> Option<Advice> {
    let smt = doctor.machine.smt.filter(|smt| *smt > 1)?;
    Some(Advice::by(
        format!("{smt} CPUs share a core: use one thread per core, each on a core of its own (`lscpu -e` shows them)."),
        "taskset -c CPUS …",
    ))
}

fn kinds(doctor: &Doctor) -> Option<Advice> {
    let fastest = doctor.machine.core_kinds.first()?;
    Some(Advice::by(
        "The cores are of several kinds: stay on one of them, else runs differ by where they happened to be.",
        format!("taskset -c {} …", fastest.cpus),
    ))
}

fn nodes(doctor: &Doctor) -> Option<Advice> {
    let count = doctor.machine.numa.len() as u64;
    (count > 1).then(|| {
        Advice::by(
            format!("Memory has {count} nodes: stay on one, or spread it on purpose."),
            "numactl --cpunodebind=0 --membind=0 …",
        )
    })
}

fn clock(doctor: &Doctor) -> Option<Advice> {
    let clock = &doctor.machine.clock;
    let source = clock.source.as_deref().filter(|source| *source != "tsc" && doctor.machine.arch == "x86_64")?;
    let has_counter = clock.available.iter().any(|source| source == "tsc");
    let sentence = format!(
        "The kernel keeps time by {source}: a reading takes {} ns, scopes cost as much.",
        digits(clock.read_ns)
    );
    Some(if has_counter {
        Advice::by(sentence, "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource")
    } else {
        Advice::new(format!("{sentence} It offers no tsc; `dmesg | grep -i tsc` may say why."))
    })
}

fn counters(doctor: &Doctor) -> Option<Advice> {
    let counters = &doctor.counters;
    counters.reason.as_ref()?;
    if counters.perf_event_paranoid.is_some_and(|level| level > 2) && counters.counters_available.is_empty() {
        return Some(Advice::by(
            "The CPU's counters are for privileged users only: instructions and cache misses cannot be counted.",
            "sudo sysctl kernel.perf_event_paranoid=1",
        ));
    }
    Some(match (&doctor.machine.container, &doctor.machine.hypervisor) {
        (_, Some(hypervisor)) => Advice::new(format!(
            "The CPU's counters are missing, so instructions and cache misses cannot be counted. {hypervisor} would have to \
             pass them on (KVM: `-cpu host,pmu=on`); else measure on a bare machine."
        )),
        (Some(_), None) => Advice::by(
            "The container hides the CPU's counters: instructions and cache misses cannot be counted.",
            "docker run --cap-add PERFMON --security-opt seccomp=unconfined …",
        ),
        (None, None) => Advice::new("Some of the CPU's counters are missing: see above."),
    })
}

fn memory(doctor: &Doctor) -> Option<Advice> {
    let share = doctor.noise.pressure.as_ref()?.memory.filter(|share| *share >= 0.01)?;
    Some(Advice::new(format!(
        "Programs waited for memory in {} of the time: something swaps. Free memory before measuring.",
        whole_percent(share)
    )))
}

#[cfg(test)]
mod tests;
