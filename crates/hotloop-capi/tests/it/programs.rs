//! One test per program of `tests/programs`; what each holds to be true stands there.

use std::process::Command;

use crate::toolchain::{Linkage, Program, succeed};

const BOTH: &[Linkage] = &[Linkage::Static, Linkage::Shared];

#[test]
fn nested_scopes_sum_to_the_whole() {
    Program::new("nested.cpp").check(BOTH);
}

#[test]
fn no_call_is_lost_between_threads() {
    Program::new("threads.cpp").check(BOTH);
}

#[test]
fn recursion_is_counted_once() {
    Program::new("recursion.cpp").check(BOTH);
}

#[test]
fn functions_of_one_name_are_told_apart() {
    Program::new("names.cpp").check(BOTH);
    Program { flags: &["-std=c++20", "-O0"], ..Program::new("names.cpp") }.check(&[Linkage::Static]);
}

#[test]
fn exceptions_close_scopes() {
    Program::new("exceptions.cpp").check(BOTH);
}

#[test]
fn short_lived_threads_leave_their_counts() {
    Program::new("short_threads.cpp").check(BOTH);
}

#[test]
fn results_are_whole_while_threads_run() {
    Program::new("running.cpp").check(BOTH);
}

#[test]
fn allocations_are_exact_and_belong_to_their_thread() {
    Program { counts_malloc: true, ..Program::new("malloc.cpp") }.check(BOTH);
}

#[test]
fn programs_of_many_threads_run_with_malloc_counted() {
    for file in ["threads.cpp", "short_threads.cpp", "running.cpp", "exceptions.cpp"] {
        Program { counts_malloc: true, environment: &[("HOTLOOP_TEST", "malloc")], ..Program::new(file) }.check(BOTH);
    }
}

#[test]
fn disabled_records_nothing() {
    Program::new("disabled.cpp").check(BOTH);
}

#[test]
fn off_needs_no_library() {
    Program::new("off.cpp").check(&[Linkage::Off]);
    Program::new("off.c").check(&[Linkage::Off]);
}

#[test]
fn links_join_the_work_of_threads() {
    Program::new("links.cpp").check(BOTH);
}

#[test]
fn threads_go_by_their_names() {
    Program::new("thread_names.cpp").check(BOTH);
    Program { environment: &[("HOTLOOP_TEST", "named-before")], ..Program::new("thread_names.cpp") }.check(BOTH);
}

#[test]
fn work_and_indexes_are_kept() {
    Program::new("work.cpp").check(BOTH);
}

#[test]
fn negative_indexes_share_a_row() {
    Program::new("indexes.c").check(BOTH);
    Program::new("indexes.cpp").check(BOTH);
    Program { flags: &["-std=c++20", "-Wconversion"], ..Program::new("indexes.cpp") }.check(&[Linkage::Static]);
}

#[test]
fn calls_of_loopos_work() {
    Program::new("loopos.cpp").check(BOTH);
}

#[test]
fn misuse_from_c_is_ignored() {
    Program::new("misuse.c").check(BOTH);
}

#[test]
fn children_of_fork_end_and_record_nothing() {
    Program::new("forks.c").check(BOTH);
    Program { counts_malloc: true, environment: &[("HOTLOOP_TEST", "malloc")], ..Program::new("forks.c") }.check(BOTH);
}

#[test]
fn no_more_of_a_config_is_read_than_its_size_says() {
    Program::new("config.c").check(BOTH);
}

#[test]
fn scopes_in_signal_handlers_are_counted() {
    Program::new("signals.c").check(BOTH);
}

#[test]
fn scopes_that_are_never_ended_cost_no_others() {
    for optimisation in ["-O0", "-O3"] {
        Program { flags: &[optimisation], ..Program::new("leaks.c") }.check(BOTH);
    }
}

#[test]
fn libraries_may_be_unloaded() {
    let plugin = Program::new("plugin.c").build_plugin();
    let binary = Program::new("plugins.c").build(Linkage::Shared);
    succeed(Command::new(binary).arg(plugin));
}

#[test]
fn training_with_openmp_is_exact() {
    for threads in ["1", "2", "5"] {
        let environment: &[_] = &[("OMP_NUM_THREADS", threads)];
        let flags = &["-fopenmp"];
        let report = Program { flags, environment, ..Program::new("training.cpp") }.check(BOTH);
        assert!(report.contains("matmul"), "{report}");
    }
}

/// Shows what a scope costs from C++; `-- --nocapture` lets one read it.
#[test]
#[allow(clippy::print_stdout, reason = "its result")]
fn the_cost_of_a_scope_can_be_measured() {
    for linkage in BOTH {
        let figures = Program::new("cost.cpp").check(&[*linkage]);
        assert!(figures.contains("ns"), "{figures}");
        println!("{linkage:?}\n{figures}");
    }
}
