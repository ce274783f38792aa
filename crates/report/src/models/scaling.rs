//! How models scale: over their size, the text before a token, and threads.

use record::{Figure, Models, Scaling, ThreadScaling};

use super::Names;
use super::sentences::{signed_digits, slope};
use super::tables::interval;
use crate::document::{Block, Section, Table, quoted};
use crate::units::{count, digits, mean_count, seconds, tokens_per_s, whole_percent};

pub(super) fn sections(models: &Models, names: &Names<'_>) -> Vec<Section> {
    let over = |what: &str| models.scaling.iter().filter(|scaling| scaling.over == what).collect::<Vec<_>>();
    let explanation = "slope of log time per token over log size (1: linear); ideal: by the machine's limits";
    let mut sections = Vec::new();
    sections.extend(of(over("parameters"), names, ("SCALING WITH SIZE", &format!("active parameters; {explanation}"))));
    sections.extend(of(
        over("context"),
        names,
        ("SCALING WITH CONTEXT", &format!("tokens before the one computed; {explanation}")),
    ));
    sections.extend(threads(models, names));
    sections
}

fn of(all: Vec<&Scaling>, names: &Names<'_>, (title, explanation): (&'static str, &str)) -> Option<Section> {
    if all.is_empty() {
        return None;
    }
    let mut table = Table::new(&["of", "at", "time per token", "ideal", "× ideal"]);
    let mut sentences = Vec::new();
    for scaling in all {
        let of = names.name(&scaling.of);
        for point in &scaling.points {
            let ideal = point.ideal_s;
            table.row([
                if scaling.over == "parameters" { format!("{of}: {}", names.name(&point.model)) } else { of.clone() },
                mean_count(point.at),
                seconds(point.seconds),
                ideal.map_or_else(String::new, seconds),
                ideal.map_or_else(String::new, |ideal| digits(point.seconds / ideal)),
            ]);
        }
        let subject = if of.is_empty() { String::new() } else { format!("{}: ", quoted(&of)) };
        sentences.push(match (&scaling.slope, &scaling.missing) {
            (Some(found), _) => {
                let ideal = scaling.ideal_slope.map_or_else(|| "not measured".to_owned(), signed_digits);
                format!("{subject}slope {}; ideal {ideal}", slope(found))
            }
            (None, missing) => format!("{subject}not measured: {}", missing.as_deref().unwrap_or("too few points")),
        });
    }
    let section = Section::new(title, explanation);
    let section = if table.is_empty() { section } else { section.with(Block::Table(table)) };
    Some(section.with(Block::List(sentences)))
}

fn threads(models: &Models, names: &Names<'_>) -> Option<Section> {
    if models.threads.is_empty() {
        return None;
    }
    let headings = ["model", "threads", "decode", "speedup", "95 % interval", "efficiency", "ideal"];
    let (mut table, mut sentences) = (Table::new(&headings), Vec::new());
    for scaling in &models.threads {
        for point in &scaling.points {
            table.row([
                names.name(&scaling.model),
                count(point.threads),
                tokens_per_s(point.tokens_per_s.value),
                point.speedup.map_or_else(String::new, |figure| digits(figure.value)),
                interval(point.speedup.as_ref(), digits),
                point.efficiency.map_or_else(String::new, |figure| whole_percent(figure.value)),
                point.ideal_speedup.map_or_else(String::new, digits),
            ]);
        }
        sentences.push(amdahl(scaling, names));
    }
    let explanation = "speedup over the fewest threads, round by round; efficiency: speedup per thread; ideal: by the machine's limits; \
                       serial share by Amdahl's law";
    let section = Section::new("SCALING WITH THREADS", explanation);
    let section = if table.is_empty() { section } else { section.with(Block::Table(table)) };
    Some(section.with(Block::List(sentences)))
}

fn amdahl(scaling: &ThreadScaling, names: &Names<'_>) -> String {
    let Some(share) = &scaling.serial_share else {
        return format!("not measured: {}", scaling.missing.as_deref().unwrap_or("too few rounds"));
    };
    let name = quoted(&names.name(&scaling.model));
    let interval = match (share.low, share.high) {
        (Some(low), Some(high)) => format!(" ({} to {})", signed(low), signed(high)),
        _ => String::new(),
    };
    let meaning = match share {
        Figure { low: Some(low), .. } if *low > 1.0 => ": slower with more threads",
        Figure { high: Some(high), .. } if *high < 0.0 => ": superlinear speedup, as with more cache",
        _ => "",
    };
    format!("{name}: serial share {}{interval}{meaning}", signed(share.value))
}

/// A share that may be below nothing.
fn signed(share: f64) -> String {
    if share < 0.0 { format!("\u{2212}{}", whole_percent(-share)) } else { whole_percent(share) }
}
