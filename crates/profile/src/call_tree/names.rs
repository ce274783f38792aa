//! The names of scopes, numbered and shortened.

use std::collections::HashMap;

use super::ScopeSum;
use crate::Scope;

/// Names by number: they are compared often, and hashed once.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// Of each scope the number of its name.
    pub(super) of_scope: Vec<usize>,
    /// The names by number.
    pub(super) full: Vec<&'a str>,
    /// As much of each as tells it from the others.
    pub(super) short: Vec<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn new(scopes: &'a [Scope]) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut full: Vec<&'a str> = Vec::new();
        let mut of_scope = Vec::with_capacity(scopes.len());
        for scope in scopes {
            let number = *numbers.entry(&scope.name).or_insert(full.len());
            if number == full.len() {
                full.push(&scope.name);
            }
            of_scope.push(number);
        }
        let short = short_names(&full);
        Names { of_scope, full, short }
    }

    /// A sum of this name to which nothing was added yet.
    pub(super) fn empty_sum(&self, number: usize) -> ScopeSum<'a> {
        ScopeSum { name: self.short[number], full_name: self.full[number], ..ScopeSum::default() }
    }
}

/// More modules than this are not tried.
const MODULES: usize = 8;

/// For each name its shortest end, in whole modules, that no other name has.
#[must_use]
pub fn short_names<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut short: Vec<&'a str> = names.to_vec();
    let mut open: Vec<usize> = (0..names.len()).collect();
    for modules in 0..MODULES {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for place in &open {
            *counts.entry(end(names[*place], modules)).or_default() += 1;
        }
        open.retain(|place| {
            let (name, end) = (names[*place], end(names[*place], modules));
            // `<A as B>::c` is not only made of modules.
            let is_found = counts[end] == 1 && !name.contains(['<', ' ', '(']);
            if is_found {
                short[*place] = end;
            }
            !is_found && end.len() < name.len()
        });
    }
    short.iter().map(|name| if name.is_empty() { "(no name)" } else { name }).collect()
}

/// The last segment of a name, with so many modules before it.
pub(super) fn end(name: &str, modules: usize) -> &str {
    name.rmatch_indices("::").nth(modules).map_or(name, |(at, _)| &name[at + 2..])
}
