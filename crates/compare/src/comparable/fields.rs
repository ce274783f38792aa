//! What was looked at, and what of it differs.

use record::Difference;

/// Collects what differs.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) differences: Vec<Difference>,
}

impl Fields {
    /// Something that has to be known: unknown on either side it is a difference.
    pub(super) fn required(&mut self, field: &str, base: Option<String>, candidate: Option<String>) {
        let (base, candidate) = (known(base), known(candidate));
        if base.is_none() || base != candidate {
            self.add(field, base, candidate);
        }
    }

    /// Something that may be absent for good: absent on both sides it is the same.
    pub(super) fn optional(&mut self, field: &str, base: Option<String>, candidate: Option<String>) {
        let (base, candidate) = (known(base), known(candidate));
        if base != candidate {
            self.add(field, base, candidate);
        }
    }

    fn add(&mut self, field: &str, base: Option<String>, candidate: Option<String>) {
        let difference = Difference { field: field.to_owned(), base, candidate };
        // Several models may lack the same.
        if !self.differences.contains(&difference) {
            self.differences.push(difference);
        }
    }
}

/// An empty word tells nothing.
fn known(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}
