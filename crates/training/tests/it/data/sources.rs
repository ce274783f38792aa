//! Finding the files of a corpus.

use std::path::Path;

use training::data::{CorpusRole, DataSettings, Inputs, SequenceForm, Sources};

use super::{corpus, data};
use crate::folder::Folder;

fn find(folder: &Folder, settings: &DataSettings) -> training::Result<Sources> {
    Sources::find(settings, CorpusRole::Training, folder.root(), &folder.path("out"))
}

fn some_files() -> Folder {
    let folder = Folder::new();
    for (name, text) in
        [("a.txt", "one"), ("b/c.txt", "three"), ("b/d/e.txt", "fives"), ("b/x.md", "mark"), ("nil.txt", "")]
    {
        folder.write(&format!("corpus/{name}"), text);
    }
    folder
}

#[test]
fn files_lists_patterns_and_folders() {
    let folder = some_files();
    let cases: [(Inputs, Option<&str>, usize, u64); 8] = [
        ("corpus/a.txt".into(), None, 1, 3),
        (Inputs::Many(vec!["corpus/b/c.txt".to_owned(), "corpus/a.txt".to_owned()]), None, 2, 8),
        ("corpus/**/*.txt".into(), None, 3, 13),
        ("corpus/*.txt".into(), None, 1, 3),
        ("corpus".into(), None, 4, 17),
        ("corpus".into(), Some("**/*"), 4, 17),
        ("corpus/".into(), Some("b/**/*.txt"), 2, 10),
        ("corpus/b/[cd]*".into(), None, 1, 5),
    ];
    for (input_file, pattern, files, bytes) in cases {
        let file_pattern = pattern.map(str::to_owned);
        let settings = DataSettings { input_file: input_file.clone(), file_pattern, ..DataSettings::default() };
        let sources = find(&folder, &settings).expect("files");
        assert_eq!((sources.files(), sources.bytes()), (files, bytes), "{input_file:?} {pattern:?}");
    }
}

#[test]
fn folders_whose_names_look_like_patterns() {
    let folder = Folder::new();
    folder.write("co[rp]us*/a.txt", "text");
    let settings = DataSettings { input_file: "co[rp]us*".into(), ..DataSettings::default() };
    assert_eq!(find(&folder, &settings).expect("the folder itself").files(), 1);
}

#[test]
fn not_more_files_than_asked_for() {
    let folder = some_files();
    let settings = DataSettings { max_files: 2, ..data(Path::new("corpus"), SequenceForm::Lines) };
    let (_, corpus) = corpus(&settings, &folder, 16).expect("a corpus");
    assert_eq!((corpus.facts().files, corpus.facts().left_out), (2, 2));
    let notes = corpus.notes().join("\n");
    assert!(notes.contains("data.max_files is 2") && notes.contains("nil.txt"), "{notes}");
}

#[test]
fn what_is_not_there_is_named() {
    let folder = some_files();
    for (input, expected) in [
        ("corpus/none.txt", "none.txt"),
        ("corpus/**/*.none", "no matching file"),
        ("corpus/a**b/[", "invalid pattern"),
        ("corpus/nil.txt", "empty corpus"),
        ("", "no corpus given"),
    ] {
        let settings = DataSettings { input_file: input.into(), ..DataSettings::default() };
        let error = find(&folder, &settings).expect_err(input);
        assert!(error.to_string().contains(expected) && error.to_string().contains("data.input_file"), "{error}");
        assert!(!error.hint().is_empty());
    }
    let sources = find(&folder, &data(Path::new("corpus"), SequenceForm::Lines)).expect("files");
    std::fs::remove_file(folder.path("corpus/b/c.txt")).expect("it can be removed");
    let vocabulary = crate::vocabulary::learned("characters", None, "one");
    let settings = data(Path::new("corpus"), SequenceForm::Lines);
    let error = super::build(&settings, &sources, &vocabulary, &folder, 16).expect_err("a file has gone");
    assert!(error.to_string().contains("c.txt"), "{error}");
}

#[test]
fn a_file_that_changes_is_refused() {
    let folder = some_files();
    let settings = data(Path::new("corpus"), SequenceForm::Lines);
    let sources = find(&folder, &settings).expect("files");
    folder.write("corpus/a.txt", "longer than before");
    let vocabulary = crate::vocabulary::learned("characters", None, "one");
    let error = super::build(&settings, &sources, &vocabulary, &folder, 16).expect_err("it changed");
    assert!(error.to_string().contains("changed while being read"), "{error}");
    assert!(folder.names("out").is_empty(), "nothing half done is left");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_once_and_kept() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let text = "a line\nanother line\n".repeat(100_000);
    let writer = std::thread::spawn({
        let (pipe, text) = (pipe.clone(), text.clone());
        move || std::fs::write(pipe, text).expect("it can be written")
    });
    let settings = data(&pipe, SequenceForm::Lines);
    let (vocabulary, corpus) = corpus(&settings, &folder, 32).expect("a corpus");
    writer.join().expect("written");
    assert_eq!(corpus.facts().bytes, text.len() as u64);
    assert_eq!(corpus.training().len(), 200_000);
    // A training that goes on finds what was kept, though nobody writes into the pipe any more.
    let out = folder.path("out");
    let again = Sources::find_again(&settings, CorpusRole::Training, folder.root(), &out).expect("what was kept");
    assert_eq!(again.bytes(), text.len() as u64);
    std::fs::remove_file(&pipe).expect("it can be removed");
    assert_eq!(
        Sources::find_again(&settings, CorpusRole::Training, folder.root(), &out).expect("what was kept"),
        again
    );
    let again = super::build(&settings, &again, &vocabulary, &folder, 32).expect("a corpus");
    assert!(again.reused() && again.files() == corpus.files());
    let other = data(std::path::Path::new("-"), SequenceForm::Lines);
    let error = Sources::find_again(&other, CorpusRole::Training, folder.root(), &out).expect_err("it was never read");
    assert!(error.to_string().contains("no saved copy"), "{error}");
}
