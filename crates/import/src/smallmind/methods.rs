//! What the names of SmallMind's scopes mean: who calls whom, how often a scope does its work, which model it is of.

use record::{Model, Row};

use crate::draft::{Draft, value};
use crate::numbers::seconds;
use crate::tree::{self, Callers, Method};

/// Which program wrote the names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Standard,
    Deep,
    Enhanced,
}

/// Scopes of SmallMind's programs and those that call them, in the order of its source. A report lists callers for its first
/// five methods alone.
const CALLERS: &[(&str, &[&str])] = &[
    ("BuilderSetup", &["ModelCreation"]),
    ("PrepareInput", &["InferenceComplete"]),
    ("GenerateToken", &["InferenceComplete", "Inference"]),
    ("ForwardPass", &["GenerateToken"]),
    ("Transformer_Forward", &["GenerateToken"]),
    ("SampleToken", &["GenerateToken"]),
    ("ApplyTemperature", &["SampleToken"]),
    ("Softmax", &["SampleToken"]),
    ("MultinomialSample", &["SampleToken"]),
];

/// Calls of the work in one call of a scope of the enhanced mode: the warm-up is inside, and timed with the rest.
const ENHANCED_REPEATS: &[(&str, u64)] =
    &[("MatMul", 4), ("GELU", 6), ("Softmax", 6), ("TensorAdd", 10), ("TensorMul", 10), ("BroadcastAdd", 10)];
/// Multiplies in one call of a scope of the deep mode, which has no warm-up.
const DEEP_REPEATS: &[(&str, u64)] = &[("MatMul", 3)];

/// Who calls each of these, as their names show; what a report tells goes before.
pub(super) fn callers(methods: &[Method], told: &Callers) -> Callers {
    let mut callers = Callers::new();
    for method in methods {
        if let Some(told) = told.get(&method.name) {
            callers.insert(method.name.clone(), told.clone());
            continue;
        }
        let names = methods.iter().map(|other| other.name.as_str());
        let found: Vec<(String, Option<u64>)> =
            names.filter(|caller| calls(caller, &method.name)).map(|caller| (caller.to_owned(), None)).collect();
        if !found.is_empty() {
            callers.insert(method.name.clone(), found);
        }
    }
    callers
}

fn calls(caller: &str, name: &str) -> bool {
    if let Some((_, callers)) = CALLERS.iter().find(|(known, _)| *known == name) {
        return callers.contains(&caller);
    }
    if let Some(kernel) = name.strip_suffix("_Iteration") {
        return kernel_of(caller) == Some(kernel);
    }
    let of_model = |end: &str| name.strip_suffix(end).filter(|model| model.starts_with("Model_"));
    let called_by = |model: &str, end: &str| caller.strip_suffix(end) == Some(model);
    of_model("_GenerateToken").is_some_and(|model| called_by(model, "_Inference"))
        || of_model("_Forward").is_some_and(|model| called_by(model, "_GenerateToken"))
}

/// `MatMul` of `MatMul_512x512`.
fn kernel_of(name: &str) -> Option<&str> {
    let (kernel, size) = name.rsplit_once('_')?;
    size.bytes().next()?.is_ascii_digit().then_some(kernel)
}

/// How often one call of a scope does what it is named for.
fn repeats(mode: Mode, name: &str) -> u64 {
    let table = match mode {
        Mode::Standard => &[][..],
        Mode::Deep => DEEP_REPEATS,
        Mode::Enhanced => ENHANCED_REPEATS,
    };
    let kernel = kernel_of(name);
    table.iter().find(|(known, _)| Some(*known) == kernel).map_or(1, |(_, repeats)| *repeats)
}

/// Operations of one multiply: 2·n³ of `MatMul_512x512`.
fn flops(name: &str) -> Option<f64> {
    let (rows, columns) = name.strip_prefix("MatMul_")?.split_once('x')?;
    let size: u64 = rows.parse().ok().filter(|size| (1..=1 << 16).contains(size) && rows == columns)?;
    Some(2.0 * (size as f64).powi(3))
}

/// The model that a scope works with.
fn model_of(mode: Mode, name: &str) -> Option<&'static str> {
    let of_inference = ["Inference", "InferenceComplete", "GenerateToken", "ForwardPass", "Transformer_Forward"];
    let of_creation = ["ModelCreation", "Transformer_ModelCreation", "BuilderSetup"];
    match mode {
        Mode::Enhanced if name.starts_with("Model_Small_") => Some("Small"),
        Mode::Enhanced if name.starts_with("Model_Medium_") => Some("Medium"),
        Mode::Enhanced => None,
        _ if !of_inference.contains(&name) && !of_creation.contains(&name) => None,
        Mode::Standard => Some("Small"),
        Mode::Deep => Some("Medium"),
    }
}

/// Adds rows, samples, models and the tree of these methods. `wall_ns`: how long all of it took, where that is told.
pub(super) fn add(draft: &mut Draft, mut methods: Vec<Method>, told: &Callers, mode: Mode, wall_ns: Option<u64>) {
    draft.single_shot = true;
    if mode == Mode::Enhanced {
        draft.note("Allocations are rounded to 0.01 MiB, so 0 may be up to 5 KiB.");
    }
    let callers = callers(&methods, told);
    let tokens = tokens(&methods);
    for method in &mut methods {
        let repeats = repeats(mode, &method.name);
        let multiplies = method.calls.saturating_mul(repeats);
        method.flops = flops(&method.name).map_or(0, |flops| flops as u64).saturating_mul(multiplies);
        method.tokens = tokens.get(&method.name).map_or(0, |per_call| per_call.saturating_mul(method.calls));
        let row = Row {
            name: method.name.clone(),
            part_of: callers.get(&method.name).and_then(|found| only(found)),
            model: model_of(mode, &method.name).map(str::to_owned),
            calls: multiplies,
            flops: flops(&method.name),
            tokens: tokens.get(&method.name).map(|tokens| *tokens as f64),
            ..Row::default()
        };
        draft.row(row);
        let known = |name: &str, value: Option<f64>| (name.to_owned(), value);
        let (shortest, longest) = method.extremes_ns.map(|(min, max)| (seconds(min), seconds(max))).unzip();
        let values = [
            value("wall_s", seconds(method.total_ns)),
            known("wall_min_s", shortest),
            known("wall_max_s", longest),
            known("alloc_bytes", method.alloc_bytes.map(|bytes| bytes as f64)),
        ];
        draft.sample(&method.name, 0, values);
    }
    if methods.iter().any(|method| method.alloc_bytes.is_some()) {
        draft.note("The report gives allocated bytes; the number of allocations is unknown.");
    }
    add_models(draft);
    say_repeats(draft, &methods, mode);
    let mut tree = tree::build(&methods, &callers);
    say_divided(draft, &tree.profile.scopes);
    if let Some(wall_ns) = wall_ns {
        tree.profile.wall_ns = wall_ns.max(tree.roots_ns);
        tree.profile.outside_ns = wall_ns.saturating_sub(tree.roots_ns);
    }
    draft.run.notes.append(&mut tree.notes);
    draft.profile(tree.profile);
}

fn only(callers: &[(String, Option<u64>)]) -> Option<String> {
    match callers {
        [(only, _)] => Some(only.clone()),
        _ => None,
    }
}

/// Tokens of one call: a token for each call of `GenerateToken` below it.
fn tokens(methods: &[Method]) -> std::collections::BTreeMap<String, u64> {
    let mut tokens = std::collections::BTreeMap::new();
    for generate in methods.iter().filter(|method| method.name.ends_with("GenerateToken")) {
        tokens.insert(generate.name.clone(), 1);
        let whole = |method: &&Method| calls(&method.name, &generate.name) && method.calls > 0;
        if let Some(whole) = methods.iter().find(whole) {
            tokens.insert(whole.name.clone(), generate.calls / whole.calls);
        }
    }
    tokens
}

/// What the totals of a report come to when nothing is counted twice.
pub(super) fn say_total(draft: &mut Draft, said_ms: Option<f64>, said_mib: Option<f64>) {
    let Some(profile) = &draft.run.profile else { return };
    let roots: Vec<_> = profile.scopes.iter().filter(|scope| scope.parent.is_none()).collect();
    let ms = roots.iter().map(|scope| scope.total_ns as f64 * 1e-6).sum::<f64>();
    let own = profile.scopes.iter().filter_map(|scope| scope.allocs).map(|own| own.alloc_bytes as f64);
    let is_known = roots.iter().all(|scope| scope.allocs.is_some());
    let mib = is_known.then(|| own.sum::<f64>() / f64::from(1 << 20));
    if let Some(said) = said_ms.filter(|said| *said > ms * 1.01) {
        draft.note(format!(
            "The report's total of {said:.2} ms counts nested scopes more than once. The root scopes took {ms:.2} \
             ms."
        ));
    }
    if let Some((said, mib)) = said_mib.zip(mib).filter(|(said, mib)| *said > mib * 1.01) {
        draft.note(format!(
            "The report's total of {said:.2} MiB counts nested scopes more than once; counted once \
                            it is {mib:.2} MiB."
        ));
    }
}

/// What the work in a scope is, where it is more than the name says, and what was made of it.
fn say_repeats(draft: &mut Draft, methods: &[Method], mode: Mode) {
    let repeated: Vec<&Method> = methods.iter().filter(|method| repeats(mode, &method.name) > 1).collect();
    if repeated.is_empty() {
        return;
    }
    let mut kernels: Vec<String> = Vec::new();
    for method in &repeated {
        let text = format!("{} {}", kernel_of(&method.name).unwrap_or_default(), repeats(mode, &method.name));
        if !kernels.contains(&text) {
            kernels.push(text);
        }
    }
    let warmup = if mode == Mode::Enhanced { ", including the warm-up" } else { "" };
    draft.note(format!(
        "A kernel's scope contains several calls{warmup} ({}); the times of one call below are the scope's time \
         divided by their number.",
        kernels.join(", ")
    ));
    let largest = repeated.iter().filter(|method| method.total_ns > 0).max_by_key(|method| method.flops);
    let Some((largest, flops)) = largest.and_then(|method| Some((method, flops(&method.name)?))) else { return };
    let printed = flops / largest.total_ns as f64;
    let repeats = repeats(mode, &largest.name) as f64;
    draft.note(format!(
        "SmallMind computes {:.2} GFLOP/s for `{}`, as if it had one multiplication; with all {repeats} it is \
         {:.2} GFLOP/s.",
        printed,
        largest.name,
        printed * repeats
    ));
}

fn say_divided(draft: &mut Draft, scopes: &[record::Scope]) {
    let mut names: Vec<&str> = scopes.iter().filter(|scope| scope.is_sampled).map(|scope| &*scope.name).collect();
    names.sort_unstable();
    names.dedup();
    if !names.is_empty() {
        draft.note(format!(
            "{}: all sizes share one line of the report. The time is divided in proportion to the work of each \
             size and marked as an estimate.",
            names.join(", ")
        ));
    }
}

/// Those that the rows name, with the sizes that they have in SmallMind's source.
fn add_models(draft: &mut Draft) {
    let known = [model("Small", 470_528, [256, 64, 128, 2, 4]), model("Medium", 3_454_464, [512, 128, 256, 4, 8])];
    for model in known {
        if draft.run.rows.iter().any(|row| row.model.as_deref() == Some(&*model.name)) {
            draft.run.models.push(model);
        }
    }
    if !draft.run.models.is_empty() {
        draft.note("The model sizes are taken from SmallMind's source; the report does not give them.");
    }
}

fn model(name: &str, parameters: u64, sizes: [u64; 5]) -> Model {
    let [vocab, context, width, layers, heads] = sizes;
    // The rows of its embeddings are looked up, not multiplied with.
    let looked_up = (vocab + context) * width;
    Model {
        name: name.to_owned(),
        architecture: "gpt2".to_owned(),
        parameters,
        active_parameters: parameters - looked_up,
        format: "f32".to_owned(),
        weight_bytes: 4 * parameters,
        layers,
        width,
        heads,
        kv_heads: heads,
        head_dim: width / heads,
        vocab,
        context,
        ..Model::default()
    }
}
