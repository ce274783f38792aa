use super::*;

fn all_levels() -> impl Iterator<Item = Level> {
    Kernels::available().into_iter().map(|kernels| kernels.level)
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Plan = Plan { threads: 2, duration: Duration::from_millis(20), preparation: LONG };

fn buffer(bytes: usize) -> Buffer {
    Buffer::new(bytes, Pages::Small, Instant::now() + LONG).expect("there is memory")
}

/// Each step of a chain adds one to a lane: the sum is the number of multiply-adds, which are two operations each.
#[test]
fn chains_do_as_many_operations_as_they_say() {
    for chain in all_levels().flat_map(|level| [f32_chains(level), int8_chains(level)].into_iter().flatten()) {
        for rounds in [0, 1, 7, 1000] {
            let expected = (rounds * chain.ops_per_round) as f64 / 2.0;
            assert_eq!(chain.run(rounds), expected, "{}: {} x {rounds}", chain.isa, chain.how);
        }
    }
}

/// The exclusive or of all words tells that each was read, and read an odd number of times.
#[test]
fn walks_read_every_word_of_every_stream() {
    let buffer = buffer(16 << 10);
    let words: Vec<u64> = (0..buffer.bytes() / 8)
        // SAFETY: the word lies inside of the buffer.
        .map(|at| unsafe { buffer.start().cast::<u64>().add(at).read() })
        .collect();
    let xor = |from: usize, bytes: usize| words[from / 8..][..bytes / 8].iter().fold(0, |all, word| all ^ word);
    for walk in all_levels().flat_map(walks) {
        let stride = buffer.bytes() / walk.streams;
        for (from, bytes) in [(0, stride), (0, BLOCK), (BLOCK, 2 * BLOCK), (stride - BLOCK, BLOCK)] {
            let expected = (0..walk.streams).fold(0, |all, stream| all ^ xor(stream * stride + from, bytes));
            assert_ne!(expected, 0);
            let what = format!("{}, {}, {bytes} at {from}", walk.isa, walk.how);
            assert_eq!(walk.run(&buffer, from, bytes, 1), expected, "{what}");
            assert_eq!(walk.run(&buffer, from, bytes, 2), 0, "{what}: read twice");
            assert_eq!(walk.run(&buffer, from, bytes, 3), expected, "{what}: read three times");
        }
    }
}

/// Whichever way it is read, and by whichever thread: all of it.
#[test]
fn memory_is_read_through_in_all_ways() {
    for kernels in Kernels::available() {
        let memory = ReadThrough::new(kernels, 2, 10_000, LONG).expect("there is memory");
        let all = |part: &Buffer| {
            // SAFETY: the word lies inside of the buffer.
            let word = |at: usize| unsafe { part.start().cast::<u64>().add(at).read() };
            assert!(part.bytes() >= 10_000);
            (0..part.bytes() / 8).fold(0, |all, at| all ^ word(at))
        };
        assert!(memory.ways() > 0);
        for way in 0..memory.ways() {
            let read = std::thread::scope(|scope| {
                let other = scope.spawn(|| memory.read(1, way));
                [memory.read(0, way), other.join().expect("the other thread reads")]
            });
            assert_eq!(read.to_vec(), memory.parts.iter().map(all).collect::<Vec<_>>(), "{}, {way}", kernels.isa());
        }
    }
    let none = ReadThrough::new(Kernels::best(), 1, 64 << 20, Duration::ZERO);
    assert!(none.is_none(), "less than was asked for is refused");
}

#[test]
#[should_panic(expected = "from + bytes <= stride")]
fn a_walk_beyond_the_buffer_is_refused() {
    let buffer = buffer(4 * BLOCK);
    scalar::walks()[1].run(&buffer, BLOCK, BLOCK, 1);
}

/// Of a large buffer every piece has its turn, whichever way is taken.
#[test]
fn a_reader_walks_through_all_of_a_large_buffer() {
    let bytes = 3 * LARGE_BYTES;
    for walk in walks(Level::Scalar) {
        let (per_chunk, walk) = (4 * PIECE_BYTES as u64, [walk]);
        let mut reader = reader(&walk, buffer(bytes));
        for _ in 0..3 * bytes as u64 / per_chunk {
            assert_eq!(reader(0), per_chunk);
        }
    }
}

#[test]
fn every_instruction_set_has_limits() {
    for kernels in Kernels::available() {
        let reading = Reading { bytes: 16 << 10, pages: Pages::Small, from_dram: false };
        for measured in [
            f32_flops(&[kernels], SHORT).expect("threads start"),
            int8_ops(&[kernels], SHORT).expect("threads start"),
            read_bytes(&[kernels], SHORT, reading).expect("threads start"),
        ] {
            assert_eq!((measured.isa, measured.threads), (kernels.isa(), 2));
            assert!(measured.best() >= measured.median() && measured.median() >= 0.0, "{measured:?}");
            assert!(measured.best() > 1e6, "{measured:?}");
            assert!((0.0..=1.0).contains(&measured.spread()), "{measured:?}");
        }
    }
}

#[test]
fn memory_that_comes_too_slowly_is_read_in_part() {
    let all = buffer(6 << 20);
    let part = Buffer::new(6 << 20, Pages::Small, Instant::now()).expect("there is memory");
    assert_eq!((all.bytes(), part.bytes()), (6 << 20, 2 << 20));
    let reading = Reading { bytes: 6 << 20, pages: Pages::Huge, from_dram: true };
    let hurried = Plan { preparation: Duration::ZERO, ..SHORT };
    let measured = read_bytes(&Kernels::available(), hurried, reading).expect("threads start");
    assert_eq!((measured.bytes, measured.threads), (2 << 20, 2));
}

#[test]
fn memory_that_cannot_be_had_is_no_measurement() {
    let reading = Reading { bytes: usize::MAX / 4, pages: Pages::Huge, from_dram: true };
    assert!(read_bytes(&Kernels::available(), SHORT, reading).is_none());
    assert!(Buffer::new(usize::MAX, Pages::Huge, Instant::now()).is_none());
}
