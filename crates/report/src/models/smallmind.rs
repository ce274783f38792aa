//! Models in the layout of SmallMind's comparison, whose figures came from one shot each and whose constants were typed in.

use std::fmt::Write;

use record::{MeasuredModel, Models};

use super::Names;
use super::sentences::signed_digits;
use crate::document::not_measured;
use crate::units::count;

const MIB: f64 = 1_048_576.0;

/// Models as `# Model Size Performance Comparison`. Every figure is measured or follows from the model: what is not known is
/// "not measured". Where theirs divided a ratio of parameters by one of times and called that efficiency, this one says how much more
/// work there is, how much longer it takes, and the slope over all sizes where there are three.
#[must_use]
pub fn text(models: &Models) -> String {
    let names: Vec<String> = Names::of(models).all().iter().map(|name| name.replace('|', "\\|")).collect();
    let mut text = "# Model Size Performance Comparison\n\n".to_owned();
    let when: String = models.created.replacen('T', " ", 1).chars().take(19).collect();
    let _ = writeln!(text, "**Generated:** {}", if when.is_empty() { "unknown".to_owned() } else { when });
    let how = if models.one_sitting { "yes" } else { "no: the models were measured at different times" };
    let _ = writeln!(text, "**Interleaved:** {how}\n\n## Model Specifications\n");
    specifications(&mut text, models, &names);
    let _ = writeln!(text, "\n## Performance Metrics\n");
    metrics(&mut text, models, &names);
    let _ = writeln!(text, "\n## Scaling Efficiency Analysis\n");
    scaling(&mut text, models, &names);
    let _ = writeln!(text, "\n## Forward Pass Analysis\n");
    forward(&mut text, models, &names);
    text
}

fn row(text: &mut String, name: &str, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<String> = cells.into_iter().collect();
    let _ = writeln!(text, "| **{name}** | {} |", cells.join(" | "));
}

fn heading(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |\n|{}", cells.join(" | "), "---|".repeat(cells.len()));
}

fn specifications(text: &mut String, models: &Models, names: &[String]) {
    let headings = ["Model", "Dimensions", "Layers", "Heads", "Parameters", "Context", "Format"];
    heading(text, &headings.map(str::to_owned));
    for (name, measured) in names.iter().zip(&models.models) {
        let model = &measured.model;
        let sizes = [model.width, model.layers, model.heads, model.parameters, model.context];
        row(text, name, sizes.into_iter().map(count).chain([model.format.clone()]));
    }
}

/// Seconds of a whole inference: to the first token, and all others.
fn inference_s(model: &MeasuredModel) -> Option<f64> {
    let others = model.tokens?.saturating_sub(1) as f64;
    Some(model.first_token_s?.value + others / model.decode.as_ref()?.tokens_per_s.value)
}

fn token_ms(model: &MeasuredModel) -> Option<f64> {
    Some(1e3 / model.decode.as_ref()?.tokens_per_s.value)
}

/// A figure of a model, with its unit.
type Metric = (&'static str, &'static str, fn(&MeasuredModel) -> Option<f64>);

/// Theirs, and below them what theirs had not: a speed says little without them.
const METRICS: [Metric; 8] = [
    ("Total Inference Time", "ms", |model| inference_s(model).map(|seconds| 1e3 * seconds)),
    ("Avg Time per Token", "ms", token_ms),
    ("Tokens per Second", "", |model| Some(model.decode.as_ref()?.tokens_per_s.value)),
    ("Memory Allocated", "MB", |model| Some(model.memory.alloc_bytes_per_token? * model.tokens? as f64 / MIB)),
    ("Memory per Token", "MB", |model| Some(model.memory.alloc_bytes_per_token? / MIB)),
    ("Memory Held", "MB", |model| Some(model.memory.bytes? as f64 / MIB)),
    ("Perplexity", "", |model| Some(model.quality.as_ref()?.perplexity)),
    ("Bits per Byte of Text", "", |model| Some(model.quality.as_ref()?.bits_per_byte)),
];

fn metrics(text: &mut String, models: &Models, names: &[String]) {
    let ends = names.first().zip(names.last());
    let ratio = ends.map_or_else(String::new, |(first, last)| format!("Ratio ({last}/{first})"));
    let all = names.iter().map(|name| format!("{name} Model"));
    heading(text, &std::iter::once("Metric".to_owned()).chain(all).chain([ratio]).collect::<Vec<_>>());
    for (name, unit, of) in METRICS {
        let told = |model: &MeasuredModel| {
            of(model).map_or_else(not_measured, |value| format!("{value:.3} {unit}").trim_end().to_owned())
        };
        row(text, name, models.models.iter().map(told).chain([ratio_of(models, of)]));
    }
}

/// The last of the first.
fn ratio_of(models: &Models, of: fn(&MeasuredModel) -> Option<f64>) -> String {
    let ends = models.models.last().and_then(of).zip(models.models.first().and_then(of));
    let ratio = ends.map(|(last, first)| last / first).filter(|ratio| ratio.is_finite());
    ratio.map_or_else(not_measured, |ratio| format!("{ratio:.2}x"))
}

fn scaling(text: &mut String, models: &Models, names: &[String]) {
    if let [first, .., last] = names {
        let rows: [Metric; 3] = [
            ("Parameter Scaling", "parameters", |model| Some(model.model.active_parameters as f64)),
            ("Time Scaling", "time per token", token_ms),
            ("Memory Scaling", "memory", |model| Some(model.memory.bytes? as f64)),
        ];
        for (name, what, of) in rows {
            let _ = writeln!(text, "- **{name}:** {last} has **{}** the {what} of {first}", ratio_of(models, of));
        }
    }
    for scaling in models.scaling.iter().filter(|scaling| scaling.over == "parameters") {
        let digits = |value: Option<f64>| value.map_or_else(not_measured, signed_digits);
        let found = match &scaling.slope {
            Some(slope) => format!(
                "**{}** ({} to {}), ideal by the machine's limits {}",
                signed_digits(slope.value),
                digits(slope.low),
                digits(slope.high),
                digits(scaling.ideal_slope)
            ),
            None => format!("not measured: {}", scaling.missing.as_deref().unwrap_or("too few sizes")),
        };
        let _ = writeln!(text, "- **Slope of log time over log parameters:** {found}");
    }
}

fn forward(text: &mut String, models: &Models, names: &[String]) {
    heading(text, &["Model", "Avg Forward Time", "Calls", "Total Forward Time"].map(str::to_owned));
    for (name, model) in names.iter().zip(&models.models) {
        let calls = model.tokens.map(|tokens| tokens.saturating_sub(1));
        let time = token_ms(model);
        let total = time.zip(calls).map(|(time, calls)| time * calls as f64);
        let told = |time: Option<f64>| time.map_or_else(not_measured, |time| format!("{time:.3} ms"));
        row(text, name, [told(time), calls.map_or_else(not_measured, count), told(total)]);
    }
}
