//! Token files: used again, made again, and never believed when damaged.

use training::data::{Corpus, CorpusRole, DataSettings, SequenceForm, Sources};
use training::vocabulary::Vocabulary;

use super::{build, data, texts};
use crate::folder::Folder;
use crate::random::Random;
use crate::vocabulary::learned;

fn again(folder: &Folder, settings: &DataSettings, vocabulary: &Vocabulary) -> Corpus {
    let sources = Sources::find(settings, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    build(settings, &sources, vocabulary, folder, 16).expect("a corpus")
}

#[test]
fn tokens_are_made_once() {
    let folder = Folder::new();
    let path = folder.write("text", "some text\nmore text\n");
    let vocabulary = learned("characters", None, "some text more");
    let lines = data(&path, SequenceForm::Lines);
    assert!(!again(&folder, &lines, &vocabulary).reused());
    assert!(again(&folder, &lines, &vocabulary).reused());
    // Whatever decides what the tokens are makes new ones.
    let chunks = data(&path, SequenceForm::Chunks);
    assert!(!again(&folder, &chunks, &vocabulary).reused());
    assert!(again(&folder, &data(&path, SequenceForm::Windows), &vocabulary).reused(), "the same row of tokens");
    let ended = DataSettings { end_lines: true, ..lines.clone() };
    assert!(!again(&folder, &ended, &vocabulary).reused());
    let other = learned("characters", None, "another text");
    assert!(!again(&folder, &lines, &other).reused());
    folder.write("text", "some text\nmore textS\n");
    assert!(!again(&folder, &lines, &vocabulary).reused());
    assert!(folder.names("out").iter().all(|name| name.starts_with("tokens-")), "{:?}", folder.names("out"));
}

#[test]
fn facts_are_kept_with_the_tokens() {
    let folder = Folder::new();
    let path = folder.write("text", b"b\xFFd unknown\n");
    let vocabulary = learned("characters", None, "known");
    let settings = data(&path, SequenceForm::Lines);
    let first = again(&folder, &settings, &vocabulary);
    let second = again(&folder, &settings, &vocabulary);
    assert!(second.reused() && first.facts() == second.facts());
    assert!(second.facts().unknown > 0 && second.facts().replaced.is_some());
    assert_eq!(second.notes().len(), 2, "{:?}", second.notes());
}

#[test]
fn damaged_files_are_made_again() {
    for form in [SequenceForm::Lines, SequenceForm::Chunks] {
        let folder = Folder::new();
        let path = folder.write("text", "a line of text\nand one more\n".repeat(40));
        let vocabulary = learned("characters", None, "a line of text and one more\n");
        let settings = data(&path, form);
        let first = again(&folder, &settings, &vocabulary);
        let expected = texts(&first, &vocabulary, false);
        let file = first.files()[0].clone();
        let sound = std::fs::read(&file).expect("it is there");
        let mut random = Random(5);
        // A bit anywhere, any length, bytes behind the end, and nothing at all.
        let mut damages: Vec<Vec<u8>> =
            (0..sound.len()).step_by(23).map(|at| flipped(&sound, at, 1 << random.below(8))).collect();
        damages.extend((0..sound.len()).step_by(211).map(|length| sound[..length].to_vec()));
        damages.push([sound.as_slice(), b"more"].concat());
        damages.push(vec![0; sound.len()]);
        damages.push(vec![0xFF; sound.len()]);
        for damage in damages {
            std::fs::write(&file, &damage).expect("it can be written");
            let made = again(&folder, &settings, &vocabulary);
            assert!(!made.reused(), "damage was not seen");
            assert_eq!(std::fs::read(&file).expect("it is there"), sound);
        }
        assert_eq!(texts(&again(&folder, &settings, &vocabulary), &vocabulary, false), expected);
    }
}

fn flipped(bytes: &[u8], at: usize, bit: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= bit;
    bytes
}

#[test]
fn who_wants_to_stop_leaves_nothing() {
    let folder = Folder::new();
    let path = folder.write("text", "text\n".repeat(1000));
    let settings = data(&path, SequenceForm::Lines);
    let sources = Sources::find(&settings, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    let vocabulary = learned("characters", None, "text");
    let request = training::data::CorpusRequest {
        settings: &settings,
        sources: &sources,
        validation: None,
        max_length: 8,
        seed: 1,
    };
    let error = Corpus::build(&request, &vocabulary, &folder.path("out"), &mut |_| false).expect_err("stopped");
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert!(folder.names("out").is_empty());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let path = folder.write("text", "text\n");
    folder.write("out", "a file where the folder should be");
    let settings = data(&path, SequenceForm::Lines);
    let sources = Sources::find(&settings, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    let vocabulary = learned("characters", None, "text");
    let error = build(&settings, &sources, &vocabulary, &folder, 8).expect_err("no folder");
    assert!(error.to_string().contains("cannot write"), "{error}");
}
