//! What to change to measure better: one function per recommendation, which returns one only where it applies.

use record::{Doctor, Rate};

use super::noise::{Quietness, quietness};
use crate::document::Step;
use crate::units::{digits, plural, seconds, whole_percent};

fn without_command(sentence: impl Into<String>) -> Step {
    Step { sentence: sentence.into(), command: None }
}

fn with_command(sentence: impl Into<String>, command: impl Into<String>) -> Step {
    Step { sentence: sentence.into(), command: Some(command.into()) }
}

/// All that apply, the most important first.
pub(super) fn all(doctor: &Doctor) -> Vec<Step> {
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

fn other_work(doctor: &Doctor) -> Option<Step> {
    let used = doctor.noise.others_cpus.filter(|used| *used >= 0.1)?;
    Some(with_command(
        format!("Other programs used {} of {}. Stop them or measure later.", digits(used), cpus(doctor)),
        "ps -eo pcpu,pid,args --sort=-pcpu | head",
    ))
}

fn cpus(doctor: &Doctor) -> String {
    plural(u64::from(doctor.machine.cpus), "CPU")
}

fn steal(doctor: &Doctor) -> Option<Step> {
    let share = doctor.noise.steal_share.filter(|share| *share >= 0.01)?;
    Some(without_command(format!(
        "The hypervisor gave {} of the CPU time to other guests. Use a machine with dedicated CPUs, or compare only \
         interleaved measurements.",
        whole_percent(share)
    )))
}

fn quota(doctor: &Doctor) -> Option<Step> {
    let cpus = doctor.machine.cgroup.cgroup_cpu_max?;
    let last = (cpus.ceil() as u32).saturating_sub(1);
    let set = if last == 0 { "0".to_owned() } else { format!("0-{last}") };
    let held = doctor.noise.throttled_s.filter(|held| *held > 0.0);
    let held = held.map_or(String::new(), |held| format!(" and throttled this process for {}", seconds(held)));
    Some(with_command(
        format!(
            "The cgroup allows {} CPUs of time{held}. A CPU-time limit stops all threads mid-work; pinning to whole CPUs \
             does not.",
            digits(cpus)
        ),
        format!("docker run --cpuset-cpus={set} …   instead of --cpus"),
    ))
}

/// Arithmetic in registers grows with the cores; where it did not, somebody else had them.
fn lost_threads(doctor: &Doctor) -> Option<Step> {
    let found = doctor.limits.f32.as_ref()?;
    let (one, all): (&Rate, &Rate) = (found.one.as_ref()?, found.all.as_ref()?);
    let cores = doctor.machine.cores.unwrap_or(doctor.limits.threads).min(doctor.limits.threads);
    let ratio = all.best / one.best;
    let is_lost = quietness(&doctor.noise) != Quietness::Quiet && ratio < 0.75 * f64::from(cores);
    is_lost.then(|| {
        without_command(format!(
            "{} reached only {}× the arithmetic rate of one: the limits for all threads are probably too low. Repeat on \
             a quiet machine.",
            plural(u64::from(doctor.limits.threads), "thread"),
            digits(ratio)
        ))
    })
}

fn governor(doctor: &Doctor) -> Option<Step> {
    let governor = doctor.machine.frequency.governor.as_deref().filter(|governor| *governor != "performance")?;
    Some(with_command(
        format!("The CPU governor is {governor}: the clock ramps up slowly, so short work runs slow."),
        "sudo cpupower frequency-set -g performance",
    ))
}

fn boost(doctor: &Doctor) -> Option<Step> {
    doctor.machine.frequency.boost.filter(|boost| *boost)?;
    let command = if doctor.machine.frequency.driver.as_deref().is_some_and(|driver| driver.starts_with("intel")) {
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    } else {
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    };
    Some(with_command(
        "Boost is on: speed depends on temperature and on how many cores are busy. Without it speed is lower but steadier.",
        command,
    ))
}

fn huge_pages(doctor: &Doctor) -> Option<Step> {
    let transparent = doctor.machine.huge_pages.transparent.as_deref()?;
    (transparent == "never").then(|| {
        with_command(
            "Huge pages are off: reading weights from memory takes up to a third longer.",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
    })
}

fn fragmented(doctor: &Doctor) -> Option<Step> {
    if doctor.machine.huge_pages.transparent.as_deref().is_none_or(|transparent| transparent == "never") {
        return None;
    }
    let asked = doctor.limits.read.iter().filter(|level| level.huge_pages && level.name == "DRAM");
    let shares = asked.flat_map(|level| [&level.one, &level.all]).flatten().filter_map(|rate| rate.huge_share);
    let share = shares.min_by(f64::total_cmp).filter(|share| *share < 0.9)?;
    Some(with_command(
        format!("Only {} of the memory got huge pages: memory is fragmented.", whole_percent(share)),
        "echo 1 | sudo tee /proc/sys/vm/compact_memory",
    ))
}

fn smt(doctor: &Doctor) -> Option<Step> {
    let smt = doctor.machine.smt.filter(|smt| *smt > 1)?;
    Some(with_command(
        format!("{smt} CPUs share a core: use one thread per core, each pinned to its own core (see `lscpu -e`)."),
        "taskset -c CPUS …",
    ))
}

fn kinds(doctor: &Doctor) -> Option<Step> {
    let fastest = doctor.machine.core_kinds.first()?;
    Some(with_command(
        "The cores are of different types: pin the program to one type, or results depend on where it ran.",
        format!("taskset -c {} …", fastest.cpus),
    ))
}

fn nodes(doctor: &Doctor) -> Option<Step> {
    let count = doctor.machine.numa.len() as u64;
    (count > 1).then(|| {
        with_command(
            format!("Memory has {count} NUMA nodes: bind the program to one, or interleave deliberately."),
            "numactl --cpunodebind=0 --membind=0 …",
        )
    })
}

fn clock(doctor: &Doctor) -> Option<Step> {
    let clock = &doctor.machine.clock;
    let source = clock.source.as_deref().filter(|source| *source != "tsc" && doctor.machine.arch == "x86_64")?;
    let has_counter = clock.available.iter().any(|source| source == "tsc");
    let sentence = format!(
        "The kernel's clock source is {source}: each read, and so each scope, costs {} ns.",
        digits(clock.read_ns)
    );
    Some(if has_counter {
        with_command(sentence, "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource")
    } else {
        without_command(format!("{sentence} tsc is not available; `dmesg | grep -i tsc` may say why."))
    })
}

fn counters(doctor: &Doctor) -> Option<Step> {
    let counters = &doctor.counters;
    counters.reason.as_ref()?;
    if counters.perf_event_paranoid.is_some_and(|level| level > 2) && counters.counters_available.is_empty() {
        return Some(with_command(
            "Hardware counters are restricted to privileged users: instructions and cache misses cannot be counted.",
            "sudo sysctl kernel.perf_event_paranoid=1",
        ));
    }
    Some(match (&doctor.machine.container, &doctor.machine.hypervisor) {
        (_, Some(hypervisor)) => without_command(format!(
            "Hardware counters are missing, so instructions and cache misses cannot be counted. {hypervisor} must expose them \
             (KVM: `-cpu host,pmu=on`); otherwise measure on bare metal."
        )),
        (Some(_), None) => with_command(
            "The container hides the hardware counters: instructions and cache misses cannot be counted.",
            "docker run --cap-add PERFMON --security-opt seccomp=unconfined …",
        ),
        (None, None) => without_command("Some hardware counters are missing: see above."),
    })
}

fn memory(doctor: &Doctor) -> Option<Step> {
    let share = doctor.noise.pressure.as_ref()?.memory.filter(|share| *share >= 0.01)?;
    Some(without_command(format!(
        "Programs waited for memory {} of the time: the machine is swapping. Free memory before measuring.",
        whole_percent(share)
    )))
}

#[cfg(test)]
mod tests;
