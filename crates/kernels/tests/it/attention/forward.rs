//! Shapes, lengths, windows and formats.

use super::{Case, Kind, check};
use crate::effort::{rounds, sizes};

#[test]
fn every_length() {
    for kind in [Kind::F32, Kind::F16, Kind::Q8_0] {
        for first_position in sizes(0..=rounds(70, 3)) {
            for queries in [1, 3] {
                check(Case { head_dim: 33, group: 3, first_position, queries, kind, ..Case::PLAIN });
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn every_number_of_queries() {
    for queries in 0..=70 {
        check(Case { head_dim: 16, group: 2, kv_heads: 2, queries, ..Case::PLAIN });
        check(Case { head_dim: 7, queries, first_position: 45, ..Case::PLAIN });
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn every_head_dim() {
    for kind in [Kind::F32, Kind::F16, Kind::Q8_0] {
        for head_dim in 1..=130 {
            check(Case { head_dim, group: 2, queries: 2, first_position: 9, kind, ..Case::PLAIN });
        }
        for head_dim in [160, 192, 256] {
            check(Case { head_dim, group: 5, queries: 7, first_position: 50, kind, by_head: true, ..Case::PLAIN });
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn every_group() {
    for kind in [Kind::F32, Kind::F16, Kind::Q8_0] {
        for group in 1..=9 {
            for by_head in [false, true] {
                let case = Case { head_dim: 48, group, kv_heads: 3, queries: 5, first_position: 77, ..Case::PLAIN };
                check(Case { kind, by_head, ..case });
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn windows() {
    for window in [0, 1, 2, 17, 48, 49, 64, 100, 1000] {
        for (queries, first_position) in [(1, 0), (1, 130), (70, 0), (100, 61)] {
            check(Case { head_dim: 8, group: 2, queries, first_position, window: Some(window), ..Case::PLAIN });
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "too long")]
fn long() {
    for kind in [Kind::F32, Kind::F16, Kind::Q8_0] {
        for (head_dim, first_position) in [(64, 1500), (128, 1023), (80, 511), (96, 512)] {
            check(Case { head_dim, group: 4, first_position, kind, ..Case::PLAIN });
        }
        check(Case {
            head_dim: 64,
            kv_heads: 2,
            queries: 200,
            first_position: 600,
            kind,
            by_head: true,
            ..Case::PLAIN
        });
    }
}
