//! Models in other formats.

use std::ops::ControlFlow;
use std::path::Path;

use engine::gguf::File;
use engine::{ErrorKind, QuantiseOptions, Summary, TensorSource, quantise};
use kernels::Pool;
use kernels::quant::Format;

use crate::folder::{Folder, shared};
use crate::memory::{Model, waves, weights};

fn run(source: &dyn TensorSource, target: &Path, format: Format, threads: usize) -> engine::Result<Summary> {
    let pool = Pool::new(threads);
    let mut last = (0, 0);
    let options = QuantiseOptions { format, pool: &pool, overwrite: false };
    let summary = quantise(source, target, &options, &mut |done, total| {
        assert!(done > last.0 && done <= total, "{done} of {total} after {last:?}");
        last = (done, total);
        ControlFlow::Continue(())
    })?;
    assert_eq!(last, (summary.source_bytes, summary.source_bytes));
    assert_eq!(std::fs::metadata(target).unwrap().len(), summary.file_bytes);
    Ok(summary)
}

/// Rows of whole blocks of 256, of 32, and of none.
fn model() -> Model {
    Model::default()
        .text("general.architecture", "llama")
        .number("general.alignment", 64)
        .number("general.file_type", 99)
        .waves("token_embd.weight", Format::F32, &[512, 70])
        .waves("blk.0.attn_norm.weight", Format::F16, &[512])
        .waves("blk.0.attn_q.weight", Format::F32, &[512, 6])
        .waves("blk.0.attn_q.bias", Format::BF16, &[6])
        .waves("blk.0.ffn_up.weight", Format::F16, &[96, 10])
        .waves("blk.0.ffn_down.weight", Format::Q8_0, &[64, 9])
        .waves("blk.0.odd.weight", Format::BF16, &[7, 3])
        .waves("blk.0.experts.weight", Format::F32, &[256, 3, 2])
        .waves("position_embd.weight", Format::F16, &[512, 4])
        .waves("output.weight", Format::BF16, &[512, 70])
}

#[test]
fn every_format_is_near_the_weights() {
    let folder = Folder::new();
    let source = model();
    for &format in Format::ALL {
        let target = folder.path(format.name());
        let summary = run(&source, &target, format, 2).unwrap();
        let file = File::open(&target).unwrap();
        assert_eq!(file.names(), source.names());
        assert_eq!(file.metadata().text("general.architecture"), Ok(Some("llama")));
        assert_eq!(file.metadata().get("general.alignment"), None);
        assert_eq!(file.metadata().count("general.quantization_version"), Ok(Some(2)));
        assert_ne!(file.metadata().count("general.file_type"), Ok(Some(99)));
        for (name, converted) in file.names().into_iter().zip(&summary.tensors) {
            let (before, after) = (source.tensor(name).unwrap().unwrap(), file.tensor(name).unwrap().unwrap());
            assert_eq!(file.info(name).unwrap().as_ref(), Some(&converted.info));
            assert_eq!(converted.from, before.format);
            assert_eq!(before.shape, after.shape);
            let (before, bound) = (weights(&before), after.format.bound());
            let largest = before.iter().fold(0f32, |largest, weight| largest.max(weight.abs()));
            let allowed = f64::from(largest) * bound.max + bound.tiny;
            for (a, b) in before.iter().zip(weights(&after)) {
                assert!(f64::from((a - b).abs()) <= allowed, "{format} {name}: {a} {b}");
            }
        }
    }
}

#[test]
fn formats_are_chosen_as_told() {
    let folder = Folder::new();
    let of = |format: Format| {
        let summary = run(&model(), &folder.path(format.name()), format, 1).unwrap();
        let chosen = |part: &str| {
            let converted = summary.tensors.iter().find(|converted| converted.info.name.contains(part)).unwrap();
            (converted.info.format, converted.fallback)
        };
        assert_eq!(chosen("norm"), (Format::F32, false));
        assert_eq!(chosen("bias"), (Format::F32, false));
        assert_eq!(chosen("position"), (Format::F32, false));
        ["token_embd", "attn_q.w", "ffn_up", "odd", "experts", "output"].map(chosen)
    };
    let (kept, fell) = (|format| (format, false), |format| (format, true));
    use Format::*;
    assert_eq!(of(Q4_K), [kept(Q4_K), kept(Q4_K), fell(Q5_0), fell(F16), kept(Q4_K), kept(Q6_K)]);
    assert_eq!(of(Q5_K), [kept(Q5_K), kept(Q5_K), fell(Q5_1), fell(F16), kept(Q5_K), kept(Q6_K)]);
    assert_eq!(of(Q6_K), [kept(Q6_K), kept(Q6_K), fell(Q8_0), fell(F16), kept(Q6_K), kept(Q6_K)]);
    assert_eq!(of(Q4_0), [kept(Q4_0), kept(Q4_0), kept(Q4_0), fell(F16), kept(Q4_0), kept(Q4_0)]);
    assert_eq!(of(BF16), [kept(BF16); 6]);
}

#[test]
fn an_embedding_that_is_the_output_too_is_finer() {
    let mut tied = model();
    tied.tensors.retain(|(info, _)| info.name != "output.weight");
    let folder = Folder::new();
    let summary = run(&tied, &folder.path("tied"), Format::Q4_K, 1).unwrap();
    assert_eq!(summary.tensors[0].info.format, Format::Q6_K);
}

#[test]
fn threads_change_no_byte() {
    let folder = Folder::new();
    // More than one stretch of one thread, and a last one that is not full.
    let source = Model::default().waves("a.weight", Format::F32, &[256, 5000]).waves("b.weight", Format::F32, &[32, 1]);
    let bytes = [1, 2, 3].map(|threads| {
        let target = folder.path(&threads.to_string());
        run(&source, &target, Format::Q4_0, threads).unwrap();
        std::fs::read(target).unwrap()
    });
    assert!(bytes[0] == bytes[1] && bytes[0] == bytes[2]);
}

#[test]
fn weights_that_cannot_be_held_are_refused() {
    let folder = Folder::new();
    let refused = |weight: f32, format: Format, parts: &[&str]| {
        let mut values = waves(64, 0.0);
        values[40] = weight;
        let source =
            Model::default().waves("a.weight", Format::F32, &[32, 9]).with("b.weight", Format::F32, &[32, 2], &values);
        let error = run(&source, &folder.path("out"), format, 2).unwrap_err();
        for part in parts {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(folder.names(""), [""; 0]);
    };
    refused(f32::NAN, Format::Q8_0, &["tensor b.weight: row 1, column 8", "infinite or NaN"]);
    refused(f32::INFINITY, Format::F32, &["tensor b.weight: row 1, column 8"]);
    refused(-70_000.0, Format::F16, &["tensor b.weight: row 1", "exceeds 65504", "f16"]);
    refused(70_000.0, Format::Q4_0, &["exceeds 65504"]);
    refused(f32::MAX, Format::BF16, &["the largest that bf16 can hold"]);
}

#[test]
fn rows_of_halves_become_rows_of_pairs() {
    let rows: Vec<f32> = (0..8).flat_map(|row| [row as f32; 32]).collect();
    let bias: Vec<f32> = (0..8).map(|row| row as f32).collect();
    let source = |architecture: &str| {
        Model::default()
            .text("general.architecture", architecture)
            .text("hotloop.rope.pairing", "halves")
            .number("llama.attention.head_count", 2)
            .number("llama.attention.head_count_kv", 1)
            .with("blk.0.attn_q.weight", Format::F32, &[32, 8], &rows)
            .with("blk.0.attn_k.weight", Format::F16, &[32, 8], &rows)
            .with("blk.0.attn_q.bias", Format::F16, &[8], &bias)
            .with("blk.0.attn_v.weight", Format::F32, &[32, 8], &rows)
    };
    let folder = Folder::new();
    let order = |architecture: &str| {
        let target = folder.path(architecture);
        run(&source(architecture), &target, Format::F16, 2).unwrap();
        let file = File::open(&target).unwrap();
        assert_eq!(file.metadata().get("hotloop.rope.pairing"), None);
        let of = |name: &str, cols: usize| -> Vec<u8> {
            let weights = weights(&file.tensor(name).unwrap().unwrap());
            weights.iter().step_by(cols).map(|weight| *weight as u8).collect()
        };
        [("attn_q.weight", 32), ("attn_k.weight", 32), ("attn_q.bias", 1), ("attn_v.weight", 32)]
            .map(|(name, cols)| of(&format!("blk.0.{name}"), cols))
    };
    let (two_heads, one_head, same) = ([0, 2, 1, 3, 4, 6, 5, 7], [0, 4, 1, 5, 2, 6, 3, 7], [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(order("llama"), [two_heads, one_head, two_heads, same]);
    assert_eq!(order("qwen2"), [same; 4]);
}

#[test]
fn a_file_can_replace_itself() {
    let folder = Folder::new();
    let path = folder.path("model.gguf");
    run(&model(), &path, Format::F32, 1).unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(run(&file, &path, Format::Q8_0, 1).unwrap_err().kind(), ErrorKind::Refused);
    let pool = Pool::new(2);
    let options = QuantiseOptions { format: Format::Q8_0, pool: &pool, overwrite: true };
    quantise(&file, &path, &options, &mut |_, _| ControlFlow::Continue(())).unwrap();
    assert_eq!(file.info("blk.0.attn_q.weight").unwrap().unwrap().format, Format::F32);
    assert_eq!(File::open(&path).unwrap().info("blk.0.attn_q.weight").unwrap().unwrap().format, Format::Q8_0);
    assert_eq!(folder.names(""), ["model.gguf"]);
}

/// The file beside it was quantised by another program.
#[test]
fn a_real_model_is_what_others_make_of_it() {
    let (Some(path), Some(theirs)) = (shared("models/stories260K-f32.gguf"), shared("models/stories260K-q8_0.gguf"))
    else {
        return;
    };
    let (folder, source, theirs) = (Folder::new(), File::open(&path).unwrap(), File::open(&theirs).unwrap());
    let target = folder.path("q8_0.gguf");
    run(&source, &target, Format::Q8_0, 2).unwrap();
    let ours = File::open(&target).unwrap();
    for name in theirs.names() {
        let (a, b) = (ours.tensor(name).unwrap().unwrap(), theirs.tensor(name).unwrap().unwrap());
        assert_eq!((a.format, &a.shape), (b.format, &b.shape), "{name}");
        assert!(a.data == b.data, "{name}");
    }
}

#[test]
fn a_vocabulary_alone_is_refused() {
    let folder = Folder::new();
    let error = run(&Model::default(), &folder.path("out"), Format::Q8_0, 1).unwrap_err();
    assert!(error.kind() == ErrorKind::Refused && error.to_string().contains("vocabulary only"), "{error}");
}

#[test]
fn work_that_is_stopped_leaves_nothing() {
    let (folder, pool) = (Folder::new(), Pool::new(2));
    let options = QuantiseOptions { format: Format::Q8_0, pool: &pool, overwrite: false };
    let mut pieces = 0;
    let error = quantise(&model(), &folder.path("out"), &options, &mut |_, _| {
        pieces += 1;
        if pieces < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .unwrap_err();
    assert!(error.to_string().contains("stopped; nothing was written"), "{error}");
    assert_eq!((pieces, folder.names("").len()), (3, 0));
}
