//! Numbers to begin with, from files and to them.

use std::path::Path;

use engine::gguf::Writer;
use engine::train::{Examples, Mode, Network, NetworkOptions, Parameters};
use engine::{Architecture, Compute, Config, Metadata, Synthetic, SyntheticSource, TensorSource, Value};

use super::{options, rough, tiny};
use crate::folder::Folder;

#[test]
fn random_numbers_are_as_gpt2_has_them() {
    let config = Config { width: 64, heads: 4, head_dim: 16, ffn: 256, layers: 8, ..tiny(Architecture::Gpt2) };
    let parameters = Parameters::random(config.clone(), false, 1).unwrap();
    let deviation = |name: &str| {
        let values = parameters.tensor(name).unwrap();
        (values.iter().map(|value| f64::from(value * value)).sum::<f64>() / values.len() as f64).sqrt()
    };
    for name in ["token_embd", "position_embd", "blk.0.attn_qkv", "blk.7.ffn_up", "output"] {
        let found = deviation(&format!("{name}.weight"));
        assert!((found - 0.02).abs() < 0.002, "{name}: {found}");
    }
    for name in ["blk.0.attn_output.weight", "blk.7.ffn_down.weight"] {
        assert!((deviation(name) - 0.02 / 16f64.sqrt()).abs() < 0.000_3, "{name}: {}", deviation(name));
    }
    for entry in parameters.layout.entries().iter().filter(|entry| !entry.decays) {
        let expected = if entry.info.name.ends_with("norm.weight") { 1.0 } else { 0.0 };
        assert!(parameters.values[entry.range.clone()].iter().all(|value| *value == expected), "{}", entry.info.name);
    }
    assert_ne!(parameters.tensor("blk.0.ffn_up.weight"), parameters.tensor("blk.1.ffn_up.weight"));
    let again = Parameters::random(config.clone(), false, 1).unwrap();
    assert_eq!(parameters.values[..], again.values[..]);
    assert_ne!(parameters.values[..], Parameters::random(config, false, 2).unwrap().values[..]);
}

/// The same bits on every machine: what a training begins with is part of what it gives.
#[test]
fn random_numbers_never_change() {
    let parameters = Parameters::random(tiny(Architecture::Llama), true, 42).unwrap();
    let bits = parameters.values.iter().fold(0u64, |hash, value| {
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(5)
    });
    assert_eq!(bits, BITS);
}

const BITS: u64 = 7_442_751_105_862_449_191;

fn write(path: &Path, source: &dyn TensorSource) {
    let infos = source.names().into_iter().map(|name| source.info(name).unwrap().unwrap()).collect();
    let mut writer = Writer::create(path, true, source.metadata(), infos).unwrap();
    source.names().into_iter().for_each(|name| writer.write(&source.tensor(name).unwrap().unwrap().data).unwrap());
    writer.finish().unwrap();
}

#[test]
fn parameters_go_through_files() {
    let folder = Folder::new();
    for architecture in Architecture::trainable() {
        for tied in [true, false] {
            let config = Config { window: Some(3), ..tiny(architecture) };
            let parameters = rough(&config, tied, 3);
            let mut metadata = Metadata::default();
            metadata.set("general.name", Value::Text("a test".into()));
            let path = folder.path("model.gguf");
            write(&path, &parameters.source(metadata));
            let source = engine::open(&path).unwrap();
            assert_eq!(source.metadata().text("general.name").unwrap(), Some("a test"));
            let back = Parameters::read(&*source).unwrap();
            assert_eq!(back.config, config);
            assert_eq!(back.layout, parameters.layout);
            assert_eq!(back.values[..], parameters.values[..]);
        }
    }
}

#[test]
fn what_cannot_be_learned_is_refused() {
    let refusal = |result: engine::Result<Parameters>| result.err().map(|error| error.to_string()).unwrap();
    let config = tiny(Architecture::Llama);
    let odd = Config { kv_heads: 3, ..config.clone() };
    assert!(refusal(Parameters::random(odd, true, 1)).contains("4 heads are not divisible by 3"));
    let parameters = rough(&config, true, 1);
    let network = |options: NetworkOptions| Network::new(&config, &parameters.layout, options);
    assert!(network(options(0, 3)).unwrap_err().to_string().contains("without sequences"));
    let dropped = NetworkOptions { dropout: 1.0, ..options(1, 1) };
    assert!(network(dropped).unwrap_err().to_string().contains("dropout = 1"));
    let huge = network(options(1 << 30, 1 << 30)).unwrap_err().to_string();
    assert!(huge.contains("MiB of memory") && huge.contains("smaller batches"), "{huge}");
    let other = Config { width: 8, ..config.clone() };
    let other = Network::new(&other, &parameters.layout, options(1, 1)).unwrap_err().to_string();
    assert!(other.contains("the layout of another model: it differs from token_embd.weight on"), "{other}");
    for untrained in Architecture::ALL.into_iter().filter(|architecture| !architecture.features().trainable) {
        let config = tiny(untrained);
        let parameters = rough(&config, false, 1);
        let refused = Network::new(&config, &parameters.layout, options(1, 3)).unwrap_err().to_string();
        assert!(refused.contains(&format!("training {} models is not supported", untrained.name())), "{refused}");
    }
    let gpt2 = tiny(Architecture::Gpt2);
    let long = rough(&gpt2, true, 1);
    let long = Network::new(&gpt2, &long.layout, options(1, 10)).unwrap_err().to_string();
    assert!(long.contains("sequences of 10 tokens: this model has 9 positions"), "{long}");
}

/// Any model can be read, in any format.
#[test]
fn quantised_models_are_read_as_f32() {
    for format in [kernels::quant::Format::F16, kernels::quant::Format::Q8_0] {
        let spec = Synthetic { architecture: Architecture::Qwen2, format, ..Synthetic::SMALL };
        let source = SyntheticSource::new(spec.clone());
        let parameters = Parameters::read(&source).unwrap();
        assert_eq!(parameters.layout.parameters(), spec.parameters());
        let tensor = source.tensor("blk.1.ffn_up.weight").unwrap().unwrap();
        let mut values = vec![0.0; tensor.shape.iter().product()];
        kernels::Kernels::best().dequantise(tensor.format, &tensor.data, &mut values);
        assert_eq!(parameters.tensor("blk.1.ffn_up.weight"), Some(&values[..]));
    }
}

fn evaluate(tokens: &[u32], targets: &[u32]) {
    let config = tiny(Architecture::Llama);
    let parameters = rough(&config, true, 1);
    let mut network = Network::new(&config, &parameters.layout, options(2, 2)).unwrap();
    let compute = &Compute::new(Some(1)).unwrap();
    network.forward(compute, &parameters, Examples { tokens, targets }, Mode::Evaluate);
}

#[test]
#[should_panic(expected = "token Some(11) of a vocabulary of 11")]
fn tokens_that_are_none_are_the_callers_mistake() {
    evaluate(&[1, 11], &[2, 3]);
}

#[test]
#[should_panic(expected = "target Some(12) of a vocabulary of 11")]
fn targets_that_are_none_too() {
    evaluate(&[1, 2], &[kernels::IGNORED_TARGET, 12]);
}

#[test]
#[should_panic(expected = "3 tokens are not 1 to 2 sequences of 2")]
fn sequences_are_whole() {
    evaluate(&[1, 2, 3], &[1, 2, 3]);
}
