//! Which metrics decide, and whether every side measures them.

use record::{Better, ENVIRONMENT_METRICS, GateMetric, Metric};

use super::super::calibrate::Calibrated;
use super::super::{CPU, MAIN_CPU, RUN_DELAY, Reading, WALL};
use super::DuelMeasurement;

/// Work is CPU-bound where it runs for at least this share of the time in which it does not wait for a CPU. On a virtual machine some of
/// the rest is time that the host gave to others.
const CPU_BOUND: f64 = 0.85;
/// Work has one thread where its main thread takes at least this share of its CPU time.
const ONE_THREAD: f64 = 0.9;

impl DuelMeasurement<'_> {
    /// Declares what decides, from the rounds that sized the others: before the first sample, so that no result can choose its metric.
    pub(super) fn declare_gates(&mut self, sides: &[(usize, Calibrated)]) -> Result<(), String> {
        self.tell_metrics()?;
        if self.duel.design.gates.is_empty() {
            let readings = sides.iter().map(|(arm, side)| (self.duel.arms[*arm].name.as_str(), &side.readings[..]));
            let (metric, reason) = choose(&readings.collect::<Vec<_>>());
            let known = self.duel.metrics.get(metric).cloned().unwrap_or_default();
            let threshold = compare::rules::threshold(metric, &known);
            self.duel.design.gates = vec![GateMetric { metric: metric.to_owned(), threshold }];
            self.duel.design.gate_reason = Some(reason);
            self.tell_metrics()?;
        }
        for gate in self.duel.design.gates.iter_mut().filter(|gate| self.settings.usual_gates.contains(&gate.metric)) {
            let metric = self.duel.metrics.get(&gate.metric).cloned().unwrap_or_default();
            gate.threshold = compare::rules::threshold(&gate.metric, &metric);
        }
        if let Some((_, base)) = sides.first() {
            base.readings.last().into_iter().for_each(|reading| self.drop_unmeasured(reading));
        }
        let last = sides.iter().filter_map(|(arm, side)| Some((*arm, side.readings.last()?)));
        last.into_iter().try_for_each(|(arm, reading)| self.check_gates(arm, reading))
    }

    /// What this system does not tell of the base is not judged, as long as something else is: that is no fault of the sides.
    fn drop_unmeasured(&mut self, reading: &Reading) {
        let is_there = |gate: &GateMetric| reading.values.contains_key(&gate.metric);
        let is_known = |gate: &GateMetric| self.duel.metrics.contains_key(&gate.metric);
        if !self.duel.design.gates.iter().any(is_there) {
            return;
        }
        let gates = std::mem::take(&mut self.duel.design.gates);
        let (kept, dropped): (Vec<_>, Vec<_>) = gates.into_iter().partition(|gate| is_there(gate) || !is_known(gate));
        self.duel.design.gates = kept;
        let notes = dropped.iter().map(|gate| format!("`{}` is not judged: it could not be measured", gate.metric));
        self.duel.notes.extend(notes);
    }

    /// Every side has to give what is judged.
    pub(super) fn check_gates(&self, arm: usize, reading: &Reading) -> Result<(), String> {
        let missing = self.duel.design.gates.iter().find(|gate| !reading.values.contains_key(&gate.metric));
        let Some(gate) = missing else { return Ok(()) };
        let is_judged = |name: &&str| !name.starts_with(ENVIRONMENT_METRICS);
        let there: Vec<&str> = reading.values.keys().map(String::as_str).filter(is_judged).collect();
        let notes = self.sides[self.arms[arm]].contestant.notes();
        let why = notes.iter().map(|note| format!(" ({note})")).collect::<String>();
        Err(format!(
            "cannot judge by `{}`: {} does not report it; it reports {}{why}",
            gate.metric,
            self.duel.arms[arm].label,
            there.join(", ")
        ))
    }

    /// Asks the sides what their metrics mean. What does not mean the same for all of them cannot be compared: a gate fails, and
    /// whatever else is left out.
    pub(super) fn tell_metrics(&mut self) -> Result<(), String> {
        for arm in &self.measured {
            let side = &self.sides[self.arms[*arm]];
            for (name, metric) in side.contestant.metrics() {
                let known = self.duel.metrics.entry(name.clone()).or_insert_with(|| metric.clone());
                if meaning(known) != meaning(&metric) {
                    let (one, other) = (meaning(known), meaning(&metric));
                    let dispute = format!("`{name}` is {one} for the first side and {other} for {}", side.name);
                    self.disputed.entry(name).or_insert(dispute);
                }
            }
        }
        self.duel.metrics.extend(super::surroundings());
        let gates = &self.duel.design.gates;
        match gates.iter().find_map(|gate| self.disputed.get(&gate.metric)) {
            Some(dispute) => Err(format!("{dispute}: such a metric cannot be judged; make all sides print the same")),
            None => Ok(()),
        }
    }

    /// Leaves out what does not mean the same for all sides, and says so.
    pub(super) fn drop_disputed(&mut self) {
        for (name, dispute) in &self.disputed {
            self.duel.metrics.remove(name);
            for sample in &mut self.duel.samples {
                sample.values.remove(name);
                sample.series.remove(name);
            }
            self.duel.notes.push(format!("{dispute}: the metric is left out"));
        }
    }
}

/// What of a metric has to be the same for all sides, in words. How it is defined may be said in other ones.
fn meaning(metric: &Metric) -> String {
    let unit = if metric.unit.is_empty() { "without a unit" } else { metric.unit.as_str() };
    let better = if metric.better == Better::Lower { "better=lower" } else { "better=higher" };
    format!("{unit}, {better}, exact={}", if metric.exact { "yes" } else { "no" })
}

/// The metric that decides where nobody named one, and why.
///
/// One round without an objection is enough: on a busy machine some rounds are long for reasons that no counter of the process shows,
/// and work that sleeps does so in every round.
fn choose(sides: &[(&str, &[Reading])]) -> (&'static str, String) {
    let against = sides.iter().find_map(|(name, readings)| {
        let objections: Option<Vec<String>> = readings.iter().map(why_not_cpu_time).collect();
        Some((name, objections?.pop()?))
    });
    match against {
        None => (CPU, "every side is CPU-bound on one thread, and CPU time is steadier than wall time".to_owned()),
        Some((name, why)) => (WALL, format!("{name} {why}, so CPU time alone would not show every change")),
    }
}

/// Why the time of a side is not its CPU time.
fn why_not_cpu_time(reading: &Reading) -> Option<String> {
    let value = |name: &str| reading.values.get(name).copied();
    let (Some(cpu), Some(wall)) = (value(CPU), value(WALL)) else {
        return Some("has no CPU time".to_owned());
    };
    // A process that waits for a CPU does not sleep: without that wait it would have been done earlier.
    let main = value(MAIN_CPU).zip(value(RUN_DELAY)).filter(|(main, _)| *main >= ONE_THREAD * cpu);
    let awake = wall - main.map_or(0.0, |(_, delay)| delay);
    if cpu >= CPU_BOUND * awake && (main.is_some() || cpu <= wall / CPU_BOUND) {
        return None;
    }
    // Waits of other threads and of children are not known: only CPU time that is equal to wall time is that of one at a time.
    let has_others = main.is_none() && (value(MAIN_CPU).is_some() || cpu > wall);
    Some(match has_others {
        true => "uses several threads or processes".to_owned(),
        false => format!("uses a CPU for {:.0} % of its run time", 100.0 * cpu / awake.max(cpu)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(values: &[(&str, f64)]) -> Reading {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Reading { values, ..Reading::default() }
    }

    #[track_caller]
    fn chooses(values: &[(&str, f64)], metric: &str, part: &str) {
        let busy = reading(&[(WALL, 0.2), (CPU, 0.199), (MAIN_CPU, 0.199), (RUN_DELAY, 0.0)]);
        let (busy, other) = ([busy], [reading(values)]);
        let (found, reason) = choose(&[("A", &busy), ("B", &other)]);
        assert!(found == metric && reason.contains(part), "{found}: {reason}");
    }

    #[test]
    fn cpu_time_decides_where_all_are_bound_by_it() {
        chooses(&[(WALL, 0.2), (CPU, 0.19), (MAIN_CPU, 0.19), (RUN_DELAY, 0.0)], CPU, "every side is CPU-bound");
        // On a busy machine, where it had a CPU for a quarter of the time.
        chooses(&[(WALL, 0.8), (CPU, 0.2), (MAIN_CPU, 0.2), (RUN_DELAY, 0.59)], CPU, "every side is CPU-bound");
        // A shell that waits for one program.
        chooses(&[(WALL, 0.2), (CPU, 0.19), (MAIN_CPU, 0.001), (RUN_DELAY, 0.0)], CPU, "every side is CPU-bound");
        chooses(&[(WALL, 0.2), (CPU, 0.19)], CPU, "every side is CPU-bound");
    }

    #[test]
    fn one_round_that_was_held_up_does_not_choose_wall_time() {
        let busy = reading(&[(WALL, 0.2), (CPU, 0.19), (MAIN_CPU, 0.19), (RUN_DELAY, 0.0)]);
        let held_up = reading(&[(WALL, 0.3), (CPU, 0.19), (MAIN_CPU, 0.19), (RUN_DELAY, 0.0)]);
        let (sides, slow) = ([busy.clone(), held_up.clone()], [held_up.clone(), held_up]);
        let base = [busy];
        assert_eq!(choose(&[("A", &base), ("B", &sides)]).0, CPU);
        assert_eq!(choose(&[("A", &base), ("B", &slow)]).0, WALL);
    }

    #[test]
    fn wall_time_decides_where_something_waits_or_has_threads() {
        let sleeps = [(WALL, 0.2), (CPU, 0.02), (MAIN_CPU, 0.02), (RUN_DELAY, 0.01)];
        chooses(&sleeps, WALL, "B uses a CPU for 11 % of its run time");
        chooses(&[(WALL, 0.2), (CPU, 0.39), (MAIN_CPU, 0.195), (RUN_DELAY, 0.0)], WALL, "B uses several threads");
        // Two threads that share one busy CPU: half of the CPU time is not the main thread's.
        chooses(&[(WALL, 0.2), (CPU, 0.15), (MAIN_CPU, 0.075), (RUN_DELAY, 0.1)], WALL, "B uses several threads");
        chooses(&[(WALL, 0.2)], WALL, "B has no CPU time");
    }
}
