//! Tensors by name, in the order of their file.

use std::ops::Range;

use crate::{Error, TensorInfo};

/// What tensors there are, and with each of them where its bytes come from.
#[derive(Debug)]
pub(crate) struct Catalogue<T> {
    entries: Vec<(TensorInfo, T)>,
    /// The places of `entries` in the order of the names.
    by_name: Vec<usize>,
}

impl<T> Catalogue<T> {
    /// Refuses names that are there twice; the error comes with where the second one comes from.
    pub(crate) fn new(mut entries: Vec<(TensorInfo, T)>) -> Result<Self, (Error, T)> {
        let name = |place: usize| entries[place].0.name.as_str();
        let mut by_name: Vec<usize> = (0..entries.len()).collect();
        by_name.sort_unstable_by(|a, b| name(*a).cmp(name(*b)).then(a.cmp(b)));
        if let Some(two) = by_name.windows(2).find(|two| name(two[0]) == name(two[1])) {
            let (info, from) = entries.swap_remove(two[1]);
            return Err((Error::malformed("duplicate name").about(info.shown()), from));
        }
        Ok(Self { entries, by_name })
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|(info, _)| info.name.as_str()).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&(TensorInfo, T)> {
        let found = self.by_name.binary_search_by(|place| self.entries[*place].0.name.as_str().cmp(name)).ok()?;
        Some(&self.entries[self.by_name[found]])
    }

    pub(crate) fn info(&self, name: &str) -> Option<TensorInfo> {
        self.get(name).map(|(info, _)| info.clone())
    }
}

/// Refuses tensors that share bytes.
pub(crate) fn apart(placed: &[(TensorInfo, Range<usize>)]) -> crate::Result<()> {
    let mut order: Vec<_> = placed.iter().collect();
    order.sort_unstable_by_key(|(_, range)| range.start);
    match order.windows(2).find(|two| two[0].1.end > two[1].1.start) {
        None => Ok(()),
        Some(two) => {
            let message = format!("it begins at byte {}, inside {}", two[1].1.start, two[0].0.shown());
            Err(Error::malformed(message).about(two[1].0.shown()))
        }
    }
}
