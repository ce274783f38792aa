//! Sampled stacks with weights become a call tree: the weight of a stack is self time of its innermost frame.
//!
//! A sampler counts no calls. The tree has the number of samples in their place, and all of it is marked as an estimate.

use std::cmp::Reverse;
use std::collections::HashMap;

use record::{Losses, Profile, Scope, Thread};

use crate::calls::{DEEPEST, MOST_PATHS};
use crate::tree::unknown_clock;

/// A call tree that is being made of samples.
#[derive(Default)]
pub(crate) struct Stacks<'a> {
    paths: Vec<Path>,
    numbers: HashMap<(Option<usize>, &'a str), usize>,
    threads: Vec<Thread>,
    lost: u64,
}

struct Path {
    parent: Option<usize>,
    name: String,
    samples: u64,
    self_ns: u64,
    threads: u64,
    last_thread: usize,
}

impl<'a> Stacks<'a> {
    /// Begins a thread: the samples that follow are of it.
    pub(crate) fn thread(&mut self, name: Option<String>) {
        let id = self.threads.len() as u64;
        self.threads.push(Thread { id, name, count: 1, ..Thread::default() });
    }

    /// Adds samples of one stack, the outermost frame first, that took so long together. Stacks that are too deep, or one
    /// too many, end where there is room.
    pub(crate) fn add(&mut self, stack: impl IntoIterator<Item = &'a str>, samples: u64, ns: u64) {
        if self.threads.is_empty() {
            self.thread(None);
        }
        let thread = self.threads.len();
        let mut innermost: Option<usize> = None;
        for (depth, name) in stack.into_iter().enumerate() {
            let known = self.numbers.get(&(innermost, name)).copied();
            if known.is_none() && (depth >= DEEPEST || self.paths.len() >= MOST_PATHS) {
                self.lost = self.lost.saturating_add(samples);
                break;
            }
            let place = known.unwrap_or_else(|| self.path(innermost, name));
            let path = &mut self.paths[place];
            path.samples = path.samples.saturating_add(samples);
            path.threads += u64::from(path.last_thread != thread);
            path.last_thread = thread;
            innermost = Some(place);
        }
        let thread = &mut self.threads[thread - 1];
        thread.wall_ns = thread.wall_ns.saturating_add(ns);
        if let Some(place) = innermost {
            let path = &mut self.paths[place];
            path.self_ns = path.self_ns.saturating_add(ns);
            thread.in_scopes_ns = thread.in_scopes_ns.saturating_add(ns);
            thread.calls = thread.calls.saturating_add(samples);
        }
    }

    fn path(&mut self, parent: Option<usize>, name: &'a str) -> usize {
        let place = self.paths.len();
        self.numbers.insert((parent, name), place);
        let name = name.to_owned();
        self.paths.push(Path { parent, name, samples: 0, self_ns: 0, threads: 0, last_thread: 0 });
        place
    }

    /// Parents before children, siblings by total time.
    pub(crate) fn finish(self) -> Profile {
        let Stacks { paths, threads, lost, .. } = self;
        let mut totals: Vec<u64> = paths.iter().map(|path| path.self_ns).collect();
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); paths.len()];
        let mut roots = Vec::new();
        // A path stands behind its parent.
        for (at, path) in paths.iter().enumerate().rev() {
            if let Some(parent) = path.parent {
                totals[parent] = totals[parent].saturating_add(totals[at]);
            }
            path.parent.map_or(&mut roots, |parent| &mut below[parent]).push(at);
        }
        let by_time = |list: &mut Vec<usize>| list.sort_by_key(|at| (Reverse(totals[*at]), *at));
        by_time(&mut roots);
        below.iter_mut().for_each(by_time);
        let mut scopes: Vec<Scope> = Vec::with_capacity(paths.len());
        let mut pending: Vec<(usize, Option<usize>)> = roots.iter().rev().map(|root| (*root, None)).collect();
        while let Some((at, parent)) = pending.pop() {
            let place = scopes.len();
            let Path { name, samples, self_ns, threads, .. } = &paths[at];
            scopes.push(Scope {
                name: name.clone(),
                parent,
                calls: *samples,
                is_sampled: true,
                total_ns: totals[at],
                self_ns: *self_ns,
                threads: *threads,
                ..Scope::default()
            });
            pending.extend(below[at].iter().rev().map(|child| (*child, Some(place))));
        }
        let wall_ns = threads.iter().map(|thread| thread.wall_ns).max().unwrap_or(0);
        let outside = threads.iter().map(|thread| thread.wall_ns - thread.in_scopes_ns);
        let outside_ns = outside.fold(0, u64::saturating_add);
        let lost = Losses { calls_without_room: lost, ..Losses::default() };
        Profile { wall_ns, clock: unknown_clock(), scopes, threads, outside_ns, lost, ..Profile::default() }
    }
}
