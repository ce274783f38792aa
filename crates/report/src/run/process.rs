//! What the whole process took, as the system counts it.

use record::ProcessUse;

use super::document::{Section, not_measured};
use super::view::View;
use crate::units::{bytes, count, digits, seconds};

pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let is_command = view.run.workload.name == "command";
    let is_repeated = is_command && view.run.workload.repeat.is_some_and(|times| times > 1);
    let which = if is_repeated { "; of the last repeat, ROWS has all" } else { "" };
    let section = Section::new("PROCESS", &format!("what the system counted, from its start to its end{which}"));
    let Some(process) = &view.run.process else {
        return is_command.then(|| section.with_facts([("wall time", Some(not_measured()))]));
    };
    let counted = |number: Option<u64>| number.map_or_else(not_measured, count);
    let faults =
        format!("{} without a disk, {} from a disk", counted(process.minor_faults), counted(process.major_faults));
    let switches =
        format!("{} by waiting, {} forced", counted(process.voluntary_switches), counted(process.involuntary_switches));
    Some(section.with_facts([
        ("ended", ended(process).or_else(|| is_command.then(|| "not known".to_owned()))),
        ("wall time", Some(seconds(process.wall_s))),
        ("CPU time", Some(cpu(process))),
        ("peak memory", Some(process.peak_rss_bytes.map_or_else(not_measured, bytes))),
        ("page faults", Some(faults)),
        ("context switches", Some(switches)),
    ]))
}

fn ended(process: &ProcessUse) -> Option<String> {
    match (process.exit_code, process.signal) {
        (_, Some(signal)) => Some(format!("by signal {signal}")),
        (Some(code), None) => Some(format!("with exit code {code}")),
        (None, None) => None,
    }
}

fn cpu(process: &ProcessUse) -> String {
    let part = |time: Option<f64>| time.map_or_else(not_measured, seconds);
    let parts = format!("{} in the program, {} in the system", part(process.user_s), part(process.system_s));
    match process.user_s.zip(process.system_s) {
        Some((user, system)) if process.wall_s > 0.0 => {
            format!("{parts}: {} CPUs busy in the mean", digits((user + system) / process.wall_s))
        }
        _ => parts,
    }
}
