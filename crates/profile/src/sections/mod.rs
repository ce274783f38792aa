//! The sections of a report that show a profile, the same for the library and for `hotloop report`.

mod allocators;
mod by_index;
mod call_tree;
mod cells;
mod hot_paths;
mod marks;
mod most_called;
mod rates;
mod threads;
mod trust;

pub use marks::marks;
pub use trust::{judged_cost, trust};

use crate::document::Section;
use crate::view::ProfileView;

/// Below this share of the time nothing is worth a row of its own.
const SMALL: f64 = 0.001;
/// Rows of the call tree, and of indices, for each row of a ranking.
const TREE_ROWS: usize = 4;
/// Indexed scopes that get a table.
const INDEXED_SCOPES: usize = 2;

/// Where the time and the memory went, by scope and by thread; nothing where no scope was recorded.
#[must_use]
pub fn sections(view: &ProfileView<'_>) -> Vec<Section> {
    let tree = view.tree;
    if tree.names.is_empty() {
        return Vec::new();
    }
    let mut sections = vec![hot_paths::section(view)];
    sections.extend(rates::section(view));
    sections.push(allocators::section(view));
    sections.push(most_called::section(view));
    sections.push(call_tree::section(view));
    sections.extend(tree.indexed.iter().take(INDEXED_SCOPES).map(|scope| by_index::section(view, scope)));
    sections.extend(most_called::futures(view));
    sections.extend((!tree.profile.threads.is_empty()).then(|| threads::section(view)));
    sections
}

#[cfg(test)]
mod tests;
