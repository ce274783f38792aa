//! Checkpoints of llama2.c.

use std::borrow::Cow;

use engine::llama2c::File;
use engine::{Array, ErrorKind, TensorSource, Value, gguf, open};
use kernels::Kernels;

use crate::folder::{Folder, shared};

/// Sizes of a model as the header has them: dimension, hidden dimension, layers, heads, KV heads, vocabulary, context.
const SIZES: [i32; 7] = [8, 12, 2, 4, 2, 6, 5];

/// Per layer in the order of version 0: name, rows, columns; 0 columns for a norm.
const LAYER: [(&str, usize, usize); 9] = [
    ("attn_norm", 8, 0),
    ("attn_q", 8, 8),
    ("attn_k", 4, 8),
    ("attn_v", 4, 8),
    ("attn_output", 8, 8),
    ("ffn_norm", 8, 0),
    ("ffn_gate", 12, 8),
    ("ffn_down", 8, 12),
    ("ffn_up", 12, 8),
];

fn numbers(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The weights of a part: every one of the file has its own value.
struct Weights {
    next: f32,
    bytes: Vec<u8>,
    /// What each tensor should come out as.
    expected: Vec<(String, Vec<f32>)>,
}

impl Weights {
    fn plain(&mut self, name: String, count: usize) {
        let values: Vec<f32> = (0..count).map(|i| self.next + i as f32).collect();
        self.next += count as f32;
        self.bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.expected.push((name, values));
    }

    /// Groups of four: codes -2 to 1, scales by number.
    fn grouped(&mut self, name: String, count: usize) {
        let codes: Vec<i8> = (0..count).map(|i| (i % 4) as i8 - 2).collect();
        let scales: Vec<f32> = (0..count / 4).map(|group| self.next + group as f32).collect();
        self.next += scales.len() as f32;
        self.bytes.extend(codes.iter().map(|code| code.cast_unsigned()));
        self.bytes.extend(scales.iter().flat_map(|scale| scale.to_le_bytes()));
        let values = codes.iter().enumerate().map(|(i, code)| f32::from(*code) * scales[i / 4]).collect();
        self.expected.push((name, values));
    }
}

fn checkpoint(version: i32, own_output: bool) -> (Vec<u8>, Vec<(String, Vec<f32>)>) {
    let mut sizes = SIZES;
    let mut header = Vec::new();
    if version == 0 {
        sizes[5] *= if own_output { -1 } else { 1 };
        header.extend(numbers(&sizes));
    } else {
        header.extend([0x32, 0x34, 0x6b, 0x61]);
        header.extend(numbers(&[version]));
        header.extend(numbers(&sizes));
        header.push(u8::from(!own_output));
        header.extend(if version == 2 { 4i32 } else { 0 }.to_le_bytes());
        header.resize(256, 0);
    }
    let mut weights = Weights { next: 1.0, bytes: header, expected: Vec::new() };
    let put = |weights: &mut Weights, name: String, (rows, cols): (usize, usize)| match (version, cols) {
        (_, 0) => weights.plain(name, rows),
        (2, _) => weights.grouped(name, rows * cols),
        _ => weights.plain(name, rows * cols),
    };
    let layers = |weights: &mut Weights, wanted: &dyn Fn(usize) -> bool| {
        for (name, rows, cols) in LAYER.into_iter().filter(|(_, _, cols)| wanted(*cols)) {
            for layer in 0..2 {
                put(weights, format!("blk.{layer}.{name}.weight"), (rows, cols));
            }
        }
    };
    if version == 0 {
        put(&mut weights, "token_embd.weight".to_owned(), (6, 8));
        layers(&mut weights, &|_| true);
        put(&mut weights, "output_norm.weight".to_owned(), (8, 0));
        weights.bytes.extend(numbers(&[-1; 5 * 2]));
    } else {
        layers(&mut weights, &|cols| cols == 0);
        put(&mut weights, "output_norm.weight".to_owned(), (8, 0));
        put(&mut weights, "token_embd.weight".to_owned(), (6, 8));
        layers(&mut weights, &|cols| cols != 0);
    }
    if own_output {
        put(&mut weights, "output.weight".to_owned(), (6, 8));
    }
    (weights.bytes, weights.expected)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

#[test]
fn every_version_is_read() {
    for (version, own_output) in [0, 1, 2].into_iter().flat_map(|version| [(version, false), (version, true)]) {
        let (bytes, expected) = checkpoint(version, own_output);
        let file = File::from_bytes(bytes).unwrap_or_else(|error| panic!("version {version}: {error}"));
        assert_eq!(file.names().len(), expected.len());
        for (name, values) in expected {
            let tensor = file.tensor(&name).unwrap().unwrap_or_else(|| panic!("{name} is not there"));
            assert_eq!(floats(&tensor.data), values, "version {version}: {name}");
            let info = file.info(&name).unwrap().unwrap();
            assert_eq!((info.bytes(), info.shape), (Ok(tensor.data.len()), tensor.shape), "{name}");
        }
        let down = file.info("blk.1.ffn_down.weight").unwrap().unwrap();
        assert_eq!(down.shape, [12, 8]);
        for (key, value) in [
            ("vocab_size", 6),
            ("context_length", 5),
            ("block_count", 2),
            ("attention.head_count_kv", 2),
            ("rope.dimension_count", 2),
        ] {
            assert_eq!(file.metadata().count(&format!("llama.{key}")), Ok(Some(value)), "{key}");
        }
    }
}

#[test]
fn files_are_known_by_their_content() {
    let folder = Folder::new();
    for version in [0, 1, 2] {
        let path = folder.write("weights", checkpoint(version, true).0);
        let file = open(&path).unwrap();
        assert_eq!(file.file(), Some(path.as_path()));
        file.release("token_embd.weight");
    }
    let (mut bytes, _) = checkpoint(0, false);
    bytes.pop();
    let error = open(&folder.write("weights", &bytes)).err().unwrap();
    assert!(error.to_string().contains("truncated llama2.c checkpoint"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |bytes: Vec<u8>, kind: ErrorKind, part: &str| {
        let error = File::from_bytes(bytes).expect_err("it is damaged");
        assert!(error.kind() == kind && error.to_string().contains(part), "{part}: {error}");
    };
    for version in [0, 1, 2] {
        let bytes = checkpoint(version, false).0;
        for length in 0..bytes.len() {
            assert_eq!(File::from_bytes(bytes[..length].to_vec()).unwrap_err().kind(), ErrorKind::Malformed);
        }
        refused([bytes.as_slice(), &[0]].concat(), ErrorKind::Malformed, "but the file has");
        for field in 0..7 {
            for value in [0, i32::MAX, i32::MIN, -5] {
                let mut damaged = bytes.clone();
                let at = if version == 0 { 0 } else { 8 } + field * 4;
                damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
                assert!(File::from_bytes(damaged).is_err(), "version {version}, field {field}: {value}");
            }
        }
    }
    let mut odd = checkpoint(1, false).0;
    odd[4] = 3;
    refused(odd, ErrorKind::Unsupported, "version 3");
    let mut zeros = checkpoint(0, false).0;
    zeros[8] = 0;
    refused(zeros, ErrorKind::Malformed, "at byte 8: 0 is not valid for the layers");
}

#[test]
fn tokens_come_from_the_file_beside() {
    let folder = Folder::new();
    let path = folder.write("model.bin", checkpoint(0, false).0);
    let tokenizer = |texts: &[&str]| {
        let mut bytes = numbers(&[6]);
        for (number, text) in texts.iter().enumerate() {
            bytes.extend((-(number as f32)).to_le_bytes());
            bytes.extend((text.len() as i32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    };
    let six = ["<unk>", "\n<s>\n", "\n</s>\n", "<0x0A>", " the", "x"];
    folder.write("tokenizer.bin", tokenizer(&six[..5]));
    assert_eq!(open(&path).unwrap().metadata().get("tokenizer.ggml.tokens"), None);
    folder.write("tok6.bin", tokenizer(&six));
    let file = open(&path).unwrap();
    let tokens = file.metadata().texts("tokenizer.ggml.tokens").unwrap().unwrap();
    assert_eq!(tokens, ["<unk>", "<s>", "</s>", "<0x0A>", "▁the", "x"]);
    let kinds = Value::Array(Array::Signed(vec![2, 3, 3, 6, 1, 1]));
    assert_eq!(file.metadata().get("tokenizer.ggml.token_type"), Some(&kinds));
    let whole = tokenizer(&six);
    folder.write("tok6.bin", &whole[..whole.len() - 1]);
    let error = open(&path).err().unwrap().to_string();
    assert!(error.contains("tok6.bin: token 5 at byte 70: truncated"), "{error}");
}

/// A trained model, written as a checkpoint here, reads the same from both.
#[test]
fn a_real_model_is_the_same_in_both_formats() {
    let Some(path) = shared("models/stories260K-f32.gguf") else { return };
    let real = gguf::File::open(&path).unwrap();
    let mut bytes = numbers(&[64, 172, 5, 8, 4, 512, 512]);
    let f32s = |name: &str| -> Vec<u8> {
        let tensor = real.tensor(name).unwrap().unwrap();
        let mut values = vec![0.0; tensor.shape.iter().product()];
        Kernels::best().dequantise(tensor.format, &tensor.data, &mut values);
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    bytes.extend(f32s("token_embd.weight"));
    for (part, ..) in LAYER {
        (0..5).for_each(|layer| bytes.extend(f32s(&format!("blk.{layer}.{part}.weight"))));
    }
    bytes.extend(f32s("output_norm.weight"));
    bytes.extend(vec![0; 512 * 8 * 4]);
    let file = File::from_bytes(bytes).unwrap();
    for name in file.names() {
        let (ours, theirs) = (file.tensor(name).unwrap().unwrap(), real.tensor(name).unwrap().unwrap());
        assert_eq!((&ours.shape, ours.format), (&theirs.shape, theirs.format), "{name}");
        assert!(matches!(ours.data, Cow::Borrowed(_)) && ours.data == theirs.data, "{name}");
    }
    for (key, value) in file.metadata().iter().filter(|(key, _)| key.starts_with("llama.")) {
        let theirs = real.metadata().get(key);
        assert!(theirs.is_none() || theirs == Some(value), "{key}: {value:?}, {theirs:?}");
    }
}

#[test]
fn sizes_beyond_any_file_are_refused_in_every_version() {
    for version in 0..=2 {
        let (mut bytes, _) = checkpoint(version, true);
        let start = if version == 0 { 0 } else { 8 };
        // A dimension and groups of one: with their scales the bytes of a matrix are beyond 64 bits.
        for (at, value) in [(start, 0x7e00_0002), (start + 12, 1), (start + 16, 1)] {
            bytes[at..at + 4].copy_from_slice(&i32::to_le_bytes(value));
        }
        if version == 2 {
            bytes[37..41].copy_from_slice(&1i32.to_le_bytes());
        }
        let error = File::from_bytes(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "version {version}: {error}");
    }
}
