//! Duels of the engine's settings and models, as they are fought: processes, outputs, words.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use engine::{QuantiseOptions, Synthetic, SyntheticSource};
use kernels::Pool;
use kernels::quant::Format;
use record::{Agreement, Arm, Duel, Verdict};

/// A moment each; the words are those of a quick look.
const SHORT: &str = "--mode quick --round-ms 5 --json";
const WRONG_OUTPUT: i32 = 14;

fn hotloop(line: &str) -> Output {
    let words = line.split_whitespace();
    let output = Command::new(env!("CARGO_BIN_EXE_hotloop")).args(words).stdin(Stdio::null()).output();
    output.expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

/// The duel of a command line that has to end with this code.
#[track_caller]
fn duel(line: &str, code: i32) -> Duel {
    let output = hotloop(&format!("duel {line} {SHORT}"));
    assert_eq!(output.status.code(), Some(code), "{line}: {}", text(&output.stderr));
    Duel::from_json(text(&output.stdout)).expect("a duel")
}

#[track_caller]
fn refused(line: &str, part: &str) {
    let output = hotloop(&format!("duel {line} {SHORT}"));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    assert!(said.contains(part), "{line}: {said}");
}

fn arm<'a>(duel: &'a Duel, name: &str) -> &'a Arm {
    duel.arms.iter().find(|arm| arm.name == name).expect("it is there")
}

/// A folder of this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("duel-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The small model as a file, and the same with its last weight changed: that of the last token's row of the head.
fn two_files(test: &str) -> (PathBuf, PathBuf) {
    let folder = folder(test);
    let (whole, altered) = (folder.join("whole.gguf"), folder.join("altered.gguf"));
    let source = SyntheticSource::new(Synthetic::SMALL);
    let options = QuantiseOptions { format: Format::F32, pool: &Pool::new(1), overwrite: true };
    engine::quantise(&source, &whole, &options, &mut |_, _| std::ops::ControlFlow::Continue(())).expect("a file");
    let mut bytes = std::fs::read(&whole).expect("it is there");
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&100.0f32.to_le_bytes());
    std::fs::write(&altered, bytes).expect("it can be written");
    (whole, altered)
}

#[test]
fn keeping_keys_and_values_changes_no_token() {
    let duel = duel("--synthetic small --a kv=off --b kv=on", 0);
    let (base, candidate) = (arm(&duel, "A"), arm(&duel, "B"));
    assert_eq!((base.label.as_str(), candidate.label.as_str()), ("kv=off", "kv=on"));
    assert!(base.output.is_some() && base.output == candidate.output);
    assert_eq!((base.output_varies, candidate.output_varies), (Some(false), Some(false)));
    assert_eq!((candidate.asked.as_slice(), candidate.other_output), (&["kv".to_owned()][..], false));
    assert_eq!(candidate.agreement, Some(Agreement { equal: 50, of: 50 }));
    assert!(duel.findings[0].differences.is_empty());
    assert_eq!(candidate.workload.parameters["kv"], "on");
    // How fast they are depends on the machine; that they may be compared does not.
    assert!(!matches!(duel.findings[0].verdict, Verdict::WrongOutput | Verdict::Incomparable));
    let metrics: Vec<&str> = duel.findings[0].judgements.iter().map(|found| found.metric.as_str()).collect();
    for metric in
        ["wall_s", "cpu_s", "ttft_s", "token_s", "tokens_per_s", "decode_tokens_per_s", "allocs", "alloc_bytes"]
    {
        assert!(metrics.contains(&metric), "{metric} is missing in {metrics:?}");
    }
    assert!(duel.samples.iter().all(|sample| sample.series["token_s"].len() as u64 == 49 * duel.design.calls));
    assert!(duel.profiles.iter().any(|profile| profile.arm == "B" && !profile.paths.is_empty()));
}

#[test]
fn threads_pools_and_batches_change_no_token() {
    // How fast they are is not asked.
    let any = "--metric wall_s=1000%";
    let fought = duel(&format!("--synthetic small --a threads=1 --b threads=2 --c pool=off,threads=1 {any}"), 0);
    assert_eq!(arm(&fought, "B").asked, ["threads"]);
    assert_eq!(arm(&fought, "C").asked, ["pool"]);
    let fought_together = duel(&format!("--synthetic small --a batch=1,tokens=20 --b batch=3,tokens=20 {any}"), 0);
    assert_eq!(
        arm(&fought_together, "B").agreement,
        Some(Agreement { equal: 60, of: 60 }),
        "three sequences on both sides"
    );
    for duel in [&fought, &fought_together] {
        let outputs: Vec<_> = duel.arms.iter().map(|arm| arm.output.clone()).collect();
        assert!(outputs.iter().all(|output| output.is_some() && *output == outputs[0]), "{outputs:?}");
        let allocs = |name: &str| {
            duel.samples.iter().find(|sample| sample.arm.as_deref() == Some(name)).map(|s| s.values["allocs"])
        };
        if duel.arms.iter().any(|arm| arm.name == "C") {
            assert!(allocs("C") > allocs("A"), "without a pool every pass allocates");
        }
    }
}

#[test]
fn one_changed_weight_is_wrong_output_whatever_the_speed() {
    let (whole, altered) = two_files("altered");
    let sides = format!("{} {}", whole.display(), altered.display());
    let wrong = duel(&format!("{sides} --same-output"), WRONG_OUTPUT);
    assert_eq!((wrong.verdict, wrong.findings[0].verdict), (Verdict::WrongOutput, Verdict::WrongOutput));
    assert!(wrong.findings[0].judgements.iter().all(|found| found.verdict == Verdict::WrongOutput));
    let agreement = arm(&wrong, "B").agreement.expect("it is known");
    assert!(agreement.equal < agreement.of, "{agreement:?}");
    // Two models that nobody says to be the same may say what they like.
    let models = duel(&sides, 0);
    assert_eq!((arm(&models, "B").asked.as_slice(), arm(&models, "B").other_output), (&["model".to_owned()][..], true));
    assert_ne!(models.verdict, Verdict::WrongOutput);
    assert!(models.notes.iter().any(|note| note.contains("by design (model)")), "{:?}", models.notes);
    let same = duel(&format!("{} {} --same-output", whole.display(), whole.display()), 0);
    assert_ne!(same.verdict, Verdict::WrongOutput);
}

#[test]
fn weights_in_another_format_agree_as_far_as_they_do() {
    let (whole, _) = two_files("costs");
    let story = folder("text").join("story.txt");
    std::fs::write(&story, "There was a bridge, and below the bridge there was a boat.").expect("it can be written");
    for model in [format!("--model {}", whole.display()), "--synthetic small".to_owned()] {
        let duel = duel(&format!("{model} --text {} --a type=f32 --b type=q4_0", story.display()), 0);
        let (base, candidate) = (arm(&duel, "A"), arm(&duel, "B"));
        assert_eq!((candidate.asked.as_slice(), candidate.other_output), (&["type".to_owned()][..], true));
        assert_eq!((base.models[0].format.as_str(), candidate.models[0].format.as_str()), ("f32", "q4_0"));
        assert!(candidate.models[0].weight_bytes < base.models[0].weight_bytes / 4);
        let of = candidate.agreement.expect("it is known").of;
        assert_eq!(of, 50);
        assert!(!duel.findings[0].sentence.contains("same bytes"), "the program is meant, not the weights");
        assert!(
            duel.notes
                .iter()
                .any(|note| note.contains("by design (type): ") && note.contains(" of 50 greedy tokens agree")),
            "{:?}",
            duel.notes
        );
        // Random weights that are made from a recipe know no text.
        let cost = |arm: &Arm| arm.quality.as_ref().map(|quality| quality.nll);
        let is_file = model.contains("gguf");
        assert_eq!((cost(base).is_some(), cost(candidate).is_some()), (is_file, is_file));
        assert!(!is_file || cost(base) != cost(candidate));
    }
}

#[test]
fn what_cannot_be_set_is_named() {
    refused("--a colour=red --b kv=on", "there is no setting `colour`");
    refused("--a kv=off --b kv=perhaps", "kv=perhaps: kv takes on or off");
    refused("--a kv=off --b tokens=3", "`tokens=3` and `kv=off` do different work");
    refused(
        "--synthetic small --a tokens=200 --b tokens=200,kv=off",
        "do not fit into the model's context of 64 tokens",
    );
    refused("--synthetic small --a in_place=on --b kv=on", "in_place=on needs a model file");
    refused("--model no-such.gguf --a kv=on --b kv=off", "no-such.gguf");
    refused("--a kv=on --b kv=off --text no-such.txt", "cannot read no-such.txt");
    refused("--a kv=on --c kv=off", "without a gap");
    refused("small --a kv=on --b kv=off", "'small' cannot be used with '--a' and '--b'");
    refused("--synthetic small small medium", "to compare two models, name each as a SIDE");
    refused("--a kv=on", "a duel needs two sides or more: '--a' and '--b'");
}

#[test]
fn a_worker_answers_what_it_is_asked() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.args(["worker", "synthetic=small", "tokens=5", "threads=1"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("a stream");
    input.write_all(b"{\"calls\":2}\n{\"calls\":1,\"profiled\":true}\n").expect("it listens");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "{\"ready\":1}"));
    assert!(lines[1].contains("\"output\":") && !lines[1].contains("\"profile\":"), "{}", lines[1]);
    assert!(lines[2].contains("\"profile\":") && lines[2].contains("GenerateToken"), "{}", lines[2]);
    let help = hotloop("--help");
    assert!(!text(&help.stdout).contains("worker"), "it is nobody's command");
    let refused = hotloop("worker kv=off synthetic=tiny");
    assert_eq!(refused.status.code(), Some(2));
}
