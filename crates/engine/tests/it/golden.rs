//! Trained models against values that were computed elsewhere, in f64, from the same weights.

use std::fs;

use engine::gguf::File;
use engine::{CacheType, Compute, Model, Segment, State, StateOptions, TensorSource};
use serde_json::Value;

use crate::folder::shared;
use crate::reference::{Reference, mean_nll};
use crate::sources::TestModel;
use crate::trials::{best, distance, exact, load, score};

/// Every file, and how far its mean NLL may be from that of its dequantised weights, as a share:
/// products with activations in bytes lose something, floats do not. Measured were 1.2e-7, 5e-8,
/// 1.6e-3, 1.5e-3 and 9e-4 at most.
const FILES: [(&str, f64); 5] = [
    ("stories260K-f32", 1e-6),
    ("stories260K-f16", 1e-6),
    ("stories260K-q8_0", 5e-3),
    ("stories15M-q8_0", 5e-3),
    ("stories15M-q4_0", 2e-2),
];
const TEXTS: [&str; 2] = ["golden_story", "tinyshakespeare"];

fn json(name: &str) -> Option<Value> {
    Some(serde_json::from_slice(&fs::read(shared(&format!("golden/{name}.json"))?).unwrap()).unwrap())
}

/// A model file and the golden values of the model it was made from.
fn model_and_golden(file: &str) -> Option<(File, Value)> {
    let (model, _) = file.split_once('-').unwrap();
    let path = shared(&format!("models/{file}.gguf"))?;
    Some((File::open(&path).unwrap(), json(&format!("{model}.golden"))?))
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn tokens(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|token| u32::try_from(token.as_u64().unwrap()).unwrap()).collect()
}

fn compute() -> Compute {
    Compute::new(Some(2)).unwrap()
}

#[track_caller]
fn close(got: f64, wanted: f64, share: f64, what: &str) {
    assert!((got - wanted).abs() <= share * wanted.abs(), "{what}: {got} instead of {wanted}");
}

#[test]
fn logits_of_single_precision() {
    let Some((file, golden)) = model_and_golden("stories260K-f32") else { return };
    let compute = compute();
    let model = load(&file, &compute);
    for text in TEXTS {
        let golden = &golden["texts"][text];
        let tokens = tokens(&golden["token_ids"]);
        let logits = score(&model, &compute, &exact(64), &tokens);
        for position in [0, 10, 255] {
            let mut order: Vec<usize> = (0..logits[position].len()).collect();
            order.sort_by(|a, b| logits[position][*b].total_cmp(&logits[position][*a]));
            for (rank, top) in golden[format!("top5_pos{position}")].as_array().unwrap().iter().enumerate() {
                let what = format!("{text}, position {position}, rank {rank}");
                assert_eq!(order[rank] as u64, top["id"].as_u64().unwrap(), "{what}");
                close(logits[position][order[rank]].into(), top["logit"].as_f64().unwrap(), 1e-5, &what);
            }
        }
        let largest = logits[10].iter().map(|logit| f64::from(logit.abs())).fold(0.0, f64::max);
        for (got, wanted) in logits[10].iter().zip(numbers(&golden["logits_pos10_first8"])) {
            assert!((f64::from(*got) - wanted).abs() < 1e-6 * largest, "{text}: {got} instead of {wanted}");
        }
        let length = logits[10].iter().map(|logit| f64::from(*logit).powi(2)).sum::<f64>().sqrt();
        close(length, golden["logits_l2_pos10"].as_f64().unwrap(), 1e-6, text);
        for (position, wanted) in numbers(&golden["nll_per_position"]).into_iter().enumerate() {
            let nll = mean_nll(&logits[position..=position], &tokens[position..]);
            // Golden values have six places.
            assert!((nll - wanted).abs() < 3e-5, "{text}, position {position}: {nll} instead of {wanted}");
        }
    }
}

/// The reference against what was computed elsewhere, and the engine against the reference, layer
/// by layer: models of the first layers alone show where a difference would begin.
#[test]
fn layer_by_layer() {
    let Some((file, golden)) = model_and_golden("stories260K-f32") else { return };
    let compute = compute();
    for text in TEXTS {
        let golden = &golden["texts"][text];
        let tokens = &tokens(&golden["token_ids"])[..11];
        let norms = Reference::new(&file).pass(tokens).residual_norms;
        for (layer, wanted) in numbers(&golden["residual_l2_after_layer_pos10"]).into_iter().enumerate() {
            close(norms[layer][10], wanted, 1e-7, &format!("{text}, layer {layer}"));
            let part = TestModel::of(&file).with_layers(layer + 1);
            let got = score(&load(&part, &compute), &compute, &exact(11), tokens);
            let away = distance(&got, &Reference::new(&part).logits(tokens));
            assert!(away.largest <= 1e-5, "{text}, {} layers: {away}", layer + 1);
        }
    }
}

#[test]
fn what_texts_cost() {
    let Some(golden) = json("gguf_quant_nll") else { return };
    let compute = compute();
    for (name, bound) in FILES {
        let Some((file, texts)) = model_and_golden(name) else { return };
        let model = load(&file, &compute);
        for text in TEXTS {
            let (tokens, wanted) = (tokens(&texts["texts"][text]["token_ids"]), &golden[format!("{name}:{text}")]);
            // What half precision and bytes lose in the cache comes on top.
            for (cache, more) in [(CacheType::F32, 0.0), (CacheType::F16, 5e-4), (CacheType::Q8_0, 1.5e-2)] {
                let logits = score(&model, &compute, &StateOptions { cache, ..exact(128) }, &tokens);
                let (got, wanted) = (mean_nll(&logits, &tokens), wanted.as_f64().unwrap());
                eprintln!("{name}, {text}, {}: {:.1e}", cache.name(), got / wanted - 1.0);
                close(got, wanted, bound + more, &format!("{name}, {text}, {}", cache.name()));
            }
        }
    }
}

/// Goes on with the best token each time.
fn greedy(model: &Model, compute: &Compute, cache: CacheType, prompt: &[u32], count: usize) -> Vec<u32> {
    let mut state = State::new(model, compute, &StateOptions { cache, ..StateOptions::default() }).unwrap();
    model.prefill(compute, &mut state, 0, prompt).unwrap();
    let mut all = vec![best(state.logits(0))];
    while all.len() < count {
        let segment = Segment { sequence: 0, tokens: &all[all.len() - 1..], logits: 1 };
        model.forward(compute, &mut state, &[segment]).unwrap();
        all.push(best(state.logits(0)));
    }
    all
}

/// Golden tokens are those of f32. Rounding weights, activations or the cache may lead elsewhere
/// where a choice was close, and from there on everything differs.
#[test]
fn the_best_token_each_time() {
    let compute = compute();
    for (name, _) in FILES.into_iter().filter(|(name, _)| !name.ends_with("q4_0")) {
        let Some((file, golden)) = model_and_golden(name) else { return };
        let golden = &golden["greedy"];
        let (prompt, wanted) = (tokens(&golden["prompt_ids"]), tokens(&golden["generated_ids"]));
        let margins = numbers(&golden["top1_minus_top2_logit"]);
        let model = load(&file, &compute);
        for cache in CacheType::ALL {
            let close = match (name.ends_with("q8_0"), cache) {
                (false, CacheType::F32 | CacheType::F16) => 0.0,
                (true, CacheType::F32 | CacheType::F16) => 0.1,
                (_, CacheType::Q8_0) => 0.15,
            };
            let sure = margins.iter().position(|margin| *margin < close).unwrap_or(64);
            let got = greedy(&model, &compute, cache, &prompt, 64);
            let same = got.iter().zip(&wanted).take_while(|(got, wanted)| got == wanted).count();
            eprintln!("{name}, {}: {same} the same, {sure} sure", cache.name());
            assert!(same >= sure, "{name}, {}: {same} the same, {sure} sure", cache.name());
        }
    }
}

/// Without the rounding of activations, weights of 8 bits choose all that f32 weights do.
#[test]
fn exact_products_choose_every_golden_token() {
    let compute = compute();
    for (name, _) in FILES.into_iter().filter(|(name, _)| name.ends_with("q8_0")) {
        let Some((file, golden)) = model_and_golden(name) else { return };
        let golden = &golden["greedy"];
        let (prompt, wanted) = (tokens(&golden["prompt_ids"]), tokens(&golden["generated_ids"]));
        let options = &mut engine::LoadOptions { exact: true, ..engine::LoadOptions::default() };
        let model = Model::load(&file, &compute, options).unwrap();
        for cache in [CacheType::F32, CacheType::F16] {
            assert_eq!(greedy(&model, &compute, cache, &prompt, 64), wanted, "{name}, {}", cache.name());
        }
    }
}

/// Token by token, in small blocks, as one block, and on every instruction set: where activations
/// are bytes, a last bit of a norm or of attention turns into another code now and then, and from
/// there on all later codes may differ. Then every way must be as near to the weights' own answer
/// as the others, and no two farther from each other than two independent roundings of the
/// activations are. With exact products all ways are the same but for last bits. A fault of one way
/// would show as a larger distance or as another cost of the text.
#[test]
fn all_ways_are_equally_near() {
    for name in ["stories260K-q8_0", "stories15M-q8_0", "stories15M-q4_0"] {
        let Some((file, golden)) = model_and_golden(name) else { return };
        let tokens = &tokens(&golden["texts"]["golden_story"]["token_ids"])[..128];
        let pool = || kernels::Pool::new(2);
        let sets = kernels::Kernels::available().into_iter().map(|kernels| Compute { kernels, pool: pool() });
        let ways: Vec<_> = sets.flat_map(|compute| score_ways(&file, compute, tokens)).collect();
        let options = &mut engine::LoadOptions { exact: true, ..engine::LoadOptions::default() };
        let exactly = Model::load(&file, &compute(), options).unwrap();
        let wanted = score(&exactly, &compute(), &exact(128), tokens);
        let one_by_one = distance(&score(&exactly, &compute(), &exact(1), tokens), &wanted);
        assert!(one_by_one.rms < 1e-5, "{name}, exact products: {one_by_one}");
        let cost = mean_nll(&wanted, tokens);
        let away: Vec<f64> = ways.iter().map(|(_, logits)| distance(logits, &wanted).rms).collect();
        let typical = away.iter().sum::<f64>() / away.len() as f64;
        for (index, (way, logits)) in ways.iter().enumerate() {
            let apart = distance(logits, &ways[0].1).rms;
            let dearer = mean_nll(logits, tokens) / cost - 1.0;
            eprintln!("{name}, {way}: {:.2e} away, {apart:.2e} from the first, {dearer:+.1e} of the cost", away[index]);
            assert!((away[index] / typical - 1.0).abs() < 0.25, "{name}, {way}: {:.2e} of {typical:.2e}", away[index]);
            assert!(apart < 1.5 * typical, "{name}, {way}: {apart:.2e} from the first, {typical:.2e} away");
            assert!(dearer.abs() < 0.02, "{name}, {way}: {dearer:+.1e} of the cost");
        }
    }
}

fn score_ways(file: &File, compute: Compute, tokens: &[u32]) -> Vec<(String, Vec<Vec<f32>>)> {
    let (model, isa) = (load(file, &compute), compute.kernels.isa().name());
    let way = |block: usize| (format!("{isa}, blocks of {block}"), score(&model, &compute, &exact(block), tokens));
    [1, 3, 16, 128].map(way).into()
}

/// With the tokens given, each next one is compared with that of the dequantised weights, where those are sure of it.
#[test]
fn bytes_choose_what_their_weights_say() {
    for name in ["stories15M-q8_0", "stories15M-q4_0"] {
        let Some((file, golden)) = model_and_golden(name) else { return };
        let golden = &golden["greedy"];
        let tokens = [tokens(&golden["prompt_ids"]), tokens(&golden["generated_ids"])].concat();
        let compute = compute();
        let logits = score(&load(&file, &compute), &compute, &exact(1), &tokens);
        let wanted = Reference::new(&file).logits(&tokens);
        let mut sure = 0;
        for (position, (got, wanted)) in logits.iter().zip(&wanted).enumerate() {
            let mut order: Vec<usize> = (0..wanted.len()).collect();
            order.sort_by(|a, b| wanted[*b].total_cmp(&wanted[*a]));
            let margin = wanted[order[0]] - wanted[order[1]];
            let same = best(got) as usize == order[0];
            assert!(same || margin < 0.2, "{name}, position {position}: {} with {margin}", order[0]);
            sure += usize::from(margin >= 0.2);
        }
        assert!(sure > tokens.len() * 3 / 4, "{sure} of {}", tokens.len());
        let away = distance(&logits, &wanted);
        eprintln!("{name}, {sure} of {} sure: {away}", tokens.len());
        assert!(away.largest < 0.08 && away.rms < 0.03, "{name}: {away}");
    }
}

/// Weights that stay in the file give what packed ones do.
#[test]
fn weights_in_place() {
    for (name, _) in FILES {
        let Some((file, golden)) = model_and_golden(name) else { return };
        let tokens = &tokens(&golden["texts"]["golden_story"]["token_ids"])[..40];
        let compute = compute();
        let wanted = score(&load(&file, &compute), &compute, &exact(20), tokens);
        let options = &mut engine::LoadOptions { in_place: true, ..engine::LoadOptions::default() };
        let model = Model::load(&file, &compute, options).unwrap();
        drop(file);
        let away = distance(&score(&model, &compute, &exact(20), tokens), &wanted);
        eprintln!("{name}: {away}");
        // Products of quantised weights have the same bits either way, sums of floats another
        // order; some matrices of the smaller model stay halves.
        assert!(away.largest <= if name.starts_with("stories15M") { 0.0 } else { 1e-5 }, "{name}: {away}");
    }
}

/// Metadata of a real file make the sizes that its paper tells.
#[test]
fn sizes_of_real_files() {
    let Some((file, golden)) = model_and_golden("stories260K-q8_0") else { return };
    let config = load(&file, &compute()).config;
    let wanted = &golden["config"];
    for (name, size) in [
        ("dim", config.width),
        ("hidden_dim", config.ffn),
        ("n_layers", config.layers),
        ("n_heads", config.heads),
        ("n_kv_heads", config.kv_heads),
        ("vocab_size", config.vocab),
        ("seq_len", config.context),
    ] {
        assert_eq!(wanted[name].as_u64().unwrap(), size as u64, "{name}");
    }
    let parameters: usize =
        file.names().iter().map(|name| file.info(name).unwrap().unwrap().shape.iter().product::<usize>()).sum();
    assert_eq!(parameters as u64, golden["n_params"].as_u64().unwrap());
}
