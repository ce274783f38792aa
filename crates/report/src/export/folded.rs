//! Collapsed stacks: a line `a;b;c nanoseconds` for each path, by its self time. Flame graph tools read it.

use std::collections::HashMap;

use record::Profile;

use super::format::{Format, Writer};
use super::names;
use super::tree::Tree;

pub(super) const FORMAT: Format = Format {
    name: "folded",
    extension: "txt",
    is_binary: false,
    about: "collapsed stacks, `a;b;c nanoseconds`, for flame graph tools",
    opened_by: "pass it to flamegraph.pl or inferno-flamegraph, or open it at speedscope.app; weights are ns",
    write: Writer::Profile(|_, profile| write(profile).into_bytes()),
};

/// Paths that are shown alike become one line. Those without time of their own have none.
fn write(profile: &Profile) -> String {
    let tree = Tree::new(profile);
    let mut lines: Vec<(String, u64)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut stack: Vec<String> = Vec::new();
    for &at in &tree.order {
        let scope = &profile.scopes[at];
        stack.truncate(tree.depth[at]);
        stack.push(frame(&names::shown(scope)));
        if scope.self_ns == 0 {
            continue;
        }
        let path = stack.join(";");
        match places.get(&path) {
            Some(&place) => lines[place].1 = lines[place].1.saturating_add(scope.self_ns),
            None => {
                places.insert(path.clone(), lines.len());
                lines.push((path, scope.self_ns));
            }
        }
    }
    lines.into_iter().map(|(path, weight)| format!("{path} {weight}\n")).collect()
}

/// A name without what the format is made of: semicolons part frames, line breaks part paths.
fn frame(name: &str) -> String {
    let name: String = name.chars().map(|c| if c == ';' { ',' } else { c }).collect();
    let words: Vec<&str> =
        name.split(|c: char| c.is_control() || c.is_whitespace()).filter(|w| !w.is_empty()).collect();
    if words.is_empty() { "(unnamed)".to_owned() } else { words.join(" ") }
}
