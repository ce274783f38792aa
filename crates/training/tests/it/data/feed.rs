//! Batches: the same wherever one begins and however many threads make them.

use std::collections::BTreeSet;

use training::data::{Batch, Corpus, DataSettings, Feed, FeedOptions, Position, SequenceForm};

use super::{corpus, data};
use crate::folder::{Folder, shared};

/// Fifty lines of different lengths.
fn some_corpus(form: SequenceForm) -> (Folder, Corpus) {
    let folder = Folder::new();
    let text: String = (0..50).map(|number| format!("line {number}{}\n", "!".repeat(number % 7))).collect();
    let path = folder.write("text", text);
    let settings = DataSettings { validation_split: 0.1, ..data(&path, form) };
    let (_, corpus) = corpus(&settings, &folder, 12).expect("a corpus");
    (folder, corpus)
}

fn all(corpus: &Corpus, options: FeedOptions) -> Vec<Batch> {
    let mut feed = Feed::new(corpus.training(), options).expect("a feed");
    let mut batches = Vec::new();
    while let Some(batch) = feed.next().expect("batches") {
        batches.push(batch.clone());
    }
    batches
}

#[test]
fn begun_anywhere_the_batches_are_the_same() {
    for form in [SequenceForm::Lines, SequenceForm::Chunks, SequenceForm::Windows] {
        let (_folder, corpus) = some_corpus(form);
        for shuffle in [false, true] {
            let options = FeedOptions { batch: 4, shuffle, epochs: Some(3), ..FeedOptions::default() };
            let never_stopped = all(&corpus, options);
            let per_epoch = Feed::new(corpus.training(), options).expect("a feed").batches_per_epoch();
            assert_eq!(never_stopped.len() as u64, 3 * per_epoch);
            for (at, batch) in never_stopped.iter().enumerate() {
                assert_eq!(batch.position, Position { epoch: at as u64 / per_epoch, batch: at as u64 % per_epoch });
                let rest = all(&corpus, FeedOptions { start: batch.position, ..options });
                assert!(rest == never_stopped[at..], "{form:?}, from {:?}", batch.position);
            }
        }
    }
}

#[test]
fn begun_at_the_end_of_an_epoch() {
    let (_folder, corpus) = some_corpus(SequenceForm::Lines);
    let options = FeedOptions { batch: 4, shuffle: true, epochs: Some(2), ..FeedOptions::default() };
    let mut feed = Feed::new(corpus.training(), options).expect("a feed");
    for _ in 0..feed.batches_per_epoch() {
        feed.next().expect("a batch");
    }
    assert_eq!(feed.position(), Position { epoch: 1, batch: 0 });
    // Who counts batches may also say it like this.
    let start = Position { epoch: 0, batch: feed.batches_per_epoch() };
    assert_eq!(all(&corpus, FeedOptions { start, ..options }).len() as u64, feed.batches_per_epoch());
}

#[test]
fn threads_and_waiting_batches_change_nothing() {
    let (_folder, corpus) = some_corpus(SequenceForm::Lines);
    let options = FeedOptions { batch: 3, shuffle: true, epochs: Some(4), ..FeedOptions::default() };
    let expected = all(&corpus, options);
    for workers in [0, 1, 2, 5, 100] {
        for prefetch in [0, 1, 2, 7, 100] {
            assert!(all(&corpus, FeedOptions { workers, prefetch, ..options }) == expected, "{workers} {prefetch}");
        }
    }
}

#[test]
fn every_epoch_has_every_sequence_in_an_order_of_its_own() {
    let (_folder, corpus) = some_corpus(SequenceForm::Lines);
    let options = FeedOptions { batch: 4, shuffle: true, epochs: Some(3), ..FeedOptions::default() };
    let batches = all(&corpus, options);
    let length = corpus.length();
    let epochs: Vec<Vec<Vec<u32>>> = batches
        .chunk_by(|a, b| a.position.epoch == b.position.epoch)
        .map(|epoch| {
            let rows = epoch.iter().flat_map(|batch| batch.targets.chunks(length).take(batch.sequences));
            rows.map(<[u32]>::to_vec).collect()
        })
        .collect();
    assert_eq!(epochs.len(), 3);
    let sets: BTreeSet<BTreeSet<&Vec<u32>>> = epochs.iter().map(|epoch| epoch.iter().collect()).collect();
    assert_eq!(sets.len(), 1, "each has the same sequences");
    assert!(epochs.iter().all(|epoch| epoch.len() == 45));
    assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2] && epochs[0] != epochs[2]);
    assert_ne!(all(&corpus, FeedOptions { seed: 1, ..options }), batches, "another seed, another order");
    let in_order = all(&corpus, FeedOptions { shuffle: false, ..options });
    assert_ne!(in_order[0], batches[0]);
}

#[test]
fn the_last_batch_is_filled_up() {
    let (_folder, corpus) = some_corpus(SequenceForm::Lines);
    let batches = all(&corpus, FeedOptions { batch: 4, epochs: Some(1), ..FeedOptions::default() });
    let last = batches.last().expect("batches");
    assert_eq!((batches.len(), last.sequences), (12, 1));
    assert_eq!(last.tokens.len(), 4 * corpus.length());
    assert!(last.targets[corpus.length()..].iter().all(|target| *target == kernels::IGNORED_TARGET));
    for batch in &batches {
        let predicted = batch.targets.iter().filter(|target| **target != kernels::IGNORED_TARGET).count();
        assert_eq!(batch.predicted, predicted);
    }
    let predicted: usize = batches.iter().map(|batch| batch.predicted).sum();
    assert_eq!(predicted as u64, corpus.training().targets());
    assert_eq!(batches.iter().map(|batch| batch.sequences as u64).sum::<u64>(), corpus.training().len());
}

#[test]
fn windows_begin_anywhere() {
    let (_folder, corpus) = some_corpus(SequenceForm::Windows);
    let options = FeedOptions { batch: 8, batches: Some(200), epochs: Some(2), ..FeedOptions::default() };
    let batches = all(&corpus, options);
    assert_eq!(batches.len(), 400, "as many steps as asked for");
    let rows: BTreeSet<&[u32]> = batches.iter().flat_map(|batch| batch.tokens.chunks(corpus.length())).collect();
    assert!(rows.len() > 200, "{} different windows", rows.len());
    assert!(batches.iter().all(|batch| batch.sequences == 8 && batch.predicted == 8 * corpus.length()));
}

#[test]
fn fewer_batches_of_an_epoch() {
    let (_folder, corpus) = some_corpus(SequenceForm::Lines);
    let options = FeedOptions { batch: 4, batches: Some(5), epochs: Some(2), ..FeedOptions::default() };
    assert_eq!(all(&corpus, options).len(), 10);
    assert_eq!(all(&corpus, FeedOptions { batches: Some(1000), ..options }).len(), 24);
    assert_eq!(all(&corpus, FeedOptions { batches: Some(0), ..options }).len(), 24, "0: all");
}

#[test]
fn a_feed_can_go_elsewhere() {
    let (_folder, corpus) = some_corpus(SequenceForm::Chunks);
    let options =
        FeedOptions { batch: 2, shuffle: true, epochs: Some(2), workers: 3, prefetch: 4, ..FeedOptions::default() };
    let expected = all(&corpus, options);
    let mut feed = Feed::new(corpus.training(), options).expect("a feed");
    for start in [3, 0, 17, 17, 5, 1] {
        feed.seek(expected[start].position);
        for batch in &expected[start..start + 3] {
            assert_eq!(feed.next().expect("batches"), Some(batch));
        }
    }
    feed.seek(expected[expected.len() - 1].position);
    assert_eq!(feed.next().expect("batches"), expected.last());
    assert_eq!(feed.next().expect("the end"), None);
    feed.seek(Position::default());
    assert_eq!(feed.next().expect("batches"), expected.first());
}

#[test]
fn errors_of_the_threads_reach_the_caller() {
    let folder = Folder::new();
    let path = folder.write("text", "some text to learn from\n".repeat(100_000));
    let (_, corpus) = corpus(&data(&path, SequenceForm::Chunks), &folder, 64).expect("a corpus");
    // The file is cut off behind the back of the one who reads it.
    let file = std::fs::File::options().write(true).open(&corpus.files()[0]).expect("it is there");
    file.set_len(1 << 16).expect("it can be cut");
    let mut feed =
        Feed::new(corpus.training(), FeedOptions { batch: 8, workers: 2, ..FeedOptions::default() }).expect("a feed");
    let error = loop {
        match feed.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ended without an error"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("tokens-") && error.to_string().contains("at byte"), "{error}");
    assert_eq!(feed.next().expect_err("again"), error);
}

#[test]
fn a_feed_that_is_dropped_ends_its_threads() {
    let (_folder, corpus) = some_corpus(SequenceForm::Lines);
    for taken in [0, 1, 5] {
        let options = FeedOptions { batch: 4, workers: 4, prefetch: 8, ..FeedOptions::default() };
        let mut feed = Feed::new(corpus.training(), options).expect("a feed");
        for _ in 0..taken {
            feed.next().expect("a batch");
        }
        // It waits for its threads: the test would hang here.
        drop(feed);
    }
}

#[test]
fn no_memory_is_asked_for_once_it_is_warm() {
    let Some(path) = shared("text/tinyshakespeare.txt") else { return };
    let folder = Folder::new();
    for form in [SequenceForm::Lines, SequenceForm::Chunks, SequenceForm::Windows] {
        let (_, corpus) = corpus(&data(&path, form), &folder, 128).expect("a corpus");
        let options = FeedOptions { batch: 8, shuffle: true, ..FeedOptions::default() };
        let mut feed = Feed::new(corpus.training(), options).expect("a feed");
        for _ in 0..100 {
            feed.next().expect("a batch");
        }
        hotloop::assert_no_alloc!(for _ in 0..100 {
            feed.next().expect("a batch");
        });
    }
}
