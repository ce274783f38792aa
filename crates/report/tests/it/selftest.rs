//! What is said of the tool's own verdicts.

use record::{Design, SelfTest, Trial, Verdict, WordCount};
use report::Page;

fn trial(metric: &str, more: f64, called: u64, words: &[(Verdict, u64)]) -> Trial {
    Trial {
        metric: metric.to_owned(),
        threshold: if metric == "cpu_s" { 0.02 } else { 0.03 },
        more,
        duels: 20,
        called,
        low: if called == 20 { 0.832 } else { 0.0 },
        high: if called == 20 { 1.0 } else { 0.168 },
        words: words.iter().map(|(verdict, count)| WordCount { verdict: *verdict, count: *count }).collect(),
        estimate: Some(more - 0.001),
        visible: (metric == "cpu_s").then_some(0.0312),
    }
}

#[test]
fn every_trial_has_its_row_and_false_alarms_a_sentence() {
    let same = [(Verdict::Same, 18), (Verdict::Unresolved, 2)];
    let mut tried = SelfTest {
        duration_s: 93.4,
        design: Design { mode: "standard".to_owned(), launches: 6, rounds: 8, round_s: 0.008, ..Design::default() },
        trials: vec![
            trial("cpu_s", 0.0, 0, &same),
            trial("cpu_s", 0.05, 20, &[(Verdict::Regressed, 20)]),
            trial("wall_s", 0.0, 0, &[(Verdict::Unresolved, 20)]),
        ],
        ..SelfTest::default()
    };
    let expected = "\
HOTLOOP SELFTEST  40 duels of simulated work in 93.4 s, standard: 6 launches × 8 rounds of 8.00 ms each

cpu_s  threshold 2.0 %
  added work  duels  detected           95 % CI  measured  detectable  verdicts
  none           20         0    0 % to 16.8 %    −0.1 %      3.1 %  same 18, unresolved 2
  +5.0 %         20        20  83.2 % to 100.0 %    +4.9 %      3.1 %  regressed 20

  False alarms: 0 of 20 (at most 16.8 % with 95 % confidence)

wall_s  threshold 3.0 %
";
    let text = report::selftest(&tried).terminal(Page::default());
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(squeezed(&text).starts_with(&squeezed(expected)), "{text}");
    let narrow = report::selftest(&tried).terminal(Page { color: false, width: 80 });
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(text.contains("unknown") && !text.contains("Interrupted"), "{text}");
    tried.interrupted = true;
    let text = report::selftest(&tried).terminal(Page::default());
    assert!(text.lines().nth(1) == Some("  WARNING  Interrupted: not all duels were run."), "{text}");
}
