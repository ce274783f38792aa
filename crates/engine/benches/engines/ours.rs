//! Our arm: this program again, as a child, so that it starts as cold as the others.

use std::path::PathBuf;
use std::time::Instant;

use engine::{Compute, Model, Segment, State, StateOptions};

use crate::models::Work;

/// Does what the arguments say and gives the line to print.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let (path, work) = parse(arguments)?;
    let start = Instant::now();
    let mut arm = Arm::load(&path, work).map_err(|error| error.to_string())?;
    let load = start.elapsed().as_secs_f64();
    let (prefill, decode) = arm.measure(work).map_err(|error| error.to_string())?;
    Ok(format!("{{\"load_s\":{load:.6},\"prefill_tps\":{prefill:?},\"decode_tps\":{decode:?}}}"))
}

/// `ours --model F --threads N --prompt N --tokens N --repeats N`, as `arms` writes it.
fn parse(arguments: &[String]) -> Result<(PathBuf, Work), String> {
    let mut path = None;
    let mut work = Work { prompt: 0, tokens: 1, repeats: 0, threads: 1 };
    for pair in arguments.get(1..).unwrap_or_default().chunks(2) {
        let [option, value] = pair else { return Err(format!("`{}` wants a value", pair[0])) };
        let number = || value.parse().map_err(|_| format!("`{option} {value}`: not a number"));
        match option.as_str() {
            "--model" => path = Some(PathBuf::from(value)),
            "--threads" => work.threads = number()?,
            "--prompt" => work.prompt = number()?,
            "--tokens" => work.tokens = number()?,
            "--repeats" => work.repeats = number()?,
            _ => return Err(format!("unknown argument `{option}`")),
        }
    }
    Ok((path.ok_or("`--model` is missing")?, work))
}

struct Arm {
    compute: Compute,
    model: Model,
    state: State,
    /// What the tokens are changes no step.
    tokens: Vec<u32>,
}

impl Arm {
    fn load(path: &std::path::Path, work: Work) -> engine::Result<Self> {
        let compute = Compute::new(Some(work.threads))?;
        let source = open(path)?;
        let model = Model::load(&source, &compute, &mut |_, _| {})?;
        let longest = work.prompt.max(work.tokens);
        let options = StateOptions { context: Some(longest), block: work.prompt.max(1), ..StateOptions::default() };
        let state = State::new(&model, &compute, &options)?;
        let tokens = (0..longest).map(|at| ((at * 31 + 7) % model.config.vocab) as u32).collect();
        Ok(Self { compute, model, state, tokens })
    }

    /// Tokens per second of all repeats, after one of each that warms up.
    fn measure(&mut self, work: Work) -> engine::Result<(Vec<f64>, Vec<f64>)> {
        let (mut prefill, mut decode) = (Vec::new(), Vec::new());
        if work.prompt > 0 {
            self.pass(work.prompt, work.prompt)?;
            for _ in 0..work.repeats {
                prefill.push(self.pass(work.prompt, work.prompt)?);
            }
        }
        self.pass(1, 1)?;
        for _ in 0..work.repeats {
            decode.push(self.pass(work.tokens, 1)?);
        }
        Ok((prefill, decode))
    }

    /// Tokens per second of the first `count` tokens, `block` at a time, from an empty cache to the logits of the last of each.
    fn pass(&mut self, count: usize, block: usize) -> engine::Result<f64> {
        self.state.truncate(0, 0);
        let start = Instant::now();
        for tokens in self.tokens[..count].chunks(block) {
            let segment = Segment { sequence: 0, tokens, logits: 1 };
            self.model.forward(&self.compute, &mut self.state, &[segment])?;
        }
        Ok(count as f64 / start.elapsed().as_secs_f64())
    }
}

/// The weights that the file of that name has.
fn open(path: &std::path::Path) -> engine::Result<engine::SyntheticSource> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().replace('-', " ");
    let row = crate::models::rows(false).into_iter().find(|row| row.name() == stem);
    let row = row.ok_or_else(|| engine::Error::refused(format!("no model {stem}")))?;
    Ok(engine::SyntheticSource::new(row.synthetic()))
}
