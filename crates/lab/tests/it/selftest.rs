//! The lab's trial of its own verdicts, with workers whose times are told and not measured.

use std::process::Command;
use std::time::Duration;

use compare::rules::DuelMode;
use lab::machine::KernelChoice;
use lab::selftest::{SelfTestObserver, SelfTestProgress, SelfTestSettings, replay, selftest};
use record::{GateMetric, SelfTest, Tool, Verdict};

/// Says a second, and as much more as there is more work; every answer is the same.
const STEADY: &str = r#"echo '{"ready":1}'; while read line; do
    case "$0" in
        0) value=1.0 ;;
        *) value=1.08 ;;
    esac
    echo "{\"reading\":{\"values\":{\"wall_s\":$value,\"cpu_s\":$value}}}"
done"#;

fn steady(more: f64) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", STEADY, &more.to_string()]);
    command
}

/// Ends it behind so many duels.
struct Few(u64, u64);

impl SelfTestObserver for Few {
    fn tell(&mut self, progress: &SelfTestProgress) {
        self.0 = progress.done;
    }

    fn is_stopped(&self) -> bool {
        self.0 >= self.1
    }
}

fn settings() -> SelfTestSettings {
    let gate = |metric: &str, threshold| GateMetric { metric: metric.to_owned(), threshold };
    SelfTestSettings {
        mode: DuelMode::STANDARD,
        round: Duration::from_millis(1),
        same: 2,
        slowed: 1,
        slowdowns: vec![0.08],
        gates: vec![gate("cpu_s", 0.02), gate("wall_s", 0.10)],
        budget: None,
        seed: 1,
        chosen: KernelChoice::from_environment().expect("kernels"),
        tool: Tool::default(),
    }
}

#[test]
fn what_was_said_is_counted_by_metric_and_by_truth() {
    let tried = selftest(&settings(), steady, &mut Few(0, 9)).expect("it was fought");
    let seen: Vec<_> =
        tried.trials.iter().map(|trial| (&*trial.metric, trial.more, trial.duels, trial.called)).collect();
    // 8 % is more than matters for one metric and less for the other.
    assert_eq!(seen, [("cpu_s", 0.0, 2, 0), ("cpu_s", 0.08, 1, 1), ("wall_s", 0.0, 2, 0), ("wall_s", 0.08, 1, 0)]);
    assert_eq!(tried.trials[0].words[0].verdict, Verdict::Same);
    assert!((tried.trials[1].estimate.expect("a change") - 0.08).abs() < 1e-9);
    assert!(tried.trials[0].low == 0.0 && (tried.trials[0].high - 0.8419).abs() < 1e-3, "{:?}", tried.trials[0]);
    assert!(!tried.interrupted && tried.design.launches == 8 && tried.design.alpha == 0.05);
    assert_eq!(SelfTest::from_json(&tried.to_json()), Ok(tried));
}

#[test]
fn what_is_broken_off_has_what_there_was() {
    let tried = selftest(&settings(), steady, &mut Few(0, 2)).expect("some were fought");
    let duels: u64 = tried.trials.iter().map(|trial| trial.duels).sum();
    assert!(tried.interrupted && duels == 4, "{tried:?}");
    let nothing = selftest(&settings(), steady, &mut Few(0, 0)).expect_err("none was");
    assert!(nothing.contains("before the first duel"), "{nothing}");
    let late = SelfTestSettings { budget: Some(Duration::ZERO), ..settings() };
    assert!(selftest(&late, steady, &mut Few(0, 9)).is_err());
}

#[test]
fn a_duel_is_judged_as_if_looked_at_on_the_way() {
    let sample = |arm: &str, launch: u64, round: u64| {
        // B is slow in the first four launches alone.
        let value = 1.0 + launch as f64 * 1e-4 + if arm == "B" && launch < 4 { 0.5 } else { 0.0 };
        record::Sample {
            arm: Some(arm.to_owned()),
            launch,
            round,
            values: [("cpu_s".to_owned(), value)].into(),
            ..record::Sample::default()
        }
    };
    let arms = ["A", "A'", "B"];
    let duel = record::Duel {
        arms: arms.iter().map(|name| record::Arm { name: (*name).to_owned(), ..record::Arm::default() }).collect(),
        samples: (0..14)
            .flat_map(|launch| (0..9).flat_map(move |round| arms.map(|arm| sample(arm, launch, round))))
            .collect(),
        ..record::Duel::default()
    };
    let gates = [GateMetric { metric: "cpu_s".to_owned(), threshold: 0.02 }];
    let outcome = replay(&duel, DuelMode::STANDARD, &gates);
    assert_eq!((outcome.verdict, outcome.findings[0].judgements[0].rounds), (Verdict::Regressed, 24), "the first look");
    let late = DuelMode { looks: &[14], ..DuelMode::THOROUGH };
    let outcome = replay(&duel, late, &gates);
    assert_ne!((outcome.verdict, outcome.findings[0].judgements[0].rounds), (Verdict::Regressed, 126));
    assert_eq!(outcome.findings[0].judgements[0].rounds, 126);
}
