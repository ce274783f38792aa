//! How quiet the machine is.

use record::{Doctor, Noise};

use crate::document::Section;
use crate::units::{digits, percent, plural, seconds};

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

pub(super) fn section(doctor: &Doctor) -> Section {
    let noise = &doctor.noise;
    let verdict = match quietness(noise) {
        Quietness::Quiet => "quiet",
        Quietness::Some => "some interference",
        Quietness::Busy => "busy: compare only interleaved measurements",
    };
    let rows = [
        ("other programs", others(noise, doctor.machine.cpus)),
        ("pressure", pressure(noise)),
        ("steal time", stolen(noise)),
        ("interruptions", Some(interruptions(noise))),
    ];
    let known = rows.map(|(label, sentence)| (label, Some(sentence.unwrap_or_else(|| "unknown".to_owned()))));
    Section::new("NOISE", verdict).with_facts(known)
}

fn others(noise: &Noise, cpus: u32) -> Option<String> {
    let used = noise.others_cpus.map(|used| format!("{} of {}", digits(used), plural(u64::from(cpus), "CPU")));
    let load = noise.load_1m.map(|load| {
        let longer = noise.load_5m.map_or(String::new(), |load| format!(", {} (5 min)", digits(load)));
        format!("load average {} (1 min){longer}", digits(load))
    });
    joined([used, load])
}

fn pressure(noise: &Noise) -> Option<String> {
    let pressure = noise.pressure.as_ref()?;
    let part = |what: &str, share: Option<f64>| share.map(|share| format!("{what} {}", percent(share)));
    let parts = [part("CPU", pressure.cpu), part("memory", pressure.memory), part("I/O", pressure.io)];
    joined(parts).map(|parts| format!("{parts} (share of the last 10 s)"))
}

fn stolen(noise: &Noise) -> Option<String> {
    let stolen = noise.steal_share.map(|share| format!("{} of all CPU time", percent(share)));
    let throttled = noise.throttled_s.filter(|held| *held > 0.0);
    joined([stolen, throttled.map(|held| format!("throttled for {} by the cgroup limit", seconds(held)))])
}

fn interruptions(noise: &Noise) -> String {
    let jitter = &noise.jitter;
    let window = seconds(jitter.window_s);
    match jitter.longest_s {
        None => format!("none longer than 10 us in {window}"),
        Some(longest) => format!(
            "{} of {window} lost to {} longer than 10 us, longest {}",
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
