//! Models in the layout of SmallMind's comparison, whose figures came from one shot each and whose constants were typed in.

use std::fmt::Write;

use record::{MeasuredModel, Models};

use super::Names;
use super::sentences::signed_digits;
use crate::units::count;

const MIB: f64 = 1_048_576.0;

/// Models as `# Model Size Performance Comparison`. Every figure is measured or follows from the model: what is not known is
/// "not measured". Where theirs divided a ratio of parameters by one of times and called that efficiency, this one says how much more
/// work there is, how much longer it takes, and the slope over all sizes where there are three.
#[must_use]
pub fn text(models: &Models) -> String {
    let names = Names::of(models).all();
    let mut text = "# Model Size Performance Comparison\n\n".to_owned();
    let when: String = models.created.replacen('T', " ", 1).chars().take(19).collect();
    let _ = writeln!(text, "**Generated:** {}\n", if when.is_empty() { "not known".to_owned() } else { when });
    let _ = writeln!(text, "## Model Specifications\n");
    specifications(&mut text, models, &names);
    let _ = writeln!(text, "\n## Performance Metrics\n");
    metrics(&mut text, models, &names);
    let _ = writeln!(text, "\n## Scaling Efficiency\n");
    scaling(&mut text, models, &names);
    let _ = writeln!(text, "\n## Forward Pass Analysis\n");
    forward(&mut text, models, &names);
    text
}

fn row(text: &mut String, name: &str, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
}

fn heading(text: &mut String, first: &str, names: &[String], more: &[&str]) {
    let all = names.iter().cloned().chain(more.iter().map(|word| (*word).to_owned()));
    row(text, first, all);
    let _ = writeln!(text, "|{}", "---|".repeat(1 + names.len() + more.len()));
}

fn specifications(text: &mut String, models: &Models, names: &[String]) {
    heading(text, "Specification", names, &[]);
    let rows: [(&str, fn(&MeasuredModel) -> u64); 6] = [
        ("Dimensions", |model| model.model.width),
        ("Layers", |model| model.model.layers),
        ("Heads", |model| model.model.heads),
        ("Vocabulary", |model| model.model.vocab),
        ("Context", |model| model.model.context),
        ("Parameters", |model| model.model.parameters),
    ];
    for (name, of) in rows {
        row(text, name, models.models.iter().map(|model| count(of(model))));
    }
    row(text, "Format", models.models.iter().map(|model| model.model.format.clone()));
}

/// Seconds of a whole inference: to the first token, and all others.
fn inference_s(model: &MeasuredModel) -> Option<f64> {
    let others = model.tokens?.saturating_sub(1) as f64;
    Some(model.first_token_s?.value + others / model.decode.as_ref()?.tokens_per_s.value)
}

fn token_ms(model: &MeasuredModel) -> Option<f64> {
    Some(1e3 / model.decode.as_ref()?.tokens_per_s.value)
}

fn metrics(text: &mut String, models: &Models, names: &[String]) {
    heading(text, "Metric", names, &["Ratio (last/first)"]);
    let rows: [(&str, &str, &dyn Fn(&MeasuredModel) -> Option<f64>); 5] = [
        ("Total Inference Time", "ms", &|model| inference_s(model).map(|seconds| 1e3 * seconds)),
        ("Avg Time per Token", "ms", &token_ms),
        ("Tokens per Second", "tok/s", &|model| Some(model.decode.as_ref()?.tokens_per_s.value)),
        ("Memory Allocated", "MB", &|model| Some(model.memory.bytes? as f64 / MIB)),
        ("Memory per Token", "MB", &|model| Some(model.memory.alloc_bytes_per_token? / MIB)),
    ];
    for (name, unit, of) in rows {
        let values: Vec<Option<f64>> = models.models.iter().map(of).collect();
        let told =
            |value: &Option<f64>| value.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.3} {unit}"));
        let ends = values.first().copied().flatten().zip(values.last().copied().flatten());
        let ratio = ends.map(|(first, last)| last / first).filter(|ratio| ratio.is_finite());
        let ratio = ratio.map_or_else(|| "not measured".to_owned(), |ratio| format!("{ratio:.2}x"));
        row(text, name, values.iter().map(told).chain([ratio]));
    }
}

fn scaling(text: &mut String, models: &Models, names: &[String]) {
    if let [first, .., last] = &models.models[..] {
        let ratio =
            |of: &dyn Fn(&MeasuredModel) -> Option<f64>| of(last).zip(of(first)).map(|(last, first)| last / first);
        let parameters = ratio(&|model| Some(model.model.active_parameters as f64));
        let (first_name, last_name) = (&names[0], &names[names.len() - 1]);
        let told = |ratio: Option<f64>| {
            ratio
                .filter(|ratio| ratio.is_finite())
                .map_or_else(|| "not measured".to_owned(), |ratio| format!("{ratio:.2}x"))
        };
        let _ = writeln!(text, "- **Parameters, {last_name} of {first_name}:** {}", told(parameters));
        let _ = writeln!(text, "- **Time per token:** {}", told(ratio(&token_ms)));
    }
    for scaling in models.scaling.iter().filter(|scaling| scaling.over == "parameters") {
        let found = match (&scaling.slope, scaling.ideal_slope) {
            (Some(slope), ideal) => format!(
                "{} ({} to {}), ideal {}",
                signed_digits(slope.value),
                slope.low.map_or_else(String::new, signed_digits),
                slope.high.map_or_else(String::new, signed_digits),
                ideal.map_or_else(|| "not measured".to_owned(), signed_digits)
            ),
            (None, _) => format!("not measured: {}", scaling.missing.as_deref().unwrap_or("too few sizes")),
        };
        let _ = writeln!(text, "- **Slope of time over parameters:** {found}");
    }
}

fn forward(text: &mut String, models: &Models, names: &[String]) {
    let _ = writeln!(text, "| Model | Avg Forward Time | Calls | Total Forward Time |\n|---|---|---|---|");
    for (name, model) in names.iter().zip(&models.models) {
        let calls = model.tokens.map(|tokens| tokens.saturating_sub(1));
        let time = token_ms(model);
        let cells = [
            time.map_or_else(|| "not measured".to_owned(), |time| format!("{time:.3} ms")),
            calls.map_or_else(|| "not measured".to_owned(), count),
            time.zip(calls)
                .map_or_else(|| "not measured".to_owned(), |(time, calls)| format!("{:.2} ms", time * calls as f64)),
        ];
        row(text, name, cells.into_iter());
    }
}
