//! The work that scopes declare, beside the limits of the machine.

use profile::{CallTree, Context, LimitShare, ProfileView, ScopeSum};
use record::{Model, Row};

use super::insights;
use super::lab_scopes::LabScope as _;
use super::limits::{InWords as _, RooflineLimit, RowWork, operations};
use super::view::View;

impl Context for View<'_> {
    fn limit(&self, scope: &ScopeSum<'_>) -> Option<LimitShare> {
        self.scope_share(scope).map(|(share, roof)| LimitShare { share, bottleneck: roof.cell() })
    }

    fn limit_legend(&self, shares: &[f64]) -> String {
        self.legend(shares.iter().copied())
    }

    fn arithmetic_unit(&self, scope: &ScopeSum<'_>) -> &'static str {
        operations(compare::arithmetic(self.scope_model(self.row_of(scope))).name())
    }

    fn is_frame(&self, scope: &ScopeSum<'_>) -> bool {
        scope.is_of_lab()
    }

    fn is_imported(&self) -> bool {
        self.run.imported.is_some()
    }

    fn is_attribution_unreliable(&self, _: &CallTree<'_>) -> bool {
        insights::is_attribution_unreliable(self)
    }
}

impl View<'_> {
    /// The profile, with what is known of the machine; `None` where there is none.
    pub(super) fn profile(&self) -> Option<ProfileView<'_>> {
        self.tree.as_ref().map(|tree| ProfileView { tree, top: self.top, context: self })
    }

    /// The least time of a call of these scopes, by the work that they declare.
    pub(super) fn scope_roof(&self, sum: &ScopeSum<'_>) -> Option<RooflineLimit> {
        let calls = (sum.calls > 0).then_some(sum.calls as f64)?;
        let per_call = |amount: u64| (amount > 0).then(|| amount as f64 / calls);
        let row = self.row_of(sum);
        let model = self.scope_model(row);
        // Layers take turns: what a scope reads was last read a whole pass ago. Work of no model reads its own again.
        let working_set = model.map_or(0.0, |model| model.weight_bytes as f64);
        // Scopes on several threads are timed by the sum of those; else the caller's time is that of all who help it.
        let threads = if sum.threads > 1 { Some(1) } else { self.threads(row) };
        let (flops, bytes, arithmetic) = (per_call(sum.flops), per_call(sum.bytes), compare::arithmetic(model));
        self.roof(&RowWork { flops, bytes, working_set, arithmetic, threads })
    }

    /// The model whose work a scope does: that of its row; of several the smallest, so that no share comes out too large.
    fn scope_model(&self, row: Option<&Row>) -> Option<&Model> {
        let is_of_none = |row: &Row| row.tokens.is_none() && (row.flops.is_some() || row.bytes.is_some());
        match row {
            Some(row) if row.model.is_some() => self.model(row),
            Some(row) if is_of_none(row) => None,
            _ => self.run.models.iter().min_by_key(|model| model.weight_bytes),
        }
    }

    /// The share of that limit which they reach, and the limit.
    pub(super) fn scope_share(&self, sum: &ScopeSum<'_>) -> Option<(f64, RooflineLimit)> {
        let (roof, time) = (self.scope_roof(sum)?, sum.work_s()?);
        Some((roof.seconds / time, roof))
    }
}
