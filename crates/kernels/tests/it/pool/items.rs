//! Regions whose parts have something of their own to write to.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kernels::Pool;

use super::{PARTS, THREADS, message, throw};
use crate::effort::rounds;

#[test]
fn every_item_is_worked_on_once() {
    for &threads in THREADS {
        let pool = Pool::new(threads);
        for &len in PARTS {
            let mut items: Vec<[usize; 3]> = (0..len).map(|number| [number, 0, 7]).collect();
            for round in 1..=rounds(5, 1) {
                pool.run_each(&mut items, |item| item[1] += item[0] + 1);
                let right = |(number, item): (usize, &[usize; 3])| *item == [number, round * (number + 1), 7];
                assert!(items.iter().enumerate().all(right), "{pool:?}, {len} items");
            }
        }
    }
}

/// Items with a destructor of their own are left alone.
#[test]
fn items_can_own_things() {
    let pool = Pool::new(3);
    let mut texts: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    pool.run_each(&mut texts, |text| *text = format!("<{text}>"));
    assert!(texts.iter().enumerate().all(|(number, text)| *text == format!("<{number}>")));
    pool.run_each(&mut [(); 5], |()| ());
}

/// Divides rows and checks that each was seen once, in pieces in order, with its own place in memory.
#[track_caller]
fn check_rows(pool: &Pool, parts: usize, rows: usize, width: usize) {
    let mut data: Vec<usize> = (0..rows * width).collect();
    let ranges: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());
    pool.run_rows(parts, &mut data, width, |range, values| {
        assert_eq!(values.len(), range.len() * width);
        for (value, wanted) in values.iter_mut().zip(range.start * width..) {
            assert_eq!(*value, wanted);
            *value += 1_000_000;
        }
        ranges.lock().unwrap().push(range);
    });
    let context = format!("{pool:?}, {parts} parts of {rows} rows of {width}");
    assert!(data.iter().enumerate().all(|(number, value)| *value == number + 1_000_000), "{context}");
    let mut ranges = ranges.into_inner().unwrap();
    ranges.sort_by_key(|range| range.start);
    assert!(ranges.len() <= parts.max(1), "{context}: {ranges:?}");
    assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, rows), "{context}");
    assert!(ranges.windows(2).all(|two| two[0].end == two[1].start), "{context}: {ranges:?}");
    let (least, most) = (ranges.iter().map(Range::len).min(), ranges.iter().map(Range::len).max());
    assert!(most.unwrap() - least.unwrap() <= 1, "{context}: {ranges:?}");
}

#[test]
fn every_row_is_in_one_part() {
    for &threads in THREADS {
        let pool = Pool::new(threads);
        for &parts in PARTS {
            for rows in [0, 1, 2, 7, 64, 65].into_iter().take(rounds(6, 4)) {
                check_rows(&pool, parts, rows, 1);
                check_rows(&pool, parts, rows, 5);
            }
        }
    }
}

#[test]
fn rows_without_values_are_none() {
    let calls = AtomicUsize::new(0);
    Pool::new(2).run_rows(2, &mut [0u8; 0], 0, |rows, values| {
        assert!(rows.is_empty() && values.is_empty());
        calls.fetch_add(1, Relaxed);
    });
    assert_eq!(calls.into_inner(), 1);
}

#[test]
fn values_that_are_no_whole_rows_are_refused() {
    let pool = Pool::new(2);
    for (len, width) in [(7, 2), (1, 2), (5, 0)] {
        let text = message(|| pool.run_rows(2, &mut vec![0; len], width, |_, _| unreachable!()));
        assert_eq!(text, Some(format!("{len} values are no whole rows of {width}")));
    }
}

#[test]
fn a_panic_leaves_the_other_rows_done() {
    let pool = Pool::new(3);
    for _ in 0..rounds(50, 3) {
        let mut rows = [0; 9];
        let text = message(|| {
            pool.run_rows(9, &mut rows, 1, |range, values| {
                if range.start == 4 {
                    throw("four");
                }
                values[0] = range.start + 1;
            });
        });
        assert_eq!(text, Some("four".to_owned()));
        assert_eq!(rows, [1, 2, 3, 4, 0, 6, 7, 8, 9]);
        let text = message(|| pool.run_each(&mut rows, |row| if *row == 6 { throw("six") } else { *row = 0 }));
        assert_eq!((text, rows), (Some("six".to_owned()), [0, 0, 0, 0, 0, 6, 0, 0, 0]));
    }
}
