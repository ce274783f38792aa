//! Scopes that belong together, summed.

use super::names::end;
use crate::durations::percentile_of_all;
use crate::estimate::error_of_sum;
use crate::units::{raise, sum_of};
use crate::{Allocations, Scope, TimeEstimate};

/// Scopes that belong together, summed: those of one name, or of one path.
#[derive(Debug, Clone, Default)]
pub struct ScopeSum<'a> {
    /// As much of the name as tells it from others.
    pub name: &'a str,
    /// The name with its modules.
    pub full_name: &'a str,
    /// Time in it and all below it, without calls inside calls of the same name.
    pub total_ns: u64,
    /// Time in it and in no scope below it.
    pub self_ns: u64,
    /// Standard error of the total, where the profile has it.
    pub total_se_ns: Option<f64>,
    /// Standard error of the self time, where the profile has it.
    pub self_se_ns: Option<f64>,
    /// The part of the total that other threads spent, attached to it.
    pub attached_ns: u64,
    /// Time on the calling threads, with the calls inside calls of the same name: what the mean of a call is made of.
    pub in_calls_ns: u64,
    /// Time in it and all below it that its threads were ready to run but had no CPU.
    pub waiting_ns: u64,
    /// From first poll to last, without futures inside those of the same name; 0 where it is no future.
    pub elapsed_ns: u64,
    /// Calls begun.
    pub calls: u64,
    /// Whether only some calls were timed.
    pub is_sampled: bool,
    /// Whether the self time is an estimate, because scopes directly below it were sampled or itself was.
    pub is_self_estimated: bool,
    /// Allocations made in it, not below; `None` where none were counted.
    pub allocs: Option<Allocations>,
    /// Allocations made in it and all below it.
    pub allocs_total: Option<Allocations>,
    /// The most bytes live above the level at its entry.
    pub peak_live_bytes: u64,
    /// Floating-point operations declared.
    pub flops: u64,
    /// Bytes declared.
    pub bytes: u64,
    /// Tokens declared.
    pub tokens: u64,
    /// The most threads that entered one of them.
    pub threads: u64,
    /// The scopes summed.
    pub members: Vec<&'a Scope>,
    /// Their places in the profile.
    pub places: Vec<usize>,
}

impl<'a> ScopeSum<'a> {
    /// Adds a scope. The total of one inside another of the same name is part of that one's total.
    pub(super) fn add(&mut self, place: usize, scope: &'a Scope, is_nested: bool) {
        let error = |sum: Option<f64>, more: Option<u64>| error_of_sum(sum, more.map(|se| se as f64));
        self.self_se_ns = error(self.self_se_ns, scope.self_se_ns);
        raise(&mut self.self_ns, scope.self_ns);
        raise(&mut self.in_calls_ns, scope.total_ns.saturating_sub(scope.attached_ns));
        raise(&mut self.calls, scope.calls);
        self.is_sampled |= scope.is_sampled;
        self.peak_live_bytes = self.peak_live_bytes.max(scope.peak_live_bytes);
        raise(&mut self.flops, scope.flops);
        raise(&mut self.bytes, scope.bytes);
        raise(&mut self.tokens, scope.tokens);
        self.threads = self.threads.max(scope.threads);
        add_allocations(&mut self.allocs, scope.allocs);
        if !is_nested {
            raise(&mut self.total_ns, scope.total_ns);
            self.total_se_ns = error(self.total_se_ns, scope.total_se_ns);
            raise(&mut self.attached_ns, scope.attached_ns);
            raise(&mut self.waiting_ns, scope.waiting_ns);
            raise(&mut self.elapsed_ns, scope.elapsed_ns);
            add_allocations(&mut self.allocs_total, scope.allocs_total);
        }
        self.members.push(scope);
        self.places.push(place);
    }

    /// The last segment of its name, without modules.
    #[must_use]
    pub fn last_name(&self) -> &'a str {
        end(self.full_name, 0)
    }

    /// The total, with its error.
    #[must_use]
    pub fn total(&self) -> TimeEstimate {
        TimeEstimate { ns: self.total_ns, se: self.total_se_ns, is_estimate: self.is_sampled }
    }

    /// The self time, with its error: what is left of a total beside estimated parts is an estimate too.
    #[must_use]
    pub fn own(&self) -> TimeEstimate {
        TimeEstimate { ns: self.self_ns, se: self.self_se_ns, is_estimate: self.is_self_estimated }
    }

    /// The mean time of a call on its own thread, in seconds. What other threads did for it is not in it. Where calls lie
    /// within calls of the same name, it is more than the total divided by the calls.
    #[must_use]
    pub fn mean_s(&self) -> Option<f64> {
        (self.calls > 0).then(|| self.in_calls_ns as f64 * 1e-9 / self.calls as f64)
    }

    /// The time that its declared work took on the calling threads, in seconds for each call.
    #[must_use]
    pub fn work_s(&self) -> Option<f64> {
        let called = self.total_ns.saturating_sub(self.attached_ns);
        (self.calls > 0 && called > 0).then(|| called as f64 * 1e-9 / self.calls as f64)
    }

    /// Calls (of an `async fn`: polls) that were timed.
    #[must_use]
    pub fn timed_calls(&self) -> u64 {
        sum_of(self.members.iter().map(|scope| scope.timed_calls))
    }

    /// Calls that had not ended.
    #[must_use]
    pub fn open_calls(&self) -> u64 {
        sum_of(self.members.iter().map(|scope| scope.open_calls))
    }

    /// Entered more often than called: a future, of which only polls are timed.
    #[must_use]
    pub fn is_future(&self) -> bool {
        self.members.iter().any(|scope| scope.polls > scope.calls)
    }

    /// Times entered, where that is not once per call.
    #[must_use]
    pub fn polls(&self) -> u64 {
        sum_of(self.members.iter().map(|scope| scope.polls))
    }

    /// The shortest timed call.
    #[must_use]
    pub fn min_ns(&self) -> Option<u64> {
        self.timed().map(|scope| scope.min_ns).min()
    }

    /// The longest timed call.
    #[must_use]
    pub fn max_ns(&self) -> Option<u64> {
        self.timed().map(|scope| scope.max_ns).max()
    }

    fn timed(&self) -> impl Iterator<Item = &'a Scope> {
        self.members.iter().copied().filter(|scope| scope.timed_calls > 0)
    }

    /// The percentile of all calls, and whether it is read from their durations. Older runs have only the percentiles of
    /// each path; there, durations between those are taken to be spread evenly.
    #[must_use]
    pub fn percentile(&self, q: f64) -> Option<(u64, bool)> {
        let timed: Vec<&Scope> = self.timed().collect();
        let own = |scope: &Scope| match q {
            0.5 => scope.p50_ns,
            0.9 => scope.p90_ns,
            _ => scope.p99_ns,
        };
        match &timed[..] {
            [] => None,
            [only] => own(only).map(|ns| (ns, true)),
            several => percentile_of_all(several, q),
        }
    }
}

fn add_allocations(sum: &mut Option<Allocations>, more: Option<Allocations>) {
    if let Some(more) = more {
        sum.get_or_insert_default().add(&more);
    }
}
