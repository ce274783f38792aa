//! How much is tried: in Miri, which takes a thousand times as long for everything, a few of all sizes.

/// Sizes that Miri tries: none, parts of vectors of eight, one, and several with a part.
const IN_MIRI: [usize; 6] = [0, 1, 3, 8, 27, 35];

/// All sizes, or in Miri those of them that it tries.
pub fn sizes(all: impl IntoIterator<Item = usize>) -> impl Iterator<Item = usize> {
    all.into_iter().filter(|size| !cfg!(miri) || IN_MIRI.contains(size))
}

/// `all` of something, or `in_miri`.
pub fn rounds(all: usize, in_miri: usize) -> usize {
    if cfg!(miri) { in_miri } else { all }
}
