use record::*;

use super::*;
use crate::document::Page;

pub(super) fn rate(best: f64) -> Rate {
    Rate {
        best,
        median: best * 0.98,
        spread: 0.03,
        windows: 400,
        isa: "avx2".into(),
        how: "four streams".into(),
        huge_share: None,
    }
}

fn level(name: &str, bytes: u64, one: f64, huge_pages: bool) -> Level {
    let rate = |best: f64| Rate { huge_share: Some(f64::from(u8::from(huge_pages))), ..rate(best) };
    Level {
        name: name.into(),
        huge_pages,
        bytes_one: bytes,
        bytes_all: bytes,
        one: Some(rate(one)),
        all: Some(rate(one * if name == "DRAM" { 2.0 } else { 16.0 })),
    }
}

fn cache(level: u32, kind: CacheKind, bytes: u64, shared_by: u32, instances: u32) -> Cache {
    Cache { level, kind, bytes, shared_by: Some(shared_by), instances: Some(instances), line_bytes: Some(64) }
}

fn desktop() -> Machine {
    Machine {
        machine_key: "00".into(),
        os: "linux".into(),
        kernel: Some("6.8.0".into()),
        arch: "x86_64".into(),
        cpu: Cpu {
            model: Some("AMD Ryzen 9 5950X".into()),
            vendor: Some("AMD".into()),
            revision: Some("family 25, model 33, stepping 0".into()),
        },
        isa: InstructionSets {
            chosen: "avx2".into(),
            available: vec!["scalar".into(), "avx2".into()],
            forced: false,
            features: vec!["avx".into(), "fma".into(), "avx2".into()],
        },
        cpus: 16,
        cores: Some(16),
        smt: Some(1),
        sockets: Some(1),
        caches: vec![
            cache(1, CacheKind::Data, 32 << 10, 1, 16),
            cache(1, CacheKind::Instruction, 32 << 10, 1, 16),
            cache(2, CacheKind::Unified, 512 << 10, 1, 16),
            cache(3, CacheKind::Unified, 32 << 20, 8, 2),
        ],
        numa: vec![NumaNode { id: 0, cpus: "0-15".into(), mem_bytes: Some(64 << 30) }],
        mem_bytes: Some(64 << 30),
        mem_available_bytes: Some(50 << 30),
        cgroup: Cgroup { version: Some(2), ..Cgroup::default() },
        cpuset: Some("0-15".into()),
        threads: 16,
        frequency: Frequency {
            governor: Some("performance".into()),
            driver: Some("acpi-cpufreq".into()),
            boost: Some(false),
            max_hz: Some(3_400_000_000),
        },
        huge_pages: HugePages {
            transparent: Some("madvise".into()),
            defrag: Some("madvise".into()),
            bytes: Some(2 << 20),
            reserved: Some(0),
        },
        clock: Clock {
            source: Some("tsc".into()),
            available: vec!["tsc".into(), "hpet".into()],
            timer_res_ns: 10.0,
            read_ns: 21.5,
            profiler: Some(ProfilerClock { source: "counter".into(), why: "invariant".into(), timer_res_ns: 8.8 }),
        },
        ..Machine::default()
    }
}

/// A machine with nothing to complain about.
pub(super) fn quiet_desktop() -> Doctor {
    let chain = |best: f64, how: &str| Rate { how: how.into(), ..rate(best) };
    let compute = |one: f64, how: &str| Compute { one: Some(chain(one, how)), all: Some(chain(16.0 * one, how)) };
    Doctor {
        schema: DOCTOR_SCHEMA.into(),
        version: DOCTOR_VERSION,
        tool: Tool { name: "hotloop".into(), version: "0.1.0".into() },
        created: Some("2026-11-15T08:00:00Z".into()),
        quick: false,
        duration_s: 8.5,
        machine: desktop(),
        limits: Limits {
            threads: 16,
            f32: Some(compute(100e9, "vfmadd ymm")),
            int8: Some(compute(199e9, "vpmaddubsw+vpmaddwd")),
            read: vec![
                level("L1", 16 << 10, 199e9, true),
                level("L2", 256 << 10, 103e9, true),
                level("L3", 8 << 20, 81e9, true),
                level("DRAM", 260 << 20, 23.3e9, true),
                level("DRAM", 260 << 20, 21.6e9, false),
            ],
            notes: Vec::new(),
        },
        noise: Noise {
            load_1m: Some(0.12),
            load_5m: Some(0.2),
            others_cpus: Some(0.02),
            steal_share: Some(0.0),
            throttled_s: None,
            pressure: Some(Pressure { cpu: Some(0.0), memory: Some(0.0), io: Some(0.001) }),
            jitter: Jitter { window_s: 0.1, gaps: 3, longest_s: Some(21e-6), lost_share: 0.000_5 },
        },
        counters: Counters {
            counters_available: vec!["cycles".into(), "instructions".into()],
            reason: None,
            perf_event_paranoid: Some(2),
        },
    }
}

/// A small guest that tells little, measured in a hurry.
fn bare_guest() -> Doctor {
    let mut doctor = quiet_desktop();
    doctor.quick = true;
    doctor.created = None;
    doctor.machine = Machine {
        os: "linux".into(),
        arch: "x86_64".into(),
        isa: InstructionSets {
            chosen: "scalar".into(),
            available: vec!["scalar".into()],
            forced: true,
            features: vec![],
        },
        cpus: 1,
        threads: 1,
        cgroup: Cgroup {
            version: Some(1),
            cgroup_cpu_max: Some(0.5),
            mem_max_bytes: Some(100 << 20),
            mem_used_bytes: None,
        },
        hypervisor: Some("KVM".into()),
        container: Some("docker".into()),
        clock: Clock { timer_res_ns: 40.0, read_ns: 1200.0, ..Clock::default() },
        ..Machine::default()
    };
    doctor.limits = Limits {
        threads: 1,
        f32: doctor.limits.f32.clone(),
        int8: None,
        read: vec![Level { one: None, all: None, ..level("DRAM", 25 << 20, 1e9, true) }],
        notes: vec![
            "DRAM: only 25 MiB could be read, because memory is short; caches may have answered in part".into(),
        ],
    };
    doctor.noise = Noise { jitter: Jitter { window_s: 0.04, ..Jitter::default() }, ..Noise::default() };
    doctor.counters = Counters { reason: Some("the kernel has no performance events".into()), ..Counters::default() };
    doctor
}

#[track_caller]
fn check(doctor: &Doctor, name: &str) {
    let text = document(doctor).terminal(Page::default());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/doctor/snapshots").join(name);
    if std::env::var_os("HOTLOOP_UPDATE").is_some() {
        std::fs::write(&path, &text).expect("the snapshot can be written");
    }
    let expected = std::fs::read_to_string(&path).expect("the snapshot can be read");
    assert!(text == expected, "{name} has changed; HOTLOOP_UPDATE=1 writes it anew:\n{text}");
    let narrow = document(doctor).terminal(Page { color: false, width: 80 });
    let commands = advice::all(doctor).into_iter().filter_map(|step| step.command).collect::<Vec<_>>();
    let is_copied = |line: &str| commands.iter().any(|command| line.trim_start() == command);
    let too_long = narrow.lines().find(|line| line.chars().count() > 80 && !is_copied(line));
    assert_eq!(too_long, None, "{narrow}");
    let markdown = document(doctor).markdown();
    assert!(markdown.starts_with("# Hotloop doctor: version") && markdown.contains("\n## Limits\n"), "{markdown}");
}

#[test]
fn a_quiet_desktop() {
    check(&quiet_desktop(), "quiet_desktop.txt");
}

#[test]
fn a_bare_guest() {
    check(&bare_guest(), "bare_guest.txt");
}

#[test]
fn what_is_shown_can_be_kept() {
    for doctor in [quiet_desktop(), bare_guest()] {
        let json = doctor.to_json();
        assert_eq!(Doctor::from_json(&json), Ok(doctor));
        assert!(!json.contains("null"), "what is not known is absent:\n{json}");
    }
    let newer = quiet_desktop().to_json().replace("\"version\": 1", "\"version\": 2");
    assert!(Doctor::from_json(&newer).is_err_and(|error| error.to_string().contains("newer")));
    let other = quiet_desktop().to_json().replace(DOCTOR_SCHEMA, "something-else");
    assert!(Doctor::from_json(&other).is_err_and(|error| error.to_string().contains("something-else")));
}
