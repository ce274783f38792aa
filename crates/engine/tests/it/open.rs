//! Formats are told apart by their content.

use engine::{ErrorKind, open};

use crate::folder::{Folder, shared};

#[test]
fn what_is_no_model_is_told() {
    let folder = Folder::new();
    for (bytes, part) in [
        (b"".as_slice(), "it is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1", "`git lfs pull`"),
        (b"PK\x03\x04rest", "PyTorch checkpoint"),
        (b"\x80\x02}q\x00", "Python pickle"),
        (b"tjgg\x01\0\0\0", "from before GGUF"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x28\xb5\x2f\xfd", "Zstandard"),
        (b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
        (b"\x7fELF", "a program"),
        (&[0; 5000], "unfinished download"),
        (b"\n <!DOCTYPE html>", "web page"),
        (b"{\"a\": 1}", "JSON"),
        (b"Once upon a time", "text"),
        (b"\x01\x02\xff\xfe", "unknown content"),
    ] {
        let path = folder.write("model.gguf", bytes);
        let error = open(&path).err().expect("it is not a model");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert_eq!(error.file(), Some(path.as_path()));
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
}

#[test]
fn what_is_no_file_is_told() {
    let folder = Folder::new();
    let missing = open(&folder.path("none")).err().expect("it is not there");
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(missing.to_string().contains("none: "), "{missing}");
}

#[test]
fn real_files_are_opened() {
    let Some(path) = shared("models/stories260K-q8_0.gguf") else { return };
    let model = open(&path).expect("it is sound");
    assert_eq!(model.file(), Some(path.as_path()));
    assert_eq!(model.metadata().text("general.architecture"), Ok(Some("llama")));
    for name in model.names() {
        let tensor = model.tensor(name).expect("it is sound").expect("it is there");
        engine::check_finite(&tensor).expect("all weights are finite");
        model.release(name);
    }
}
