//! Without the feature `enabled`: everything still compiles, nothing is recorded, and no instruction is left.
#![cfg(not(feature = "enabled"))]

use std::process::Command;

#[global_allocator]
static ALLOCATOR: hotloop::Allocator = hotloop::Allocator::system();

#[hotloop::profile]
fn profiled(n: u64) -> u64 {
    hotloop::function!();
    hotloop::scope!("off", index = n, flops = unreachable(n), bytes = n, tokens = 1);
    let mut guard = hotloop::guard!("held");
    guard.add_flops(n);
    n + 1
}

/// Values of scopes that are off are never computed.
fn unreachable(n: u64) -> u64 {
    panic!("computed for {n}")
}

#[test]
fn every_form_compiles_and_records_nothing() {
    hotloop::Config::new().timeline(Some(10)).start();
    assert_eq!(profiled(1), 2);
    let link = hotloop::current();
    drop(link.attach());
    hotloop::reset();
    hotloop::name_thread("nobody");
    assert!(!hotloop::is_started());
    let snapshot = hotloop::snapshot();
    assert!(!snapshot.enabled && snapshot.scopes.is_empty() && snapshot.threads.is_empty());
    assert!(snapshot.report(5).contains("built without hotloop's feature `enabled`"));
    hotloop::stop();
    assert_eq!(size_of_val(&snapshot.lost), size_of::<hotloop::Losses>());
}

#[test]
fn assertions_refuse_what_they_cannot_check() {
    assert!(std::panic::catch_unwind(|| hotloop::assert_no_alloc!(1 + 1)).is_err());
}

/// The instructions of the function whose symbol contains `name`, from the compiler's assembly.
fn body(assembly: &str, name: &str) -> Vec<String> {
    let is_label = |line: &&str| line.ends_with(':') && line.contains(name) && !line.starts_with(['.', ' ', '\t']);
    let start = assembly.lines().position(|line| is_label(&line));
    let start = start.unwrap_or_else(|| panic!("no function {name} in\n{assembly}"));
    let lines = assembly.lines().skip(start + 1).map(str::trim);
    lines
        .take_while(|line| !line.starts_with(".Lfunc_end"))
        .filter(|line| !line.starts_with(['.', '#']))
        .map(str::to_owned)
        .collect()
}

/// The assembly of `examples/off.rs`, with its scopes or without.
fn assembly(scoped: bool) -> String {
    let target = format!("{}/off-{scoped}", env!("CARGO_TARGET_TMPDIR"));
    // What an earlier build left there would be taken for this one's.
    let _ = std::fs::remove_dir_all(format!("{target}/release/examples"));
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "rustc",
        "--offline",
        "--release",
        "--no-default-features",
        "--example",
        "off",
        "--target-dir",
        &target,
    ]);
    command.args(["--", "--emit", "asm", "-C", "debuginfo=0", "-C", "codegen-units=1"]);
    command.args(if scoped { &["--cfg", "scoped"][..] } else { &[] });
    let build = command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("RUSTFLAGS").output().expect("cargo runs");
    assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
    let files = std::fs::read_dir(format!("{target}/release/examples")).unwrap().map(|entry| entry.unwrap().path());
    let assembly: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "s")).collect();
    assert_eq!(assembly.len(), 1, "{assembly:?}");
    std::fs::read_to_string(&assembly[0]).unwrap()
}

#[test]
fn the_machine_code_is_that_of_the_bare_function() {
    let (bare, scoped) = (assembly(false), assembly(true));
    for function in ["sum_of_values", "vector_of_ones"] {
        let without_hash = |line: &String| line.split("17h").next().unwrap_or_default().to_owned();
        let lines = |assembly: &str| body(assembly, function).iter().map(without_hash).collect::<Vec<_>>();
        assert!(lines(&bare).len() > 5, "{function} has a body: {:?}", lines(&bare));
        assert_eq!(lines(&bare), lines(&scoped), "{function} with scopes differs");
    }
}
