//! Self times by scope name, as shares of the time on a CPU.

use std::collections::HashMap;
use std::fmt;

use record::{Profile, Run};

/// Scopes that are compared.
const HOTTEST: usize = 3;

/// Half the width of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.96;

/// The columns of [`RunShares::row`].
pub const HEAD: &str = "run                    waiting  hottest scopes (self time, share of the time on a CPU)";

/// Where one run spent its time.
pub struct RunShares {
    /// By share, largest first.
    scopes: Vec<ScopeShare>,
    /// Waiting for a CPU, as a share of waiting and time on a CPU together; `None` where it was not measured.
    waiting: Option<f64>,
}

/// One scope name, summed over the call tree.
struct ScopeShare {
    name: String,
    share: f64,
    /// Of the share; `None` where every call was timed.
    standard_error: Option<f64>,
}

impl RunShares {
    /// Of the run's profile.
    pub fn of(run: &Run) -> Self {
        let profile = run.profile.as_ref().expect("a profiled run has a profile");
        let on_cpu: u64 = profile.scopes.iter().map(|scope| scope.self_ns).sum();
        let on_cpu = on_cpu as f64;
        let waiting = profile.waiting_ns.map(|ns| ns as f64 / (ns as f64 + on_cpu));
        Self { scopes: by_share(profile, on_cpu), waiting }
    }

    /// A line of the table.
    pub fn row(&self, label: &str) -> String {
        let scopes: Vec<String> = self.hottest().iter().map(ScopeShare::to_string).collect();
        format!("{label:22} {:>7}  {}", percent(self.waiting), scopes.join(", "))
    }

    fn hottest(&self) -> &[ScopeShare] {
        &self.scopes[..HOTTEST.min(self.scopes.len())]
    }

    fn scope(&self, name: &str) -> Option<&ScopeShare> {
        self.scopes.iter().find(|scope| scope.name == name)
    }

    /// 0 for a scope that was never entered.
    fn share(&self, name: &str) -> f64 {
        self.scope(name).map_or(0.0, |scope| scope.share)
    }

    /// The ends of the printed 95 % interval, moved out by what the load changes in this scope.
    fn interval(&self, name: &str, shift: &LoadShift) -> (f64, f64) {
        let standard_error = self.scope(name).and_then(|scope| scope.standard_error);
        let half = HALF_WIDTH * standard_error.unwrap_or(0.0) + shift.of(name).abs();
        (self.share(name) - half, self.share(name) + half)
    }
}

fn by_share(profile: &Profile, on_cpu: f64) -> Vec<ScopeShare> {
    let mut sums: HashMap<&str, (f64, Option<f64>)> = HashMap::new();
    for scope in &profile.scopes {
        let (self_ns, variance) = sums.entry(&scope.name).or_default();
        *self_ns += scope.self_ns as f64;
        if let Some(error) = scope.self_se_ns {
            *variance = Some(variance.unwrap_or(0.0) + (error as f64).powi(2));
        }
    }
    let share = |(name, (self_ns, variance)): (&str, (f64, Option<f64>))| ScopeShare {
        name: name.to_owned(),
        share: self_ns / on_cpu,
        standard_error: variance.map(|variance| variance.sqrt() / on_cpu),
    };
    let mut shares: Vec<ScopeShare> = sums.into_iter().map(share).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    shares
}

impl fmt::Display for ScopeShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:.1} %", short(&self.name), self.share * 100.0)?;
        match self.standard_error {
            Some(error) => write!(f, " ±{:.1}", error * HALF_WIDTH * 100.0),
            None => Ok(()),
        }
    }
}

/// The hottest scopes of some runs and their mean shares.
pub struct Hottest {
    means: Vec<ScopeMean>,
}

/// The mean share of a scope over some runs.
struct ScopeMean {
    name: String,
    share: f64,
}

/// By the mean over these runs, largest first.
fn means(runs: &[RunShares]) -> Vec<ScopeMean> {
    let mut sums: HashMap<&str, f64> = HashMap::new();
    for scope in runs.iter().flat_map(|run| &run.scopes) {
        *sums.entry(&scope.name).or_default() += scope.share;
    }
    let mean = |(name, sum): (&str, f64)| ScopeMean { name: name.to_owned(), share: sum / runs.len() as f64 };
    let mut means: Vec<ScopeMean> = sums.into_iter().map(mean).collect();
    means.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
    means
}

/// What the load itself changes in the shares: from quiet to loaded runs in which every call was timed, so that nothing in
/// them is estimated.
pub struct LoadShift {
    quiet: Vec<ScopeMean>,
    loaded: Vec<ScopeMean>,
}

impl LoadShift {
    pub fn between(quiet: &[RunShares], loaded: &[RunShares]) -> Self {
        Self { quiet: means(quiet), loaded: means(loaded) }
    }

    /// The change of this scope's share.
    fn of(&self, name: &str) -> f64 {
        let share = |means: &[ScopeMean]| means.iter().find(|mean| mean.name == name).map_or(0.0, |mean| mean.share);
        share(&self.loaded) - share(&self.quiet)
    }

    /// The changes of these scopes, in points.
    pub fn text(&self, hottest: &Hottest) -> String {
        let change = |mean: &ScopeMean| format!("{} {:+.1}", short(&mean.name), self.of(&mean.name) * 100.0);
        let changes: Vec<String> = hottest.means.iter().map(change).collect();
        changes.join(", ")
    }
}

impl Hottest {
    /// By the mean over these runs.
    pub fn of(runs: &[RunShares]) -> Self {
        let mut means = means(runs);
        means.truncate(HOTTEST);
        Self { means }
    }

    /// Whether the run has the same hottest scopes in the same order.
    pub fn has_order_of(&self, run: &RunShares) -> bool {
        run.hottest().iter().map(|scope| &scope.name).eq(self.means.iter().map(|mean| &mean.name))
    }

    /// Whether the run ranks another scope above one of these though that was below it, and their intervals, each widened by
    /// what the load itself changes in the scope, do not overlap. If they do, the two are tied.
    pub fn is_contradicted_by(&self, run: &RunShares, shift: &LoadShift) -> bool {
        let reversed = |(place, hotter): (usize, &ScopeMean)| {
            let high = run.interval(&hotter.name, shift).1;
            let is_below = |name: &str| self.means[..=place].iter().all(|above| above.name != name);
            run.scopes.iter().any(|scope| is_below(&scope.name) && run.interval(&scope.name, shift).0 > high)
        };
        self.means.iter().enumerate().any(reversed)
    }

    /// The largest difference of one of these shares in the run from the mean, in points.
    pub fn points_apart(&self, run: &RunShares) -> f64 {
        let apart = |mean: &ScopeMean| (run.share(&mean.name) - mean.share).abs() * 100.0;
        self.means.iter().map(apart).fold(0.0, f64::max)
    }
}

impl fmt::Display for Hottest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = |mean: &ScopeMean| format!("{} {:.1} %", short(&mean.name), mean.share * 100.0);
        let scopes: Vec<String> = self.means.iter().map(scope).collect();
        f.write_str(&scopes.join(", "))
    }
}

/// From the least to the most waiting of some runs.
pub fn waiting_range(runs: &[RunShares]) -> String {
    let waiting = || runs.iter().filter_map(|run| run.waiting);
    let (least, most) = (waiting().min_by(f64::total_cmp), waiting().max_by(f64::total_cmp));
    format!("{} to {}", percent(least), percent(most))
}

/// `–` where nothing was measured.
fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Without the modules: a line has to fit.
fn short(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}
