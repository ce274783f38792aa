//! How often verdicts were right about work whose truth is known, for people.

use record::{SelfTest, Trial};

use crate::gate::word;
use crate::layout::{WIDTH, table, wrapped};
use crate::units::{percent, plural, seconds};

/// What was tried, metric by metric, and what follows.
pub fn text(tried: &SelfTest) -> String {
    let design = &tried.design;
    let duels =
        |metric: &str| tried.trials.iter().filter(|trial| trial.metric == metric).map(|trial| trial.duels).sum();
    let metrics = metrics(tried);
    let fought: u64 = metrics.first().map_or(0, |metric| duels(metric));
    let mut text = paragraph(&format!(
        "{} of simulated work in {}, {}: {} × {} of {} each. Every duel was judged by each metric alone.",
        plural(fought, "duel"),
        seconds(tried.duration_s),
        design.mode,
        plural(design.launches, "launch").replace("launchs", "launches"),
        plural(design.rounds, "round"),
        seconds(design.round_s),
    ));
    for metric in metrics {
        let trials: Vec<&Trial> = tried.trials.iter().filter(|trial| trial.metric == metric).collect();
        text.push_str(&format!("\n{metric}, changes from {} on\n", percent(trials[0].threshold)));
        let heading = ["more work", "duels", "called", "in truth", "measured", "visible", "said"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        rows.extend(trials.iter().map(|trial| row(trial)));
        text.push_str(&table(&rows));
        text.push_str(
            &trials.iter().filter(|trial| trial.more == 0.0).map(|trial| false_alarms(trial)).collect::<String>(),
        );
    }
    text.push('\n');
    text.push_str(&paragraph(
        "`called`: a change where there was none, a regression where there was one. `in truth`: where the share of those lies among \
         endless duels here, with 95 % confidence. `visible`: the smallest change that would have been called, in the middle.",
    ));
    if tried.interrupted {
        text.push_str("It was ended before all duels were fought.\n");
    }
    text
}

/// In the order in which they were judged.
fn metrics(tried: &SelfTest) -> Vec<&str> {
    let mut metrics: Vec<&str> = tried.trials.iter().map(|trial| trial.metric.as_str()).collect();
    metrics.dedup();
    metrics
}

fn row(trial: &Trial) -> Vec<String> {
    let share = |value: Option<f64>| value.map_or_else(|| "not known".to_owned(), percent);
    let signed = |value: f64| format!("{}{}", if value < 0.0 { "−" } else { "+" }, percent(value.abs()));
    let words = trial.words.iter().map(|said| format!("{} {}", word(said.verdict), said.count));
    vec![
        if trial.more == 0.0 { "none".to_owned() } else { signed(trial.more) },
        trial.duels.to_string(),
        trial.called.to_string(),
        format!("{} to {}", percent(trial.low), percent(trial.high)),
        trial.estimate.map_or_else(|| "not known".to_owned(), signed),
        share(trial.visible),
        words.collect::<Vec<_>>().join(", "),
    ]
}

fn false_alarms(trial: &Trial) -> String {
    let sentence = format!(
        "False alarms: {} of {}, so no more than {} with 95 % confidence.",
        trial.called,
        trial.duels,
        percent(trial.high)
    );
    paragraph(&format!("  {sentence}"))
}

fn paragraph(sentence: &str) -> String {
    wrapped(sentence, WIDTH).join("\n") + "\n"
}
