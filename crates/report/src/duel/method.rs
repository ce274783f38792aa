//! What was compared, how it was measured, and on which machine.

use record::{Arm, Duel, Phase, Sample};

use super::figures::value;
use super::is_placebo;
use crate::document::{Block, Section, Table};
use crate::run::command_line;
use crate::units::{mean_count, percent, plural, seconds};

/// Digits of hashes and commits.
const DIGITS: usize = 12;

/// What the verdict does not tell.
pub(super) fn missing(duel: &Duel) -> Option<Section> {
    if duel.samples.is_empty() {
        return None;
    }
    let has = |metric: &str| duel.samples.iter().any(|sample| sample.values.contains_key(metric));
    let is_told = duel.arms.iter().all(|arm| arm.output_varies.is_some());
    let mut sentences = Vec::new();
    if !is_told {
        sentences.push("Output: not compared. `--check-output` compares what the sides print.".to_owned());
    }
    for (metric, what) in [
        ("cpu_s", "CPU time"),
        ("peak_rss_bytes", "Peak memory"),
        ("instructions", "Instructions: hardware counters are not available. `--exact` counts them with Valgrind"),
    ] {
        if !has(metric) {
            sentences.push(format!("{what}."));
        }
    }
    if duel.profiles.is_empty() {
        sentences.push("Cause of a change: no side recorded a profile.".to_owned());
    }
    let dropped = duel.findings.iter().flat_map(|finding| &finding.judgements).filter(|found| found.gate);
    let dropped: u64 = dropped.map(|found| found.dropped).max().unwrap_or(0);
    if dropped > 0 {
        sentences.push(format!("{} lacked a gated metric and were left out.", plural(dropped, "round")));
    }
    (!sentences.is_empty()).then(|| Section::new("NOT MEASURED", "").with(Block::List(sentences)))
}

pub(super) fn sides(duel: &Duel) -> Section {
    let mut table = Table::new(&["side", "what", "built", "program", "commit", "output"]);
    table.columns.iter_mut().for_each(|column| column.is_text = true);
    for arm in &duel.arms {
        table.row(side(arm));
    }
    Section::new("SIDES", "first digits of the hashes of program and output").with(Block::Table(table))
}

fn side(arm: &Arm) -> [String; 6] {
    let build = arm.subject.build.as_ref();
    let short = |text: &str| text.chars().take(DIGITS).collect::<String>();
    let label = if is_placebo(&arm.name) { "placebo: the base again".to_owned() } else { arm.label.clone() };
    [
        arm.name.clone(),
        label,
        build.and_then(|build| build.profile.clone()).unwrap_or_else(|| "unknown".to_owned()),
        build.and_then(|build| build.binary_blake3.as_deref()).map_or_else(String::new, short),
        arm.subject.git.as_ref().map_or_else(String::new, |git| short(&git.commit)),
        match (&arm.output, arm.output_varies) {
            (_, Some(true)) => "varies".to_owned(),
            (Some(output), _) => short(output),
            (None, _) => "not compared".to_owned(),
        },
    ]
}

pub(super) fn design(duel: &Duel) -> Section {
    let design = &duel.design;
    let launched = duel.samples.iter().map(|sample| sample.launch + 1).max().unwrap_or(0);
    let early = if launched > 0 && launched < design.launches && !duel.interrupted {
        " Ended early: the verdict was clear."
    } else {
        ""
    };
    let measured = format!(
        "{launched} of {} {} with {} each; sides take turns in balanced random order (seed {}).{early}",
        design.launches,
        if design.launches == 1 { "launch" } else { "launches" },
        plural(design.rounds, "round"),
        design.seed
    );
    let walls = duel.samples.iter().filter(|sample| sample.phase == Phase::Timed);
    let walls: Vec<f64> = walls.filter_map(|sample| sample.values.get("wall_s").copied()).collect();
    let took = compare::median(&walls).map_or_else(String::new, |wall| format!(", median {}", seconds(wall)));
    let round = format!("{}{took}; {} of warm-up", plural(design.calls, "call"), plural(design.warmup, "round"));
    let looks: Vec<String> = design.looks.iter().map(u64::to_string).collect();
    let gates: Vec<String> =
        design.gates.iter().map(|gate| format!("{} (threshold {})", gate.metric, percent(gate.threshold))).collect();
    let reason = design.gate_reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let judged = Some(gates.join(", ")).filter(|gates| !gates.is_empty()).map(|gates| gates + &reason);
    let padding = design.padding_bytes.filter(|_| launched > 0);
    let padding = padding.map(|bytes| format!("stack of every process shifted by 0 to {bytes} bytes at random"));
    let budget = design.time_budget_s.map(seconds);
    let chance = format!(
        "at most {} over all gates, sides and interim looks (after launch {})",
        percent(design.alpha),
        looks.join(", ")
    );
    Section::new("HOW IT WAS MEASURED", "").with_facts([
        ("mode", Some(design.mode.clone()).filter(|mode| !mode.is_empty())),
        ("launches", Some(measured).filter(|_| launched > 0)),
        ("round", Some(round).filter(|_| launched > 0)),
        ("judged by", judged),
        ("memory layout", padding),
        ("time budget", budget),
        ("false verdict rate", Some(chance)),
    ])
}

/// The machine, and what disturbed the rounds: shown, never judged.
pub(super) fn surroundings(duel: &Duel) -> Section {
    let machine = &duel.environment.machine;
    let cpu = machine.cpu.model.clone().unwrap_or_else(|| "unknown CPU".to_owned());
    let described = format!("{cpu}, {}, {}", plural(u64::from(machine.cpus), "CPU"), machine.os);
    let of = |name: &str| -> Vec<f64> {
        let timed = duel.samples.iter().filter(|sample| sample.phase == Phase::Timed);
        timed.filter_map(|sample: &Sample| sample.values.get(name).copied()).collect()
    };
    let told = |name: &str| {
        let values = of(name);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = compare::median(&values)?;
        Some(format!("median {}, maximum {}", value(duel, name, Some(middle)), value(duel, name, Some(most))))
    };
    let others = duel.environment.noise.as_ref().and_then(|noise| noise.others_cpus);
    Section::new("MACHINE", "and its state during the rounds").with_facts([
        ("machine", Some(described)),
        ("load average", told("env_load_1m")),
        ("CPU pressure", told("env_cpu_pressure").map(|text| format!("{text} of a round"))),
        ("steal time", told("env_steal_share").map(|text| format!("{text} of all CPUs"))),
        ("run delay", told("env_run_delay_s").map(|text| format!("{text} in a round"))),
        ("preemptions", told("env_involuntary_switches").map(|text| format!("{text} in a round"))),
        ("other programs", others.map(|cpus| format!("used {} CPUs on average", mean_count(cpus)))),
    ])
}

/// How to repeat it: the command line, with the seed of this time.
pub(super) fn again(duel: &Duel) -> Option<Section> {
    let (first, rest) = duel.command.split_first()?;
    let mut words = vec!["hotloop".to_owned(), first.clone()];
    if !rest.iter().take_while(|word| *word != "--").any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.extend(["--seed".to_owned(), duel.design.seed.to_string()]);
    }
    words.extend_from_slice(rest);
    let sentence = format!("`{}`", command_line::joined(&words));
    Some(Section::new("REPEAT", "with the same orders").with(Block::Text(sentence)))
}
