//! Models in several files.

use std::path::Path;

use engine::gguf::{File, Writer};
use engine::{ErrorKind, Metadata, TensorInfo, TensorSource, Value};
use kernels::quant::Format;

use crate::folder::Folder;

/// A shard with one tensor named after it.
fn write(path: &Path, number: u64, count: u64, tensors: u64, name: &str) {
    let mut metadata = Metadata::default();
    metadata.set("split.no", Value::Unsigned(number));
    metadata.set("split.count", Value::Unsigned(count));
    metadata.set("split.tensors.count", Value::Signed(tensors as i64));
    if number == 0 {
        metadata.set("general.architecture", Value::Text("llama".to_owned()));
    }
    let info = TensorInfo { name: name.to_owned(), format: Format::F32, shape: vec![1] };
    let mut writer = Writer::create(path, true, &metadata, vec![info]).unwrap();
    writer.write(&(number as f32).to_le_bytes()).unwrap();
    writer.finish().unwrap();
}

fn three(folder: &Folder) {
    for number in 0..3 {
        let path = folder.path(&format!("m-0000{}-of-00003.gguf", number + 1));
        write(&path, number, 3, 3, &format!("t{number}"));
    }
}

#[track_caller]
fn refused(path: &Path, kind: ErrorKind, part: &str) {
    let error = File::open(path).expect_err("the shards do not fit");
    assert!(error.kind() == kind && error.to_string().contains(part), "{error}");
}

#[test]
fn any_shard_leads_to_all() {
    let folder = Folder::new();
    three(&folder);
    for number in 1..=3 {
        let file = File::open(&folder.path(&format!("m-0000{number}-of-00003.gguf"))).unwrap();
        assert_eq!(file.names(), ["t0", "t1", "t2"]);
        assert_eq!(file.metadata().text("general.architecture"), Ok(Some("llama")));
        assert_eq!(file.metadata().get("split.count"), None);
        for (number, name) in (0..3).zip(file.names()) {
            assert_eq!(file.tensor(name).unwrap().unwrap().data[..], (number as f32).to_le_bytes());
            file.release(name);
        }
    }
}

#[test]
fn what_does_not_belong_together_is_named() {
    let folder = Folder::new();
    three(&folder);
    let [first, second, third] = [1, 2, 3].map(|number| folder.path(&format!("m-0000{number}-of-00003.gguf")));
    let renamed = folder.path("renamed.gguf");
    std::fs::copy(&second, &renamed).unwrap();
    refused(&renamed, ErrorKind::Refused, "its name must end with `-00002-of-00003.gguf`");

    write(&third, 2, 3, 3, "t1");
    refused(&first, ErrorKind::Malformed, "m-00003-of-00003.gguf: tensor t1: duplicate name");
    write(&third, 1, 3, 3, "t2");
    refused(&first, ErrorKind::Malformed, "keys split.no, split.count: 1 and 3, expected 2 and 3");
    write(&third, 2, 3, 3, "t2");
    write(&first, 0, 3, 4, "t0");
    refused(&third, ErrorKind::Malformed, "split.tensors.count: 4 tensors, but all shards together have 3");
    std::fs::remove_file(&second).unwrap();
    refused(&first, ErrorKind::Io, "m-00002-of-00003.gguf: shard 2 of 3: No such file");
    write(&first, 3, 3, 3, "t0");
    refused(&first, ErrorKind::Malformed, "no shard 3 of 3");
    write(&first, 0, 1 << 40, 3, "t0");
    refused(&first, ErrorKind::Malformed, "no shard 0 of 1099511627776");
}
