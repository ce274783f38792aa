//! Sequences of all forms, splits, and texts that are none.

use training::data::{Corpus, CorpusRequest, CorpusRole, DataSettings, SequenceForm, Sources};

use super::{build, corpus, data, texts};
use crate::folder::{Folder, shared};
use crate::vocabulary::learned;

#[test]
fn lines_are_sequences() {
    let folder = Folder::new();
    let path = folder.write("text", "first line\r\n\n   \nsecond\nx\n\nthe last line is long");
    let (vocabulary, corpus) = corpus(&data(&path, SequenceForm::Lines), &folder, 10).expect("a corpus");
    assert_eq!(texts(&corpus, &vocabulary, false), ["first line", "second", "the last l", "ine is lon"]);
    // A line of one character, and the last character of a long line.
    assert_eq!(corpus.facts().single, 2);
    assert_eq!((corpus.length(), corpus.training().targets()), (9, 9 + 5 + 9 + 9));
    assert!(corpus.notes().iter().any(|note| note.contains("2 sequences of a single token")), "{:?}", corpus.notes());
}

#[test]
fn short_lines_make_short_rows() {
    let folder = Folder::new();
    let path = folder.write("text", "abc\nab\n");
    let (_, corpus) = corpus(&data(&path, SequenceForm::Lines), &folder, 512).expect("a corpus");
    assert_eq!(corpus.length(), 2);
}

#[test]
fn lines_may_end_with_the_end_token() {
    let folder = Folder::new();
    let path = folder.write("text", "ab\nc\n");
    let settings = DataSettings { end_lines: true, ..data(&path, SequenceForm::Lines) };
    let (vocabulary, corpus) = corpus(&settings, &folder, 8).expect("a corpus");
    assert_eq!((corpus.training().len(), corpus.training().targets()), (2, 3));
    assert_eq!(texts(&corpus, &vocabulary, false), ["ab", "c"]);
}

#[test]
fn chunks_follow_on_each_other() {
    let folder = Folder::new();
    folder.write("corpus/1", "abcdefgh");
    folder.write("corpus/2", "ijk\n");
    let (vocabulary, corpus) =
        corpus(&data(&folder.path("corpus"), SequenceForm::Chunks), &folder, 4).expect("a corpus");
    // Eight, the end token, four.
    assert_eq!((corpus.facts().tokens, corpus.training().len(), corpus.training().targets()), (13, 3, 12));
    assert_eq!(texts(&corpus, &vocabulary, false), ["abcde", "efgh", "ijk\n"]);
}

#[test]
fn a_line_may_part_documents() {
    let folder = Folder::new();
    let path = folder.write(
        "text",
        "one\n<|endoftext|>\ntwo\n<|endoftext|>x\n<|end\n<|endoftext|>\n<|endoftext|>\nthree\n<|endoftext|>",
    );
    let separator = Some("<|endoftext|>".to_owned());
    let settings = DataSettings { separator, ..data(&path, SequenceForm::Chunks) };
    let (vocabulary, corpus) = corpus(&settings, &folder, 1000).expect("a corpus");
    let text = "one\ntwo\n<|endoftext|>x\n<|end\nthree\n";
    assert_eq!(texts(&corpus, &vocabulary, false), [text]);
    assert_eq!(corpus.facts().tokens, text.len() as u64 + 2, "two end tokens between three documents");
}

#[test]
fn the_end_is_kept_back_from_chunks_and_windows() {
    let folder = Folder::new();
    let text: String = (0..1000).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
    let path = folder.write("text", &text);
    for form in [SequenceForm::Chunks, SequenceForm::Windows] {
        let settings = DataSettings { validation_split: 0.1, ..data(&path, form) };
        let (vocabulary, corpus) = corpus(&settings, &folder, 99).expect("a corpus");
        assert_eq!(texts(&corpus, &vocabulary, true), [&text[900..]]);
        let training = texts(&corpus, &vocabulary, false);
        if form == SequenceForm::Chunks {
            assert_eq!(corpus.training().targets(), 899);
            assert_eq!(training.len(), 10);
        }
        assert!(training.iter().all(|part| text[..900].contains(part)));
    }
}

#[test]
fn lines_are_kept_back_by_chance() {
    let folder = Folder::new();
    let lines: Vec<String> = (0..1000).map(|number| format!("line {number}")).collect();
    let path = folder.write("text", lines.join("\n"));
    let settings = DataSettings { validation_split: 0.05, ..data(&path, SequenceForm::Lines) };
    let (vocabulary, corpus) = corpus(&settings, &folder, 32).expect("a corpus");
    let (training, kept) = (texts(&corpus, &vocabulary, false), texts(&corpus, &vocabulary, true));
    assert_eq!((training.len(), kept.len()), (950, 50));
    let mut all: Vec<&String> = training.iter().chain(&kept).collect();
    all.sort();
    let mut expected: Vec<&String> = lines.iter().collect();
    expected.sort();
    assert_eq!(all, expected, "every line is in one of them");
    let numbers: Vec<usize> = kept.iter().map(|line| line[5..].parse().expect("a number")).collect();
    assert!(numbers.windows(2).any(|two| two[1] - two[0] != 20), "by chance");
    let targets = |lines: &[String]| lines.iter().map(|line| line.len() as u64 - 1).sum::<u64>();
    assert_eq!(corpus.training().targets(), targets(&training));
    assert_eq!(corpus.validation().expect("kept").targets(), targets(&kept));
    // The same again, and others for another seed.
    let sources = Sources::find(&settings, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    let again = build(&settings, &sources, &vocabulary, &folder, 32).expect("a corpus");
    assert!(again.reused());
    assert_eq!(texts(&again, &vocabulary, true), kept);
    let request = CorpusRequest { settings: &settings, sources: &sources, validation: None, max_length: 32, seed: 8 };
    let other = Corpus::build(&request, &vocabulary, &folder.path("out"), &mut |_| true).expect("a corpus");
    assert!(other.reused());
    assert_ne!(texts(&other, &vocabulary, true), kept);
}

#[test]
fn another_file_to_validate() {
    let folder = Folder::new();
    folder.write("learn", "learned\n");
    folder.write("check", b"checked \xFF\n");
    let mut settings = data(&folder.path("learn"), SequenceForm::Lines);
    settings.validation_file = "check".into();
    let out = folder.path("out");
    let sources = Sources::find(&settings, CorpusRole::Training, folder.root(), &out).expect("files");
    let validation = Sources::find(&settings, CorpusRole::Validation, folder.root(), &out).expect("files");
    let vocabulary = learned("characters", None, "learned checked \u{FFFD}");
    let request = CorpusRequest {
        settings: &settings,
        sources: &sources,
        validation: Some(&validation),
        max_length: 64,
        seed: 1,
    };
    let corpus = Corpus::build(&request, &vocabulary, &out, &mut |_| true).expect("a corpus");
    assert_eq!(texts(&corpus, &vocabulary, false), ["learned"]);
    assert_eq!(texts(&corpus, &vocabulary, true), ["checked \u{FFFD}"]);
    assert_eq!(corpus.files().len(), 2);
    assert!(corpus.notes()[0].starts_with("validation: 1 place"), "{:?}", corpus.notes());
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_named() {
    let folder = Folder::new();
    folder.write("corpus/1", "fine\n");
    // Wrong bytes, a character that is cut off in the middle of the file, and one at its end.
    folder.write("corpus/2", b"good\xFFbad\xE2\x82x\xC3");
    folder.write("corpus/3", b"\xEF\xBB\xBFmarked\n");
    let (vocabulary, corpus) =
        corpus(&data(&folder.path("corpus"), SequenceForm::Lines), &folder, 64).expect("a corpus");
    assert_eq!(texts(&corpus, &vocabulary, false), ["fine", "good\u{FFFD}bad\u{FFFD}x\u{FFFD}", "marked"]);
    let replaced = corpus.facts().replaced.clone().expect("some were replaced");
    assert_eq!((replaced.places, replaced.offset), (3, 4));
    assert!(replaced.file.ends_with("corpus/2"));
    let notes = corpus.notes().join("\n");
    assert!(notes.contains("3 places") && notes.contains("byte 4 of"), "{notes}");
}

#[test]
fn characters_across_the_buffers() {
    // The buffer is a mebibyte; characters of three bytes lie across every end of it, and one wrong byte far behind.
    let folder = Folder::new();
    let mut text = "x".to_owned();
    text.push_str(&"€ab ".repeat(700_000));
    let mut bytes = text.clone().into_bytes();
    bytes.push(0xFF);
    let path = folder.write("text", &bytes);
    let (vocabulary, corpus) = corpus(&data(&path, SequenceForm::Chunks), &folder, 1 << 20).expect("a corpus");
    assert_eq!(corpus.facts().replaced.as_ref().map(|replaced| replaced.offset), Some(text.len() as u64));
    assert_eq!(corpus.facts().tokens, text.chars().count() as u64 + 1);
    let parts = texts(&corpus, &vocabulary, false);
    let whole: String = parts
        .iter()
        .enumerate()
        .map(|(at, part)| &part[if at == 0 { 0 } else { 1.max(part.chars().next().map_or(0, char::len_utf8)) }..])
        .collect();
    assert!(whole == format!("{text}\u{FFFD}"), "the text came back changed");
}

#[test]
fn too_little_text_is_refused() {
    let folder = Folder::new();
    for (text, form, split) in [
        ("\n \n\n", SequenceForm::Lines, 0.0),
        ("a", SequenceForm::Chunks, 0.0),
        ("a\nb\n", SequenceForm::Lines, 0.0),
        ("ab", SequenceForm::Chunks, 0.5),
        ("one\n", SequenceForm::Lines, 0.5),
    ] {
        let path = folder.write("text", text);
        let settings = DataSettings { validation_split: split, ..data(&path, form) };
        let error = corpus(&settings, &folder, 8).expect_err("too few to train on");
        assert!(error.to_string().contains("too few to train on"), "{error}");
    }
    let path = folder.write("text", "enough text");
    for (split, max_length, key) in [
        (1.0, 8, "validation_split"),
        (-0.1, 8, "validation_split"),
        (f64::NAN, 8, "validation_split"),
        (0.1, 1, "max_length"),
    ] {
        let settings = DataSettings { validation_split: split, ..data(&path, SequenceForm::Chunks) };
        let error = corpus(&settings, &folder, max_length).expect_err("no setting");
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn loopos_sees_the_same_tokens() {
    let Some(path) = shared("loopos/corpus128x128.txt") else { return };
    let folder = Folder::new();
    let settings = data(&path, SequenceForm::Lines);
    let sources = Sources::find(&settings, CorpusRole::Training, folder.root(), &folder.path("out")).expect("files");
    let text = std::fs::read_to_string(&path).expect("a text");
    let vocabulary = learned("words", None, &text);
    let corpus = build(&settings, &sources, &vocabulary, &folder, 128).expect("a corpus");
    // What LoopOS itself has printed.
    assert_eq!(vocabulary.len(), 1006);
    assert_eq!((corpus.training().len(), corpus.training().targets(), corpus.length()), (128, 16_256, 127));
    assert_eq!(corpus.facts().unknown, 0);
}

#[test]
fn nanogpt_sees_the_same_tokens() {
    let Some(path) = shared("text/tinyshakespeare.txt") else { return };
    let folder = Folder::new();
    let settings = DataSettings { validation_split: 0.1, ..data(&path, SequenceForm::Chunks) };
    let (vocabulary, corpus) = corpus(&settings, &folder, 256).expect("a corpus");
    // nanoGPT's prepare.py prints: vocab size 65, train has 1,003,854 tokens, val has 111,540 tokens.
    assert_eq!(vocabulary.len(), 65 + 2);
    assert_eq!(corpus.training().targets() + 1, 1_003_854);
    assert_eq!(corpus.validation().expect("there is no validation").targets() + 1, 111_540);
    let ids = vocabulary.tokenizer().encode("\n AZaz", engine::Encode::default());
    assert_eq!(ids, [0, 1, 13, 38, 39, 64]);
}
