//! What a cell is judged by, and the limits it has to keep.

use std::collections::BTreeMap;

use compare::rules::MOST_GATES;
use record::Budget;
use serde::Deserialize;
use toml::Spanned;

use super::MetricGate;
use super::sides::PlacedError;

/// A threshold alone, or with more about the metric.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a threshold in percent, or a table with `threshold` and `advisory`")]
pub(super) enum MetricTable {
    Percent(f64),
    MetricOptions(MetricOptions),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MetricOptions {
    threshold: Option<f64>,
    #[serde(default)]
    advisory: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BudgetTable {
    metric: String,
    quantile: Option<f64>,
    at_most: Option<f64>,
    at_least: Option<f64>,
}

/// The metrics of a cell, by their names.
pub(super) fn gates(tables: &BTreeMap<String, Spanned<MetricTable>>) -> Result<Vec<MetricGate>, PlacedError> {
    let gate = |(name, table): (&String, &Spanned<MetricTable>)| {
        let (percent, advisory) = match table.get_ref() {
            MetricTable::Percent(percent) => (Some(*percent), false),
            MetricTable::MetricOptions(MetricOptions { threshold, advisory }) => (*threshold, *advisory),
        };
        match percent {
            Some(percent) if !(0.0..=1_000.0).contains(&percent) => Err((
                Some(table.span().start),
                format!("the threshold of `{name}` must be from 0 to 1000 percent, not {percent}"),
            )),
            _ => Ok(MetricGate { metric: name.clone(), threshold: percent.map(|percent| percent / 100.0), advisory }),
        }
    };
    let gates: Vec<MetricGate> = tables.iter().map(gate).collect::<Result<_, _>>()?;
    if gates.len() > MOST_GATES {
        let place = tables.values().nth(MOST_GATES).map(|table| table.span().start);
        let message = format!(
            "a cell has at most {MOST_GATES} metrics: each one makes the verdicts on the others \
                               less certain"
        );
        return Err((place, message));
    }
    Ok(gates)
}

/// A limit: one bound, and a quantile that can be known.
pub(super) fn budget(table: &Spanned<BudgetTable>) -> Result<Budget, PlacedError> {
    let wrong = |message: String| Err((Some(table.span().start), message));
    let BudgetTable { metric, quantile, at_most, at_least } = table.get_ref();
    if at_most.is_some() == at_least.is_some() {
        return wrong(format!("the budget of `{metric}` needs either `at_most` or `at_least`"));
    }
    if at_most.or(*at_least).is_some_and(|limit| !limit.is_finite()) {
        return wrong(format!("the limit of `{metric}` is not finite"));
    }
    let quantile = quantile.unwrap_or(0.5);
    if !(0.001..=0.999).contains(&quantile) {
        return wrong(format!("`quantile` must be from 0.001 to 0.999, such as 0.95, not {quantile}"));
    }
    Ok(Budget { metric: metric.clone(), quantile, at_most: *at_most, at_least: *at_least, ..Budget::default() })
}
