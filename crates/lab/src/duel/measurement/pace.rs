//! How much fits into the time that is there, and how much time is left.

use std::time::{Duration, Instant};

use super::super::calibrate::{Calibrated, SHORTEST_S};
use super::DuelMeasurement;

/// Fewer launches tell little of how launches differ; before there are fewer, each gets fewer rounds.
const FEW_LAUNCHES: u64 = 4;
/// Fewer rounds of a launch are not worth its start.
const FEW_ROUNDS: u64 = 3;

/// How long it takes, as far as that is known.
#[derive(Debug)]
pub(super) struct Pace {
    began: Instant,
    budget: Option<Duration>,
    /// What a launch takes, in seconds.
    launch_s: f64,
    /// When the first launch began, and the one that is being measured.
    launches_began: Option<[Instant; 2]>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Plan {
    pub(super) launches: u64,
    pub(super) rounds: u64,
    pub(super) calls: u64,
}

/// What one launch of all arms takes, in seconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    start_s: f64,
    /// One call of every arm.
    call_s: f64,
    /// One call of the slowest arm.
    slowest_s: f64,
    /// Rounds besides those that count.
    others: u64,
}

impl Cost {
    fn of(self, plan: Plan) -> f64 {
        self.start_s + self.call_s * plan.calls as f64 * (plan.rounds + self.others) as f64
    }

    /// The plan, smaller until it fits: shorter rounds first, as they cost least certainty, then fewer launches, then fewer rounds.
    fn fit(self, plan: Plan, budget_s: f64) -> Plan {
        let mut plan = plan;
        let takes = |plan: Plan| plan.launches as f64 * self.of(plan);
        if takes(plan) > budget_s {
            let shortest = (SHORTEST_S / self.slowest_s.max(1e-9)).ceil() as u64;
            let work_s = budget_s / plan.launches as f64 - self.start_s;
            let calls = (work_s / (self.call_s * (plan.rounds + self.others) as f64).max(1e-9)).max(0.0) as u64;
            plan.calls = calls.clamp(shortest.clamp(1, plan.calls), plan.calls);
        }
        let fewer = |plan: Plan, least: u64| {
            let launches = (budget_s / self.of(plan).max(1e-9)) as u64;
            Plan { launches: launches.clamp(least.min(plan.launches), plan.launches), ..plan }
        };
        plan = fewer(plan, FEW_LAUNCHES);
        while takes(plan) > budget_s && plan.rounds > FEW_ROUNDS {
            plan.rounds -= 1;
        }
        fewer(plan, 1)
    }
}

impl Pace {
    pub(super) fn new(began: Instant, budget: Option<Duration>) -> Self {
        Self { began, budget, launch_s: 0.0, launches_began: None }
    }

    /// Whether the time is up.
    pub(super) fn is_over(&self) -> bool {
        self.budget.is_some_and(|budget| self.began.elapsed() >= budget)
    }

    /// Whether less than half of another launch would fit.
    pub(super) fn is_nearly_over(&self) -> bool {
        self.rest_s().is_some_and(|rest| rest < self.launch_s / 2.0)
    }

    fn rest_s(&self) -> Option<f64> {
        Some(self.budget?.saturating_sub(self.began.elapsed()).as_secs_f64())
    }

    /// A launch begins, after so many others.
    pub(super) fn begin_launch(&mut self, before: u64) {
        let now = Instant::now();
        let first = self.launches_began.map_or(now, |[first, _]| first);
        if before > 0 {
            self.launch_s = now.duration_since(first).as_secs_f64() / before as f64;
        }
        self.launches_began = Some([first, now]);
    }

    /// What is left if all launches are needed, of which so many are over.
    pub(super) fn left(&self, launches: u64, over: u64) -> Option<Duration> {
        let [_, current] = self.launches_began?;
        let left = launches.saturating_sub(over) as f64 * self.launch_s - current.elapsed().as_secs_f64();
        let left = left.max(0.0).min(self.rest_s().unwrap_or(f64::INFINITY));
        Duration::try_from_secs_f64(left).ok()
    }
}

impl DuelMeasurement<'_> {
    /// Plans launches and rounds from what the sides took when rounds were sized.
    pub(super) fn plan(&mut self, sides: &[(usize, Calibrated)]) {
        let of =
            |arm: &usize| sides.iter().find(|(other, _)| self.arms[*other] == self.arms[*arm]).map(|(_, side)| side);
        let arms: Vec<&Calibrated> = self.measured.iter().filter_map(of).collect();
        let sum = |of: fn(&Calibrated) -> f64| arms.iter().map(|side| of(side)).sum::<f64>();
        let cost = Cost {
            start_s: sum(|side| side.start_s),
            call_s: sum(Calibrated::call_s),
            slowest_s: arms.iter().map(|side| side.call_s()).fold(0.0, f64::max),
            others: self.duel.design.warmup + self.settings.profiled_rounds,
        };
        let design = &mut self.duel.design;
        let mut plan = Plan { launches: design.launches, rounds: design.rounds, calls: design.calls };
        if let Some(rest_s) = self.pace.rest_s() {
            plan = cost.fit(plan, rest_s);
            (design.launches, design.rounds, design.calls) = (plan.launches, plan.rounds, plan.calls);
            design.looks = (self.looks)(plan.launches);
        }
        self.pace.launch_s = cost.of(plan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDARD: Plan = Plan { launches: 8, rounds: 6, calls: 20 };

    /// Three arms of which a call takes 10 ms; they start in no time.
    const COST: Cost = Cost { start_s: 0.0, call_s: 0.03, slowest_s: 0.01, others: 1 };

    #[test]
    fn rounds_get_shorter_first_then_launches_fewer() {
        assert_eq!(COST.fit(STANDARD, 60.0), STANDARD, "it takes 34 s");
        assert_eq!(COST.fit(STANDARD, 17.0), Plan { calls: 10, ..STANDARD });
        assert_eq!(COST.fit(STANDARD, 2.6), Plan { launches: 6, calls: 2, ..STANDARD }, "20 ms are the least");
        assert_eq!(COST.fit(STANDARD, 1.0), Plan { launches: 4, rounds: 3, calls: 2 });
        assert_eq!(COST.fit(STANDARD, 0.3), Plan { launches: 1, rounds: 3, calls: 2 });
        for budget_s in [0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0] {
            let plan = COST.fit(STANDARD, budget_s);
            assert!(plan.launches as f64 * COST.of(plan) <= budget_s + 1e-9, "{budget_s}: {plan:?}");
        }
    }

    #[test]
    fn slow_work_is_done_once_a_round() {
        let slow = Cost { start_s: 1.0, call_s: 6.0, slowest_s: 3.0, others: 2 };
        let plan = Plan { calls: 1, ..STANDARD };
        assert_eq!(slow.fit(plan, 100.0), Plan { launches: 3, rounds: 3, calls: 1 });
        assert_eq!(slow.fit(plan, 1.0), Plan { launches: 1, rounds: 3, calls: 1 });
    }

    #[test]
    fn what_is_left_shrinks_and_knows_the_budget() {
        let mut pace = Pace::new(Instant::now(), None);
        assert!(pace.left(8, 0).is_none() && !pace.is_over() && !pace.is_nearly_over());
        pace.launch_s = 10.0;
        pace.begin_launch(0);
        let seconds = |pace: &Pace| pace.left(8, 2).expect("a launch has begun").as_secs_f64();
        assert!((59.0..=60.0).contains(&seconds(&pace)), "{pace:?}");
        pace.budget = Some(Duration::from_secs(4));
        assert!((3.0..=4.0).contains(&seconds(&pace)) && pace.is_nearly_over() && !pace.is_over());
        pace.budget = Some(Duration::ZERO);
        assert!(pace.is_over());
    }
}
