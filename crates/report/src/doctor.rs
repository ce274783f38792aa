//! What a machine is and can do, for people.

mod advice;
mod limits;
mod machine;
mod noise;

use record::Doctor;

use crate::layout::wrapped;
use crate::units;

/// The whole text.
pub fn text(doctor: &Doctor) -> String {
    let mut text = heading(doctor);
    text.push_str("\nMACHINE\n");
    text.push_str(&machine::section(&doctor.machine, &doctor.counters));
    text.push_str(&limits::section(&doctor.limits));
    text.push_str(&noise::section(doctor));
    text.push_str(&advice_section(doctor));
    text
}

fn heading(doctor: &Doctor) -> String {
    let when = doctor.created.as_ref().map_or(String::new(), |when| format!(", {when}"));
    let hurry = if doctor.quick { ", measured in a hurry" } else { "" };
    let took = units::seconds(doctor.duration_s);
    format!("HOTLOOP DOCTOR  version {}{when}, took {took}{hurry}\n", doctor.tool.version)
}

fn advice_section(doctor: &Doctor) -> String {
    let advice = advice::all(doctor);
    if advice.is_empty() {
        return "\nTO MEASURE BETTER  nothing to change was found\n".to_owned();
    }
    let mut text = "\nTO MEASURE BETTER\n".to_owned();
    for (number, advice) in (1..).zip(advice) {
        let lines = wrapped(&advice.sentence, 94).join("\n     ");
        text.push_str(&format!("  {number}. {lines}\n"));
        text.extend(advice.command.map(|command| format!("       {command}\n")));
    }
    text
}

#[cfg(test)]
mod tests;
