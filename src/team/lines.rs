//! How far lines of the cache travel, counted instead of timed: what lies on the longest path when all
//! members come at the same time. A thread does one thing after the other, and so does a line: each touch
//! takes it to another thread, unless the same one has touched it last.

use super::barrier::{Arrival, Barrier, Shape};
use crate::sys::sync::touched;
use std::collections::HashMap;

/// Clocks of threads and lines, in journeys of a line.
#[derive(Default)]
struct Clocks {
    threads: HashMap<u32, u32>,
    lines: HashMap<usize, (u32, Option<u32>)>,
}

impl Clocks {
    fn journey(&mut self, thread: u32, touched: &[usize]) {
        let now = self.threads.entry(thread).or_default();
        for line in touched {
            let (free, holder) = self.lines.entry(*line).or_default();
            if *holder != Some(thread) {
                *now = (*now).max(*free) + 1;
            }
            (*free, *holder) = (*now, Some(thread));
        }
    }

    fn longest(&self) -> u32 {
        *self.threads.values().max().expect("there are threads")
    }
}

/// The second of two rounds of `n` members (in the first one lines are where they never are again).
fn barrier(n: u32, shape: Shape) -> u32 {
    let b = Barrier::new(shape);
    let mut longest = 0;
    for round in 1..=2 {
        let mut clocks = Clocks::default();
        let mut arrived = vec![];
        for me in 0..n {
            let (a, lines) = touched::by(|| b.arrive(me, round));
            clocks.journey(me, &lines);
            arrived.push(a);
        }
        let (last, mut waiting): (Vec<u32>, Vec<u32>) = (0..n).partition(|&i| arrived[i as usize].last);
        assert_eq!(last.len(), 1, "one comes last");
        let mut ended = |me: u32, a: Arrival| {
            let ((), lines) = touched::by(|| {
                if a.last {
                    b.release(a);
                }
                assert!(b.passed(a));
                b.pass_on(a);
            });
            clocks.journey(me, &lines);
        };
        ended(last[0], arrived[last[0] as usize]);
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|&me| {
                let a = arrived[me as usize];
                let passed = b.passed(a);
                assert!(b.passed_by_all(a));
                if passed {
                    ended(me, a);
                }
                !passed
            });
            assert!(waiting.len() < before, "whoever waits is told");
        }
        longest = clocks.longest();
    }
    longest
}

#[test]
fn the_way_through_a_barrier_grows_with_the_logarithm() {
    let tree = |n| barrier(n, Shape::of(n));
    let ways = [4, 8, 16, 64, 256].map(|n| (n, tree(n)));
    // Four arrive, one ends it, three see that: for each level of the tree.
    assert_eq!(tree(4), 8, "{ways:?}");
    for (n, way) in ways {
        let levels = (1..).find(|l| 4u32.pow(*l) >= n).expect("not many");
        assert!(way <= 8 * levels, "{ways:?}");
    }
}

#[test]
fn every_size_of_a_team_has_its_tree() {
    for n in 1..=300 {
        barrier(n, Shape::of(n));
        barrier(n, Shape::binary(n));
    }
}

#[test]
fn two_members_tell_each_other() {
    let b = Barrier::new(Shape::of(2));
    let mut clocks = Clocks::default();
    for me in 0..2 {
        let ((), lines) = touched::by(|| b.tell(me, 1, false));
        clocks.journey(me as u32, &lines);
    }
    for me in 0..2 {
        let (met, lines) = touched::by(|| b.is_met(me, 1));
        assert!(met);
        clocks.journey(me as u32, &lines);
    }
    // Each fetches the line that it writes, and the other's.
    assert_eq!(clocks.longest(), 2);
}
