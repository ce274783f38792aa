//! How quiet the machine is.

use record::{Doctor, Noise};

use crate::layout::labelled;
use crate::units::{digits, percent, plural, seconds};

const LABEL: usize = 12;

/// A tenth of a CPU is what a desktop or a few services need.
const OTHERS_QUIET: f64 = 0.1;
/// From here on our threads had to share a CPU for a good part of the time.
const OTHERS_BUSY: f64 = 0.5;
/// The kernel's own tick and interrupts take less than this.
const LOST_QUIET: f64 = 0.005;
/// Above this every window of some milliseconds is disturbed.
const LOST_BUSY: f64 = 0.05;
/// A guest on CPUs of its own has less.
const STEAL_QUIET: f64 = 0.005;
/// Above this a difference of 5 % says nothing.
const STEAL_BUSY: f64 = 0.05;

/// How much disturbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quietness {
    Quiet,
    Some,
    Busy,
}

/// The worst of what is known.
pub(super) fn quietness(noise: &Noise) -> Quietness {
    let judge = |value: Option<f64>, quiet: f64, busy: f64| match value {
        Some(value) if value >= busy => Quietness::Busy,
        Some(value) if value >= quiet => Quietness::Some,
        _ => Quietness::Quiet,
    };
    [
        judge(noise.others_cpus, OTHERS_QUIET, OTHERS_BUSY),
        judge(Some(noise.jitter.lost_share), LOST_QUIET, LOST_BUSY),
        judge(noise.steal_share, STEAL_QUIET, STEAL_BUSY),
    ]
    .into_iter()
    .max()
    .unwrap_or(Quietness::Quiet)
}

pub(super) fn section(doctor: &Doctor) -> String {
    let noise = &doctor.noise;
    let verdict = match quietness(noise) {
        Quietness::Quiet => "quiet",
        Quietness::Some => "a little disturbed",
        Quietness::Busy => "busy: compare only what ran interleaved",
    };
    let mut text = format!("\nNOISE  {verdict}\n");
    let rows = [
        ("other work", others(noise, doctor.machine.cpus)),
        ("waiting", waiting(noise)),
        ("taken away", taken(noise)),
        ("interrupted", Some(interrupted(noise))),
    ];
    for (label, sentence) in rows {
        text.push_str(&labelled(label, LABEL, sentence.as_deref().unwrap_or("not known")));
    }
    text
}

fn others(noise: &Noise, cpus: u32) -> Option<String> {
    let used = noise
        .others_cpus
        .map(|used| format!("{} of {} used by other programs", digits(used), plural(u64::from(cpus), "CPU")));
    let load = noise.load_1m.map(|load| {
        let longer = noise.load_5m.map_or(String::new(), |load| format!(", {} over five", digits(load)));
        format!("load {} over one minute{longer}", digits(load))
    });
    joined([used, load])
}

fn waiting(noise: &Noise) -> Option<String> {
    let pressure = noise.pressure.as_ref()?;
    let part = |what: &str, share: Option<f64>| share.map(|share| format!("{} for {what}", percent(share)));
    let parts = [part("a CPU", pressure.cpu), part("memory", pressure.memory), part("a disk", pressure.io)];
    joined(parts).map(|parts| format!("of ten seconds before: {parts}"))
}

fn taken(noise: &Noise) -> Option<String> {
    let stolen = noise.steal_share.map(|share| format!("{} of all CPU time by the hypervisor", percent(share)));
    let throttled = noise.throttled_s.filter(|held| *held > 0.0);
    joined([stolen, throttled.map(|held| format!("{} by the control group's limit", seconds(held)))])
}

fn interrupted(noise: &Noise) -> String {
    let jitter = &noise.jitter;
    let window = seconds(jitter.window_s);
    match jitter.longest_s {
        None => format!("never for more than 10 us, in {window}"),
        Some(longest) => format!(
            "{} of {window} lost in {} of more than 10 us, the longest {}",
            percent(jitter.lost_share),
            plural(u64::from(jitter.gaps), "gap"),
            seconds(longest)
        ),
    }
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Jitter;

    #[test]
    fn the_worst_decides() {
        let noise = |others: f64, lost: f64, steal: f64| Noise {
            others_cpus: Some(others),
            steal_share: Some(steal),
            jitter: Jitter { lost_share: lost, ..Jitter::default() },
            ..Noise::default()
        };
        assert_eq!(quietness(&noise(0.05, 0.001, 0.0)), Quietness::Quiet);
        assert_eq!(quietness(&noise(0.3, 0.001, 0.0)), Quietness::Some);
        assert_eq!(quietness(&noise(0.05, 0.001, 0.06)), Quietness::Busy);
        assert_eq!(quietness(&noise(0.05, 0.2, 0.01)), Quietness::Busy);
        assert_eq!(quietness(&Noise::default()), Quietness::Quiet);
    }
}
