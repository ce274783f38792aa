//! The formats, in one table.

use record::Unread;

use crate::draft::Draft;
use crate::{Error, Imported, Result, Source};
use crate::{chrome, criterion, folded, go_bench, google_benchmark, hyperfine, llama_bench, loopos, pytest_benchmark};
use crate::{smallmind, speedscope};

/// A format that can be read.
#[derive(Clone, Copy)]
pub struct Format {
    name: &'static str,
    what: &'static str,
    is_it: fn(&Text<'_>) -> bool,
    read: fn(&str, &Source) -> Result<ReadRuns>,
}

/// What a reader found.
pub(crate) struct ReadRuns {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) unread: Vec<Unread>,
}

/// The beginning of a text, prepared for being recognised.
pub(crate) struct Text<'a> {
    whole: &'a str,
    is_json: bool,
}

/// As much of a text as formats are recognised by; a report amid the lines of a log may stand further down.
const BEGINNING: usize = 1 << 16;

impl<'a> Text<'a> {
    fn new(text: &'a str) -> Self {
        // A line of a log may begin with `[INFO]`.
        let start = text.trim_start();
        let is_list = start.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', '[']));
        Text { whole: text, is_json: is_list || start.starts_with('{') }
    }

    fn beginning(&self) -> &'a str {
        let end = self.whole.floor_char_boundary(BEGINNING);
        &self.whole[..end]
    }

    /// Whether it is JSON with all these fields near its beginning.
    pub(crate) fn has_fields(&self, names: &[&str]) -> bool {
        let beginning = self.beginning();
        self.is_json && names.iter().all(|name| beginning.contains(&format!("\"{name}\"")))
    }

    /// Whether a line is this heading, whatever stands before it.
    pub(crate) fn has_line(&self, wanted: &str) -> bool {
        !self.is_json && self.whole.lines().any(|line| line.trim() == wanted)
    }

    /// Whether this stands anywhere in it.
    pub(crate) fn has_part(&self, wanted: &str) -> bool {
        !self.is_json && self.whole.contains(wanted)
    }

    /// Whether it is no JSON and has all these words near its beginning.
    pub(crate) fn has_words(&self, words: &[&str]) -> bool {
        let beginning = self.beginning();
        !self.is_json && words.iter().all(|word| beginning.contains(word))
    }

    /// Whether a line has all these cells, in whatever order.
    pub(crate) fn has_cells(&self, wanted: &[&str]) -> bool {
        let is_it = |line: &str| {
            line.trim_start().starts_with('|')
                && wanted.iter().all(|cell| line.split('|').any(|found| found.trim() == *cell))
        };
        !self.is_json && self.beginning().lines().any(is_it)
    }
}

/// Those that ask for more stand before those that ask for less.
const FORMATS: &[Format] = &[
    Format {
        name: "smallmind-enhanced",
        what: "SmallMind's enhanced report (Markdown)",
        is_it: |text| text.has_line(smallmind::ENHANCED),
        read: smallmind::enhanced,
    },
    Format {
        name: "smallmind-standard",
        what: "SmallMind's standard and deep reports (Markdown)",
        is_it: |text| text.has_line(smallmind::STANDARD),
        read: smallmind::standard,
    },
    Format {
        name: "smallmind-comparison",
        what: "SmallMind's comparison of two reports (Markdown): two runs",
        is_it: |text| text.has_line(smallmind::COMPARISON),
        read: smallmind::comparison,
    },
    Format {
        name: "smallmind-models",
        what: "SmallMind's comparison of its models (Markdown)",
        is_it: |text| text.has_line(smallmind::MODELS),
        read: smallmind::models,
    },
    Format {
        name: "smallmind-consolidated",
        what: "SmallMind's consolidated report of its benchmarks (Markdown)",
        is_it: |text| text.has_line(smallmind::CONSOLIDATED),
        read: smallmind::consolidated,
    },
    Format {
        name: "smallmind-allocation",
        what: "what SmallMind's AllocationProfiler prints",
        is_it: |text| text.has_line(smallmind::ALLOCATION),
        read: smallmind::allocation,
    },
    Format {
        name: "smallmind-benchmarks",
        what: "JSON of SmallMind's ProfilerBenchmarks and of its SIMD benchmarks",
        is_it: |text| text.has_fields(&["systemInfo", "results", "metrics"]),
        read: smallmind::benchmarks,
    },
    Format {
        name: "loopos",
        what: "the report that LoopOS prints, also within a log",
        is_it: |text| text.has_part(loopos::HEADING),
        read: loopos::read,
    },
    Format {
        name: "llama-bench",
        what: "llama-bench: JSON, JSONL, CSV, SQL and its Markdown table, also that of `hotloop bench`",
        is_it: |text| {
            text.has_fields(&["build_commit", "avg_ns", "n_prompt", "n_gen"])
                || text.has_words(&["build_commit", "n_prompt", "n_gen", "avg_ns"])
                || text.has_cells(&["model", "test", "t/s"])
                || text.has_cells(&["model", "test", "tok/s"])
        },
        read: llama_bench::read,
    },
    Format {
        name: "hyperfine",
        what: "hyperfine --export-json, of version 1 and 2",
        is_it: |text| {
            text.has_fields(&["results", "command", "mean"]) || text.has_fields(&["results", "measurements", "command"])
        },
        read: hyperfine::read,
    },
    Format {
        name: "google-benchmark",
        what: "Google Benchmark, --benchmark_format=json",
        is_it: |text| text.has_fields(&["context", "benchmarks", "real_time"]),
        read: google_benchmark::read,
    },
    Format {
        name: "pytest-benchmark",
        what: "pytest-benchmark, --benchmark-json",
        is_it: |text| text.has_fields(&["machine_info", "commit_info", "benchmarks"]),
        read: pytest_benchmark::read,
    },
    Format {
        name: "go-bench",
        what: "what `go test -bench` prints, with -benchmem, -count and metrics of its own",
        is_it: |text| !text.is_json && go_bench::is_it(text.whole),
        read: go_bench::read,
    },
    Format {
        name: "criterion",
        what: "Criterion: sample.json or estimates.json of a benchmark, or the folder target/criterion",
        is_it: |text| {
            text.has_fields(&["sampling_mode", "iters", "times"])
                || text.has_fields(&["mean", "median", "point_estimate"])
        },
        read: criterion::read,
    },
    Format {
        name: "chrome",
        what: "Chrome's Trace Event JSON, as torch.profiler and Hotloop write it; packed by gzip or not",
        is_it: |text| text.has_fields(&["traceEvents"]) || text.has_fields(&["ph", "ts", "pid"]),
        read: chrome::read,
    },
    Format {
        name: "speedscope",
        what: "speedscope's JSON, evented and sampled profiles; packed by gzip or not",
        is_it: |text| {
            text.has_fields(&[speedscope::SCHEMA])
                || text.has_fields(&["shared", "frames"])
                || text.has_fields(&["profiles", "startValue", "unit"])
        },
        read: speedscope::read,
    },
    Format {
        name: "folded",
        what: "folded stacks, as FlameGraph, inferno and `hotloop export --to folded` write them",
        is_it: |text| {
            let beginning = text.beginning();
            !text.is_json && folded::is_it(beginning, beginning.len() == text.whole.len())
        },
        read: folded::read,
    },
];

impl Format {
    /// All of them.
    pub fn all() -> &'static [Format] {
        FORMATS
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Format> {
        FORMATS.iter().copied().find(|format| format.name == name)
    }

    /// The format of a text, by what it says.
    pub fn of(text: &str) -> Option<Format> {
        let text = Text::new(text);
        FORMATS.iter().copied().find(|format| (format.is_it)(&text))
    }

    /// How it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its description.
    pub fn what(&self) -> &'static str {
        self.what
    }

    pub(crate) fn read(self, text: &str, source: &Source) -> Result<Imported> {
        let found = (self.read)(text, source)?;
        self.imported(found, source)
    }

    /// The runs that a reader found, each with what was not read.
    pub(crate) fn imported(self, found: ReadRuns, source: &Source) -> Result<Imported> {
        let ReadRuns { drafts, mut unread } = found;
        unread.sort_by_key(|part| part.line);
        let runs: Vec<record::Run> =
            drafts.into_iter().filter_map(|draft| draft.finish(self.name, source, &unread)).collect();
        if runs.is_empty() {
            let first = unread.first().map_or(String::new(), |part| format!(": {} ({})", part.text, part.why));
            return Err(Error::new(format!("no run in it{first}")));
        }
        Ok(Imported { format: self, runs, unread })
    }
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Format {}
