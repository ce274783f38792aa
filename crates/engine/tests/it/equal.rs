//! One result, whichever way leads to it.

use engine::{Architecture, CacheType, Compute, LoadOptions, Model, Segment, State, StateOptions, Synthetic};
use kernels::quant::Format;
use kernels::{Kernels, Pool};

use crate::random::Random;
use crate::sources::{TestModel, gpt2, llama};
use crate::trials::{Distance, bits, distance, exact, go_on, load, score};

/// Large enough that every step is divided among threads where there are any.
fn large(spec: Synthetic, format: Format) -> Synthetic {
    Synthetic { width: 256, ffn: 512, kv_heads: spec.heads, context: 160, format, ..spec }
}

const FORMATS: [Format; 5] = [Format::F32, Format::F16, Format::Q8_0, Format::Q4_K, Format::Q6_K];

/// Models of all architectures, and of two in formats of all kinds.
fn models(compute: &Compute) -> impl Iterator<Item = (String, Synthetic, Model)> {
    let formats = FORMATS.into_iter().flat_map(|format| [large(llama(), format), large(gpt2(), format)]);
    let others = Architecture::ALL.into_iter().filter(|it| ![Architecture::Gpt2, Architecture::Llama].contains(it));
    let specs = others.map(|architecture| large(Synthetic { architecture, ..llama() }, Format::F32));
    formats.chain(specs).map(|spec| {
        let name = format!("{} {}", spec.architecture.name(), spec.format);
        let model = load(&TestModel::varied(&spec), compute);
        (name, spec, model)
    })
}

fn single() -> Compute {
    Compute::new(Some(1)).unwrap()
}

/// How far two orders of the same additions may lead: products with activations in bytes turn a
/// last bit of a norm or of attention into another code now and then.
fn reordered(format: Format) -> Distance {
    match format {
        Format::F32 | Format::F16 => Distance { largest: 4e-5, rms: 1e-5 },
        _ => Distance { largest: 0.12, rms: 0.05 },
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let one = single();
    let others = [2, 3].map(|threads| Compute::new(Some(threads)).unwrap());
    for (name, spec, model) in models(&one) {
        let tokens = Random(1).tokens(130, spec.vocab);
        // A prompt in blocks, then token by token.
        let run = |compute: &Compute, cache: CacheType| {
            let options = StateOptions { cache, ..exact(96) };
            let mut state = State::new(&model, compute, &options).unwrap();
            let mut all = go_on(&model, compute, &mut state, &tokens[..120]);
            for token in &tokens[120..] {
                all.extend(go_on(&model, compute, &mut state, &[*token]));
            }
            bits(&all)
        };
        for cache in CacheType::ALL {
            let wanted = run(&one, cache);
            for other in &others {
                assert!(run(other, cache) == wanted, "{name}, {cache:?}, {:?}", other.pool);
            }
        }
        // Packed on several threads.
        let again = load(&TestModel::varied(&spec), &others[1]);
        let [a, b] = [&model, &again].map(|model| score(model, &one, &exact(32), &tokens[..32]));
        assert!(bits(&a) == bits(&b), "{name}, packed by three");
    }
}

#[test]
fn blocks_of_any_length_are_one_block() {
    let compute = single();
    for (name, spec, model) in models(&compute) {
        let tokens = Random(2).tokens(144, spec.vocab);
        let whole = score(&model, &compute, &exact(144), &tokens);
        // Each query is computed by itself, whatever lies beside it: the same bits, as long as
        // there are enough in a block that they are computed in tiles.
        for block in [48, 16, 72] {
            assert!(
                bits(&score(&model, &compute, &exact(block), &tokens)) == bits(&whole),
                "{name}, blocks of {block}"
            );
        }
        for block in [1, 2, 3, 50, 65] {
            let away = distance(&score(&model, &compute, &exact(block), &tokens), &whole);
            eprintln!("{name}, blocks of {block}: {away}");
            assert!(away.within(reordered(spec.format)), "{name}, blocks of {block}: {away}");
        }
    }
}

#[test]
fn prefill_is_the_last_of_its_blocks() {
    let compute = single();
    let spec = large(llama(), Format::F32);
    let model = load(&TestModel::varied(&spec), &compute);
    let tokens = Random(2).tokens(100, spec.vocab);
    let wanted = score(&model, &compute, &exact(32), &tokens);
    let mut state = State::new(&model, &compute, &StateOptions { logits: 1, ..exact(32) }).unwrap();
    model.prefill(&compute, &mut state, 0, &tokens).unwrap();
    assert_eq!(state.logits(0), &wanted[99][..]);
    assert_eq!(state.len(0), 100);
}

/// Without a cache every token is computed from the beginning of the text.
#[test]
fn a_cache_changes_nothing() {
    let compute = single();
    for (name, spec, model) in models(&compute) {
        let tokens = Random(3).tokens(40, spec.vocab);
        let cached = score(&model, &compute, &exact(1), &tokens);
        let mut state = State::new(&model, &compute, &exact(tokens.len())).unwrap();
        let mut anew = Vec::new();
        for end in 1..=tokens.len() {
            state.truncate(0, 0);
            anew.extend(go_on(&model, &compute, &mut state, &tokens[..end]).pop());
        }
        let away = distance(&cached, &anew);
        eprintln!("{name}: {away}");
        assert!(away.within(reordered(spec.format)), "{name}: {away}");
    }
}

#[test]
fn narrower_caches_lose_little() {
    let compute = single();
    // In models whose attention chooses, which makes more of a small difference.
    for (name, spec, model) in models(&compute) {
        let tokens = Random(4).tokens(100, spec.vocab);
        let wanted = score(&model, &compute, &exact(32), &tokens);
        let floats = spec.format.block_len() == 1;
        for (cache, bound) in [
            (CacheType::F16, if floats { Distance { largest: 4e-3, rms: 2e-3 } } else { reordered(spec.format) }),
            (CacheType::Q8_0, Distance { largest: 0.12, rms: 0.05 }),
        ] {
            let got = score(&model, &compute, &StateOptions { cache, ..exact(32) }, &tokens);
            let away = distance(&got, &wanted);
            eprintln!("{name}, {}: {away}", cache.name());
            assert!(away.within(bound), "{name}, {}: {away}", cache.name());
            assert!(away.rms > 1e-5, "{name}, {}: the cache is not used", cache.name());
        }
    }
}

#[test]
fn memory_that_is_not_kept_gives_the_same_bits() {
    let compute = Compute::new(Some(2)).unwrap();
    for (name, spec, model) in models(&compute) {
        let tokens = Random(5).tokens(60, spec.vocab);
        for block in [1, 25] {
            let [kept, anew] =
                [true, false].map(|pooled| score(&model, &compute, &StateOptions { pooled, ..exact(block) }, &tokens));
            assert!(bits(&kept) == bits(&anew), "{name}, blocks of {block}");
        }
    }
}

/// Weights that stay as the file has them: quantised ones give the same bits, floats are added in another order.
#[test]
fn weights_in_place() {
    let computes = [1, 3].map(|threads| Compute::new(Some(threads)).unwrap());
    for (name, spec, model) in models(&computes[0]) {
        let options = &mut LoadOptions { in_place: true, ..LoadOptions::default() };
        let in_place = Model::load(&TestModel::varied(&spec), &computes[0], options).unwrap();
        let tokens = Random(6).tokens(40, spec.vocab);
        for block in [1, 3, 40] {
            let wanted = score(&model, &computes[0], &exact(block), &tokens);
            let [one, three] = [0, 1].map(|at| score(&in_place, &computes[at], &exact(block), &tokens));
            assert!(bits(&one) == bits(&three), "{name}, blocks of {block}, three threads");
            if spec.format.block_len() > 1 {
                assert!(bits(&one) == bits(&wanted), "{name}, blocks of {block}");
            }
            let away = distance(&one, &wanted);
            assert!(away.within(reordered(spec.format)), "{name}, blocks of {block}: {away}");
        }
    }
}

#[test]
fn every_instruction_set() {
    let best = single();
    for (name, spec, model) in models(&best) {
        let tokens = Random(6).tokens(40, spec.vocab);
        for block in [1, 40] {
            let wanted = score(&model, &best, &exact(block), &tokens);
            for kernels in Kernels::available() {
                let compute = Compute { kernels, pool: Pool::new(1) };
                let away = distance(&score(&model, &compute, &exact(block), &tokens), &wanted);
                eprintln!("{name}, {}: {away}", kernels.isa());
                assert!(away.within(reordered(spec.format)), "{name}, {}, blocks of {block}: {away}", kernels.isa());
            }
        }
    }
}

#[test]
fn what_was_truncated_is_forgotten() {
    let compute = single();
    for (name, spec, model) in models(&compute) {
        let tokens = Random(7).tokens(60, spec.vocab);
        for cache in CacheType::ALL {
            let options = StateOptions { cache, ..exact(20) };
            let wanted = score(&model, &compute, &options, &tokens);
            let mut state = State::new(&model, &compute, &options).unwrap();
            go_on(&model, &compute, &mut state, &Random(8).tokens(90, spec.vocab));
            state.truncate(0, 0);
            assert!(state.is_empty(0));
            go_on(&model, &compute, &mut state, &tokens[..20]);
            go_on(&model, &compute, &mut state, &Random(9).tokens(77, spec.vocab));
            state.truncate(0, 20);
            let rest = go_on(&model, &compute, &mut state, &tokens[20..]);
            assert!(bits(&rest) == bits(&wanted[20..]), "{name}, {cache:?}");
            state.truncate(0, 1000);
            assert_eq!(state.len(0), 60);
        }
    }
}

/// One sequence of a batch, and the same by itself.
struct Twin {
    alone: State,
    /// What the next pass adds to it.
    tokens: Vec<u32>,
    logits: usize,
}

/// Sequences join, leave, fall back and go on with blocks of any length, many in one pass or few;
/// each is as if it were alone.
#[test]
fn sequences_do_not_know_of_each_other() {
    const SEQUENCES: usize = 20;
    let compute = Compute::new(Some(2)).unwrap();
    for (name, spec, model) in models(&compute) {
        let cache = CacheType::ALL[spec.format as usize % 3];
        let options = StateOptions { sequences: SEQUENCES, block: 200, logits: 200, cache, ..StateOptions::default() };
        let mut batch = State::new(&model, &compute, &options).unwrap();
        let alone = || State::new(&model, &compute, &StateOptions { sequences: 1, ..options }).unwrap();
        let mut twins: Vec<_> =
            (0..SEQUENCES).map(|_| Twin { alone: alone(), tokens: Vec::new(), logits: 0 }).collect();
        let mut noise = Random(10);
        for round in 0..12 {
            let order = plan(&mut noise, &mut batch, &mut twins, spec.vocab);
            let segments: Vec<_> = order.iter().map(|sequence| segment(*sequence, &twins[*sequence])).collect();
            model.forward(&compute, &mut batch, &segments).unwrap();
            let mut row = 0;
            for sequence in order {
                let Twin { alone, tokens, logits } = &mut twins[sequence];
                let segment = Segment { sequence: 0, tokens, logits: *logits };
                model.forward(&compute, alone, &[segment]).unwrap();
                assert_eq!(alone.len(0), batch.len(sequence));
                for index in 0..*logits {
                    assert!(
                        alone.logits(index) == batch.logits(row),
                        "{name}, {cache:?}, round {round}, sequence {sequence} of {} positions, token {index}",
                        alone.len(0)
                    );
                    row += 1;
                }
            }
        }
    }
}

fn segment(sequence: usize, twin: &Twin) -> Segment<'_> {
    Segment { sequence, tokens: &twin.tokens, logits: twin.logits }
}

/// Chooses which sequences the next pass has, in any order, and what it adds to them.
fn plan(noise: &mut Random, batch: &mut State, twins: &mut [Twin], vocab: usize) -> Vec<usize> {
    let mut room = batch.block();
    let mut order: Vec<_> = (0..twins.len()).collect();
    order.sort_by_cached_key(|_| noise.next());
    order.retain(|sequence| {
        let twin = &mut twins[*sequence];
        let chance = noise.next() % 8;
        if chance < 2 || batch.len(*sequence) > 120 {
            // It leaves, or falls back, and another text comes in its place.
            let len = (noise.next() as usize) % (batch.len(*sequence) + 1) * chance as usize;
            batch.truncate(*sequence, len);
            twin.alone.truncate(0, len);
        }
        let most = if chance < 5 { 1 } else { 30 };
        let count = 1 + noise.next() as usize % most;
        if chance == 7 || count > room {
            return false;
        }
        room -= count;
        twin.tokens = noise.tokens(count, vocab);
        twin.logits = noise.next() as usize % (count + 1);
        true
    });
    order
}
