//! What a machine is and can do.

mod advice;
mod limits;
mod machine;
mod noise;

use record::Doctor;

use crate::document::{Block, Document, Section};
use crate::units;

/// The machine, its limits, how quiet it is, and what to change to measure better.
#[must_use]
pub fn document(doctor: &Doctor) -> Document {
    let sections = vec![
        machine::section(&doctor.machine, &doctor.counters),
        limits::section(&doctor.limits),
        noise::section(doctor),
        recommendations(doctor),
    ];
    Document { kind: "HOTLOOP DOCTOR", title: title(doctor), sections, ..Document::default() }
}

fn title(doctor: &Doctor) -> String {
    let when = doctor.created.as_ref().map_or(String::new(), |when| format!(", {when}"));
    let quick = if doctor.quick { " (quick)" } else { "" };
    let took = units::seconds(doctor.duration_s);
    format!("version {}{when}, took {took}{quick}", doctor.tool.version)
}

fn recommendations(doctor: &Doctor) -> Section {
    match advice::all(doctor) {
        none if none.is_empty() => Section::new("RECOMMENDATIONS", "none: nothing to change for better measurements"),
        steps => Section::new("RECOMMENDATIONS", "for better measurements").with(Block::Steps(steps)),
    }
}

#[cfg(test)]
mod tests;
