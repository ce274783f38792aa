use record::{Cgroup, CoreKind, NumaNode};

use super::*;
use crate::doctor::tests::{quiet_desktop, rate};

/// Checks that a change of a quiet machine brings one piece of advice, with those words and that command.
#[track_caller]
fn check(change: impl FnOnce(&mut Doctor), words: &str, command: Option<&str>) {
    let mut doctor = quiet_desktop();
    assert_eq!(all(&doctor), []);
    change(&mut doctor);
    let advice = all(&doctor);
    assert_eq!(advice.len(), 1, "{advice:?}");
    assert!(advice[0].sentence.contains(words), "{words} is not in {}", advice[0].sentence);
    let found = advice[0].command.as_deref();
    assert!(found == command || command.zip(found).is_some_and(|(part, whole)| whole.contains(part)), "{found:?}");
}

#[test]
fn each_applies_only_where_it_should() {
    check(|doctor| doctor.noise.others_cpus = Some(1.5), "1.50 of 16 CPUs", Some("ps "));
    check(|doctor| doctor.noise.steal_share = Some(0.04), "4 % of the CPU time", None);
    check(
        |doctor| doctor.machine.cgroup = Cgroup { cgroup_cpu_max: Some(1.5), ..Cgroup::default() },
        "1.50 CPUs of time.",
        Some("--cpuset-cpus=0-1"),
    );
    check(|doctor| doctor.machine.frequency.governor = Some("powersave".into()), "powersave", Some("cpupower"));
    check(|doctor| doctor.machine.frequency.boost = Some(true), "Boost", Some("cpufreq/boost"));
    check(|doctor| doctor.machine.huge_pages.transparent = Some("never".into()), "off", Some("madvise"));
    check(|doctor| doctor.machine.smt = Some(2), "2 CPUs share a core", Some("taskset"));
    let kind = |cpus: &str| CoreKind { cpus: cpus.into(), count: 8, max_hz: None };
    check(
        |doctor| doctor.machine.core_kinds = vec![kind("0-7"), kind("8-15")],
        "different types",
        Some("taskset -c 0-7"),
    );
    check(
        |doctor| doctor.machine.numa = vec![NumaNode::default(), NumaNode::default()],
        "2 NUMA nodes",
        Some("numactl"),
    );
}

#[test]
fn clocks_counters_and_memory_have_theirs() {
    check(|doctor| doctor.machine.clock.source = Some("hpet".into()), "clock source is hpet", Some("echo tsc"));
    check(
        |doctor| {
            doctor.machine.clock.source = Some("xen".into());
            doctor.machine.clock.available = vec!["xen".into()];
        },
        "tsc is not available",
        None,
    );
    let refuse = |doctor: &mut Doctor| {
        doctor.counters.counters_available.clear();
        doctor.counters.reason = Some("refused".into());
    };
    check(
        |doctor| {
            refuse(doctor);
            doctor.counters.perf_event_paranoid = Some(4);
        },
        "restricted to privileged users",
        Some("perf_event_paranoid=1"),
    );
    check(
        |doctor| {
            refuse(doctor);
            doctor.machine.hypervisor = Some("KVM".into());
        },
        "KVM must expose them",
        None,
    );
    check(
        |doctor| {
            refuse(doctor);
            doctor.machine.container = Some("docker".into());
        },
        "The container hides",
        Some("PERFMON"),
    );
    check(|doctor| doctor.noise.pressure.as_mut().expect("known").memory = Some(0.2), "waited for memory 20 %", None);
}

#[test]
fn limits_that_do_not_fit_are_questioned() {
    check(
        |doctor| {
            let dram = doctor.limits.read.iter_mut().find(|level| level.name == "DRAM").expect("there is one");
            dram.all.as_mut().expect("measured").huge_share = Some(0.4);
        },
        "Only 40 %",
        Some("compact_memory"),
    );
    // Half of the cores' arithmetic, on a machine that was not quiet for a reason that has no advice of its own.
    check(
        |doctor| {
            doctor.noise.jitter.lost_share = 0.1;
            doctor.limits.f32.as_mut().expect("measured").all = Some(rate(8.0 * 100e9));
        },
        "reached only 8.00×",
        None,
    );
}
