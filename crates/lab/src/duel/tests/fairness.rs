//! Whether any side is favoured, what decides, and how long it takes.

use super::*;

/// Faster by a sixth behind a process of the same file, as if that left something warm: whoever shares a file gains by it.
struct Sticky {
    label: &'static str,
    file: &'static str,
    last: Rc<RefCell<String>>,
}

struct StickyProcess {
    file: String,
    last: Rc<RefCell<String>>,
}

impl Contestant for Sticky {
    fn arm(&self) -> Arm {
        Arm { label: self.label.to_owned(), ..Arm::default() }
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        BTreeMap::from([(WALL.to_owned(), Metric { unit: "s".to_owned(), ..Metric::default() })])
    }

    fn launch(&mut self) -> Result<Box<dyn Launched>, String> {
        self.launch_under(&Conditions::default())
    }

    fn launch_under(&mut self, conditions: &Conditions) -> Result<Box<dyn Launched>, String> {
        let copy = if conditions.copied { format!(", copied for {}", self.label) } else { String::new() };
        Ok(Box::new(StickyProcess { file: format!("{}{copy}", self.file), last: Rc::clone(&self.last) }))
    }

    fn file(&self) -> Option<PathBuf> {
        Some(self.file.into())
    }
}

impl Launched for StickyProcess {
    fn round(&mut self, calls: u64, _: bool) -> Result<Reading, String> {
        let last = self.last.replace(self.file.clone());
        let first = if last == self.file { 0.25 } else { 0.3 };
        let wall = first + 0.25 * (calls - 1) as f64;
        Ok(Reading { values: BTreeMap::from([(WALL.to_owned(), wall)]), ..Reading::default() })
    }
}

/// What identical sides differ by, as the mean of the logarithms over all rounds: B against A and A', and A' against A.
fn sticky(mode: DuelMode, files: [&'static str; 2], seed: u64) -> [f64; 2] {
    let last: Rc<RefCell<String>> = Rc::default();
    let side = |label, file| Box::new(Sticky { label, file, last: Rc::clone(&last) }) as Box<dyn Contestant>;
    let mut contestants = vec![side("a", files[0]), side("b", files[1])];
    let asked = DuelSettings { seed, profiled_rounds: 0, launches: 8, rounds: 6, ..settings(mode) };
    let duel = super::measurement::DuelMeasurement::new(
        &asked,
        sides(&mut contestants).expect("sides"),
        &mut looker(),
        unresolved,
    )
    .run()
    .expect("a duel");
    let mean = |arm: &str| {
        let timed = duel.samples.iter().filter(|sample| sample.phase == Phase::Timed);
        let walls: Vec<f64> =
            timed.filter(|sample| sample.arm.as_deref() == Some(arm)).map(|sample| sample.values[WALL].ln()).collect();
        walls.iter().sum::<f64>() / walls.len() as f64
    };
    let base = mean("A");
    let placebo = if mode.placebo { mean("A'") } else { base };
    [mean("B") - (base + placebo) / 2.0, placebo - base]
}

#[test]
fn what_the_process_before_leaves_warm_favours_no_side() {
    for seed in 0..10 {
        for files in [["one", "other"], ["same", "same"]] {
            let [change, placebo] = sticky(DuelMode::STANDARD, files, seed);
            assert!(change.abs() < 1e-9 && placebo.abs() < 1e-9, "{files:?}, seed {seed}: {change}, {placebo}");
        }
        let [change, _] = sticky(DuelMode { placebo: false, ..DuelMode::STANDARD }, ["one", "other"], seed);
        assert!(change.abs() < 0.03, "seed {seed}: {change}");
    }
}

/// A side with CPU time, of which each call really takes so long.
struct Real {
    call: Duration,
    cpu_share: f64,
}

impl Contestant for Real {
    fn arm(&self) -> Arm {
        Arm { label: "real".to_owned(), ..Arm::default() }
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        [WALL, CPU].map(|name| (name.to_owned(), Metric { unit: "s".to_owned(), ..Metric::default() })).into()
    }

    fn launch(&mut self) -> Result<Box<dyn Launched>, String> {
        Ok(Box::new(Real { ..*self }))
    }
}

impl Launched for Real {
    fn round(&mut self, calls: u64, _: bool) -> Result<Reading, String> {
        let begun = std::time::Instant::now();
        std::thread::sleep(self.call * calls as u32);
        let wall = begun.elapsed().as_secs_f64();
        let values = [(WALL, wall), (CPU, wall * self.cpu_share)].map(|(name, value)| (name.to_owned(), value));
        Ok(Reading { values: values.into(), ..Reading::default() })
    }
}

fn real(settings: &DuelSettings, cpu_shares: [f64; 2]) -> Duel {
    let side = |cpu_share| Box::new(Real { call: Duration::from_millis(2), cpu_share }) as Box<dyn Contestant>;
    let mut contestants: Vec<_> = cpu_shares.map(side).into();
    DuelMeasurement::new(settings, sides(&mut contestants).expect("sides"), &mut looker(), unresolved)
        .run()
        .expect("a duel")
}

#[test]
fn what_decides_is_declared_before_the_first_sample() {
    let short = DuelSettings { round: Duration::from_millis(2), launches: 1, rounds: 1, ..settings(DuelMode::QUICK) };
    let asked = DuelSettings { gates: Vec::new(), ..short };
    let gate = |duel: &Duel| (duel.design.gates[0].metric.clone(), duel.design.gates[0].threshold);
    let bound = real(&asked, [0.99, 1.0]);
    assert_eq!((bound.design.gates.len(), gate(&bound)), (1, ("cpu_s".to_owned(), 0.02)));
    assert!(bound.design.gate_reason.is_some_and(|reason| reason.contains("CPU-bound")));
    let waiting = real(&asked, [0.99, 0.3]);
    assert_eq!(gate(&waiting), ("wall_s".to_owned(), 0.03));
    assert!(waiting.design.gate_reason.is_some_and(|reason| reason.starts_with("B uses a CPU for 30 %")));
    let named = real(&settings(DuelMode { launches: 1, rounds: 1, ..DuelMode::QUICK }), [1.0, 1.0]);
    assert_eq!((gate(&named), named.design.gate_reason), (("wall_s".to_owned(), 0.03), None));
}

#[test]
fn a_time_budget_is_kept() {
    let asked = DuelSettings {
        round: Duration::from_millis(200),
        time_budget: Some(Duration::from_secs(2)),
        ..settings(DuelMode::STANDARD)
    };
    let begun = std::time::Instant::now();
    let duel = real(&asked, [1.0, 1.0]);
    let took = begun.elapsed().as_secs_f64();
    assert!((0.8..4.0).contains(&took), "{took} s, {:?}", duel.design);
    assert!(!duel.interrupted && duel.design.time_budget_s == Some(2.0), "{:?}", duel.design);
    assert!(duel.design.calls < 100 && duel.design.looks.last() == Some(&duel.design.launches), "{:?}", duel.design);
    let side = || Box::new(Real { call: Duration::from_millis(60), cpu_share: 1.0 }) as Box<dyn Contestant>;
    let mut contestants = vec![side(), side()];
    let none = DuelSettings { time_budget: Some(Duration::from_millis(50)), ..asked };
    let error = DuelMeasurement::new(&none, sides(&mut contestants).expect("sides"), &mut looker(), unresolved).run();
    assert!(error.is_err_and(|error| error.contains("time budget")));
}
