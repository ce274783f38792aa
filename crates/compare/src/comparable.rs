//! Whether two sides are comparable: the same work, model, build and machine.
//!
//! Unknown facts count as differences. The commit of a program, uncommitted changes
//! and its hash do not: they are what a comparison is about.

mod fields;

use record::{Arm, Build, Difference, Environment, Model, Run, Subject, Workload, WorkloadKind};

use crate::workload_kind;
use fields::Fields;

/// The facts about one side of a comparison that must match the other side.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonSide<'a> {
    /// The program.
    pub subject: &'a Subject,
    /// The models that it used.
    pub models: &'a [Model],
    /// The workload.
    pub workload: &'a Workload,
    /// Its environment; `None` for sides of one duel, which share it.
    pub environment: Option<&'a Environment>,
}

impl<'a> From<&'a Run> for ComparisonSide<'a> {
    fn from(run: &'a Run) -> Self {
        ComparisonSide {
            subject: &run.subject,
            models: &run.models,
            workload: &run.workload,
            environment: Some(&run.environment),
        }
    }
}

impl<'a> From<&'a Arm> for ComparisonSide<'a> {
    fn from(arm: &'a Arm) -> Self {
        ComparisonSide { subject: &arm.subject, models: &arm.models, workload: &arm.workload, environment: None }
    }
}

/// All differences between two sides, including unknown facts. Without any, they are comparable.
///
/// A difference without a value on either side is something that neither tells. Settings stand as `setting NAME`, by the
/// names of the workload's parameters, so that a caller can leave out the one that the comparison is about.
#[must_use]
pub fn comparable(base: &ComparisonSide<'_>, candidate: &ComparisonSide<'_>) -> Vec<Difference> {
    let mut fields = Fields::default();
    // The same file has the same build, known or not.
    if !same_binary(base.subject, candidate.subject) {
        build(&mut fields, base.subject.build.as_ref(), candidate.subject.build.as_ref());
    }
    models(&mut fields, base.models, candidate.models);
    workload(&mut fields, base.workload, candidate.workload);
    if let Some(pair) = base.environment.zip(candidate.environment) {
        environment(&mut fields, pair, [base.workload, candidate.workload]);
    } else if base.environment.is_some() != candidate.environment.is_some() {
        let key =
            |side: &ComparisonSide<'_>| side.environment.map(|environment| environment.machine.machine_key.clone());
        fields.required("machine", key(base), key(candidate));
    }
    fields.differences
}

/// Whether both sides are the same file, called alike, with the same work, model and machine: whatever is found between them, the
/// program did not change. By another name or in another place the same bytes may do something else: a program may look at how it
/// is called, and a script at what lies beside it.
#[must_use]
pub fn same_subject(base: &ComparisonSide<'_>, candidate: &ComparisonSide<'_>) -> bool {
    same_binary(base.subject, candidate.subject)
        && base.subject.name == candidate.subject.name
        && base.subject.command == candidate.subject.command
        && comparable(base, candidate).is_empty()
}

/// Whether both files are known to have the same bytes.
pub(crate) fn same_binary(base: &Subject, candidate: &Subject) -> bool {
    let hash = |subject: &Subject| subject.build.as_ref()?.binary_blake3.clone().filter(|hash| !hash.is_empty());
    hash(base).is_some_and(|known| hash(candidate).as_ref() == Some(&known))
}

fn build(fields: &mut Fields, base: Option<&Build>, candidate: Option<&Build>) {
    let (Some(base), Some(candidate)) = (base.filter(is_told), candidate.filter(is_told)) else {
        let shown = |build: Option<&Build>| build.filter(is_told).and_then(|build| build.profile.clone());
        // One line for all of it: nothing of one side is known.
        return fields.required("build profile", shown(base), shown(candidate));
    };
    let yes_or_no = |build: &Build| build.debug_assertions.map(|on| if on { "on" } else { "off" }.to_owned());
    let list = |words: &[String]| (!words.is_empty()).then(|| words.join(" "));
    fields.required("build profile", base.profile.clone(), candidate.profile.clone());
    fields.required("optimisation level", base.opt_level.clone(), candidate.opt_level.clone());
    fields.required("debug assertions", yes_or_no(base), yes_or_no(candidate));
    fields.required("compiler", base.compiler.clone(), candidate.compiler.clone());
    fields.required("target", base.target.clone(), candidate.target.clone());
    // Nothing chosen is a choice too.
    fields.optional("target CPU", base.target_cpu.clone(), candidate.target_cpu.clone());
    fields.optional("target features", list(&base.target_features), list(&candidate.target_features));
    fields.optional("features", list(&base.features), list(&candidate.features));
    fields.optional("compiler flags", list(&base.flags), list(&candidate.flags));
}

/// Whether anything but the file's hash is known.
fn is_told(build: &&Build) -> bool {
    **build != Build { binary_blake3: build.binary_blake3.clone(), ..Build::default() }
}

fn models(fields: &mut Fields, base: &[Model], candidate: &[Model]) {
    if base.len() != candidate.len() {
        let names = |models: &[Model]| {
            let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
            Some(if names.is_empty() { "none".to_owned() } else { names.join(", ") })
        };
        return fields.optional("models", names(base), names(candidate));
    }
    for (base, candidate) in base.iter().zip(candidate) {
        let said = |model: &Model| (!model.format.is_empty()).then(|| model.format.clone());
        let weights = |model: &Model| model.weights_blake3.clone().filter(|hash| !hash.is_empty());
        fields.required("model weights", weights(base), weights(candidate));
        fields.required("model format", said(base), said(candidate));
        if weights(base).is_none() || weights(candidate).is_none() {
            fields.optional("model", Some(base.name.clone()), Some(candidate.name.clone()));
            let count = |model: &Model| Some(model.parameters.to_string());
            fields.optional("model parameters", count(base), count(candidate));
        }
    }
}

fn workload(fields: &mut Fields, base: &Workload, candidate: &Workload) {
    fields.required("workload", Some(base.name.clone()), Some(candidate.name.clone()));
    let mut names: Vec<&String> = base.parameters.keys().chain(candidate.parameters.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let value = |workload: &Workload| workload.parameters.get(name).cloned();
        fields.optional(&format!("setting {name}"), value(base), value(candidate));
    }
    // A program chooses its own number of threads; our workloads and those of other tools state it.
    let has_threads = |workload: &Workload| {
        workload_kind(workload) == WorkloadKind::Command || workload.parameters.contains_key("threads")
    };
    if !has_threads(base) && !has_threads(candidate) {
        fields.required("setting threads", None, None);
    }
    let has_prompt = |workload: &Workload| workload.parameters.contains_key("prompt_tokens");
    let prompts = (base.prompt_blake3.clone(), candidate.prompt_blake3.clone());
    if has_prompt(base) || has_prompt(candidate) {
        fields.required("prompt", prompts.0, prompts.1);
    } else {
        fields.optional("prompt", prompts.0, prompts.1);
    }
}

fn environment(fields: &mut Fields, (base, candidate): (&Environment, &Environment), workloads: [&Workload; 2]) {
    let (old, new) = (&base.machine, &candidate.machine);
    fields.required("machine", Some(old.machine_key.clone()), Some(new.machine_key.clone()));
    fields.required("operating system", Some(old.os.clone()), Some(new.os.clone()));
    // Where the workload tells it, it has been compared.
    if !workloads.iter().all(|workload| workload.parameters.contains_key("isa")) {
        fields.required("instruction set", Some(old.isa.chosen.clone()), Some(new.isa.chosen.clone()));
    }
    let usable = |threads: u32| (threads > 0).then(|| threads.to_string());
    fields.required("usable CPUs", usable(old.threads), usable(new.threads));
    let quota = |most: Option<f64>| most.map(|cpus| cpus.to_string());
    fields.optional("CPU quota", quota(old.cgroup.cgroup_cpu_max), quota(new.cgroup.cgroup_cpu_max));
    fields.optional("governor", old.frequency.governor.clone(), new.frequency.governor.clone());
    let boost = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
    fields.optional("boost", boost(old.frequency.boost), boost(new.frequency.boost));
    let mut names: Vec<&String> = base.variables.keys().chain(candidate.variables.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let value = |environment: &Environment| environment.variables.get(name).cloned();
        fields.optional(&format!("variable {name}"), value(base), value(candidate));
    }
}
