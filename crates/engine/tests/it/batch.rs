//! Sequences that are generated together.

use engine::{
    Batch, BatchSettings, CacheType, Chosen, Compute, End, ErrorKind, MOST_SEQUENCES, Model, Request, Sampling,
    StateOptions, Synthetic,
};

use crate::random::Random;
use crate::sources::{TestModel, gpt2, llama};
use crate::trials::{best, exact, load, score};

fn compute() -> Compute {
    Compute::new(Some(2)).unwrap()
}

fn options(sequences: usize, context: usize, block: usize) -> StateOptions {
    StateOptions { sequences, context: Some(context), block, cache: CacheType::F32, ..StateOptions::default() }
}

const KEEP: BatchSettings = BatchSettings { keep: true, shift: false };

fn request<'a>(prompt: &'a [u32], sampling: &'a Sampling, limit: usize) -> Request<'a> {
    Request { prompt, sampling, limit }
}

/// What a sequence is when it is computed anew from the beginning for every token, its context cut by hand.
fn by_hand(model: &Model, compute: &Compute, prompt: &[u32], limit: usize, context: usize) -> Vec<u32> {
    let (mut all, mut first) = (prompt.to_vec(), 0);
    while all.len() < prompt.len() + limit {
        if all.len() - first > context {
            first = all.len() - context.div_ceil(2);
        }
        let options = StateOptions { context: Some(context), ..exact(context) };
        let logits = score(model, compute, &options, &all[first..]);
        all.push(best(&logits[logits.len() - 1]));
    }
    all
}

/// Steps until nobody has anything to do; what was chosen.
fn finish(batch: &mut Batch<'_>) -> Vec<Chosen> {
    let mut all = Vec::new();
    while batch.is_busy() {
        all.extend(batch.step().unwrap());
        assert!(all.len() < 10_000, "it does not end");
    }
    assert!(batch.step().unwrap().is_empty());
    all
}

/// Prompts of any length, more of them than places, each as if it were alone.
#[test]
fn sequences_join_and_leave() {
    let (compute, greedy) = (compute(), Sampling::greedy());
    for spec in [llama(), gpt2()] {
        let model = load(&TestModel::varied(&spec), &compute);
        for (places, block) in [(3, 128), (3, 7), (4, 1), (1, 16)] {
            let mut batch = Batch::new(&model, &compute, &options(places, 64, block), KEEP).unwrap();
            let prompts: Vec<_> = [5, 30, 1, 17, 2, 9, 40]
                .into_iter()
                .enumerate()
                .map(|(seed, len)| (Random(seed as u64).tokens(len, spec.vocab), 3 + 5 * (seed % 3)))
                .collect();
            let (mut waiting, mut going) = (prompts.iter(), Vec::new());
            let mut done = Vec::new();
            loop {
                let free = places - going.len();
                for (prompt, limit) in waiting.by_ref().take(free) {
                    let sequence = batch.join(&request(prompt, &greedy, *limit)).unwrap().unwrap();
                    going.push((sequence, prompt, *limit));
                }
                if going.is_empty() {
                    break;
                }
                let ended: Vec<_> =
                    batch.step().unwrap().iter().filter(|chosen| chosen.end.is_some()).copied().collect();
                for Chosen { sequence, token, end } in ended {
                    assert_eq!(end, Some(End::Limit));
                    let place = going.iter().position(|(going, ..)| *going == sequence).unwrap();
                    let (_, prompt, limit) = going.swap_remove(place);
                    let tokens = batch.leave(sequence).unwrap();
                    assert_eq!(tokens.last(), Some(&token));
                    done.push((prompt, limit, tokens));
                    assert_eq!(batch.leave(sequence), None);
                }
            }
            assert_eq!(done.len(), prompts.len());
            for (prompt, limit, tokens) in done {
                let wanted = by_hand(&model, &compute, prompt, limit, 64);
                assert_eq!(tokens, wanted, "{places} places, blocks of {block}, a prompt of {}", prompt.len());
            }
        }
    }
}

/// Without a cache, and where the context moves on, tokens are those of a computation from the beginning.
#[test]
fn contexts_that_are_full() {
    let (compute, greedy) = (compute(), Sampling::greedy());
    let model = load(&TestModel::varied(&llama()), &compute);
    for (keep, context) in [(true, 20), (false, 20), (true, 7), (true, 1)] {
        let prompt = Random(5).tokens(context.min(6), 293);
        let wanted = by_hand(&model, &compute, &prompt, 50, context);
        for shift in [true, false] {
            let settings = BatchSettings { keep, shift };
            let mut batch = Batch::new(&model, &compute, &options(1, context, 16), settings).unwrap();
            let sequence = batch.join(&request(&prompt, &greedy, 50)).unwrap().unwrap();
            let chosen = finish(&mut batch);
            // A full context still tells what comes next.
            let (count, end) = if shift { (50, End::Limit) } else { (context - prompt.len() + 1, End::Context) };
            let tokens: Vec<_> = chosen.iter().map(|chosen| chosen.token).collect();
            let what = format!("keep {keep}, shift {shift}, context {context}");
            assert_eq!(tokens, wanted[prompt.len()..prompt.len() + count], "{what}");
            assert_eq!(chosen.last().unwrap().end, Some(end), "{what}");
            assert!(chosen[..count - 1].iter().all(|chosen| chosen.end.is_none()), "{what}");
            assert_eq!(batch.leave(sequence).unwrap(), wanted[..prompt.len() + count], "{what}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_harms_nobody() {
    let (compute, greedy) = (compute(), Sampling::greedy());
    let model = load(&TestModel::varied(&llama()), &compute);
    let many = options(MOST_SEQUENCES + 1, 8, 8);
    let error = Batch::new(&model, &compute, &many, KEEP).unwrap_err();
    assert!(error.to_string().contains("257 concurrent sequences; the limit is 256"), "{error}");
    let mut batch = Batch::new(&model, &compute, &options(2, 20, 8), KEEP).unwrap();
    assert!(!batch.is_busy() && batch.step().unwrap().is_empty());
    let prompt = Random(1).tokens(6, 293);
    assert_eq!(batch.join(&request(&prompt, &greedy, 9)), Ok(Some(0)));
    batch.step().unwrap();
    let wrong = Sampling { temperature: f32::NAN, ..Sampling::greedy() };
    for (prompt, sampling, says) in [
        (&[][..], &greedy, "the prompt is empty"),
        (&[1; 21], &greedy, "the prompt has 21 tokens, the context 20"),
        (&[1, 2, 293], &greedy, "token 293 of a vocabulary of 293"),
        (&[1], &wrong, "temperature"),
    ] {
        let error = batch.join(&request(prompt, sampling, 5)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains(says), "{error}");
    }
    // Nothing to say is said at once; its place is taken until it leaves.
    assert_eq!(batch.join(&request(&[1], &greedy, 0)), Ok(Some(1)));
    assert_eq!(batch.join(&request(&[1], &greedy, 5)), Ok(None));
    assert_eq!(batch.leave(1), Some(vec![1]));
    assert_eq!(batch.leave(7), None);
    finish(&mut batch);
    assert_eq!(batch.leave(0).unwrap(), by_hand(&model, &compute, &prompt, 9, 20));
}

/// Chance follows from the seed of each sequence, not from who is beside it.
#[test]
fn chance_is_each_sequences_own() {
    let compute = compute();
    let model = load(&TestModel::varied(&Synthetic { seed: 3, ..llama() }), &compute);
    let sampling = |seed: u64| Sampling { temperature: 0.8, seed, ..Sampling::default() };
    let alone = |seed: u64| {
        let mut batch = Batch::new(&model, &compute, &options(1, 60, 32), KEEP).unwrap();
        batch.join(&request(&[7, 8, 9], &sampling(seed), 30)).unwrap();
        finish(&mut batch);
        batch.leave(0).unwrap()
    };
    let mut batch = Batch::new(&model, &compute, &options(5, 60, 32), KEEP).unwrap();
    for seed in 0..5 {
        assert_eq!(batch.join(&request(&[7, 8, 9], &sampling(seed), 30)), Ok(Some(seed as usize)));
        batch.step().unwrap();
    }
    finish(&mut batch);
    let all: Vec<_> = (0..5).map(|sequence| batch.leave(sequence).unwrap()).collect();
    assert!(all.iter().enumerate().all(|(seed, tokens)| *tokens == alone(seed as u64)));
    assert!(all.windows(2).all(|two| two[0] != two[1]), "chance should differ");
}
