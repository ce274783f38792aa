//! Self times by scope name, as shares of the time on a CPU.

use std::collections::HashMap;
use std::fmt;

use record::{Profile, Run};

/// Scopes that are compared.
const HOTTEST: usize = 3;

/// Half the width of a 95 % interval, in standard errors.
const HALF_WIDTH: f64 = 1.96;

/// The columns of [`RunShares::row`].
pub const HEAD: &str = "run        waiting  hottest scopes (self time, share of the time on a CPU)";

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
        format!("{label:10} {:>7}  {}", percent(self.waiting), scopes.join(", "))
    }

    fn hottest(&self) -> &[ScopeShare] {
        &self.scopes[..HOTTEST.min(self.scopes.len())]
    }

    /// 0 for a scope that was never entered.
    fn share(&self, name: &str) -> f64 {
        self.scopes.iter().find(|scope| scope.name == name).map_or(0.0, |scope| scope.share)
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

impl ScopeShare {
    /// The ends of the 95 % interval.
    fn interval(&self) -> (f64, f64) {
        let half = HALF_WIDTH * self.standard_error.unwrap_or(0.0);
        (self.share - half, self.share + half)
    }
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
pub struct Hottest(Vec<(String, f64)>);

impl Hottest {
    /// By the mean over these runs.
    pub fn of(runs: &[RunShares]) -> Self {
        let mut sums: HashMap<&str, f64> = HashMap::new();
        for scope in runs.iter().flat_map(|run| &run.scopes) {
            *sums.entry(&scope.name).or_default() += scope.share;
        }
        let mean = |(name, sum): (&str, f64)| (name.to_owned(), sum / runs.len() as f64);
        let mut means: Vec<(String, f64)> = sums.into_iter().map(mean).collect();
        means.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        means.truncate(HOTTEST);
        Self(means)
    }

    /// Whether the run has the same hottest scopes in the same order.
    pub fn has_order_of(&self, run: &RunShares) -> bool {
        run.hottest().iter().map(|scope| &scope.name).eq(self.0.iter().map(|(name, _)| name))
    }

    /// Whether the run ranks two of these scopes the other way round, with intervals that do not overlap.
    pub fn is_contradicted_by(&self, run: &RunShares) -> bool {
        let interval = |name: &str| {
            let scope = run.scopes.iter().find(|scope| scope.name == name);
            scope.map_or((0.0, 0.0), ScopeShare::interval)
        };
        let intervals: Vec<(f64, f64)> = self.0.iter().map(|(name, _)| interval(name)).collect();
        !intervals.is_sorted_by(|hotter, next| hotter.1 >= next.0)
    }

    /// The largest difference of one of these shares in the run from the mean, in points.
    pub fn points_apart(&self, run: &RunShares) -> f64 {
        self.0.iter().map(|(name, mean)| (run.share(name) - mean).abs() * 100.0).fold(0.0, f64::max)
    }
}

impl fmt::Display for Hottest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scopes: Vec<String> =
            self.0.iter().map(|(name, mean)| format!("{} {:.1} %", short(name), mean * 100.0)).collect();
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
