//! What was compared, how, and where.

use record::{Arm, Duel, Phase, Sample};

use super::figures::value;
use super::is_placebo;
use crate::run::document::{Block, Section, Table};
use crate::run::shell;
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
        sentences.push(
            "Whether the sides compute the same: no output was compared. `--check-output` compares what they print."
                .to_owned(),
        );
    }
    for (metric, what) in [
        ("cpu_s", "CPU time"),
        ("peak_rss_bytes", "Peak memory"),
        (
            "instructions",
            "Instructions: this CPU does not count them for us. `--exact` counts those of programs by Valgrind",
        ),
    ] {
        if !has(metric) {
            sentences.push(format!("{what}."));
        }
    }
    if duel.profiles.is_empty() {
        sentences.push("Where a change comes from: no side gave a profile.".to_owned());
    }
    let dropped = duel.findings.iter().flat_map(|finding| &finding.judgements).filter(|found| found.gate);
    let dropped: u64 = dropped.map(|found| found.dropped).max().unwrap_or(0);
    if dropped > 0 {
        sentences.push(format!(
            "In {} something that is judged had no value: they are in no figure.",
            plural(dropped, "round")
        ));
    }
    (!sentences.is_empty()).then(|| Section::new("NOT MEASURED", "").with(Block::List(sentences)))
}

pub(super) fn sides(duel: &Duel) -> Section {
    let mut table = Table::new(&["side", "what", "built", "program", "commit", "output"]);
    table.columns.iter_mut().for_each(|column| column.is_text = true);
    for arm in &duel.arms {
        table.row(side(arm));
    }
    Section::new("SIDES", "program and output by the beginnings of their hashes").with(Block::Table(table))
}

fn side(arm: &Arm) -> [String; 6] {
    let build = arm.subject.build.as_ref();
    let short = |text: &str| text.chars().take(DIGITS).collect::<String>();
    let label = if is_placebo(&arm.name) { "the base once more: the placebo".to_owned() } else { arm.label.clone() };
    [
        arm.name.clone(),
        label,
        build.and_then(|build| build.profile.clone()).unwrap_or_else(|| "not known".to_owned()),
        build.and_then(|build| build.binary_blake3.as_deref()).map_or_else(String::new, short),
        arm.subject.git.as_ref().map_or_else(String::new, |git| short(&git.commit)),
        match (&arm.output, arm.output_varies) {
            (_, Some(true)) => "varies".to_owned(),
            (Some(output), _) => short(output),
            (None, _) => "not told".to_owned(),
        },
    ]
}

pub(super) fn design(duel: &Duel) -> Section {
    let design = &duel.design;
    let launched = duel.samples.iter().map(|sample| sample.launch + 1).max().unwrap_or(0);
    let early = if launched > 0 && launched < design.launches && !duel.interrupted {
        " It ended early, because the verdict stood."
    } else {
        ""
    };
    let measured = format!(
        "{} of {} with {} each, all sides in turns and never two at a time; orders are random, by the seed {}.{early}",
        launched,
        plural(design.launches, "launch").replace("launchs", "launches"),
        plural(design.rounds, "round"),
        design.seed
    );
    let walls = duel.samples.iter().filter(|sample| sample.phase == Phase::Timed);
    let walls: Vec<f64> = walls.filter_map(|sample| sample.values.get("wall_s").copied()).collect();
    let took = compare::median(&walls).map_or_else(String::new, |wall| format!(", in {} usually", seconds(wall)));
    let round = format!("the work {}{took}; {} to warm up", times(design.calls), plural(design.warmup, "round"));
    let looks: Vec<String> = design.looks.iter().map(u64::to_string).collect();
    let gates: Vec<String> =
        design.gates.iter().map(|gate| format!("{} from {} on", gate.metric, percent(gate.threshold))).collect();
    let chance = format!(
        "{} for a false verdict, over all gates, sides and looks (after launch {})",
        percent(design.alpha),
        looks.join(", ")
    );
    Section::new("HOW IT WAS MEASURED", "").with_facts([
        ("mode", Some(design.mode.clone()).filter(|mode| !mode.is_empty())),
        ("launches", Some(measured).filter(|_| launched > 0)),
        ("a round", Some(round).filter(|_| launched > 0)),
        ("judged by", Some(gates.join(", ")).filter(|gates| !gates.is_empty())),
        ("chance", Some(chance)),
    ])
}

fn times(calls: u64) -> String {
    if calls == 1 { "once".to_owned() } else { format!("{} times", mean_count(calls as f64)) }
}

/// The machine, and what disturbed the rounds.
pub(super) fn surroundings(duel: &Duel) -> Section {
    let machine = &duel.environment.machine;
    let cpu = machine.cpu.model.clone().unwrap_or_else(|| "a CPU without a name".to_owned());
    let described = format!("{cpu}, {}, {}", plural(u64::from(machine.cpus), "CPU"), machine.os);
    let of = |name: &str| -> Vec<f64> {
        let timed = duel.samples.iter().filter(|sample| sample.phase == Phase::Timed);
        timed.filter_map(|sample: &Sample| sample.values.get(name).copied()).collect()
    };
    let told = |name: &str| {
        let values = of(name);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = compare::median(&values)?;
        Some(format!("{} usually, {} at most", value(duel, name, Some(middle)), value(duel, name, Some(most))))
    };
    let others = duel.environment.noise.as_ref().and_then(|noise| noise.others_cpus);
    Section::new("SURROUNDINGS", "of each round; shown, and never judged").with_facts([
        ("machine", Some(described)),
        ("load", told("env_load_1m")),
        ("waiting for a CPU", told("env_cpu_pressure").map(|text| format!("{text}, of a round"))),
        ("taken by a hypervisor", told("env_steal_share").map(|text| format!("{text}, of all CPUs"))),
        ("CPU taken away", told("env_involuntary_switches").map(|text| format!("{text}, times in a round"))),
        ("other programs", others.map(|cpus| format!("{} CPUs in the mean", mean_count(cpus)))),
    ])
}

/// How to measure it once more: what was typed, with the orders of this time.
pub(super) fn again(duel: &Duel) -> Option<Section> {
    let (first, rest) = duel.command.split_first()?;
    let mut words = vec!["hotloop".to_owned(), first.clone()];
    if !rest.iter().take_while(|word| *word != "--").any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.extend(["--seed".to_owned(), duel.design.seed.to_string()]);
    }
    words.extend_from_slice(rest);
    let sentence = format!("`{}`", shell::line(&words));
    Some(Section::new("ONCE MORE", "the same orders; the machine will not be the same").with(Block::Text(sentence)))
}
