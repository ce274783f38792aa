//! How the time of a token grows with the size of a model and with the text before it.

use record::{Figure, Scaling, ScalingPoint};

use super::CONFIDENCE;
use super::cells::{Cell, ModelEntry};
use crate::fit;

/// Fewer points have no interval: a line goes through any two.
const LEAST: usize = 3;

pub(super) fn of(entries: &[ModelEntry<'_>], one_sitting: bool) -> Vec<Scaling> {
    let mut all = over_parameters(entries, one_sitting);
    all.extend(over_context(entries));
    all
}

/// Models of one format: others differ by more than their size.
fn over_parameters(entries: &[ModelEntry<'_>], one_sitting: bool) -> Vec<Scaling> {
    let over = || "parameters".to_owned();
    let mut formats: Vec<&str> = Vec::new();
    for entry in entries {
        if !formats.contains(&entry.model.format.as_str()) {
            formats.push(&entry.model.format);
        }
    }
    let of_format = |format: &&str| {
        let points = entries.iter().filter(|entry| entry.model.format == *format);
        let points =
            points.filter_map(|entry| point(entry, entry.cells.first()?, entry.model.active_parameters as f64));
        fitted(Scaling { over: over(), of: (*format).to_owned(), points: points.collect(), ..Scaling::default() })
    };
    let fits: Vec<Scaling> = formats.iter().map(of_format).filter(|scaling| sizes(&scaling.points) >= LEAST).collect();
    let missing = |why: &str| vec![Scaling { over: over(), missing: Some(why.to_owned()), ..Scaling::default() }];
    match (fits.is_empty(), one_sitting) {
        (true, _) => missing("needs three sizes in one format"),
        (false, false) => missing("needs sizes measured in turns"),
        (false, true) => fits,
    }
}

/// Each model with prompts of several lengths.
fn over_context(entries: &[ModelEntry<'_>]) -> Vec<Scaling> {
    let over = || "context".to_owned();
    let of_model = |entry: &ModelEntry<'_>| {
        let first = entry.cells.first()?;
        let like = entry.cells.iter().filter(|cell| cell.threads == first.threads);
        let points: Vec<ScalingPoint> = like.filter_map(|cell| point(entry, cell, cell.positions()?)).collect();
        let scaling = Scaling { over: over(), of: entry.model.name.clone(), points, ..Scaling::default() };
        match sizes(&scaling.points) {
            0 | 1 => None,
            few if few < LEAST => Some(Scaling { missing: Some("needs three context lengths".to_owned()), ..scaling }),
            _ => Some(fitted(scaling)),
        }
    };
    let found: Vec<Scaling> = entries.iter().filter_map(of_model).collect();
    if !found.is_empty() {
        return found;
    }
    vec![Scaling { over: over(), missing: Some("needs three context lengths".to_owned()), ..Scaling::default() }]
}

fn point(entry: &ModelEntry<'_>, cell: &Cell<'_>, at: f64) -> Option<ScalingPoint> {
    let ideal = entry.bounds.as_ref().and_then(|bounds| bounds.roof(&cell.decode_work(entry.model)));
    Some(ScalingPoint {
        at: Some(at).filter(|at| *at > 0.0)?,
        model: entry.model.name.clone(),
        seconds: cell.token_time()?,
        ideal_s: ideal.map(|roof| roof.seconds),
    })
}

/// How many different ones.
fn sizes(points: &[ScalingPoint]) -> usize {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.at.to_bits()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.len()
}

/// With the slope of what was measured, and of the least times.
fn fitted(mut scaling: Scaling) -> Scaling {
    scaling.points.sort_by(|a, b| a.at.total_cmp(&b.at));
    let points = &scaling.points;
    let at: Vec<f64> = points.iter().map(|point| point.at.ln()).collect();
    let times: Vec<f64> = points.iter().map(|point| point.seconds.ln()).collect();
    let least: Option<Vec<f64>> = points.iter().map(|point| point.ideal_s.map(f64::ln)).collect();
    let slope = fit(&at, &times, CONFIDENCE);
    let ideal = least.and_then(|least| fit(&at, &least, CONFIDENCE));
    scaling.slope = slope.map(|found| Figure {
        value: found.slope,
        low: Some(found.interval.low),
        high: Some(found.interval.high),
        samples: at.len() as u64,
    });
    scaling.ideal_slope = ideal.map(|found| found.slope);
    scaling
}
