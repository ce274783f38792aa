//! Sound files for the fuzzer to begin with.

use std::path::Path;

use engine::gguf::Writer;
use engine::train::{Optimiser, OptimiserKind, Parameters};
use engine::{Array, Metadata, Synthetic, SyntheticSource, TensorInfo, TensorSource, Value};
use kernels::quant::Format;
use training::checkpoint::{Saved, State};

/// A little of everything.
pub fn gguf(path: &Path) -> engine::Result<()> {
    let mut metadata = Metadata::default();
    metadata.set("general.alignment", Value::Unsigned(8));
    metadata.set("number", Value::Float(0.1));
    metadata.set("list", Value::Array(Array::Signed(vec![1, -2])));
    metadata.set("texts", Value::Array(Array::Text(vec!["a".to_owned(), String::new()])));
    let info =
        |format: Format| TensorInfo { name: format.name().to_owned(), format, shape: vec![format.block_len(), 2] };
    let infos: Vec<TensorInfo> = [Format::F32, Format::Q8_0].into_iter().map(info).collect();
    let mut writer = Writer::create(path, true, &metadata, infos)?;
    writer.write(&[0; 8])?;
    writer.write(&[0; 68])?;
    writer.finish()?;
    Ok(())
}

/// Version 0: dimension 2, hidden 1, a layer, a head, a token, a position.
pub fn llama2c(path: &Path) -> engine::Result<()> {
    let header = [2, 1, 1, 1, 1, 1, 1i32];
    let floats = 2 + 2 + 4 * 4 + 2 + 3 * 2 + 2 + 2;
    let mut bytes: Vec<u8> = header.iter().flat_map(|field| field.to_le_bytes()).collect();
    bytes.resize(bytes.len() + 4 * floats, 0);
    std::fs::write(path, bytes).map_err(|error| engine::Error::io(path, &error))
}

/// Configuration, tokenizer and weights.
pub fn safetensors(path: &Path) -> engine::Result<()> {
    let config = r#"{"model_type":"llama","hidden_size":4,"intermediate_size":3,"num_hidden_layers":1,
        "num_attention_heads":2,"max_position_embeddings":8,"rope_scaling":{"type":"linear","factor":2}}"#;
    let tokenizer = r#"{"model":{"vocab":{"a":0,"ab":1},"merges":["a b"]},"pre_tokenizer":{"type":"ByteLevel"},
        "added_tokens":[{"id":2,"content":"<s>","special":true}],"bos_token":"<s>"}"#;
    let header = r#"{"model.embed_tokens.weight":{"dtype":"BF16","shape":[3,4],"data_offsets":[0,24]},
        "model.layers.0.mlp.up_proj.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[24,32]}}"#;
    let mut bytes = [config.as_bytes(), &[0], tokenizer.as_bytes(), &[0]].concat();
    bytes.extend((header.len() as u64).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend([0; 32]);
    std::fs::write(path, bytes).map_err(|error| engine::Error::io(path, &error))
}

/// A run with every field.
pub fn record(path: &Path) -> engine::Result<()> {
    let text = include_str!("../../crates/record/tests/fixtures/run-1.json");
    std::fs::write(path, text).map_err(|error| engine::Error::io(path, &error))
}

/// A text of each format, behind a byte that names it.
const TEXTS: &[(&str, &str)] = &[
    ("smallmind-enhanced", include_str!("../../crates/import/tests/fixtures/smallmind-enhanced.md")),
    ("smallmind-standard", include_str!("../../crates/import/tests/fixtures/smallmind-standard.md")),
    ("smallmind-comparison", include_str!("../../crates/import/tests/fixtures/smallmind-comparison.md")),
    ("smallmind-models", include_str!("../../crates/import/tests/fixtures/smallmind-models.md")),
    ("smallmind-consolidated", include_str!("../../crates/import/tests/fixtures/smallmind-consolidated.md")),
    ("smallmind-allocation", include_str!("../../crates/import/tests/fixtures/smallmind-allocation.txt")),
    ("smallmind-benchmarks", include_str!("../../crates/import/tests/fixtures/smallmind-benchmarks.json")),
    ("loopos", include_str!("../../crates/import/tests/fixtures/loopos.txt")),
    ("llama-bench", include_str!("../../crates/import/tests/fixtures/llama-bench.jsonl")),
    ("llama-bench", include_str!("../../crates/import/tests/fixtures/llama-bench.md")),
    ("hyperfine", include_str!("../../crates/import/tests/fixtures/hyperfine-1.json")),
    ("hyperfine", include_str!("../../crates/import/tests/fixtures/hyperfine-2.json")),
    ("google-benchmark", include_str!("../../crates/import/tests/fixtures/google-benchmark.json")),
    ("criterion", include_str!("../../crates/import/tests/fixtures/criterion/gemm/512/new/sample.json")),
    ("chrome", include_str!("../../crates/import/tests/fixtures/torch-trace.json")),
    ("llama-bench", include_str!("../../crates/import/tests/fixtures/llama-bench.csv")),
    ("llama-bench", include_str!("../../crates/import/tests/fixtures/llama-bench.sql")),
    ("llama-bench", include_str!("../../crates/import/tests/fixtures/llama-bench-old.md")),
    ("llama-bench", include_str!("../../crates/import/tests/fixtures/llama-bench-of-hotloop.md")),
    ("pytest-benchmark", include_str!("../../crates/import/tests/fixtures/pytest-benchmark.json")),
    ("go-bench", include_str!("../../crates/import/tests/fixtures/go-bench.txt")),
    ("folded", include_str!("../../crates/import/tests/fixtures/folded.txt")),
    ("speedscope", include_str!("../../crates/import/tests/fixtures/speedscope-evented.json")),
    ("speedscope", include_str!("../../crates/import/tests/fixtures/speedscope-sampled.json")),
];

/// Each in a file of its own beside the others.
pub fn import(path: &Path) -> engine::Result<()> {
    for (at, (name, text)) in TEXTS.iter().enumerate() {
        let place = import::Format::all().iter().position(|format| format.name() == *name);
        let which = place.and_then(|place| u8::try_from(place).ok()).expect("it is a format");
        let path = path.with_file_name(format!("sound-{at}"));
        let bytes = [&[which], text.as_bytes()].concat();
        std::fs::write(&path, bytes).map_err(|error| engine::Error::io(&path, &error))?;
    }
    Ok(())
}

/// What templates of models consist of, and what has to be bounded.
pub fn template(path: &Path) -> engine::Result<()> {
    let text = "{%- set ns = namespace(system='', n=[1]) %}{%- macro turn(m) %}{{ '<|' ~ m.role ~ '|>' + m['content'] | trim }}{% endmacro %}
        {%- if messages[0].role == 'system' %}{%- set ns.system = messages[0].content.strip() %}{%- set messages = messages[1:] %}{%- endif %}
        {%- for m in messages recursive %}{%- set ns.n = ns.n + [loop.index0, m] %}{{ turn(m) }}{{ m | tojson(indent=2) }}{% else %}
        {{ raise_exception('no ' ~ -1) }}{%- endfor %}{% if not add_generation_prompt and tools is none %}{{ ns.n | join(', ') }}
        {% elif eos_token in bos_token %}{{ dict(a=1).items() | list | last | replace('a', 'b') }}{% endif %}{% set x %}y{% endset %}{{ x }}";
    std::fs::write(path, text).map_err(|error| engine::Error::io(path, &error))
}

/// Every section of a config; the first byte says that it is JSON.
pub fn config(path: &Path) -> engine::Result<()> {
    let text = r#"0{"model":{"type":"autoregressive","d_model":16,"num_heads":2,"num_layers":2,"d_ff":32},
        "training":{"learning_rate":0.001,"num_epochs":2,"batch_size":4,"optimizer":"adamw","dropout":0.1,
        "schedule":{"kind":"cosine","warmup_steps":3},"early_stopping":{"patience":2}},"data":{"input_file":"a.txt",
        "sequences":"chunks","validation_split":0.1},"checkpointing":{"save_path":"out","keep_last_n":3}}"#;
    std::fs::write(path, text).map_err(|error| engine::Error::io(path, &error))
}

/// The state, the vocabulary and the weights of a small model, without the checksum at the end.
pub fn checkpoint(path: &Path) -> engine::Result<()> {
    const CHECKSUM: usize = 32;
    const ADAMW: OptimiserKind = OptimiserKind::AdamW { beta1: 0.9, beta2: 0.999, eps: 1e-8 };
    let source = SyntheticSource::new(Synthetic::parse("small,d=8,heads=2,kv_heads=2,layers=1,ffn=8,vocab=16,ctx=8")?);
    let parameters = Parameters::read(&source)?;
    let optimiser = Optimiser::new(ADAMW, 0.0, &parameters.layout)?;
    let (state, vocabulary) = (State::default(), source.metadata());
    let saved = Saved { state: &state, parameters: &parameters, optimiser: &optimiser, vocabulary };
    saved.write(path).expect("the folder of the fuzzer can be written to");
    let mut bytes = std::fs::read(path).map_err(|error| engine::Error::io(path, &error))?;
    bytes.truncate(bytes.len() - CHECKSUM);
    std::fs::write(path, bytes).map_err(|error| engine::Error::io(path, &error))
}
