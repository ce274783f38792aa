//! Programs that call nothing to be measured, and are where the environment asks for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use record::{Profile, Scope};

use crate::toolchain::{Linkage, Program, succeed, tmp};

/// What the program wrote, the only one of its processes that may.
#[track_caller]
fn asked(program: &Program<'_>, linkage: Linkage) -> Profile {
    let folder = empty_folder(&format!("asked-{}-{linkage:?}-{}", program.file, program.counts_malloc));
    let binary = program.build(linkage);
    succeed(Command::new(&binary).env("HOTLOOP_SNAPSHOT_DIR", &folder));
    let profile = read_only_file(&folder);
    let files = || fs::read_dir(&folder).expect("the folder").count();
    succeed(Command::new(&binary).current_dir(&folder));
    assert_eq!(files(), 1, "not asked, it writes nothing");
    profile
}

fn empty_folder(name: &str) -> PathBuf {
    let folder = tmp().join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[track_caller]
fn read_only_file(folder: &Path) -> Profile {
    let files: Vec<_> = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("a file").path()).collect();
    let [file] = files.as_slice() else { panic!("one file: {files:?}") };
    let json = fs::read_to_string(file).expect("the file");
    Profile::from_json(&json).unwrap_or_else(|error| panic!("{error}\n{json}"))
}

#[track_caller]
fn scope<'a>(profile: &'a Profile, name: &str) -> &'a Scope {
    let found = profile.scopes.iter().find(|scope| scope.name == name);
    found.unwrap_or_else(|| panic!("no scope {name} in {:#?}", profile.scopes))
}

const BOTH: [Linkage; 2] = [Linkage::Static, Linkage::Shared];

#[test]
fn a_c_program_writes_what_it_did() {
    for linkage in BOTH {
        let profile = asked(&Program::new("asked.c"), linkage);
        let spin = scope(&profile, "spin");
        assert_eq!((spin.calls, spin.timed_calls), (3, 3), "{linkage:?}");
        // It spins by the clock, also while it waits for a CPU and while the profiler finds that out.
        let beside = profile.waiting_ns.unwrap_or(0) + profile.own_cost.total_ns;
        assert!(spin.total_ns + beside >= 150_000_000 && spin.min_ns + beside >= 50_000_000, "{spin:?}");
        assert_eq!(profile.threads[0].name.as_deref(), Some("main"));
    }
}

#[test]
fn children_of_fork_end_and_write_nothing() {
    for linkage in BOTH {
        let folder = empty_folder(&format!("forks-{linkage:?}"));
        let binary = Program { environment: &[("HOTLOOP_TEST", "asked")], ..Program::new("forks.c") }.build(linkage);
        succeed(Command::new(binary).env("HOTLOOP_SNAPSHOT_DIR", &folder));
        let profile = read_only_file(&folder);
        assert_eq!(scope(&profile, "known to the parent").calls, 1, "{linkage:?}");
        assert_eq!(scope(&profile, "around fork").calls, 360, "{linkage:?}");
        assert!(profile.scopes.iter().all(|scope| scope.name != "only in the child"), "{linkage:?}");
    }
}

#[test]
fn a_program_has_the_same_json_itself() {
    let json = Program::new("json.cpp").check(&BOTH);
    let profile = Profile::from_json(&json).unwrap_or_else(|error| panic!("{error}\n{json}"));
    assert_eq!(scope(&profile, "say \"hi\" to C:\\ and\ttab").calls, 4);
}

#[test]
fn functions_without_the_macros_are_enough() {
    for linkage in BOTH {
        assert_eq!(scope(&asked(&Program::new("asked_functions.c"), linkage), "by hand").calls, 5, "{linkage:?}");
    }
}

#[test]
fn a_cpp_program_writes_what_it_did_while_a_thread_goes_on() {
    for linkage in BOTH {
        for counts_malloc in [false, true] {
            let profile = asked(&Program { counts_malloc, ..Program::new("asked.cpp") }, linkage);
            let spin = scope(&profile, "spin");
            let beside = profile.waiting_ns.unwrap_or(0) + profile.own_cost.total_ns;
            assert!(spin.calls == 3 && spin.total_ns + beside >= 150_000_000, "{spin:?}");
            assert!(scope(&profile, "for ever").calls > 0);
            let detached = profile.threads.iter().find(|thread| thread.name.as_deref() == Some("detached"));
            assert!(detached.is_some_and(|thread| thread.is_alive), "{:?}", profile.threads);
            let allocs = spin.allocs.map(|allocs| (allocs.allocs, allocs.frees));
            assert_eq!(allocs, counts_malloc.then_some((3, 3)), "{linkage:?}");
        }
    }
}
