//! The limits, measured a second time by a program in C that shares no line with the library, and compared.
//!
//! The machine may be busy, so both take turns, and the best of each counts: what is right comes out sooner or later, and
//! what counts wrongly never does.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use kernels::limits::{self, Measured, Pages, Plan, Reading};
use lab::machine::{KernelChoice, System, machine};
use record::CacheKind;

/// How far the two may lie apart.
const AGREEMENT: f64 = 0.10;
/// Turns that each has at least, so that a lucky one decides nothing.
const ROUNDS: u32 = 3;
/// When to give up. On two CPUs with eight other programs, ten seconds were always enough.
const PATIENCE: Duration = Duration::from_secs(90);
/// Of one turn.
const TURN: Duration = Duration::from_millis(200);

const ONE: Plan = Plan { threads: 1, duration: TURN, preparation: PATIENCE };

/// The program, built once.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/limits.c");
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limits");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".to_owned());
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&binary).arg(source);
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        binary
    })
}

/// What the program measures; 0: the CPU lacks the instructions.
fn by_program(arguments: &[String]) -> f64 {
    let output = Command::new(program()).args(arguments).output().expect("it starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

#[track_caller]
fn check(what: &str, arguments: &[&str], by_library: impl Fn() -> Option<Measured>) {
    // One at a time: two of them would disturb each other for as long as they run.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    arguments.push(TURN.as_millis().to_string());
    let (mut ours, mut theirs, start) = (0.0_f64, 0.0_f64, Instant::now());
    for round in 1.. {
        ours = ours.max(by_library().expect("it can be measured").best());
        theirs = theirs.max(by_program(&arguments));
        if theirs == 0.0 {
            println!("{what}: skipped, the program in C knows no instructions of this CPU");
            return;
        }
        let apart = (ours / theirs - 1.0).abs();
        if round >= ROUNDS && apart <= AGREEMENT {
            println!("{what}: library {:.1}, C {:.1} G/s, {round} rounds", ours / 1e9, theirs / 1e9);
            return;
        }
        let gives_up = start.elapsed() > PATIENCE;
        assert!(!gives_up, "{what}: the library measures {ours:.3e} per second, C {theirs:.3e}");
    }
}

fn chosen() -> KernelChoice {
    KernelChoice::from_environment().expect("nothing is forced to what is not there")
}

/// Whether the comparison makes sense: the program in C always uses the best that the CPU has.
fn is_forced() -> bool {
    chosen().forced
}

#[test]
fn f32_arithmetic_agrees() {
    if !is_forced() {
        check("f32", &["f32"], || limits::f32_flops(&chosen().candidates(), ONE));
    }
}

#[test]
fn int8_arithmetic_agrees() {
    // Instructions that the program in C does not have, because older compilers do not know their name.
    let is_beyond_it = limits::int8_ops(&chosen().candidates(), ONE).is_some_and(|found| found.how == "vpdpbusd ymm");
    if !is_forced() && !is_beyond_it {
        check("int8", &["int8"], || limits::int8_ops(&chosen().candidates(), ONE));
    }
}

#[track_caller]
fn check_reading(what: &str, bytes: u64) {
    let bytes = bytes / 2048 * 2048;
    let reading = Reading { bytes: bytes as usize, pages: Pages::Huge, from_dram: what == "DRAM" };
    if !is_forced() {
        let size = bytes.to_string();
        check(what, &["read", &size], || limits::read_bytes(&chosen().candidates(), ONE, reading));
    }
}

/// The size of a data cache, or one that most CPUs have at least.
fn cache(level: u32, usual: u64) -> u64 {
    let caches = machine(&System, chosen()).caches;
    let data = caches.iter().find(|cache| cache.level == level && cache.kind != CacheKind::Instruction);
    data.map_or(usual, |cache| cache.bytes)
}

#[test]
fn reading_the_first_cache_agrees() {
    check_reading("L1", cache(1, 32 << 10) / 2);
}

#[test]
fn reading_the_second_cache_agrees() {
    check_reading("L2", cache(2, 256 << 10) / 2);
}

#[test]
fn reading_the_third_cache_agrees() {
    check_reading("L3", (cache(3, 8 << 20) / 4).clamp(2 * cache(2, 256 << 10), 8 << 20));
}

#[test]
fn reading_memory_agrees() {
    check_reading("DRAM", (8 * cache(3, 8 << 20)).clamp(64 << 20, 256 << 20));
}
