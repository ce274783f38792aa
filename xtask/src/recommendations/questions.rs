//! What SmallMind's reports recommend, as claims that a duel can answer.

/// A recommendation.
pub struct Question {
    /// Its number in the originals' list, and what it says.
    pub title: &'static str,
    /// What of it is asked here, in a sentence.
    pub asks: &'static str,
    /// Every duel that answers it.
    pub duels: &'static [Fight],
}

/// A duel with what is claimed of its outcome.
pub struct Fight {
    /// The arguments, apart by blanks; a file of the shared data begins with `../shared`.
    pub arguments: &'static str,
    /// The metric that is judged.
    pub metric: &'static str,
    /// What is claimed.
    pub claims: &'static [Claim],
}

/// Something that somebody promised.
pub struct Claim {
    /// In their words.
    pub says: &'static str,
    /// The candidate.
    pub arm: &'static str,
    /// What it is measured by.
    pub measure: Measure,
    /// What would make it true.
    pub bound: Bound,
}

/// What a claim is measured by.
#[derive(Clone, Copy)]
pub enum Measure {
    /// The change of a metric, as a share.
    Change(&'static str),
    /// The candidate's bytes allocated for each token.
    BytesPerToken,
    /// The bytes of its weights, as a share of the base's.
    Weights,
    /// How much more a text costs it than the base: the change of its perplexity, as a share.
    Perplexity,
}

/// What a value has to be.
#[derive(Clone, Copy)]
pub enum Bound {
    /// So much or more.
    AtLeast(f64),
    /// So much or less.
    AtMost(f64),
}

const SPEED: &str = "tokens_per_s";
const PREFILL: &str = "prefill_tokens_per_s";

const fn faster(says: &'static str, arm: &'static str, least: f64) -> Claim {
    Claim { says, arm, measure: Measure::Change(SPEED), bound: Bound::AtLeast(least) }
}

/// Every recommendation that is about the speed of inference, in the order of the originals.
pub const QUESTIONS: &[Question] = &[
    Question {
        title: "R1: reuse activation and scratch memory between tokens",
        asks: "The medium model, with scratch memory allocated for every pass, and reused.",
        duels: &[Fight {
            arguments: "--synthetic medium --a pool=off --b pool=on",
            metric: SPEED,
            claims: &[
                Claim {
                    says: "51.5 → 5 MB per token (−90 %)",
                    arm: "B",
                    measure: Measure::Change("alloc_bytes"),
                    bound: Bound::AtMost(-0.90),
                },
                Claim {
                    says: "less than 1 MB per token",
                    arm: "B",
                    measure: Measure::BytesPerToken,
                    bound: Bound::AtMost(1e6),
                },
                faster("+20–30 % speed", "B", 0.20),
            ],
        }],
    },
    Question {
        title: "R2: use a KV cache",
        asks: "50 tokens after a prompt of 10, recomputing all previous tokens for each token, and with a KV cache. With \
               stories15M in q8_0 the two sides produce different tokens after some time, in f32 they do not: activations are \
               quantised to int8, so a difference in the last bit of attention occasionally changes a byte. Both are equally close \
               to an exact computation, and in scalar code they have the same bits. By default this is `wrong-output` and speed \
               is not judged; `--any-output` allows it.",
        duels: &[
            Fight {
                arguments: "--synthetic medium --a kv=off --b kv=on",
                metric: SPEED,
                claims: &[faster("+40–60 % for more than 32 tokens", "B", 0.40)],
            },
            Fight {
                arguments: "--model ../shared/data/models/stories15M-q8_0.gguf --any-output --a kv=off --b kv=on",
                metric: SPEED,
                claims: &[faster("+40–60 % for more than 32 tokens", "B", 0.40)],
            },
        ],
    },
    Question {
        title: "R3: weights in 8 and 4 bits",
        asks: "The same weights as f32, q8_0 and q4_0. The medium model has random weights, whose tokens say nothing about \
               quality; stories15M is trained.",
        duels: &[
            Fight {
                arguments: "--synthetic medium --a type=f32 --b type=q8_0 --c type=q4_0",
                metric: SPEED,
                claims: &[
                    faster("2–4× speed (q8_0)", "B", 1.0),
                    faster("2–4× speed (q4_0)", "C", 1.0),
                    Claim {
                        says: "4× less memory (q8_0)",
                        arm: "B",
                        measure: Measure::Weights,
                        bound: Bound::AtMost(0.25),
                    },
                    Claim {
                        says: "4× less memory (q4_0)",
                        arm: "C",
                        measure: Measure::Weights,
                        bound: Bound::AtMost(0.25),
                    },
                ],
            },
            Fight {
                arguments: "--model ../shared/data/models/stories15M-q8_0.gguf --text ../shared/data/text/pride_and_prejudice.txt \
                            --a type=f32 --b type=q8_0 --c type=q4_0",
                metric: SPEED,
                claims: &[
                    faster("2–4× speed (q8_0)", "B", 1.0),
                    faster("2–4× speed (q4_0)", "C", 1.0),
                    Claim {
                        says: "less than 1 % perplexity (q8_0)",
                        arm: "B",
                        measure: Measure::Perplexity,
                        bound: Bound::AtMost(0.01),
                    },
                    Claim {
                        says: "less than 1 % perplexity (q4_0)",
                        arm: "C",
                        measure: Measure::Perplexity,
                        bound: Bound::AtMost(0.01),
                    },
                ],
            },
        ],
    },
    Question {
        title: "R4: several sequences at once",
        asks: "Eight sequences: one after another, four at a time, and all together; tokens/s count all sequences.",
        duels: &[Fight {
            arguments: "--synthetic medium --a batch=1 --b batch=4 --c batch=8",
            metric: SPEED,
            claims: &[
                faster("2–3× throughput (4 at a time)", "B", 1.0),
                faster("2–3× throughput (8 at a time)", "C", 1.0),
            ],
        }],
    },
    Question {
        title: "R5: blocked matrix products with SIMD and threads",
        asks: "A prompt of 60 tokens, which is almost only matrix products: scalar loops on one thread, SIMD on one thread, SIMD \
               on two. The claimed 0.65 → 25–30 GFLOP/s is a factor of 38 to 46.",
        duels: &[
            Fight {
                arguments: "--synthetic medium --with prompt=60,tokens=2 --a isa=scalar,threads=1 --b threads=1 --c threads=2",
                metric: PREFILL,
                claims: &[
                    Claim {
                        says: "0.65 → 25–30 GFLOP/s (SIMD, 1 thread)",
                        arm: "B",
                        measure: Measure::Change(PREFILL),
                        bound: Bound::AtLeast(25.0 / 0.65 - 1.0),
                    },
                    Claim {
                        says: "0.65 → 25–30 GFLOP/s (SIMD, 2 threads)",
                        arm: "C",
                        measure: Measure::Change(PREFILL),
                        bound: Bound::AtLeast(25.0 / 0.65 - 1.0),
                    },
                ],
            },
            Fight {
                arguments: "--synthetic medium --a threads=1 --b threads=2",
                metric: SPEED,
                claims: &[faster("threads speed up decoding", "B", 0.03)],
            },
        ],
    },
];
