//! The machine and the build of the runs.

use record::*;

fn rate(best: f64) -> Rate {
    let (isa, how) = ("avx2".to_owned(), "four streams".to_owned());
    Rate { best, median: best * 0.98, spread: 0.03, windows: 400, isa, how, huge_share: None }
}

fn compute(one: f64) -> Compute {
    Compute { one: Some(rate(one)), all: Some(rate(2.0 * one)) }
}

pub fn limits() -> Limits {
    let level = |name: &str, bytes: u64, one: f64, all: f64| Level {
        name: name.into(),
        huge_pages: true,
        bytes_one: bytes,
        bytes_all: bytes,
        one: Some(rate(one)),
        all: Some(rate(all)),
    };
    Limits {
        threads: 2,
        f32: Some(compute(100e9)),
        int8: Some(compute(200e9)),
        read: vec![
            level("L1", 16 << 10, 200e9, 400e9),
            level("L2", 256 << 10, 100e9, 200e9),
            level("L3", 8 << 20, 60e9, 110e9),
            level("DRAM", 256 << 20, 20e9, 34e9),
        ],
        notes: Vec::new(),
    }
}

pub fn machine() -> Machine {
    let cache = |level: u32, bytes: u64, shared_by: u32, instances: u32| Cache {
        level,
        kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
        bytes,
        shared_by: Some(shared_by),
        instances: Some(instances),
        line_bytes: Some(64),
    };
    Machine {
        machine_key: "00".into(),
        os: "linux".into(),
        kernel: Some("6.8.0".into()),
        arch: "x86_64".into(),
        cpu: Cpu { model: Some("AMD EPYC 7763".into()), ..Cpu::default() },
        isa: InstructionSets { chosen: "avx2".into(), ..InstructionSets::default() },
        cpus: 2,
        cores: Some(2),
        threads: 2,
        caches: vec![cache(1, 32 << 10, 1, 2), cache(2, 512 << 10, 1, 2), cache(3, 32 << 20, 2, 1)],
        mem_bytes: Some(24 << 30),
        hypervisor: Some("KVM".into()),
        ..Machine::default()
    }
}

pub fn build() -> Build {
    Build {
        profile: Some("release".into()),
        opt_level: Some("3".into()),
        debug_assertions: Some(false),
        compiler: Some("rustc 1.95.0".into()),
        target: Some("x86_64-unknown-linux-gnu".into()),
        features: vec!["profile".into()],
        binary_blake3: Some("0123456789abcdef0123".into()),
        ..Build::default()
    }
}
