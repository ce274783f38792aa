//! Facts about both runs, side by side.

use record::{Difference, Model, Run};

/// Facts that a reader may want to check before trusting a figure.
pub(super) fn facts(base: &Run, candidate: &Run) -> Vec<Difference> {
    let (old, new) = (of_run(base), of_run(candidate));
    let pairs = old.into_iter().zip(new).map(|((field, base), (_, candidate))| Difference {
        field: field.to_owned(),
        base: known(base),
        candidate: known(candidate),
    });
    pairs.filter(|fact| fact.base.is_some() || fact.candidate.is_some()).collect()
}

fn known(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

type Facts = Vec<(&'static str, Option<String>)>;

/// The same fields in the same order for every run.
fn of_run(run: &Run) -> Facts {
    let mut facts = subject(run);
    facts.extend(work(run));
    facts.extend(machine(run));
    facts
}

fn subject(run: &Run) -> Facts {
    let (git, build) = (run.subject.git.as_ref(), run.subject.build.as_ref());
    let state = |dirty: bool| if dirty { "with uncommitted changes" } else { "as committed" }.to_owned();
    let version = run.subject.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    vec![
        ("when", Some(run.created.clone())),
        ("read from", run.imported.as_ref().map(|imported| format!("{} ({})", imported.source, imported.format))),
        ("program", known(Some(run.subject.name.clone())).map(|name| name + &version)),
        ("command", Some(run.subject.command.join(" "))),
        ("commit", git.map(|git| git.commit.clone())),
        ("source", git.map(|git| state(git.dirty))),
        ("branch", git.and_then(|git| git.branch.clone())),
        ("binary", build.and_then(|build| build.binary_blake3.clone())),
        ("build profile", build.and_then(|build| build.profile.clone())),
        ("compiler", build.and_then(|build| build.compiler.clone())),
        ("target", build.and_then(|build| build.target.clone())),
    ]
}

fn work(run: &Run) -> Facts {
    let models: Vec<String> = run.models.iter().map(named).collect();
    let settings: Vec<String> = run.workload.parameters.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let samples = run.samples.iter().filter(|sample| sample.phase == record::Phase::Timed).count();
    let output = run.correctness.as_ref().and_then(|correctness| correctness.tokens_blake3.clone());
    let ended = [run.interrupted.then_some("interrupted"), (!run.failures.is_empty()).then_some("failures")];
    let ended: Vec<&str> = ended.into_iter().flatten().collect();
    vec![
        ("workload", Some(run.workload.name.clone())),
        ("models", Some(models.join(", "))),
        ("settings", Some(settings.join(", "))),
        ("prompt", run.workload.prompt_blake3.clone()),
        ("output", output),
        ("samples", Some(samples.to_string())),
        ("ended", Some(if ended.is_empty() { "as asked".to_owned() } else { ended.join(", ") })),
    ]
}

fn named(model: &Model) -> String {
    if model.format.is_empty() { model.name.clone() } else { format!("{} ({})", model.name, model.format) }
}

fn machine(run: &Run) -> Facts {
    let machine = &run.environment.machine;
    let noise = run.environment.noise.as_ref();
    let cpus = (machine.cpus > 0).then(|| format!("{}, {} usable", machine.cpus, machine.threads));
    vec![
        ("machine", Some(machine.machine_key.clone())),
        ("CPU", machine.cpu.model.clone()),
        ("CPUs", cpus),
        ("instructions", Some(machine.isa.chosen.clone())),
        ("governor", machine.frequency.governor.clone()),
        ("load", noise.and_then(|noise| noise.load_1m).map(|load| format!("{load:.1}"))),
        ("written by", Some(format!("{} {}", run.tool.name, run.tool.version).trim().to_owned())),
    ]
}
