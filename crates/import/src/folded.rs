//! Folded stacks: a line `outer;inner;innermost 12` for each, as perf with FlameGraph, inferno, py-spy and our own export write
//! them. Files of two numbers a line are a comparison: two runs.

use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::Lines;
use crate::stacks::Stacks;
use crate::{Result, Source};

/// The largest weight of a line, so that sums fit.
const MOST: f64 = (1_u64 << 53) as f64;

/// Whether all whole lines of the beginning of a text are stacks, and one has several frames.
pub(crate) fn is_it(beginning: &str, is_whole: bool) -> bool {
    let end = if is_whole { beginning.len() } else { beginning.rfind('\n').unwrap_or(0) };
    let mut lines = beginning[..end].lines().filter(|line| !is_comment(line)).peekable();
    let mut has_frames = false;
    lines.peek().is_some()
        && lines.all(|line| {
            let found = weighted(line);
            has_frames |= found.is_some_and(|(stack, _)| stack.contains(';'));
            found.is_some()
        })
        && has_frames
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

/// A stack and its weight.
fn weighted(line: &str) -> Option<(&str, f64)> {
    let (stack, weight) = line.trim_end().rsplit_once(' ')?;
    let is_number = weight.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let weight: f64 = weight.parse().ok().filter(|_| is_number)?;
    let stack = stack.trim();
    (!stack.is_empty() && (0.0..=MOST).contains(&weight)).then_some((stack, weight))
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let stacks = (0..lines.len()).filter_map(|at| weighted(lines.get(at)));
    // A frame may end in a number, but hardly all of them.
    let is_comparison = stacks.clone().all(|(stack, _)| weighted(stack).is_some()) && stacks.clone().count() > 0;
    let mut sides = [Stacks::default(), Stacks::default()];
    let mut is_fraction = false;
    for at in 0..lines.len() {
        let line = lines.get(at);
        if is_comment(line) {
            lines.take(at);
            continue;
        }
        let Some((rest, last)) = weighted(line) else {
            lines.refuse(at, "no weight (a number ≥ 0) at the end of the stack");
            continue;
        };
        lines.take(at);
        let first = if is_comparison { weighted(rest) } else { None };
        let stack = first.map_or(rest, |(stack, _)| stack);
        for (side, weight) in sides.iter_mut().zip([first.map_or(last, |(_, first)| first), last]) {
            is_fraction |= weight.fract() != 0.0;
            let weight = weight.round() as u64;
            if weight > 0 {
                side.add(stack.split(';').map(str::trim), weight, weight);
            }
        }
    }
    let names = if is_comparison { &["before", "after"][..] } else { &[""] };
    let drafts = names.iter().zip(sides).map(|(part, stacks)| draft(part, stacks, is_fraction)).collect();
    Ok(ReadRuns { drafts, unread: lines.finish(&[]) })
}

fn draft(part: &str, stacks: Stacks<'_>, is_fraction: bool) -> Draft {
    let mut draft = Draft::new("a sampled program", "folded-stacks");
    draft.part = (!part.is_empty()).then(|| part.to_owned());
    draft.single_shot = true;
    draft.note(
        "Folded stacks have weights without a unit: samples or a time. A weight of 1 is shown as 1 ns and as one \
         call; shares are right, times only if the weights are nanoseconds.",
    );
    if is_fraction {
        draft.note("Some weights have decimals; they are rounded.");
    }
    draft.profile(stacks.finish());
    draft
}
