//! One source, linked in many orders: what differs is only where the code lies.

use record::Verdict;

use crate::bench::{Bench, Request};
use crate::outcome::Outcome;
use crate::programs::Programs;
use crate::random::Random;
use crate::table::{Criterion, Wanted};

const LINKS: usize = 30;
const SMOKE_LINKS: usize = 3;
const UNITS: usize = 8;
/// Functions of random lengths that nobody calls, of which each link has some.
const PADDINGS: u64 = 12;
const PADDINGS_OF_LINK: usize = 5;
const LONGEST_PADDING: u64 = 4096;

/// Rounds of the program, about 0.65 µs each.
const ROUNDS: u64 = 12_000;
const METRIC: &str = "cpu_s=1.5%";

/// Pairs of links with the same work, and with 3 % more on one side.
pub fn links(bench: &mut Bench) -> Result<(), String> {
    let count = if bench.options.is_smoke { SMOKE_LINKS } else { LINKS };
    let links = link_all(&bench.programs, &mut bench.random, count)?;
    let request = |number: usize, more: u64| {
        let (base, candidate) = (&links[number % count], &links[(number + 1) % count]);
        let sides = [format!("{base} {ROUNDS}"), format!("{candidate} {}", ROUNDS + ROUNDS * more / 100)];
        let [base, candidate] = sides;
        Ok(Request { metric: Some(METRIC), is_seeded: true, ..Request::new(base, candidate) })
    };
    let same = bench.duels("links: same work", LINKS, |_, number| request(number, 0))?;
    let slowed = bench.duels("links: +3 % work", 20, |_, number| request(number, 3))?;
    let found = |outcome: &Outcome| outcome.is(Verdict::Regressed);
    bench.keep(vec![
        Criterion::share("links: verdicts beyond 1.5 %", &same.outcomes, Outcome::is_false, Wanted::None),
        Criterion::share("links: +3 % found", &slowed.outcomes, found, Wanted::AtLeast(0.8)),
    ])
}

/// The paths of so many links, each with its objects in another order.
fn link_all(programs: &Programs, random: &mut Random, count: usize) -> Result<Vec<String>, String> {
    let mut code = vec![programs.compile_object("main", &[], "main")?];
    for unit in 0..UNITS {
        code.push(programs.compile_object("unit", &[format!("-DUNIT={unit}")], &format!("unit{unit}"))?);
    }
    let mut paddings = Vec::new();
    for padding in 0..PADDINGS {
        let definitions = [format!("-DPADDING={padding}"), format!("-DBYTES={}", 1 + random.below(LONGEST_PADDING))];
        paddings.push(programs.compile_object("padding", &definitions, &format!("padding{padding}"))?);
    }
    let mut links = Vec::new();
    for link in 0..count {
        random.shuffle(&mut paddings);
        let mut objects: Vec<String> = code.iter().chain(&paddings[..PADDINGS_OF_LINK]).cloned().collect();
        random.shuffle(&mut objects);
        let program = format!("links/{link:02}/linked");
        programs.link(&objects, &program)?;
        links.push(program);
    }
    Ok(links)
}
