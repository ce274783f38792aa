//! Declared work by the time that it took.

use super::cells::estimate;
use super::marks;
use crate::ScopeSum;
use crate::document::{Block, Section, Table};
use crate::units::{digits, rate, tokens_per_s, whole_percent};
use crate::view::ProfileView;

pub(super) fn section(view: &ProfileView<'_>) -> Option<Section> {
    let (tree, context) = (view.tree, view.context);
    let headings = ["scope", "total", "arithmetic", "bytes", "tokens", "per byte", "limit", "by"];
    let mut table = Table::new(&headings).least_important(&["per byte", "tokens"]);
    let declared = |sum: &&ScopeSum<'_>| sum.flops | sum.bytes | sum.tokens != 0;
    let (mut shares, mut has_integers): (Vec<f64>, bool) = (Vec::new(), false);
    for sum in tree.names.iter().filter(declared).take(view.top) {
        let limit = context.limit(sum);
        shares.extend(limit.as_ref().map(|limit| limit.share));
        let unit = context.arithmetic_unit(sum);
        has_integers |= unit == "OP/s" && sum.flops > 0;
        let intensity = (sum.flops > 0 && sum.bytes > 0).then(|| digits(sum.flops as f64 / sum.bytes as f64));
        table.row([
            sum.name.to_owned(),
            sum.total().text(),
            per_second(sum, sum.flops, |value| rate(value, unit)),
            per_second(sum, sum.bytes, |value| rate(value, "B/s")),
            per_second(sum, sum.tokens, tokens_per_s),
            intensity.unwrap_or_default(),
            limit.as_ref().map_or_else(String::new, |limit| whole_percent(limit.share)),
            limit.map_or_else(String::new, |limit| limit.bottleneck),
        ]);
    }
    // What a scope of a quantised model multiplies is not recorded: most of it is in integers.
    let integers = if has_integers { "; OP/s: of a quantised model, those in f32 with them" } else { "" };
    let several = if tree.thread_count() > 1 { "; of scopes on several threads: for each" } else { "" };
    let explanation = format!(
        "declared work by the time of the scopes, averaged over all calls; per byte: operations{integers}{}{several}{}",
        context.limit_legend(&shares),
        marks(&table)
    );
    (!table.is_empty()).then(|| Section::new("RATES", &explanation).with(Block::Table(table)))
}

/// An amount by the time of the calling threads; nothing where none was declared.
fn per_second(sum: &ScopeSum<'_>, amount: u64, text: impl Fn(f64) -> String) -> String {
    let all_calls_s = sum.work_s().map(|per_call| per_call * sum.calls as f64);
    let rate = all_calls_s.filter(|_| amount > 0).map(|seconds| amount as f64 / seconds);
    rate.map_or_else(String::new, |rate| estimate(sum, text(rate)))
}
