//! What texts cost, against values that were computed elsewhere, and by windows.

use std::fs;

use engine::gguf::File;
use engine::{CacheType, Compute, Encode, Model, Reading, Synthetic, SyntheticSource, Tokenizer, perplexity};
use serde_json::Value;

use crate::folder::shared;
use crate::reference::mean_nll;
use crate::trials::{exact, load, score};

fn compute() -> Compute {
    Compute::new(Some(2)).unwrap()
}

fn synthetic(compute: &Compute) -> Model {
    load(&SyntheticSource::new(Synthetic::SMALL), compute)
}

fn text(count: usize) -> Vec<u32> {
    (0..count as u32).map(|at| (at * 37 + at * at % 11) % 256).collect()
}

/// Files of all formats beside the mean NLL of their dequantised weights; how far they may be from it as in `golden`.
#[test]
fn trained_models_cost_what_they_should() {
    let Some(golden) = shared("golden/gguf_quant_nll.json") else { return };
    let golden: Value = serde_json::from_slice(&fs::read(golden).unwrap()).unwrap();
    let compute = compute();
    let files = [
        ("stories260K-f32", 1e-6),
        ("stories260K-f16", 1e-6),
        ("stories260K-q8_0", 5e-3),
        ("stories15M-q8_0", 5e-3),
        ("stories15M-q4_0", 2e-2),
    ];
    for (name, bound) in files {
        let Some(path) = shared(&format!("models/{name}.gguf")) else { return };
        let file = File::open(&path).unwrap();
        let (model, tokenizer) = (load(&file, &compute), tokenizer(&file));
        for text in ["golden_story", "tinyshakespeare"] {
            let words = fs::read_to_string(shared(&format!("text/{text}.txt")).unwrap()).unwrap();
            let mut tokens = tokenizer.encode(&words, Encode { add_special: true, parse_special: false });
            tokens.truncate(256);
            let reading = Reading { cache: CacheType::F32, window: Some(256) };
            let (got, wanted) =
                (perplexity(&model, &compute, &tokens, reading).unwrap(), &golden[format!("{name}:{text}")]);
            let wanted = wanted.as_f64().unwrap();
            assert!((got.mean / wanted - 1.0).abs() <= bound, "{name}, {text}: {} instead of {wanted}", got.mean);
            assert_eq!((got.tokens, got.perplexity()), (tokens.len() - 1, got.mean.exp()), "{name}, {text}");
        }
    }
}

fn tokenizer(file: &File) -> Tokenizer {
    use engine::TensorSource;
    Tokenizer::from_metadata(file.metadata()).unwrap()
}

#[test]
fn one_window_is_one_pass() {
    let compute = compute();
    let (model, tokens) = (synthetic(&compute), text(60));
    let logits = score(&model, &compute, &exact(64), &tokens);
    let wanted = mean_nll(&logits[..59], &tokens);
    let got = perplexity(&model, &compute, &tokens, Reading { cache: CacheType::F32, window: None }).unwrap();
    assert!((got.mean - wanted).abs() < 1e-5, "{} instead of {wanted}", got.mean);
    assert_eq!((got.tokens, got.each.len(), got.window), (59, 59, 59));
}

/// Every token is scored once, behind as much as its window has before it.
#[test]
fn windows_overlap_by_half() {
    let compute = compute();
    let (model, tokens) = (synthetic(&compute), text(50));
    let reading = |window| Reading { cache: CacheType::F32, window: Some(window) };
    let got = perplexity(&model, &compute, &tokens, reading(16)).unwrap();
    assert_eq!((got.tokens, got.window), (49, 16));
    // The first window has tokens 1 to 16; those that follow have eight new ones each, behind eight old ones.
    for start in (0..48).step_by(8) {
        let stop = (start + 16).min(49);
        let alone = perplexity(&model, &compute, &tokens[start..=stop], reading(16)).unwrap();
        let first = if start == 0 { 0 } else { start + 8 };
        for at in first..stop {
            let (whole, part) = (got.each[at], alone.each[at - start]);
            assert!((whole - part).abs() < 1e-5, "token {at} of the window at {start}: {whole}, alone {part}");
        }
        if stop == 49 {
            break;
        }
    }
    let whole = perplexity(&model, &compute, &tokens, reading(64)).unwrap();
    assert_ne!(got.mean, whole.mean, "less text before a token changes what it costs");
}

#[test]
fn what_cannot_be_scored_is_refused() {
    let compute = compute();
    let model = synthetic(&compute);
    let score = |tokens: &[u32]| perplexity(&model, &compute, tokens, Reading::default());
    for tokens in [&[][..], &[1]] {
        let error = score(tokens).unwrap_err().to_string();
        assert!(error.contains("scoring needs at least two"), "{error}");
    }
    let error = score(&[1, 2, 9_999, 3]).unwrap_err().to_string();
    assert!(error.contains("token 9999 of a vocabulary of 256"), "{error}");
    assert!(score(&[1, 9_999]).is_err(), "the last token is only looked for, but it has to be one");
}
