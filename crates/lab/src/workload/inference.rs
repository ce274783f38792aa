//! One inference: a prompt, and tokens behind it. Each workload has the names that its rows had in SmallMind.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use crate::Generator;
use crate::metrics::{cpu_s, timed};
use crate::recorder::{Measurement, bookkeeping};

/// What one inference did and took.
pub(super) struct Inference {
    pub(super) tokens: Vec<u32>,
    /// The whole, with the time to the first token and of every other.
    pub(super) whole: Measurement,
    /// From the prompt to the first token.
    pub(super) first_s: f64,
    /// Each token after the first.
    pub(super) token_s: Vec<f64>,
    /// CPU time of the first token, and of all after it, where the system tells.
    pub(super) cpu_s: Option<[f64; 2]>,
    /// In passes over the weights, all together.
    pub(super) forward_s: f64,
}

/// A way to run an inference.
pub(super) type Infer = fn(&mut dyn Generator, &[u32], usize) -> Result<Inference, String>;

/// An inference with scopes of these names: the whole, the first token, each other token, a pass, a choice.
macro_rules! inference {
    ($function:ident: $whole:literal, $first:literal, $token:literal, $forward:literal, $choice:literal) => {
        pub(super) fn $function(
            generator: &mut dyn Generator,
            prompt: &[u32],
            tokens: usize,
        ) -> Result<Inference, String> {
            let (mut chosen, clock) = bookkeeping(|| (Vec::with_capacity(tokens), Clock::new(tokens)));
            let (result, whole) = timed(|| -> Result<(), String> {
                hotloop::scope!($whole, tokens = tokens);
                clock.start();
                let step = |generator: &mut dyn Generator, input: &[u32]| -> Result<u32, String> {
                    let before = Instant::now();
                    {
                        hotloop::scope!($forward, tokens = input.len());
                        generator.forward(input)?;
                    }
                    clock.forward(before);
                    hotloop::scope!($choice);
                    Ok(generator.choose())
                };
                {
                    hotloop::scope!($first, tokens = prompt.len());
                    generator.restart();
                    chosen.push(step(generator, prompt)?);
                }
                clock.token();
                clock.cpu();
                while chosen.len() < tokens {
                    {
                        hotloop::scope!($token, tokens = 1);
                        let last = chosen[chosen.len() - 1];
                        chosen.push(step(generator, &[last])?);
                    }
                    clock.token();
                }
                clock.cpu();
                Ok(())
            });
            result?;
            Ok(bookkeeping(|| clock.inference(chosen, whole)))
        }
    };
}

inference!(standard: "InferenceComplete", "Prefill", "GenerateToken", "ForwardPass", "SampleToken");
inference!(deep: "Inference", "Prefill", "GenerateToken", "Transformer_Forward", "SampleToken");
inference!(small: "Model_Small_Inference", "Model_Small_GenerateToken", "Model_Small_GenerateToken",
    "Model_Small_Forward", "Model_Small_Choice");
inference!(medium: "Model_Medium_Inference", "Model_Medium_GenerateToken", "Model_Medium_GenerateToken",
    "Model_Medium_Forward", "Model_Medium_Choice");

/// Takes the times of an inference. Its memory is there from the beginning: an inference allocates nothing for it.
struct Clock {
    last: Cell<Instant>,
    tokens: RefCell<Vec<f64>>,
    forward_s: Cell<f64>,
    /// CPU time at the beginning, after the first token, and at the end.
    cpu: RefCell<Vec<Option<f64>>>,
}

impl Clock {
    fn new(tokens: usize) -> Self {
        let tokens = RefCell::new(Vec::with_capacity(tokens));
        let cpu = RefCell::new(Vec::with_capacity(3));
        Self { last: Cell::new(Instant::now()), tokens, forward_s: Cell::new(0.0), cpu }
    }

    fn start(&self) {
        self.cpu();
        self.last.set(Instant::now());
    }

    /// Takes the CPU time. The call costs less than a microsecond and falls into one token.
    fn cpu(&self) {
        self.cpu.borrow_mut().push(cpu_s());
    }

    /// A pass that began then has ended.
    fn forward(&self, before: Instant) {
        self.forward_s.set(self.forward_s.get() + before.elapsed().as_secs_f64());
    }

    /// A token is there.
    fn token(&self) {
        let now = Instant::now();
        self.tokens.borrow_mut().push(now.duration_since(self.last.replace(now)).as_secs_f64());
    }

    fn inference(self, tokens: Vec<u32>, mut whole: Measurement) -> Inference {
        let mut times = self.tokens.into_inner();
        let first_s = times.remove(0);
        whole.values.insert("ttft_s".to_owned(), first_s);
        whole.series.insert("token_s".to_owned(), times.clone());
        let cpu_s = match self.cpu.into_inner()[..] {
            [Some(start), Some(first), Some(end)] => Some([first - start, end - first]),
            _ => None,
        };
        Inference { tokens, whole, first_s, token_s: times, cpu_s, forward_s: self.forward_s.get() }
    }
}
