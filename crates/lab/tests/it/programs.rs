//! Programs as sides of a duel.

use std::ffi::OsString;
use std::process;

use lab::duel::{Conditions, Contestant, Program, ProgramSettings, Reading};
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
#[cfg(target_os = "linux")]
fn a_copy_is_another_file_that_is_called_by_the_same_name() {
    let conditions = |copied, seed| Conditions { seed, copied };
    let output = |words: &[&str], conditions| {
        let settings = ProgramSettings { check_output: true, ..program(words) };
        let mut program = Program::new(settings).expect("it is there");
        let reading = program.launch_under(&conditions).expect("a launch").round(3, false).expect("a round");
        (reading.output.expect("an output"), program.notes())
    };
    let file = ["readlink", "/proc/self/exe"];
    let (original, notes) = output(&file, conditions(false, Some(1)));
    assert!(notes.is_empty() && !original.contains(", then "), "padding is not in the path: {original}");
    assert_ne!(original, output(&file, conditions(true, None)).0, "another file");
    // Environment and arguments, with the name it is called by, are those of the original.
    let told = ["sh", "-c", "env | sort; echo $0 $@; cat /proc/$$/comm", "name", "a b"];
    let (plain, _) = output(&told, conditions(false, None));
    for conditions in [conditions(false, Some(7)), conditions(true, Some(8)), conditions(true, None)] {
        assert_eq!(output(&told, conditions), (plain.clone(), Vec::new()), "{conditions:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_script_is_not_copied_and_a_note_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let script = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("script-{}", process::id()));
    std::fs::write(&script, "#!/bin/sh\necho $0 ${HOTLOOP_PADDING:+padded}\n").expect("a file");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let words = [script.to_str().expect("UTF-8")];
    let conditions = Conditions { seed: Some(3), copied: true };
    let output = |check_output| {
        let mut program = Program::new(ProgramSettings { check_output, ..program(&words) }).expect("it is there");
        let reading = program.launch_under(&conditions).expect("a launch").round(4, false).expect("a round");
        (reading.output, program.notes())
    };
    let (checked, notes) = output(true);
    let expected = blake3::hash(format!("{}\n", words[0]).as_bytes()).to_hex().to_string();
    assert_eq!(checked, Some(expected), "nothing is added where output is compared");
    assert!(notes.len() == 1 && notes[0].contains("it is a script"), "{notes:?}");
    let _ = std::fs::remove_file(script);
}

#[test]
#[cfg(target_os = "linux")]
fn the_scheduler_tells_what_the_main_thread_did() {
    let (reading, _) = round(program(&["sleep", "0.02"]), 1).expect("a round");
    let Some(ran) = reading.values.get("env_main_cpu_s") else {
        return println!("skipped: this kernel does not count it");
    };
    assert!(*ran > 0.0 && *ran < 0.02 && reading.values["env_run_delay_s"] >= 0.0, "{reading:?}");
    // The work is in a child.
    let (reading, _) = round(shell("seq 300000 > /dev/null; true"), 1).expect("a round");
    assert!(reading.values["env_main_cpu_s"] < 0.5 * reading.values["cpu_s"], "{reading:?}");
}

#[test]
fn failures_have_their_code_and_their_words() {
    let error = |script| round(shell(script), 1).expect_err("it fails");
    assert_eq!(error("echo lost my way >&2; exit 3"), "exit code 3: lost my way");
    assert_eq!(error("echo here; exit 4"), "exit code 4: here");
    assert_eq!(error("kill -9 $$"), "terminated by signal 9: it printed nothing");
    assert!(error("echo HOTLOOP fast").contains("`HOTLOOP fast`"));
    let missing = Program::new(program(&["/no/such/program"])).expect_err("it is not there");
    assert_eq!(missing, "no program `/no/such/program`");
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
    assert!(failing.contains("failed under Valgrind"), "{failing}");
}
