//! Model files that become shorter while they are in use.

use std::fs::OpenOptions;
use std::path::Path;

use engine::gguf::File;
use engine::{Compute, Error, ErrorKind, LoadOptions, Model, Segment, State, Synthetic, SyntheticSource};

use crate::folder::Folder;
use crate::gguf::write::copy;
use crate::trials::exact;

/// Of some megabytes, so that most of it is behind the pages that reading the header brings in.
fn written(path: &Path) -> File {
    copy(&SyntheticSource::new(Synthetic { seed: 3, ..Synthetic::MEDIUM }), path)
}

/// As `cp` does with a file that is there: to nothing, or to what was copied so far.
fn truncate(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[track_caller]
fn is_named(error: &Error, path: &Path) {
    assert_eq!((error.kind(), error.file()), (ErrorKind::Malformed, Some(path)), "{error}");
    assert!(error.to_string().contains("truncated while it was in use"), "{error}");
}

#[test]
fn while_it_is_loaded() {
    let folder = Folder::new();
    for (bytes, in_place) in [(0, false), (1 << 20, false), (1 << 20, true)] {
        let path = folder.path(&format!("{bytes}-{in_place}.gguf"));
        let file = written(&path);
        truncate(&path, bytes);
        let options = &mut LoadOptions { in_place, ..LoadOptions::default() };
        is_named(&Model::load(&file, &Compute::new(Some(1)).unwrap(), options).unwrap_err(), &path);
    }
}

#[test]
fn while_it_is_computed_in_place() {
    let folder = Folder::new();
    let (path, whole) = (folder.path("used.gguf"), folder.path("whole.gguf"));
    let compute = Compute::new(Some(2)).unwrap();
    let options = &mut LoadOptions { in_place: true, ..LoadOptions::default() };
    let model = Model::load(&written(&path), &compute, options).unwrap();
    let other = Model::load(&written(&whole), &compute, options).unwrap();
    let pass = |model: &Model, state: &mut State| {
        model.forward(&compute, state, &[Segment { sequence: 0, tokens: &[1, 2], logits: 1 }])
    };
    let mut state = State::new(&model, &compute, &exact(4)).unwrap();
    pass(&model, &mut state).unwrap();
    truncate(&path, 4096);
    is_named(&pass(&model, &mut state).unwrap_err(), &path);
    is_named(&pass(&model, &mut state).unwrap_err(), &path);
    // Another file is not concerned.
    pass(&other, &mut State::new(&other, &compute, &exact(4)).unwrap()).unwrap();
}
