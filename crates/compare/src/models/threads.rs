//! What more threads bring.

use record::{Figure, ThreadPoint, ThreadScaling};

use super::cells::{Cell, ModelEntry};
use super::figures::rate;
use super::launches::{self, RoundTimes};

pub(super) fn of(entries: &[ModelEntry<'_>]) -> Vec<ThreadScaling> {
    let found: Vec<ThreadScaling> = entries.iter().filter_map(of_model).collect();
    if !found.is_empty() {
        return found;
    }
    vec![ThreadScaling { missing: Some("needs several thread counts".to_owned()), ..ThreadScaling::default() }]
}

/// Cells with the same prompt, from the fewest threads on.
fn of_model(entry: &ModelEntry<'_>) -> Option<ThreadScaling> {
    let first = entry.cells.first()?;
    let like = entry.cells.iter().filter(|cell| cell.prompt == first.prompt && !cell.decode_s.is_empty());
    let mut cells: Vec<(u64, &Cell<'_>)> = like.filter_map(|cell| Some((cell.threads?, cell))).collect();
    cells.sort_by_key(|(threads, _)| *threads);
    cells.dedup_by_key(|(threads, _)| *threads);
    let (fewest, base) = *cells.first()?;
    if cells.len() < 2 {
        return None;
    }
    let points = cells.iter().filter_map(|(threads, cell)| point(entry, (fewest, base), (*threads, cell))).collect();
    let shares = serial_shares(&cells);
    let serial_share = launches::figure(&shares);
    Some(ThreadScaling { model: entry.model.name.clone(), points, serial_share, missing: None })
}

fn point(
    entry: &ModelEntry<'_>,
    (fewest, base): (u64, &Cell<'_>),
    (threads, cell): (u64, &Cell<'_>),
) -> Option<ThreadPoint> {
    let tokens_per_s = rate(1.0, &cell.decode_s)?;
    let is_base = threads == fewest;
    let speedup = launches::factor(&cell.ratios(base)).filter(|_| !is_base);
    let more = threads as f64 / fewest.max(1) as f64;
    let part = |figure: Figure| Figure {
        value: figure.value / more,
        low: figure.low.map(|low| low / more),
        high: figure.high.map(|high| high / more),
        ..figure
    };
    let roof = |cell: &Cell<'_>| entry.bounds.as_ref()?.roof(&cell.decode_work(entry.model)).map(|roof| roof.seconds);
    let ideal_speedup = roof(base).zip(roof(cell)).map(|(base, own)| base / own).filter(|_| !is_base);
    Some(ThreadPoint { threads, tokens_per_s, speedup, efficiency: speedup.map(part), ideal_speedup })
}

/// Amdahl's law, round by round: time = serial + parallel ÷ threads, by least squares; the serial part of the time of one thread.
fn serial_shares(cells: &[(u64, &Cell<'_>)]) -> RoundTimes {
    let Some((_, first)) = cells.first() else { return RoundTimes::new() };
    let shares = first.decode_s.keys().filter_map(|round| {
        let points: Option<Vec<(f64, f64)>> = cells
            .iter()
            .map(|(threads, cell)| Some((1.0 / (*threads).max(1) as f64, *cell.decode_s.get(round)?)))
            .collect();
        Some((*round, serial_share(&points?)?))
    });
    shares.collect()
}

/// Of points (1 ÷ threads, time).
fn serial_share(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |sums, point| (sums.0 + point.0 / n, sums.1 + point.1 / n));
    let width: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let parallel = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / width;
    let serial = y - parallel * x;
    Some(serial / (serial + parallel)).filter(|share| share.is_finite())
}
