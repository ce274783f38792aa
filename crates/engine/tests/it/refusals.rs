//! What cannot be is refused with a sentence that says what and where, and nothing has changed.

use engine::{
    CacheType, Compute, Config, Error, ErrorKind, LoadOptions, Model, Segment, State, StateOptions, Synthetic, Value,
};
use kernels::quant::Format;

use crate::random::Random;
use crate::sources::{TestModel, gpt2, llama};
use crate::trials::{exact, go_on, load, score};

fn compute() -> Compute {
    Compute::new(Some(1)).unwrap()
}

fn made() -> TestModel {
    TestModel::varied(&llama())
}

#[track_caller]
fn check(error: &Error, kind: ErrorKind, says: &str) {
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "`{error}` does not say `{says}`");
}

/// Loading it fails so.
#[track_caller]
fn refuses(made: &TestModel, kind: ErrorKind, says: &str) {
    for in_place in [false, true] {
        let error = Model::load(made, &compute(), &mut LoadOptions { in_place, ..LoadOptions::default() }).unwrap_err();
        check(&error, kind, says);
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

use ErrorKind::{Malformed, Refused, Unsupported};
use Value::{Float, Signed, Unsigned};

#[test]
fn keys_that_are_missing() {
    for key in ["general.architecture", "llama.embedding_length", "llama.block_count", "llama.context_length"] {
        refuses(&made().without_key(key), Malformed, &format!("the key {key} is missing"));
    }
    for key in ["llama.feed_forward_length", "llama.attention.head_count"] {
        refuses(&made().without_key(key), Malformed, &format!("the key {key} is missing"));
    }
    // These follow from others.
    let whole = made().without_key("llama.rope.dimension_count").without_key("llama.vocab_size");
    load(&whole.without_key("llama.attention.layer_norm_rms_epsilon"), &compute());
}

#[test]
fn sizes_that_cannot_be() {
    let sizes = ["embedding_length", "block_count", "context_length", "feed_forward_length"];
    let heads = ["attention.head_count", "attention.head_count_kv", "attention.key_length", "rope.dimension_count"];
    for key in sizes.iter().chain(&heads) {
        let key = format!("llama.{key}");
        for size in [0, 1 << 29, 1 << 40, u64::MAX] {
            refuses(&made().set(&key, Unsigned(size)), Malformed, &format!("key {key}: "));
        }
        refuses(&made().set(&key, Signed(-1)), Malformed, &format!("key {key}: not a count"));
        refuses(&made().set(&key, text("4")), Malformed, &format!("key {key}: not a count"));
    }
    refuses(&made().set("llama.attention.head_count_kv", Unsigned(3)), Malformed, "4 heads are not divisible by 3");
    refuses(&made().set("llama.rope.dimension_count", Unsigned(7)), Malformed, "7 values of a head of 16");
    refuses(&made().set("llama.rope.dimension_count", Unsigned(18)), Malformed, "18 values of a head of 16");
    refuses(&made().set("llama.attention.key_length", Unsigned(1 << 19)), Malformed, "exceed the size limit");
    refuses(&made().set("llama.attention.head_count", Unsigned(128)), Malformed, "key llama.attention.key_length: 0");
    let config = Config::read(&made()).unwrap();
    for broken in [Config { heads: 0, kv_heads: 1, ..config.clone() }, Config { layers: 0, ..config }] {
        check(&broken.check().unwrap_err(), Malformed, "a size of zero");
    }
}

#[test]
fn numbers_that_cannot_be() {
    let eps = "llama.attention.layer_norm_rms_epsilon";
    for (key, value, says) in [
        (eps, Float(-1e-5), "invalid norm epsilon -0.00001"),
        (eps, Float(1.0), "invalid norm epsilon 1"),
        (eps, Float(f64::NAN), "NaN is not a finite number"),
        (eps, text("small"), "not a number"),
        ("llama.rope.freq_base", Float(0.0), "0 is not positive"),
        ("llama.rope.freq_base", Float(-1.0), "-1 is not positive"),
        ("llama.rope.freq_base", Float(f64::INFINITY), "inf is not a finite number"),
        ("llama.rope.scaling.factor", Float(-2.0), "invalid RoPE scaling factor -2"),
        ("llama.rope.scaling.factor", Float(1e-310), "invalid RoPE scaling factor"),
        ("llama.rope.scale_linear", Float(-2.0), "invalid RoPE scaling factor -2"),
        ("llama.attention.sliding_window", Signed(-3), "not a count"),
        ("hotloop.rope.pairing", text("thirds"), "`thirds` is neither"),
    ] {
        refuses(&made().set(key, value), Malformed, says);
    }
}

#[test]
fn what_is_not_supported() {
    refuses(
        &made().set("general.architecture", text("mamba")),
        Unsupported,
        "`mamba` is not supported; supported are gpt2",
    );
    refuses(&made().set("general.architecture", Unsigned(3)), Malformed, "general.architecture: not a text");
    refuses(&made().set("llama.rope.scaling.type", text("yarn")), Unsupported, "RoPE scaling `yarn`");
    refuses(&made().set("llama.attention.value_length", Unsigned(8)), Unsupported, "of different lengths");
    for (key, what) in [
        ("expert_count", "a mixture of experts"),
        ("attention.max_alibi_bias", "ALiBi"),
        ("attn_logit_softcapping", "capped scores"),
        ("final_logit_softcapping", "capped logits"),
        ("logit_scale", "scaled logits"),
        ("embedding_scale", "scaled embeddings"),
        ("residual_scale", "residual stream"),
    ] {
        let key = format!("llama.{key}");
        refuses(&made().set(&key, Unsigned(8)), Unsupported, &format!("key {key}: "));
        refuses(&made().set(&key, Float(0.5)), Unsupported, what);
        // Zero says that there is none.
        load(&made().set(&key, Unsigned(0)), &compute());
    }
}

#[test]
fn keys_that_change_results_are_read_or_refused() {
    for (key, value) in [
        ("rope.scaling.attn_factor", Float(0.5)),
        ("attention.causal", Value::Bool(false)),
        ("attention.scale", Float(0.2)),
        ("attention.clamp_kqv", Float(8.0)),
        ("use_parallel_residual", Value::Bool(true)),
        ("rope.dimension_sections", Value::Array(engine::Array::Unsigned(vec![8, 8, 0, 0]))),
        ("a_key_of_tomorrow", Unsigned(1)),
    ] {
        let key = format!("llama.{key}");
        refuses(&made().set(&key, value), Unsupported, &format!("key {key}: "));
    }
    for (key, value) in [
        ("rope.scaling.attn_factor", Float(1.0)),
        ("attention.causal", Value::Bool(true)),
        ("attention.clamp_kqv", Float(0.0)),
        ("use_parallel_residual", Value::Bool(false)),
        ("rope.scaling.original_context_length", Unsigned(96)),
        ("tensor_data_layout", text("Meta AI original pth")),
    ] {
        load(&made().set(&format!("llama.{key}"), value), &compute());
    }
    // Of another family, which this model is not.
    load(&made().set("qwen2.attention.scale", Float(0.2)), &compute());
}

#[test]
fn tensors_that_would_be_left_out() {
    for (name, len) in [
        ("blk.0.attn_q_norm.weight", 16),
        ("blk.1.attn_k_norm.weight", 16),
        ("blk.0.attn_sub_norm.weight", 64),
        ("blk.2.attn_norm.bias", 64),
        ("output_norm.bias", 64),
        ("rope_factors_long.weight", 8),
        ("rope_factors_short.weight", 8),
        ("blk.0.attn_q.scale", 1),
        ("blk.3.attn_norm.weight", 64),
        ("blk.00.attn_norm.weight", 64),
        ("position_embd.weight", 64),
        ("token_embd.bias", 293),
        ("anything", 1),
    ] {
        let with = made().put(name, &[len], &vec![1.0; len]);
        refuses(&with, Unsupported, &format!("tensor {name}: not expected in a llama model of 3 layers"));
    }
    let gpt2 = TestModel::varied(&gpt2());
    for name in ["rope_freqs.weight", "blk.0.attn_q.weight", "blk.0.ffn_gate.weight"] {
        refuses(
            &gpt2.clone().put(name, &[8], &[1.0; 8]),
            Unsupported,
            &format!("tensor {name}: not expected in a gpt2 model"),
        );
    }
}

#[test]
fn tensors_that_are_missing() {
    let optional = ["output.weight", "blk.0.attn_q.bias", "blk.0.attn_qkv.bias"];
    let names = |spec: &Synthetic| {
        let made = TestModel::varied(spec);
        let first = |name: &&str| !name.contains("blk.") || name.starts_with("blk.0.") || name.starts_with("blk.2.");
        let names = engine::TensorSource::names(&made).into_iter().filter(first);
        names.filter(|name| !optional.contains(name)).map(str::to_owned).collect::<Vec<_>>()
    };
    for spec in [llama(), gpt2()] {
        for name in names(&spec) {
            // Biases of matrices may be absent, those of norms may not; a fused matrix may be three instead.
            let says = match name.as_str() {
                name if name.ends_with("bias") && !name.contains("norm") => continue,
                "token_embd.weight" => "the tensor token_embd.weight is missing: not a complete model".into(),
                name if name.contains("attn_qkv") => name.replace("qkv", "q"),
                name => format!("the tensor {name} is missing"),
            };
            refuses(&TestModel::varied(&spec).without(&name), Malformed, &says);
        }
    }
}

#[test]
fn tensors_of_another_shape() {
    for spec in [llama(), gpt2()] {
        let names: Vec<String> = {
            let made = TestModel::varied(&spec);
            engine::TensorSource::names(&made).into_iter().map(str::to_owned).collect()
        };
        for name in names {
            let longer = |made: TestModel| {
                made.change(&name, |tensor| {
                    *tensor.shape.last_mut().unwrap() += 1;
                    let row = tensor.format.row_bytes(tensor.shape[0]).unwrap();
                    let bytes = row * tensor.shape[1..].iter().product::<usize>();
                    tensor.data.to_mut().resize(bytes, 0);
                })
            };
            // The embedding says how many tokens there are, so that the head is wrong then.
            let says = if name == "token_embd.weight" { "tensor output.weight: the shape is" } else { "the shape is" };
            refuses(&longer(TestModel::varied(&spec)), Malformed, says);
            let flat = TestModel::varied(&spec).change(&name, |tensor| tensor.shape.push(1));
            let shape = if name == "token_embd.weight" { "invalid shape" } else { "the shape is" };
            refuses(&flat, Malformed, &format!("tensor {name}: {shape}"));
        }
    }
    let no_tokens = |made: TestModel| made.change("token_embd.weight", |tensor| tensor.shape[1] = 0);
    refuses(&no_tokens(made()), Malformed, "invalid shape [64, 0]");
    let factors = made().put("rope_freqs.weight", &[7], &[1.0; 7]);
    refuses(&factors, Malformed, "tensor rope_freqs.weight: the shape is [7], expected [8]");
}

#[test]
fn tensors_with_other_numbers() {
    let cut = |tensor: &mut engine::Tensor<'static>| assert!(tensor.data.to_mut().pop().is_some());
    for name in ["token_embd.weight", "blk.1.ffn_up.weight", "output_norm.weight"] {
        refuses(&made().change(name, cut), Malformed, &format!("tensor {name}: "));
    }
    // Rows that are no whole blocks.
    let blocks = |tensor: &mut engine::Tensor<'static>| tensor.format = Format::Q4_K;
    refuses(&made().change("blk.1.ffn_up.weight", blocks), Malformed, "tensor blk.1.ffn_up.weight: rows of 64");
    for factor in [0.0, -1.0] {
        let factors = [1.0, 1.0, factor, 1.0, 1.0, 1.0, 1.0, 1.0];
        refuses(&made().put("rope_freqs.weight", &[8], &factors), Malformed, "tensor rope_freqs.weight: ");
    }
    let broken = |value: f32| {
        move |tensor: &mut engine::Tensor<'static>| {
            tensor.data.to_mut()[400..404].copy_from_slice(&value.to_le_bytes());
        }
    };
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let norm = made().put("output_norm.weight", &[64], &[value; 64]);
        refuses(&norm, Malformed, "tensor output_norm.weight: ");
        for name in ["token_embd.weight", "blk.0.attn_k.weight", "output.weight"] {
            let made = made().change(name, broken(value));
            let error = Model::load(&made, &compute(), &mut LoadOptions::default()).unwrap_err();
            check(&error, Malformed, &format!("tensor {name}: row 1, column 36"));
        }
    }
}

#[test]
fn states_that_cannot_be() {
    let compute = compute();
    let plain = StateOptions::default();
    let [model, learned] = [llama(), gpt2()].map(|spec| load(&TestModel::varied(&spec), &compute));
    let refuses = |model: &Model, options: StateOptions, says: &str| {
        check(&State::new(model, &compute, &options).unwrap_err(), Refused, says);
    };
    for options in [
        StateOptions { sequences: 0, ..plain },
        StateOptions { block: 0, ..plain },
        StateOptions { logits: 0, ..plain },
    ] {
        refuses(&model, options, "a state needs at least one sequence, token and logit");
    }
    refuses(&model, StateOptions { context: Some(0), ..plain }, "a context of 0 tokens");
    refuses(
        &learned,
        StateOptions { context: Some(97), ..plain },
        "a context of 97 tokens: this model has 96 learned positions",
    );
    // Positions that are turned have no end.
    assert_eq!(State::new(&model, &compute, &StateOptions { context: Some(97), ..plain }).unwrap().context(), 97);
    for huge in [usize::MAX, usize::MAX / 2, 1 << 48] {
        refuses(&model, StateOptions { context: Some(huge), ..plain }, "memory");
        refuses(&model, StateOptions { sequences: huge, ..plain }, "memory");
        // No pass can be longer than all contexts together, whatever was asked for.
        let state = State::new(&model, &compute, &StateOptions { block: huge, logits: huge, ..plain }).unwrap();
        assert_eq!(state.block(), 96);
    }
}

/// 3 layers × 2 heads of 16 values, keys and values.
#[test]
fn budgets() {
    let compute = compute();
    let model = load(&made(), &compute);
    for (cache, bytes) in [(CacheType::F32, 64), (CacheType::F16, 32), (CacheType::Q8_0, 34)] {
        let position = 2 * 3 * 2 * bytes;
        let options = StateOptions { sequences: 2, context: Some(50), cache, ..StateOptions::default() };
        let budget = |bytes: usize| StateOptions { cache_budget: Some(bytes), ..options };
        let state = State::new(&model, &compute, &budget(100 * position)).unwrap();
        assert_eq!((state.memory().cache, state.cache_bytes_per_token()), (100 * position, position));
        let error = State::new(&model, &compute, &budget(100 * position - 1)).unwrap_err();
        check(&error, Refused, &format!("takes {} KiB", (100 * position).div_ceil(1024)));
        check(&error, Refused, "49 tokens would fit");
    }
}

/// What a pass refuses, and that the state is as it was: its length, its logits and what comes next.
#[test]
fn passes_that_cannot_be() {
    let compute = compute();
    let model = load(&made(), &compute);
    let options = StateOptions { sequences: 3, context: Some(20), block: 8, logits: 4, ..exact(8) };
    let tokens = Random(1).tokens(20, 293);
    let mut state = State::new(&model, &compute, &options).unwrap();
    go_on(&model, &compute, &mut state, &tokens[..4]);
    model.forward(&compute, &mut state, &[Segment { sequence: 0, tokens: &tokens[4..8], logits: 2 }]).unwrap();
    let wanted = [state.logits(0).to_vec(), state.logits(1).to_vec()];
    let segment = |sequence: usize, tokens: &'static [u32], logits: usize| Segment { sequence, tokens, logits };
    let good = segment(1, &[1, 2], 1);
    for (segments, says) in [
        (&[segment(3, &[1], 1)][..], "no sequence 3: there are 3, counted from 0"),
        (&[segment(usize::MAX, &[1], 1)], "there are 3, counted from 0"),
        (&[good, good], "sequence 1 occurs twice in one pass"),
        (&[good, segment(0, &[], 0)], "0 tokens, but 0 logits"),
        (&[good, segment(0, &[1], 2)], "1 tokens, but 2 logits"),
        (&[good, segment(0, &[5, 293], 1)], "token 293 of a vocabulary of 293"),
        (&[good, segment(0, &[u32::MAX], 0)], "token 4294967295 of a vocabulary of 293"),
        (&[good, segment(0, &[1; 7], 0)], "9 tokens with 1 logits exceed the pass's 8 with 4"),
        (&[good, segment(0, &[1; 4], 4)], "6 tokens with 5 logits exceed the pass's 8 with 4"),
        (&[good, segment(0, &[1; 13], 0)], "the context is full: 13 more tokens after 8 of 20"),
    ] {
        check(&model.forward(&compute, &mut state, segments).unwrap_err(), Refused, says);
    }
    // The second block is the wrong one.
    for (sequence, prompt, says) in [
        (0, &[1, 1, 1, 1, 1, 1, 1, 1, 1, 300][..], "token 300 of a vocabulary of 293"),
        (0, &[1; 13], "the context is full: 13 more tokens after 8 of 20"),
        (0, &[], "0 tokens, but 1 logits"),
        (7, &[1], "no sequence 7: there are 3, counted from 0"),
    ] {
        check(&model.prefill(&compute, &mut state, sequence, prompt).unwrap_err(), Refused, says);
    }
    assert_eq!([0, 1, 2].map(|sequence| state.len(sequence)), [8, 0, 0]);
    assert_eq!([state.logits(0).to_vec(), state.logits(1).to_vec()], wanted);
    for tokens in tokens[8..].chunks(4) {
        model.forward(&compute, &mut state, &[Segment { sequence: 0, tokens, logits: 1 }]).unwrap();
    }
    let alone = score(&model, &compute, &StateOptions { sequences: 1, block: 4, ..options }, &tokens);
    assert_eq!(state.logits(0), &alone[19][..]);
    let full = model.forward(&compute, &mut state, &[segment(0, &[1], 1)]).unwrap_err();
    check(&full, Refused, "the context is full: 1 more tokens after 20 of 20");
}

#[test]
fn states_of_others() {
    let (one, two) = (compute(), Compute::new(Some(2)).unwrap());
    let [model, other] = [llama(), gpt2()].map(|spec| load(&TestModel::varied(&spec), &one));
    let segments = [Segment { sequence: 0, tokens: &[1, 2, 3], logits: 1 }];
    let mut state = State::new(&model, &one, &StateOptions::default()).unwrap();
    check(&other.forward(&one, &mut state, &segments).unwrap_err(), Refused, "belongs to another model");
    check(&model.forward(&two, &mut state, &segments).unwrap_err(), Refused, "on 2 threads in a state made for 1");
    let mut state = State::new(&model, &two, &StateOptions::default()).unwrap();
    model.forward(&one, &mut state, &segments).unwrap();
    model.forward(&two, &mut state, &segments).unwrap();
    // Nothing to do is nothing wrong.
    model.forward(&two, &mut state, &[]).unwrap();
    assert_eq!(state.len(0), 6);
}

#[test]
fn recipes_that_cannot_be() {
    for (recipe, says) in [
        ("", "the width is missing"),
        ("d=64", "the number of layers is missing"),
        ("d=64,layers", "`layers` is not a size"),
        ("d=64,layers=0", "layers=0: not a whole number from 1"),
        ("d=64,layers=-1", "layers=-1: not a whole number from 1"),
        ("d=64,layers=99999999999999999999", "not a whole number from 1"),
        ("d=65537,layers=1", "d=65537: not a whole number from 1 to 65536"),
        ("d=64,layers=1,depth=3", "`depth` is not a size"),
        ("d=64,layers=1,heads=3", "d=64 cannot be split into 3 heads"),
        ("d=64,layers=1,heads=64", "d=64 cannot be split into 64 heads of even width"),
        ("d=64,layers=1,heads=4,kv_heads=3", "heads=4 is not divisible by kv_heads=3"),
        ("d=64,layers=1,type=q3_x", "type=q3_x: unknown; known are f32"),
        ("d=64,layers=1,tied=perhaps", "tied=perhaps: true or false"),
        ("d=64,layers=1,seed=x", "seed=x: not a whole number"),
        ("arch=gpt2,d=64,layers=1,heads=4,kv_heads=2", "gpt2 models need as many as heads"),
    ] {
        check(&Synthetic::parse(recipe).unwrap_err(), Refused, says);
    }
    check(&Synthetic::parse("d=64,layers=1,arch=bert").unwrap_err(), Unsupported, "`bert`");
    assert_eq!(Synthetic::parse("small"), Ok(Synthetic::SMALL));
    assert_eq!(Synthetic::parse("medium"), Ok(Synthetic::MEDIUM));
    let packed = Synthetic { format: Format::Q8_0, layers: 1, ..Synthetic::MEDIUM };
    assert_eq!(Synthetic::parse("medium,type=q8_0,layers=1"), Ok(packed));
    let spec =
        Synthetic::parse("arch=qwen2,d=64,layers=2,heads=4,kv_heads=2,ffn=96,vocab=300,ctx=40,tied=true,type=q8_0");
    let spec = spec.unwrap();
    let (sizes, wanted) = ([spec.width, spec.layers, spec.heads, spec.kv_heads, spec.ffn], [64, 2, 4, 2, 96]);
    assert_eq!((sizes, spec.vocab, spec.context, spec.tied, spec.format), (wanted, 300, 40, true, Format::Q8_0));
}
