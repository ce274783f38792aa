//! Compares the rates of rows and scopes that declare their work.

use std::collections::{HashMap, HashSet};

use record::{Arithmetic, KernelChange, RowChange, Run, ScopeChange, ScopeFigures, WorkRate};

/// Rows without a model, then scopes by their names. The units are those of the scopes of base and candidate.
pub(super) fn kernels(rows: &[RowChange], scopes: &[ScopeChange], units: [&str; 2]) -> Vec<KernelChange> {
    let is_kernel = |row: &&RowChange| row.model.is_none() && (is_work(&row.base) || is_work(&row.candidate));
    let of_rows: Vec<&RowChange> = rows.iter().filter(is_kernel).collect();
    let named: HashSet<&str> = of_rows.iter().map(|row| row.name.as_str()).collect();
    let row = |row: &&RowChange| KernelChange {
        name: row.name.clone(),
        of: "row".to_owned(),
        base: row.base.clone(),
        candidate: row.candidate.clone(),
    };
    let mut kernels: Vec<KernelChange> = of_rows.iter().map(row).collect();
    // A row that has a scope of its name is measured better than that.
    let is_new = |name: &str| !named.contains(name.rsplit("::").next().unwrap_or(name));
    kernels.extend(of_scopes(scopes, units).into_iter().filter(|kernel| is_new(&kernel.name)));
    kernels
}

/// What the scopes of a run count, as its report has it: products of whole numbers are no FLOP.
pub(super) fn scope_unit(run: &Run) -> &'static str {
    let is_int8 = |model| crate::arithmetic(Some(model)) == Arithmetic::Int8;
    if !run.models.is_empty() && run.models.iter().all(is_int8) { "OP" } else { "FLOP" }
}

fn is_work(speed: &Option<WorkRate>) -> bool {
    speed.as_ref().is_some_and(|speed| speed.unit != "tok")
}

/// Sums of all scopes of a name, those with most time first.
fn of_scopes(scopes: &[ScopeChange], units: [&str; 2]) -> Vec<KernelChange> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut sums: Vec<(&str, [Option<ScopeFigures>; 2])> = Vec::new();
    for scope in scopes {
        for (side, figures) in [scope.base, scope.candidate].into_iter().enumerate() {
            let Some(figures) = figures.filter(|figures| figures.flops > 0.0) else { continue };
            let place = *places.entry(&scope.name).or_insert(sums.len());
            if place == sums.len() {
                sums.push((&scope.name, [None, None]));
            }
            let sum = sums[place].1[side].get_or_insert_default();
            sum.calls += figures.calls;
            sum.total_s += figures.total_s;
            sum.flops += figures.flops;
        }
    }
    let time = |sides: &[Option<ScopeFigures>; 2]| sides.iter().flatten().map(|sum| sum.total_s).fold(0.0, f64::max);
    sums.sort_by(|a, b| time(&b.1).total_cmp(&time(&a.1)).then(a.0.cmp(b.0)));
    let kernel = |(name, [base, candidate]): (&str, [Option<ScopeFigures>; 2])| KernelChange {
        name: name.to_owned(),
        of: "scope".to_owned(),
        base: base.and_then(|sum| speed(sum, units[0])),
        candidate: candidate.and_then(|sum| speed(sum, units[1])),
    };
    sums.into_iter().map(kernel).filter(|kernel| kernel.base.is_some() || kernel.candidate.is_some()).collect()
}

fn speed(sum: ScopeFigures, unit: &str) -> Option<WorkRate> {
    (sum.total_s > 0.0 && sum.calls > 0.0).then(|| WorkRate {
        call_s: sum.total_s / sum.calls,
        per_second: sum.flops / sum.total_s,
        unit: unit.to_owned(),
        ..WorkRate::default()
    })
}

#[cfg(test)]
mod tests {
    use record::Model;

    use super::*;

    #[test]
    fn scopes_count_what_their_model_computes_in() {
        let run = |formats: &[&str]| Run {
            models: formats.iter().map(|format| Model { format: (*format).to_owned(), ..Model::default() }).collect(),
            ..Run::default()
        };
        let unit = |formats: &[&str]| scope_unit(&run(formats));
        assert_eq!(
            [unit(&["q8_0"]), unit(&["f16"]), unit(&["q8_0", "f32"]), unit(&[])],
            ["OP", "FLOP", "FLOP", "FLOP"]
        );
        let figures = Some(ScopeFigures { calls: 2.0, total_s: 4.0, flops: 8.0, ..ScopeFigures::default() });
        let scope = ScopeChange { name: "qkv".to_owned(), base: figures, candidate: figures, ..ScopeChange::default() };
        let found = kernels(&[], &[scope], ["FLOP", "OP"]);
        let rates = [&found[0].base, &found[0].candidate].map(|speed| speed.as_ref().expect("it has work"));
        assert_eq!(rates.map(|rate| (rate.unit.as_str(), rate.per_second)), [("FLOP", 2.0), ("OP", 2.0)]);
    }
}
