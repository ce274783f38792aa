//! Which tests are measured with a model: those that fit into its context.

use crate::args::BenchTests;

/// Tokens of a prompt, and generated ones, where nobody asks for others.
const PROMPT: usize = 512;
const TOKENS: usize = 128;

/// What is measured after `depth` tokens that are in the KV cache already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Test {
    /// Tokens computed in blocks.
    pub(super) prompt: usize,
    /// Tokens computed one by one after those.
    pub(super) generated: usize,
    pub(super) depth: usize,
}

/// The tests of a model.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Those that fit, depth by depth.
    pub(super) tests: Vec<Test>,
    /// Those that do not.
    pub(super) too_long: Vec<Test>,
}

impl Test {
    /// The tokens that are computed while the clock runs.
    pub(super) fn tokens(self) -> usize {
        self.prompt + self.generated
    }

    /// The context it needs.
    pub(super) fn positions(self) -> usize {
        self.depth + self.tokens()
    }

    /// As llama-bench calls it.
    pub(super) fn name(self) -> String {
        let work = match (self.prompt, self.generated) {
            (prompt, 0) => format!("pp{prompt}"),
            (0, generated) => format!("tg{generated}"),
            (prompt, generated) => format!("pp{prompt}+tg{generated}"),
        };
        if self.depth == 0 { work } else { format!("{work} @ d{}", self.depth) }
    }
}

impl Plan {
    /// The tests that are asked for, with a model of this context.
    pub(super) fn new(asked: &BenchTests, context: usize) -> Self {
        let depths = distinct(if asked.depth.is_empty() { &[0] } else { &asked.depth });
        let deepest = depths.iter().copied().filter(|depth| *depth < context).max().unwrap_or(0);
        // Nobody has to know the context of a model to measure it.
        let usual = |asked: &[usize], usual: usize| {
            if asked.is_empty() { vec![usual.min(context.saturating_sub(deepest))] } else { distinct(asked) }
        };
        let prompts = usual(&asked.prompt_tokens, PROMPT).into_iter().map(|prompt| (prompt, 0));
        let generated = usual(&asked.tokens, TOKENS).into_iter().map(|generated| (0, generated));
        let pairs = asked.pg.iter().map(|pair| (pair.prompt, pair.tokens));
        let work: Vec<(usize, usize)> = prompts.chain(generated).chain(pairs).filter(|work| *work != (0, 0)).collect();
        let all = depths.iter().flat_map(|depth| {
            work.iter().map(move |(prompt, generated)| Test { prompt: *prompt, generated: *generated, depth: *depth })
        });
        let (tests, too_long) = all.partition(|test| test.positions() <= context);
        Plan { tests, too_long }
    }
}

/// Each number once, where it comes first.
pub(super) fn distinct(numbers: &[usize]) -> Vec<usize> {
    let mut found = Vec::with_capacity(numbers.len());
    for number in numbers {
        if !found.contains(number) {
            found.push(*number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, parse};

    fn plan(line: &str, context: usize) -> (Vec<String>, Vec<String>) {
        let read = parse(format!("bench {line}").split_whitespace()).map(|read| read.command);
        let Ok(Command::Bench(bench)) = read else { panic!("{line}") };
        let plan = Plan::new(&bench.tests, context);
        let names = |tests: Vec<Test>| tests.into_iter().map(Test::name).collect();
        (names(plan.tests), names(plan.too_long))
    }

    #[track_caller]
    fn check(line: &str, context: usize, tests: &[&str], too_long: &[&str]) {
        let (found, refused) = plan(line, context);
        assert_eq!(
            (found, refused),
            (tests.iter().map(ToString::to_string).collect(), too_long.iter().map(ToString::to_string).collect()),
            "{line}"
        );
    }

    #[test]
    fn tests_are_called_as_llama_bench_calls_them() {
        check("", 4096, &["pp512", "tg128"], &[]);
        check("-p 8,16 -n 4", 4096, &["pp8", "pp16", "tg4"], &[]);
        check("-p 8 -p 8 -n 0", 4096, &["pp8"], &[]);
        check("-p 0 -n 4 --pg 8,2 -d 0,64", 4096, &["tg4", "pp8+tg2", "tg4 @ d64", "pp8+tg2 @ d64"], &[]);
        check("-p 0 -n 0", 4096, &[], &[]);
    }

    #[test]
    fn what_exceeds_the_context_is_told_apart() {
        check("-p 512 -n 128", 256, &["tg128"], &["pp512"]);
        check(
            "-p 16 -n 16 -d 0,240,241",
            256,
            &["pp16", "tg16", "pp16 @ d240", "tg16 @ d240"],
            &["pp16 @ d241", "tg16 @ d241"],
        );
        check("-p 0 -n 0 --pg 200,57", 256, &[], &["pp200+tg57"]);
    }

    #[test]
    fn usual_lengths_are_those_that_fit() {
        check("", 256, &["pp256", "tg128"], &[]);
        check("-d 0,200", 256, &["pp56", "tg56", "pp56 @ d200", "tg56 @ d200"], &[]);
        check("-d 256", 256, &[], &["pp256 @ d256", "tg128 @ d256"]);
    }
}
