//! Where it ran, what was going on there, and how the program was built.

use record::{Build, Limits, Machine, Noise, Rate, Run};

use super::overview::short_hash;
use crate::document::Section;
use crate::units::{bytes, digits, percent, plural, rate, seconds};

const UNKNOWN: &str = "unknown";

pub(crate) fn section(run: &Run) -> Section {
    let machine = &run.environment.machine;
    let build = run.subject.build.as_ref();
    // Our kernels, the limits and the build say nothing of a program that does not tell of them.
    let is_foreign = super::view::is_foreign(run);
    let isa = Some(machine.isa.chosen.clone()).filter(|isa| !isa.is_empty() && !is_foreign);
    let limits = Some(limits(run)).filter(|_| !is_foreign || run.environment.limits.is_some());
    let built = build.and_then(self::build).or_else(|| (!is_foreign).then(|| UNKNOWN.to_owned()));
    Section::new("SYSTEM AND BUILD", "").with_facts([
        ("cpu", Some(cpu(machine))),
        ("kernels", isa.map(|isa| instructions(machine, &isa))),
        ("memory", Some(machine.mem_bytes.map_or_else(|| UNKNOWN.to_owned(), bytes))),
        ("system", Some(system(machine)).filter(|system| !system.is_empty())),
        ("limits", limits),
        ("", run.environment.limits.as_ref().and_then(super::limits::doubt)),
        ("noise", Some(run.environment.noise.as_ref().map_or_else(crate::document::not_measured, noise))),
        ("variables", variables(run)),
        ("program", Some(program(run))),
        ("source", source(run)),
        ("build", built),
        ("flags", build.and_then(flags)),
    ])
}

pub(crate) fn cpu(machine: &Machine) -> String {
    let name = machine.cpu.model.as_deref().or(machine.cpu.vendor.as_deref()).unwrap_or("unknown CPU");
    let mut parts = vec![name.to_owned()];
    parts.extend(machine.cores.map(|cores| plural(u64::from(cores), "core")));
    if machine.cpus > 0 {
        parts.push(plural(u64::from(machine.cpus), "CPU"));
    }
    if machine.threads > 0 && machine.threads != machine.cpus {
        parts.push(plural(u64::from(machine.threads), "usable thread"));
    }
    parts.join(", ")
}

pub(crate) fn instructions(machine: &Machine, isa: &str) -> String {
    let forced = if machine.isa.forced { ", set by HOTLOOP_ISA" } else { "" };
    let arch = if machine.arch.is_empty() { String::new() } else { format!(" ({})", machine.arch) };
    format!("{isa}{arch}{forced}")
}

fn system(machine: &Machine) -> String {
    let mut parts = vec![machine.os.clone()];
    parts.extend(machine.kernel.clone());
    let mut text = parts.join(" ").trim().to_owned();
    text.extend(machine.container.as_ref().map(|container| format!(", {container} container")));
    text.extend(machine.hypervisor.as_ref().map(|hypervisor| format!(", {hypervisor} virtual machine")));
    text
}

/// What the shares of limits are shares of.
fn limits(run: &Run) -> String {
    let Some(limits) = &run.environment.limits else { return crate::document::not_measured() };
    let arithmetic = [("f32", "FLOP/s", &limits.f32), ("int8", "OP/s", &limits.int8)];
    let mut known: Vec<String> = Vec::new();
    for (name, unit, compute) in arithmetic {
        let compute = compute.as_ref();
        let (one, all) = (compute.and_then(|it| it.one.as_ref()), compute.and_then(|it| it.all.as_ref()));
        known.extend(of_one_and_all(limits, (one, all), unit).map(|rates| format!("{name} {rates}")));
    }
    let mut named: Vec<&str> = Vec::new();
    for level in limits.read.iter() {
        let rates = of_one_and_all(limits, (level.one.as_ref(), level.all.as_ref()), "B/s");
        known.extend(rates.filter(|_| !named.contains(&&*level.name)).map(|rates| format!("{} {rates}", level.name)));
        named.push(&level.name);
    }
    if known.is_empty() { crate::document::not_measured() } else { known.join("; ") }
}

/// `118 GFLOP/s (1 thread), 226 GFLOP/s (2 threads)`.
fn of_one_and_all(limits: &Limits, rates: (Option<&Rate>, Option<&Rate>), unit: &str) -> Option<String> {
    let written = |found: &Rate| rate(found.best, unit);
    match rates {
        (one, Some(all)) if limits.threads <= 1 => Some(written(one.unwrap_or(all))),
        (Some(one), Some(all)) => {
            Some(format!("{} (1 thread), {} ({} threads)", written(one), written(all), limits.threads))
        }
        (Some(one), None) => Some(format!("{} (1 thread)", written(one))),
        (None, Some(all)) => Some(format!("{} ({} threads)", written(all), limits.threads)),
        (None, None) => None,
    }
}

/// In one sentence: how busy the machine was with other things.
fn noise(noise: &Noise) -> String {
    let mut parts = Vec::new();
    parts.extend(noise.others_cpus.map(|used| format!("other programs used {} CPUs", digits(used))));
    parts.extend(noise.load_1m.map(|load| format!("load average {} before the run", digits(load))));
    parts.extend(noise.steal_share.map(|share| format!("steal time {}", percent(share))));
    let held = noise.throttled_s.filter(|held| *held > 0.0);
    parts.extend(held.map(|held| format!("throttled by the cgroup for {}", seconds(held))));
    let jitter = &noise.jitter;
    parts.extend(jitter.longest_s.map(|longest| format!("longest scheduling gap {}", seconds(longest))));
    if parts.is_empty() { crate::document::not_measured() } else { parts.join(", ") }
}

fn variables(run: &Run) -> Option<String> {
    let all: Vec<String> = run.environment.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

fn program(run: &Run) -> String {
    let name = if run.subject.name.is_empty() { UNKNOWN } else { &run.subject.name };
    let version = run.subject.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    let hash = run.subject.build.as_ref().and_then(|build| build.binary_blake3.as_ref());
    let hash = hash.map_or(String::new(), |hash| format!(", binary BLAKE3 {}", short_hash(hash)));
    format!("{name}{version}{hash}")
}

fn source(run: &Run) -> Option<String> {
    let git = run.subject.git.as_ref()?;
    let dirty = if git.dirty { ", uncommitted changes" } else { "" };
    let branch = git.branch.as_ref().map_or(String::new(), |branch| format!(", branch {branch}"));
    let when = git.commit_time.as_ref().map_or(String::new(), |when| format!(", {when}"));
    Some(format!("commit {}{dirty}{branch}{when}", short_hash(&git.commit)))
}

/// What is known of it; `None` where that is nothing.
pub(crate) fn build(build: &Build) -> Option<String> {
    let known = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (compiler, target) = (known(&build.compiler), known(&build.target));
    // Who built for a target and named no CPU built for all of them; of a build that is not known this says nothing.
    let cpu = match known(&build.target_cpu) {
        Some(cpu) => Some(format!("target CPU {cpu}")),
        None => target.as_ref().map(|_| "generic CPU".to_owned()),
    };
    let parts = [
        known(&build.profile),
        known(&build.opt_level).map(|level| format!("opt-level {level}")),
        (build.debug_assertions == Some(true)).then(|| "debug assertions".to_owned()),
        compiler,
        target,
        cpu,
        (!build.features.is_empty()).then(|| format!("features {}", build.features.join(" "))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn flags(build: &Build) -> Option<String> {
    let parts = [("instructions", &build.target_features), ("flags", &build.flags)];
    let named = parts.iter().filter(|(_, list)| !list.is_empty());
    let all: Vec<String> = named.map(|(name, list)| format!("{name} {}", list.join(" "))).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_of_a_build_are_left_out() {
        let hashed = Build { binary_blake3: Some("0123".to_owned()), ..Build::default() };
        assert_eq!(build(&hashed), None);
        let some = Build { opt_level: Some("2".to_owned()), compiler: Some("gcc 14".to_owned()), ..hashed };
        assert_eq!(build(&some).as_deref(), Some("opt-level 2, gcc 14"));
        let empty = Build { profile: Some(String::new()), target: Some("riscv64".to_owned()), ..Build::default() };
        assert_eq!(build(&empty).as_deref(), Some("riscv64, generic CPU"));
    }
}
