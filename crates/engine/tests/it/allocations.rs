//! What is done for every token allocates nothing once it is warm.

use engine::{Sampler, Sampling, StopSequences, Tokenizer};

use crate::random::Random;

#[test]
fn tokens_are_chosen_without_allocations() {
    let plain = Sampling { temperature: 1.0, ..Sampling::greedy() };
    let ways = [
        Sampling::greedy(),
        plain.clone(),
        Sampling { repetition_penalty: 1.1, ..Sampling::default() },
        Sampling { top_k: 4000, ..plain.clone() },
        Sampling { top_p: 0.9, ..plain.clone() },
        Sampling { top_p: 0.999, temperature: 100.0, ..plain.clone() },
        Sampling { min_p: 1e-6, ..plain },
    ];
    let mut random = Random(17);
    for way in ways {
        let mut sampler = Sampler::new(&way, 5000);
        for spread in [0.0, 0.1, 30.0] {
            let mut logits: Vec<f32> = (0..5000).map(|_| random.unit() * spread).collect();
            for _ in 0..200 {
                hotloop::assert_no_alloc!({
                    let id = sampler.sample(&mut logits);
                    sampler.accept(id);
                });
            }
        }
    }
}

#[test]
fn text_is_streamed_without_allocations() {
    let tokenizer = Tokenizer::bytes(300);
    let mut stream = tokenizer.stream();
    let mut stops = StopSequences::new(&["aaaab".to_owned(), "zz".to_owned()]);
    let mut random = Random(18);
    let mut ids: Vec<u32> = (0..256).collect();
    for round in 0..20 {
        ids.iter_mut().for_each(|id| *id = [97, 98, 0xC3, 0xA9, random.below(300) as u32][random.below(5)]);
        let mut step = || ids.iter().filter(|id| stops.push(stream.push(**id)).ended).count();
        // The first rounds make room.
        if round < 4 {
            step();
        } else {
            hotloop::assert_no_alloc!(step());
        }
        stops.finish();
    }
}
