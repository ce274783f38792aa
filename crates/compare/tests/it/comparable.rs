//! Which sides answer the same question.

use compare::{ComparisonSide, comparable, same_subject};
use record::{Build, Difference, Environment, Git, Model, Run};

/// A run that tells everything.
pub fn told() -> Run {
    let mut run = Run::default();
    run.subject.name = "hotloop".to_owned();
    run.subject.git = Some(Git { commit: "aaaa".to_owned(), ..Git::default() });
    run.subject.build = Some(Build {
        profile: Some("release".to_owned()),
        opt_level: Some("3".to_owned()),
        debug_assertions: Some(false),
        compiler: Some("rustc 1.95".to_owned()),
        target: Some("x86_64-unknown-linux-gnu".to_owned()),
        binary_blake3: Some("1111".to_owned()),
        ..Build::default()
    });
    run.models = vec![Model {
        name: "small".to_owned(),
        format: "f32".to_owned(),
        weights_blake3: Some("2222".to_owned()),
        ..Model::default()
    }];
    run.workload.name = "standard".to_owned();
    for (name, value) in [("threads", "2"), ("tokens", "50"), ("prompt_tokens", "10"), ("isa", "avx2")] {
        run.workload.parameters.insert(name.to_owned(), value.to_owned());
    }
    run.workload.prompt_blake3 = Some("3333".to_owned());
    run.environment = Environment::default();
    run.environment.machine.machine_key = "zen".to_owned();
    run.environment.machine.os = "linux".to_owned();
    run.environment.machine.threads = 2;
    run
}

fn differences(base: &Run, candidate: &Run) -> Vec<Difference> {
    comparable(&ComparisonSide::from(base), &ComparisonSide::from(candidate))
}

fn fields(base: &Run, candidate: &Run) -> Vec<String> {
    differences(base, candidate).into_iter().map(|difference| difference.field).collect()
}

/// Another binary of another commit, with what this makes of it.
fn other(change: impl FnOnce(&mut Run)) -> Run {
    let mut run = told();
    let build = run.subject.build.as_mut().expect("it has one");
    build.binary_blake3 = Some("4444".to_owned());
    run.subject.git = Some(Git { commit: "bbbb".to_owned(), dirty: true, ..Git::default() });
    change(&mut run);
    run
}

#[test]
fn the_program_itself_is_what_a_comparison_is_about() {
    assert_eq!(fields(&told(), &other(|_| {})), [""; 0]);
    assert!(!same_subject(&ComparisonSide::from(&told()), &ComparisonSide::from(&other(|_| {}))));
    assert!(same_subject(&ComparisonSide::from(&told()), &ComparisonSide::from(&told())));
    // One file with two names, and one script in two places, may be two programs.
    let called = |name: &str, path: &str| {
        let mut run = told();
        run.subject.name = name.to_owned();
        run.subject.command = vec![path.to_owned(), "all".to_owned()];
        run
    };
    let same = |one: &Run, other: &Run| same_subject(&ComparisonSide::from(one), &ComparisonSide::from(other));
    assert!(same(&called("ls", "bin/ls"), &called("ls", "bin/ls")));
    assert!(!same(&called("ls", "bin/ls"), &called("cat", "bin/ls")));
    assert!(!same(&called("run.sh", "old/run.sh"), &called("run.sh", "new/run.sh")));
}

#[test]
fn how_it_was_built_is_named() {
    let debug = other(|run| {
        let build = run.subject.build.as_mut().expect("it has one");
        build.profile = Some("debug".to_owned());
        build.debug_assertions = Some(true);
    });
    let found = differences(&told(), &debug);
    assert_eq!(found[0].field, "build profile");
    assert_eq!((found[0].base.as_deref(), found[0].candidate.as_deref()), (Some("release"), Some("debug")));
    assert_eq!(found[1].field, "debug assertions");
    for (name, change) in [
        ("target CPU", (|build| build.target_cpu = Some("native".to_owned())) as fn(&mut Build)),
        ("compiler flags", |build| build.flags = vec!["-C".to_owned()]),
        ("features", |build| build.features = vec!["trace".to_owned()]),
        ("compiler", |build| build.compiler = Some("rustc 1.96".to_owned())),
        ("optimisation level", |build| build.opt_level = None),
    ] {
        let changed = other(|run| change(run.subject.build.as_mut().expect("it has one")));
        assert_eq!(fields(&told(), &changed), [name]);
    }
}

#[test]
fn what_is_not_known_is_a_difference() {
    let silent = other(|run| run.subject.build = None);
    assert_eq!(fields(&told(), &silent), ["build profile"]);
    let found = differences(&silent, &silent);
    assert_eq!(found, [Difference { field: "build profile".to_owned(), ..Difference::default() }]);
    let nothing = Run::default();
    let expected = [
        "build profile",
        "workload",
        "setting threads",
        "machine",
        "operating system",
        "instruction set",
        "usable CPUs",
    ];
    assert_eq!(fields(&nothing, &nothing), expected);
    assert!(!same_subject(&ComparisonSide::from(&nothing), &ComparisonSide::from(&nothing)));
    let unnamed = other(|run| run.models[0].weights_blake3 = None);
    assert_eq!(fields(&unnamed, &unnamed), ["model weights"]);
    let unprompted = other(|run| run.workload.prompt_blake3 = None);
    assert_eq!(fields(&unprompted, &unprompted), ["prompt"]);
}

#[test]
fn one_file_was_built_one_way() {
    let only_hash = |run: &mut Run| {
        let build = run.subject.build.as_mut().expect("it has one");
        *build = Build { binary_blake3: build.binary_blake3.clone(), ..Build::default() };
    };
    let hashed = other(only_hash);
    assert_eq!(fields(&hashed, &hashed), [""; 0]);
    let mut another = hashed.clone();
    another.subject.build = Some(Build { binary_blake3: Some("5555".to_owned()), ..Build::default() });
    assert_eq!(fields(&hashed, &another), ["build profile"]);
}

#[test]
fn work_model_and_machine_are_named() {
    for (name, change) in [
        (
            "setting threads",
            (|run| drop(run.workload.parameters.insert("threads".to_owned(), "1".to_owned()))) as fn(&mut Run),
        ),
        ("setting tokens", |run| drop(run.workload.parameters.remove("tokens"))),
        ("setting kv_cache", |run| drop(run.workload.parameters.insert("kv_cache".to_owned(), "no".to_owned()))),
        ("workload", |run| run.workload.name = "deep".to_owned()),
        ("prompt", |run| run.workload.prompt_blake3 = Some("9".to_owned())),
        ("model weights", |run| run.models[0].weights_blake3 = Some("9".to_owned())),
        ("model format", |run| run.models[0].format = "q8_0".to_owned()),
        ("models", |run| run.models.clear()),
        ("machine", |run| run.environment.machine.machine_key = "other".to_owned()),
        ("usable CPUs", |run| run.environment.machine.threads = 1),
        ("governor", |run| run.environment.machine.frequency.governor = Some("powersave".to_owned())),
        ("variable HOTLOOP_ISA", |run| {
            drop(run.environment.variables.insert("HOTLOOP_ISA".to_owned(), "x".to_owned()))
        }),
    ] {
        assert_eq!(fields(&told(), &other(change)), [name]);
    }
}
