//! What disturbs: read before and after a measurement, and watched for a moment.

use std::time::{Duration, Instant};

use record::{Jitter, Noise, Pressure};

use super::{Files, cgroup};

/// Longer than a reading of any clock and than most interrupts: in such a gap somebody else ran.
const GAP: Duration = Duration::from_micros(10);

/// What was seen before the measurement.
#[derive(Debug)]
pub struct NoiseWatch {
    load: Option<[f64; 2]>,
    pressure: Option<Pressure>,
    ticks: Option<Ticks>,
    throttled_s: Option<f64>,
}

/// Ticks of all CPUs since they were started, and of this process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ticks {
    all: f64,
    busy: f64,
    stolen: f64,
    own: f64,
}

impl NoiseWatch {
    /// Before the measurement.
    pub fn start(files: &impl Files) -> Self {
        NoiseWatch {
            load: files.read("/proc/loadavg").and_then(|text| load(&text)),
            pressure: pressures(files),
            ticks: ticks(files),
            throttled_s: cgroup::throttled_s(files),
        }
    }

    /// After it; looks at the clock for so long.
    pub fn finish(self, files: &impl Files, cpus: u32, look: Duration) -> Noise {
        let spent = self.ticks.zip(ticks(files)).and_then(|(before, after)| spent(before, after));
        let throttled = self.throttled_s.zip(cgroup::throttled_s(files));
        Noise {
            load_1m: self.load.map(|load| load[0]),
            load_5m: self.load.map(|load| load[1]),
            others_cpus: spent.map(|(others, _)| others * f64::from(cpus)),
            steal_share: spent.map(|(_, stolen)| stolen),
            throttled_s: throttled.map(|(before, after)| (after - before).max(0.0)),
            pressure: self.pressure,
            jitter: jitter(look),
        }
    }
}

/// `0.50 0.40 0.30 1/200 12345`
pub(super) fn load(text: &str) -> Option<[f64; 2]> {
    let mut words = text.split_whitespace().map(str::parse);
    Some([words.next()?.ok()?, words.next()?.ok()?])
}

fn pressures(files: &impl Files) -> Option<Pressure> {
    let [cpu, memory, io] =
        ["cpu", "memory", "io"].map(|name| pressure(&files.read(&format!("/proc/pressure/{name}"))?));
    (cpu.is_some() || memory.is_some() || io.is_some()).then_some(Pressure { cpu, memory, io })
}

/// `some avg10=1.50 avg60=…`, in percent.
fn pressure(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let word = line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
    word.parse::<f64>().ok().map(|percent| percent / 100.0)
}

fn ticks(files: &impl Files) -> Option<Ticks> {
    let (all, busy, stolen) = all_ticks(&files.read("/proc/stat")?)?;
    Some(Ticks { all, busy, stolen, own: own_ticks(&files.read("/proc/self/stat")?)? })
}

/// `cpu user nice system idle iowait irq softirq steal …`: all, those of programs and kernel, the stolen ones.
pub(super) fn all_ticks(stat: &str) -> Option<(f64, f64, f64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let numbers: Vec<f64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, iowait, irq, softirq, steal] = *numbers.first_chunk::<8>()?;
    let busy = user + nice + system + irq + softirq;
    Some((busy + idle + iowait + steal, busy, steal))
}

/// Of this process and of those that it waited for, in their own code and in the kernel. Its name may hold anything, but no `)` comes after its last one.
fn own_ticks(stat: &str) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let numbers = rest.split(' ').skip(11).map_while(|word| word.parse::<f64>().ok()).take(4);
    let numbers: Vec<f64> = numbers.collect();
    (numbers.len() == 4).then(|| numbers.iter().sum())
}

/// The share of all ticks that went to other programs, and that the hypervisor took. `None`: no time passed.
fn spent(before: Ticks, after: Ticks) -> Option<(f64, f64)> {
    let all = after.all - before.all;
    let others = (after.busy - before.busy) - (after.own - before.own);
    (all > 0.0).then(|| ((others / all).max(0.0), ((after.stolen - before.stolen) / all).max(0.0)))
}

/// Looks at the clock for so long, and sees when it could not.
fn jitter(window: Duration) -> Jitter {
    let start = Instant::now();
    let mut last = start;
    let mut gaps = Vec::new();
    while last.duration_since(start) < window {
        let now = Instant::now();
        gaps.extend(Some(now.duration_since(last)).filter(|gap| *gap > GAP));
        last = now;
    }
    let window_s = last.duration_since(start).as_secs_f64();
    Jitter {
        window_s,
        gaps: gaps.len() as u32,
        longest_s: gaps.iter().max().map(Duration::as_secs_f64),
        lost_share: gaps.iter().sum::<Duration>().as_secs_f64() / window_s,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn numbers_are_found_in_their_files() {
        assert_eq!(load("0.50 0.40 0.30 1/200 12345\n"), Some([0.5, 0.4]));
        assert_eq!(load("much"), None);
        assert_eq!(pressure("some avg10=12.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=0.00\n"), Some(0.125));
        assert_eq!(pressure("full avg10=0.00\n"), None);
        assert_eq!(all_ticks("cpu  10 1 2 30 3 4 5 6 0 0\ncpu0 1 1\n"), Some((61.0, 22.0, 6.0)));
        assert_eq!(all_ticks("cpu  10 1 2 30\n"), None);
        assert_eq!(own_ticks("7 (a ) b) R 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0"), Some(127.0));
        assert_eq!(own_ticks("7 (a) R 1"), None);
    }

    #[test]
    fn others_are_all_but_we_and_the_hypervisor() {
        let before = Ticks { all: 1000.0, busy: 500.0, stolen: 10.0, own: 100.0 };
        let after = Ticks { all: 1400.0, busy: 800.0, stolen: 50.0, own: 200.0 };
        assert_eq!(spent(before, after), Some((0.5, 0.1)));
        assert_eq!(spent(before, before), None);
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_numbers_but_a_clock() {
        let silent = BTreeMap::new();
        let noise = NoiseWatch::start(&silent).finish(&silent, 4, Duration::from_millis(2));
        let expected = Noise { jitter: noise.jitter.clone(), ..Noise::default() };
        assert_eq!(noise, expected);
        assert!(noise.jitter.window_s >= 0.002 && (0.0..=1.0).contains(&noise.jitter.lost_share), "{noise:?}");
        assert_eq!(noise.jitter.longest_s.is_some(), noise.jitter.gaps > 0);
    }
}
