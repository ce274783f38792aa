//! Our arms: this program again, as a child, so that it starts as cold as the others.

use std::path::PathBuf;
use std::time::Instant;

use engine::{Compute, LoadOptions, Model, Segment, State, StateOptions};

use crate::models::Work;

/// Says that the weights stay in the file.
pub const IN_PLACE: &str = "--in-place";

/// What a child is asked for.
struct Request {
    path: PathBuf,
    work: Work,
    in_place: bool,
}

/// Does what the arguments say and gives the line to print.
pub fn run(arguments: &[String]) -> Result<String, String> {
    let request = Request::parse(arguments)?;
    let start = Instant::now();
    let mut arm = Arm::load(&request).map_err(|error| error.to_string())?;
    let load = start.elapsed().as_secs_f64();
    let (prefill, decode) = arm.measure(request.work).map_err(|error| error.to_string())?;
    Ok(format!("{{\"load_s\":{load:.6},\"prefill_tps\":{prefill:?},\"decode_tps\":{decode:?}}}"))
}

impl Request {
    /// `ours --model F --threads N --prompt N --tokens N --repeats N [--in-place]`, as `arms` writes it.
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut work = Work { prompt: 0, tokens: 1, repeats: 0, threads: 1 };
        let (mut path, mut in_place) = (None, false);
        let mut arguments = arguments.iter().skip(1);
        while let Some(option) = arguments.next() {
            if option == IN_PLACE {
                in_place = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("`{option}` wants a value"))?;
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
        Ok(Self { path: path.ok_or("`--model` is missing")?, work, in_place })
    }
}

struct Arm {
    compute: Compute,
    model: Model,
    state: State,
    /// What the tokens are changes no step.
    tokens: Vec<u32>,
}

impl Arm {
    fn load(request: &Request) -> engine::Result<Self> {
        let Work { prompt, tokens, threads, .. } = request.work;
        let compute = Compute::new(Some(threads))?;
        let source = engine::open(&request.path)?;
        let mut options = LoadOptions { in_place: request.in_place, ..LoadOptions::default() };
        let model = Model::load(source.as_ref(), &compute, &mut options)?;
        let longest = prompt.max(tokens);
        let options = StateOptions { context: Some(longest), block: prompt.max(1), ..StateOptions::default() };
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

    /// Tokens per second of the first `count` tokens, `block` at a time, from an empty cache to the
    /// logits of the last of each.
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
