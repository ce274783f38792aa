//! Whatever is flipped, cut off or made up is refused, and the newest checkpoint before it that is whole is named.

use std::fs;
use std::path::{Path, PathBuf};

use training::checkpoint::{Checkpoint, list};

use crate::folder::Folder;
use crate::run::{Listener, run, settings};

/// Checkpoints after the steps 1, 2 and 3.
fn three(folder: &Folder) -> (PathBuf, [PathBuf; 3]) {
    let settings = settings(folder, &["checkpointing.save_every_n_batches=1", "model.d_model=8", "model.num_heads=2"]);
    run(&settings, None, &mut Listener::stopping_after(3)).expect("it can be trained");
    let paths: Vec<PathBuf> = list(&settings.checkpoints()).into_iter().map(|(_, path)| path).collect();
    (settings.checkpoints(), paths.try_into().expect("there are three"))
}

#[test]
fn a_flipped_bit_anywhere_is_seen() {
    let folder = Folder::new();
    let (_, [_, _, last]) = three(&folder);
    let whole = fs::read(&last).expect("it can be read");
    let header = 8 + u64::from_le_bytes(whole[..8].try_into().expect("eight bytes")) as usize;
    // The first bytes one by one, then in steps that meet every part.
    let places = (0..64).chain((64..header).step_by(61)).chain((header..whole.len()).step_by(487));
    for at in places.chain(whole.len() - 32..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&last, bytes).expect("it can be written");
        let error = Checkpoint::open(&last).expect_err("it is damaged").to_string();
        assert!(error.contains("step-00000003.safetensors: checksum mismatch"), "byte {at}: {error}");
    }
    fs::write(&last, &whole).expect("it can be written");
    assert!(Checkpoint::open(&last).is_ok());
}

#[test]
fn what_was_cut_off_or_grew_is_seen() {
    let folder = Folder::new();
    let (_, [_, _, last]) = three(&folder);
    let whole = fs::read(&last).expect("it can be read");
    let lengths = (0..50).chain((50..whole.len()).step_by(997)).chain(whole.len() - 40..whole.len());
    for length in lengths {
        fs::write(&last, &whole[..length]).expect("it can be written");
        let error = Checkpoint::open(&last).expect_err("it is cut off").to_string();
        assert!(error.contains("truncated"), "{length} bytes: {error}");
    }
    for more in [1, 32, 4096] {
        let mut bytes = whole.clone();
        bytes.resize(whole.len() + more, 0);
        fs::write(&last, bytes).expect("it can be written");
        assert!(Checkpoint::open(&last).is_err(), "{more} bytes more");
    }
}

#[test]
fn the_one_before_it_that_is_whole_is_offered() {
    let folder = Folder::new();
    let (_, [first, second, last]) = three(&folder);
    let settings = settings(&folder, &["model.d_model=8", "model.num_heads=2"]);
    let cut =
        |path: &Path| fs::write(path, &fs::read(path).expect("it can be read")[..1000]).expect("it can be written");
    let resume =
        || run(&settings, Some("latest"), &mut Listener::default()).map(drop).map_err(|error| error.to_string());
    cut(&last);
    let error = resume().expect_err("it is cut off");
    assert!(
        error.contains("step-00000003") && error.contains(&format!("the earlier {} is intact", second.display())),
        "{error}"
    );
    cut(&second);
    let error = resume().expect_err("it is cut off");
    assert!(error.contains(&format!("the earlier {} is intact", first.display())), "{error}");
    // Who takes it goes on from it.
    run(&settings, first.to_str(), &mut Listener::stopping_after(1)).expect("it is whole");
    cut(&first);
    fs::remove_file(&second).expect("it can be removed");
    let error = run(&settings, first.to_str(), &mut Listener::default()).expect_err("it is cut off").to_string();
    assert!(error.contains("no earlier checkpoint is intact"), "{error}");
}

/// A file that claims what it likes, under a checksum that is right.
fn made_up(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

/// The parts of a real file, to be changed.
fn parts(path: &Path) -> (String, Vec<u8>) {
    let bytes = fs::read(path).expect("it can be read");
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    let text = String::from_utf8(bytes[8..header].to_vec()).expect("it is text");
    (text, bytes[header..bytes.len() - 32].to_vec())
}

#[test]
fn claims_are_compared_with_what_is_there() {
    let folder = Folder::new();
    let (_, [_, _, last]) = three(&folder);
    let (header, data) = parts(&last);
    fs::write(&last, made_up(&header, &data)).expect("it can be written");
    Checkpoint::open(&last).and_then(|checkpoint| checkpoint.parameters()).expect("the way of making one up is right");
    let claims: &[(&str, &str)] = &[
        ("\"format\":\"hotloop-checkpoint\"", "\"format\":\"something\""),
        ("\"version\":\"1\"", "\"version\":\"99\""),
        ("\"shape\":[8,8]", "\"shape\":[18446744073709551615,8]"),
        ("\"shape\":[8,8]", "\"shape\":[4294967296,4294967296]"),
        ("\"shape\":[8,8]", "\"shape\":[8,9]"),
        ("\"data_offsets\":[0,", "\"data_offsets\":[18446744073709551615,"),
        ("\"data_offsets\":[0,", "\"data_offsets\":[4,"),
        ("\"dtype\":\"F32\"", "\"dtype\":\"F64\""),
        ("\"state\":\"{", "\"state\":\"["),
        ("\"__metadata__\"", "\"metadata\""),
        ("{\"__metadata__\"", "[{\"__metadata__\""),
    ];
    for (from, to) in claims {
        assert!(header.contains(from), "{from}");
        fs::write(&last, made_up(&header.replacen(from, to, 1), &data)).expect("it can be written");
        let error = Checkpoint::open(&last).expect_err(to).to_string();
        assert!(error.contains("step-00000003"), "{error}");
    }
    for (text, data) in [("{}", &data[..]), ("", &data[..]), ("{\"__metadata__\":{}}", &[][..])] {
        fs::write(&last, made_up(text, data)).expect("it can be written");
        assert!(Checkpoint::open(&last).is_err(), "{text}");
    }
    // The length of the header itself.
    for length in [u64::MAX, 1 << 40, data.len() as u64 * 2] {
        let mut bytes = made_up(&header, &data);
        bytes.truncate(bytes.len() - 32);
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        let hash = blake3::hash(&bytes);
        bytes.extend(hash.as_bytes());
        fs::write(&last, bytes).expect("it can be written");
        let error = Checkpoint::open(&last).expect_err("it is too long").to_string();
        assert!(error.contains("header"), "{error}");
    }
}

#[test]
fn sizes_that_a_file_claims_are_not_allocated() {
    let folder = Folder::new();
    let (_, [_, _, last]) = three(&folder);
    let (header, data) = parts(&last);
    // Some gigabytes, which there may well be; and more than any machine has.
    for (from, to) in [
        ("gpt2.embedding_length\\\":{\\\"unsigned\\\":8}", "gpt2.embedding_length\\\":{\\\"unsigned\\\":8192}"),
        ("gpt2.block_count\\\":{\\\"unsigned\\\":2}", "gpt2.block_count\\\":{\\\"unsigned\\\":4000}"),
        (
            "gpt2.feed_forward_length\\\":{\\\"unsigned\\\":32}",
            "gpt2.feed_forward_length\\\":{\\\"unsigned\\\":1000000}",
        ),
    ] {
        assert!(header.contains(from), "{header}");
        fs::write(&last, made_up(&header.replacen(from, to, 1), &data)).expect("it can be written");
        let error = Checkpoint::open(&last).and_then(|checkpoint| checkpoint.parameters()).expect_err(to).to_string();
        assert!(error.contains("step-00000003"), "{error}");
    }
}

#[test]
fn weights_that_are_no_numbers_are_refused_by_name() {
    let folder = Folder::new();
    let (_, [_, _, last]) = three(&folder);
    let (header, data) = parts(&last);
    let settings = settings(&folder, &["model.d_model=8", "model.num_heads=2"]);
    for bad in [f32::NAN, f32::INFINITY] {
        let mut data = data.clone();
        data[..4].copy_from_slice(&bad.to_le_bytes());
        fs::write(&last, made_up(&header, &data)).expect("it can be written");
        let error =
            run(&settings, Some("latest"), &mut Listener::default()).expect_err("it is not a number").to_string();
        assert!(error.contains("step-00000003") && error.contains("tensor "), "{error}");
    }
}
