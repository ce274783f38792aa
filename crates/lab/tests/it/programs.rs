//! Programs as sides of a duel.

use std::ffi::OsString;
use std::process;

use lab::duel::{Contestant, Program, ProgramSettings, Reading};
use record::Better;

fn program(words: &[&str]) -> ProgramSettings {
    ProgramSettings {
        label: words.join(" "),
        words: words.iter().map(OsString::from).collect(),
        ..ProgramSettings::default()
    }
}

fn shell(script: &str) -> ProgramSettings {
    program(&["sh", "-c", script])
}

fn round(settings: ProgramSettings, calls: u64) -> Result<(Reading, Program), String> {
    let mut program = Program::new(settings)?;
    let reading = program.launch()?.round(calls, false)?;
    Ok((reading, program))
}

#[test]
fn calls_are_summed() {
    let (reading, program) = round(shell("sleep 0.05; : $(seq 1000)"), 4).expect("a round");
    assert!((0.2..60.0).contains(&reading.values["wall_s"]), "{reading:?}");
    assert!(reading.values["cpu_s"] > 0.0 && reading.values["cpu_s"] < reading.values["wall_s"], "{reading:?}");
    let known = program.metrics();
    assert!(known.contains_key("minor_faults"));
    assert!(reading.values.keys().all(|name| known.contains_key(name) || name.starts_with("env_")), "{reading:?}");
    assert_eq!((reading.output, reading.profile), (None, None));
}

#[test]
fn figures_of_its_own_are_means() {
    let script = "echo hello; echo HOTLOOP tokens_per_s=$(( $$ % 2 * 0 + 120 )) unit=1/s better=higher; echo HOTLOOP output=done";
    let (reading, program) = round(shell(script), 3).expect("a round");
    assert_eq!((reading.values["tokens_per_s"], reading.output.as_deref()), (120.0, Some("done")));
    let metric = &program.metrics()["tokens_per_s"];
    assert_eq!((metric.unit.as_str(), metric.better), ("1/s", Better::Higher));
}

#[test]
fn what_it_prints_is_compared_where_that_is_asked_for() {
    let output =
        |script, check_output| round(ProgramSettings { check_output, ..shell(script) }, 2).expect("a round").0.output;
    assert_eq!(output("echo a", false), None);
    assert_eq!(output("echo a", true), output("echo a; echo complaint >&2", true));
    assert_ne!(output("echo a", true), output("echo b", true));
    assert!(output("echo $$", true).expect("an output").contains(", then "), "calls differ");
}

#[test]
fn failures_have_their_code_and_their_words() {
    let error = |script| round(shell(script), 1).expect_err("it fails");
    assert_eq!(error("echo lost my way >&2; exit 3"), "it ended with exit code 3: lost my way");
    assert_eq!(error("echo here; exit 4"), "it ended with exit code 4: here");
    assert_eq!(error("kill -9 $$"), "it was ended by signal 9: it said nothing");
    assert!(error("echo HOTLOOP fast").contains("`HOTLOOP fast`"));
    let missing = Program::new(program(&["/no/such/program"])).expect_err("it is not there");
    assert_eq!(missing, "there is no program `/no/such/program`");
    assert!(Program::new(ProgramSettings::default()).is_err());
}

#[test]
fn its_input_is_empty_and_much_output_does_no_harm() {
    round(program(&["cat"]), 1).expect("it ends");
    round(shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"), 1).expect("it ends");
}

#[test]
fn the_file_tells_its_hash_and_its_profile() {
    let test = std::env::current_exe().expect("a file");
    let arm = Program::new(program(&[test.to_str().expect("UTF-8"), "--list"])).expect("it is there").arm();
    let build = arm.subject.build.expect("a build");
    assert!(build.profile.is_some() && build.binary_blake3.is_some_and(|hash| hash.len() == 64));
    assert_eq!(arm.subject.command[1], "--list");
    let system = Program::new(shell("")).expect("it is there").arm();
    assert_eq!(system.subject.build.expect("a build").profile, None);
}

#[test]
fn instructions_are_counted_by_valgrind() {
    if process::Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: no valgrind");
        return;
    }
    let (reading, side) = round(ProgramSettings { exact: true, ..program(&["true"]) }, 2).expect("a round");
    assert!(reading.values["instructions"] > 10_000.0, "{reading:?}");
    assert!(side.metrics()["instructions"].definition.contains("Valgrind"));
    let failing = round(ProgramSettings { exact: true, ..program(&["false"]) }, 1).expect_err("it fails");
    assert!(failing.contains("under Valgrind it failed"), "{failing}");
}
