//! Files that our own writer writes.

use std::path::Path;

use engine::gguf::{File, Writer};
use engine::{Array, ErrorKind, Metadata, TensorInfo, TensorSource, Value};
use kernels::quant::Format;

use crate::folder::Folder;

/// The same model in another file.
pub fn copy(source: &dyn TensorSource, target: &Path) -> File {
    let infos = source.names().into_iter().map(|name| source.info(name).unwrap().unwrap()).collect();
    let mut writer = Writer::create(target, false, source.metadata(), infos).unwrap();
    for name in source.names() {
        writer.write(&source.tensor(name).unwrap().unwrap().data).unwrap();
    }
    let length = writer.finish().unwrap();
    assert_eq!(std::fs::metadata(target).unwrap().len(), length);
    File::open(target).unwrap()
}

fn info(name: &str, format: Format, shape: &[usize]) -> TensorInfo {
    TensorInfo { name: name.to_owned(), format, shape: shape.to_vec() }
}

#[test]
fn every_value_comes_back() {
    let texts = ["", "a", "Ġthe", "日本", "\0"].map(str::to_owned).to_vec();
    let values = [
        Value::Unsigned(0),
        Value::Unsigned(u64::from(u32::MAX) + 1),
        Value::Signed(-1),
        Value::Signed(i64::MIN),
        Value::Float(0.1f32.into()),
        Value::Float(0.1),
        Value::Float(f64::NEG_INFINITY),
        Value::Bool(true),
        Value::Text("héllo\n".to_owned()),
        Value::Array(Array::Unsigned(vec![1, 2, u64::MAX])),
        Value::Array(Array::Unsigned(vec![])),
        Value::Array(Array::Signed(vec![-5, i64::from(i32::MIN)])),
        Value::Array(Array::Signed(vec![i64::MAX])),
        Value::Array(Array::Float(vec![1.5, -0.0])),
        Value::Array(Array::Bool(vec![true, false])),
        Value::Array(Array::Text(texts)),
    ];
    let metadata: Metadata = values.into_iter().enumerate().map(|(i, value)| (format!("key.{i}"), value)).collect();
    let folder = Folder::new();
    let path = folder.path("values.gguf");
    Writer::create(&path, false, &metadata, vec![]).unwrap().finish().unwrap();
    assert_eq!(*File::open(&path).unwrap().metadata(), metadata);
}

#[test]
fn every_format_and_alignment_comes_back() {
    let folder = Folder::new();
    for alignment in [1, 8, 32, 4096] {
        let mut metadata = Metadata::default();
        metadata.set("general.alignment", Value::Unsigned(alignment));
        let infos: Vec<_> = Format::ALL.iter().map(|&format| info(format.name(), format, &[256, 3])).collect();
        let path = folder.path("formats.gguf");
        let mut writer = Writer::create(&path, true, &metadata, infos.clone()).unwrap();
        for (number, info) in (0..).zip(&infos) {
            // In pieces of any size, empty ones too.
            let bytes = vec![number; info.bytes().unwrap()];
            writer.write(&[]).unwrap();
            for piece in bytes.chunks(97) {
                writer.write(piece).unwrap();
            }
        }
        writer.finish().unwrap();
        let file = File::open(&path).unwrap();
        for (number, info) in (0..).zip(&infos) {
            assert_eq!(file.info(&info.name).unwrap().as_ref(), Some(info));
            let tensor = file.tensor(&info.name).unwrap().unwrap();
            assert!(tensor.data.iter().all(|byte| *byte == number));
        }
    }
}

#[test]
fn nothing_is_there_before_it_is_whole() {
    let folder = Folder::new();
    let path = folder.path("model.gguf");
    let create = || Writer::create(&path, false, &Metadata::default(), vec![info("x", Format::F32, &[4])]).unwrap();
    let mut writer = create();
    writer.write(&[0; 12]).unwrap();
    assert!(!path.exists());
    let error = writer.finish().unwrap_err();
    assert!(error.to_string().contains("tensor x: 4 of its 16 bytes were not written"), "{error}");
    assert_eq!(folder.names(""), [""; 0]);

    let mut writer = create();
    let error = writer.write(&[0; 17]).unwrap_err();
    assert!(error.to_string().contains("tensor x: 17 bytes are more than its 16"), "{error}");
    writer.write(&[0; 16]).unwrap();
    assert!(writer.write(&[0]).unwrap_err().to_string().contains("after the last tensor"));
    drop(writer);
    assert_eq!(folder.names(""), [""; 0]);

    let mut writer = create();
    writer.write(&[0; 16]).unwrap();
    writer.finish().unwrap();
    assert_eq!(folder.names(""), ["model.gguf"]);
}

#[test]
fn files_are_overwritten_only_when_asked_for() {
    let folder = Folder::new();
    let path = folder.write("model.gguf", "precious");
    let create = |overwrite| Writer::create(&path, overwrite, &Metadata::default(), vec![]);
    let error = create(false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("the file exists"), "{error}");
    let writer = create(true).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    writer.finish().unwrap();
    assert!(File::open(&path).is_ok());
    // Somebody else was faster.
    let late = folder.path("late.gguf");
    let writer = Writer::create(&late, false, &Metadata::default(), vec![]).unwrap();
    folder.write("late.gguf", "precious");
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(folder.names(""), ["late.gguf", "model.gguf"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_stays() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    for place in [folder.path("folder"), "/dev/null".into()] {
        let error = Writer::create(&place, true, &Metadata::default(), vec![]).unwrap_err();
        assert!(error.to_string().contains("not a regular file; not overwritten"), "{error}");
    }
    let nowhere = folder.path("none/model.gguf");
    assert_eq!(Writer::create(&nowhere, false, &Metadata::default(), vec![]).unwrap_err().kind(), ErrorKind::Io);
    // A link leads to what is replaced.
    let real = folder.write("real.gguf", "old");
    std::os::unix::fs::symlink(&real, folder.path("link.gguf")).unwrap();
    Writer::create(&folder.path("link.gguf"), true, &Metadata::default(), vec![]).unwrap().finish().unwrap();
    assert!(folder.path("link.gguf").is_symlink() && File::open(&real).is_ok());
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = Folder::new();
    let refused = |metadata: &Metadata, infos: Vec<TensorInfo>, part: &str| {
        let error = Writer::create(&folder.path("x.gguf"), false, metadata, infos).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(folder.names(""), [""; 0]);
    };
    let none = Metadata::default();
    refused(&none, vec![info(&"n".repeat(64), Format::F32, &[1])], "its name has 64 bytes");
    refused(&none, vec![info("x", Format::F32, &[1]), info("x", Format::F16, &[1])], "duplicate name");
    refused(&none, vec![info("x", Format::Q4_K, &[128])], "not whole blocks of 256");
    refused(&none, vec![info("x", Format::F32, &[1, 1, 1, 1, 1])], "5 dimensions");
    refused(&none, vec![info("x", Format::F32, &[0])], "is empty");
    let odd = [("general.alignment".to_owned(), Value::Unsigned(3))].into_iter().collect();
    refused(&odd, vec![], "not a power of two");
}
