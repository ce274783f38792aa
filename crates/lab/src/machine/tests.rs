//! Whole machines, as their files describe them.

use std::collections::BTreeMap;

use record::{CacheKind, Machine};

use super::*;

type Fixture = BTreeMap<&'static str, &'static str>;

fn of(files: &Fixture) -> Machine {
    machine(files, KernelChoice { kernels: Kernels::with(kernels::Isa::Scalar).expect("always there"), forced: true })
}

fn with(mut files: Fixture, more: &[(&'static str, &'static str)]) -> Fixture {
    files.extend(more.iter().copied());
    files
}

/// A guest of four CPUs, two cores with SMT.
fn amd_guest() -> Fixture {
    let mut files = Fixture::from([
        (
            "/proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763\n\
             stepping\t: 1\nflags\t\t: fpu avx avx2 fma f16c hypervisor\n",
        ),
        (
            "/proc/meminfo",
            "MemTotal: 16384000 kB\nMemAvailable: 8192000 kB\nHugepagesize: 2048 kB\nHugePages_Total: 0\n",
        ),
        ("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n"),
        ("/proc/self/cgroup", "0::/\n"),
        ("/proc/sys/kernel/osrelease", "6.8.0-31-generic\n"),
        ("/sys/devices/system/cpu/online", "0-3\n"),
        ("/sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("/sys/devices/system/cpu/cpu0/cache/index0/level", "1"),
        ("/sys/devices/system/cpu/cpu0/cache/index0/type", "Data"),
        ("/sys/devices/system/cpu/cpu0/cache/index0/size", "32K"),
        ("/sys/devices/system/cpu/cpu0/cache/index1/level", "1"),
        ("/sys/devices/system/cpu/cpu0/cache/index1/type", "Instruction"),
        ("/sys/devices/system/cpu/cpu0/cache/index1/size", "32K"),
        ("/sys/devices/system/cpu/cpu0/cache/index3/level", "3"),
        ("/sys/devices/system/cpu/cpu0/cache/index3/type", "Unified"),
        ("/sys/devices/system/cpu/cpu0/cache/index3/size", "32768K"),
        ("/sys/devices/system/cpu/cpu0/cache/index3/coherency_line_size", "64"),
    ]);
    for (siblings, level3, socket) in [
        (
            "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
            "/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
            "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
        ),
        (
            "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
            "/sys/devices/system/cpu/cpu1/cache/index3/shared_cpu_list",
            "/sys/devices/system/cpu/cpu1/topology/physical_package_id",
        ),
    ] {
        files.extend([(siblings, "0-1\n"), (level3, "0-3\n"), (socket, "0\n")]);
    }
    for siblings in [
        "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list",
        "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list",
    ] {
        files.insert(siblings, "2-3\n");
    }
    files
}

#[test]
fn a_guest_with_smt() {
    let machine = of(&amd_guest());
    assert_eq!(machine.cpu.model.as_deref(), Some("AMD EPYC 7763"));
    assert_eq!((machine.cpus, machine.cores, machine.smt, machine.sockets), (4, Some(2), Some(2), Some(1)));
    assert_eq!(machine.threads, 4);
    assert_eq!(machine.cpuset.as_deref(), Some("0-3"));
    assert_eq!(machine.hypervisor.as_deref(), Some("QEMU"));
    assert_eq!(machine.kernel.as_deref(), Some("6.8.0-31-generic"));
    let caches: Vec<_> =
        machine.caches.iter().map(|cache| (cache.level, cache.kind, cache.bytes, cache.shared_by)).collect();
    assert_eq!(
        caches,
        [
            (1, CacheKind::Data, 32 << 10, None),
            (1, CacheKind::Instruction, 32 << 10, None),
            (3, CacheKind::Unified, 32 << 20, Some(4)),
        ]
    );
    assert_eq!(machine.caches[2].instances, Some(1));
    assert_eq!(machine.isa.features, ["avx", "f16c", "fma", "avx2"]);
    assert!(machine.isa.forced && machine.isa.chosen == "scalar");
}

#[test]
fn a_container_may_use_less_than_there_is() {
    let files = with(
        amd_guest(),
        &[
            ("/.dockerenv", ""),
            ("/proc/self/status", "Cpus_allowed_list:\t0-2\n"),
            ("/sys/fs/cgroup/cpu.max", "250000 100000\n"),
            ("/sys/fs/cgroup/memory.max", "104857600\n"),
        ],
    );
    let machine = of(&files);
    assert_eq!(machine.container.as_deref(), Some("docker"));
    assert_eq!((machine.cpus, machine.threads, allowed_cpus(&machine)), (4, 2, 3));
    assert_eq!(machine.cgroup.mem_max_bytes, Some(100 << 20));
    let half = with(files, &[("/sys/fs/cgroup/cpu.max", "50000 100000\n")]);
    assert_eq!(of(&half).threads, 1);
}

#[test]
fn an_intel_hybrid() {
    let files = Fixture::from([
        ("/proc/cpuinfo", "model name : 13th Gen Intel(R) Core(TM) i7-13700\nflags : avx2 avx_vnni\n"),
        ("/sys/devices/system/cpu/online", "0-23\n"),
        ("/sys/devices/cpu_core/cpus", "0-15\n"),
        ("/sys/devices/cpu_atom/cpus", "16-23\n"),
    ]);
    let machine = of(&files);
    let kinds: Vec<_> = machine.core_kinds.iter().map(|kind| (kind.cpus.as_str(), kind.count)).collect();
    assert_eq!(kinds, [("0-15", 16), ("16-23", 8)]);
    assert_eq!(machine.hypervisor, None);
    assert_eq!(machine.cores, None);
}

#[test]
fn an_arm_server() {
    let files = Fixture::from([
        ("/proc/cpuinfo", "processor : 0\nFeatures : fp asimd asimddp sve\nCPU implementer : 0x41\nCPU part : 0xd0c\n"),
        ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("/sys/devices/system/cpu/online", "0-63\n"),
    ]);
    let machine = of(&files);
    assert_eq!(machine.cpu.model.as_deref(), Some("Arm Neoverse N1"));
    assert_eq!(machine.hypervisor.as_deref(), Some("Amazon EC2"));
    assert_eq!(machine.cpus, 64);
}

#[test]
fn a_machine_that_tells_nothing() {
    let machine = of(&Fixture::new());
    assert!(machine.cpus >= 1 && machine.threads >= 1 && allowed_cpus(&machine) == machine.cpus);
    assert_eq!((machine.cpu.model, machine.cores, machine.mem_bytes, machine.hypervisor), (None, None, None, None));
    assert!(machine.caches.is_empty() && machine.numa.is_empty());
}

#[test]
fn the_key_names_the_hardware_and_nothing_that_changes() {
    let machine = of(&amd_guest());
    let later = with(
        amd_guest(),
        &[
            ("/proc/meminfo", "MemTotal: 16383000 kB\nMemAvailable: 100 kB\n"),
            ("/proc/sys/kernel/osrelease", "6.9.0\n"),
        ],
    );
    assert_eq!(of(&later).machine_key, machine.machine_key);
    let smaller = with(amd_guest(), &[("/sys/devices/system/cpu/online", "0-1\n")]);
    assert_ne!(of(&smaller).machine_key, machine.machine_key);
    assert_eq!(machine.machine_key.len(), 16);
}

#[test]
fn forced_kernels_are_measured_alone() {
    let scalar = Kernels::with(kernels::Isa::Scalar).expect("always there");
    let isas = |chosen: KernelChoice| chosen.candidates().iter().map(|kernels| kernels.isa()).collect::<Vec<_>>();
    assert_eq!(isas(KernelChoice { kernels: scalar, forced: true }), [kernels::Isa::Scalar]);
    let free = isas(KernelChoice { kernels: scalar, forced: false });
    assert_eq!(free.contains(&kernels::Isa::Scalar), Kernels::available().len() == 1);
    assert!(!free.is_empty());
}

#[test]
fn this_machine_can_be_read() {
    let machine = machine(&System, KernelChoice::from_environment().expect("nothing is forced to what is not there"));
    assert!(machine.cpus >= 1 && machine.threads >= 1 && machine.clock.read_ns > 0.0);
    let counters = counters(&System);
    assert!(counters.reason.is_some() || counters.counters_available.len() == 6, "{counters:?}");
}
