//! Common drift: unrelated cells that changed in the same way.

use record::{Drift, Finding};

use crate::rules::{DRIFT_ALIKE, DRIFT_CELLS, DRIFT_SHARE};

/// Every metric that moved more than four in five of the cells the same way, by a similar amount; the largest movement first.
/// One finding stands for each cell. Exact metrics do not drift: who calls leaves them out.
#[must_use]
pub fn common_mode(metrics: &[&str], cells: &[&Finding]) -> Vec<Drift> {
    let mut drifts: Vec<Drift> = metrics.iter().filter_map(|metric| drift(metric, cells)).collect();
    drifts.sort_by(|one, other| other.estimate.abs().total_cmp(&one.estimate.abs()));
    drifts
}

fn drift(metric: &str, cells: &[&Finding]) -> Option<Drift> {
    let judgements = cells.iter().flat_map(|finding| &finding.judgements).filter(|found| found.metric == metric);
    let changes: Vec<record::Change> = judgements.filter_map(|found| found.change).collect();
    let moved = |sign: f64| -> Vec<f64> {
        let is_moved = |change: &&record::Change| if sign > 0.0 { change.low > 0.0 } else { change.high < 0.0 };
        changes.iter().filter(is_moved).map(|change| change.estimate).collect()
    };
    let (up, down) = (moved(1.0), moved(-1.0));
    let moved = if up.len() >= down.len() { up } else { down };
    let middle = crate::median(&moved)?;
    let alike = moved.iter().filter(|change| (1.0 / DRIFT_ALIKE..=DRIFT_ALIKE).contains(&(**change / middle))).count();
    let is_common = changes.len() >= DRIFT_CELLS && alike as f64 > DRIFT_SHARE * changes.len() as f64;
    is_common.then(|| Drift {
        metric: metric.to_owned(),
        cells: changes.len() as u64,
        moved: alike as u64,
        estimate: middle,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Change, Judgement};

    fn cells(estimates: &[f64]) -> Vec<Finding> {
        let cell = |estimate: &f64| {
            let change = Change { estimate: *estimate, low: estimate - 0.01, high: estimate + 0.01 };
            let judgement = Judgement { metric: "wall_s".to_owned(), change: Some(change), ..Judgement::default() };
            Finding { judgements: vec![judgement], ..Finding::default() }
        };
        estimates.iter().map(cell).collect()
    }

    fn drift_of(estimates: &[f64]) -> Option<(u64, u64, f64)> {
        let cells = cells(estimates);
        let found = common_mode(&["cpu_s", "wall_s"], &cells.iter().collect::<Vec<_>>()).into_iter().next()?;
        Some((found.moved, found.cells, found.estimate))
    }

    #[test]
    fn most_cells_have_to_move_alike() {
        assert_eq!(drift_of(&[0.05, 0.06, 0.04, 0.05, 0.07]), Some((5, 5, 0.05)));
        assert_eq!(drift_of(&[-0.05, -0.06, -0.04, -0.05, -0.07, 0.05]), Some((5, 6, -0.05)));
        assert_eq!(drift_of(&[0.05, 0.06, 0.04, 0.05]), None, "too few cells");
        assert_eq!(drift_of(&[0.05, 0.06, 0.04, 0.05, 0.0]), None, "one of five did not move");
        assert_eq!(drift_of(&[0.05, 0.06, 0.04, 0.05, -0.05]), None, "one moved the other way");
        assert_eq!(drift_of(&[0.05, 0.06, 0.04, 0.05, 0.5]), None, "one moved ten times as far");
        assert_eq!(drift_of(&[0.0; 9]), None, "nothing moved");
        assert_eq!(drift_of(&[]), None);
    }
}
