//! How far lines of the cache travel, counted instead of timed: what lies on the longest path when all
//! members come at the same time. A thread does one thing after the other, and so does a line: each touch
//! takes it to another thread, unless the same one has touched it last.

use super::barrier::{Arrival, Barrier, Shape};
use super::orders::{Call, Dock, End, FEW, led};
use crate::sys::sync::touched;
use crossbeam_utils::CachePadded;
use std::collections::HashMap;

/// Clocks of threads and lines, in journeys of a line.
#[derive(Default)]
pub(crate) struct Clocks {
    threads: HashMap<u32, u32>,
    lines: HashMap<usize, (u32, Option<u32>)>,
}

impl Clocks {
    /// `thread` touches these lines, one after the other.
    pub(crate) fn journey(&mut self, thread: u32, touched: &[usize]) {
        let now = self.threads.entry(thread).or_default();
        for line in touched {
            let (free, holder) = self.lines.entry(*line).or_default();
            if *holder != Some(thread) {
                *now = (*now).max(*free) + 1;
            }
            (*free, *holder) = (*now, Some(thread));
        }
    }

    /// Has anybody touched this line?
    pub(crate) fn knows(&self, line: usize) -> bool {
        self.lines.contains_key(&line)
    }

    /// The lines as they are when everybody has long had what it fetched.
    fn since_long_ago(self) -> HashMap<usize, (u32, Option<u32>)> {
        self.lines.into_iter().map(|(line, (_, holder))| (line, (0, holder))).collect()
    }

    /// What the thread that has waited longest has waited for.
    pub(crate) fn longest(&self) -> u32 {
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

/// A team's lines for orders and ends, as crew.rs uses them.
struct Crew {
    n: u32,
    call: Call<u32>,
    docks: Vec<CachePadded<Dock<u64>>>,
    ends: Vec<End>,
}

/// The ways of the order and of the ends, in the second of two regions of `n` members.
fn region(n: u32) -> (u32, u32) {
    let crew = Crew {
        n,
        call: Call::default(),
        docks: (0..n).map(|_| CachePadded::default()).collect(),
        ends: (0..n).map(|_| End::default()).collect(),
    };
    let mut ways = (0, 0);
    let (mut lines, mut orders) = (HashMap::new(), vec![0; n as usize]);
    for epoch in 1..=2 {
        let mut clocks = Clocks { lines: core::mem::take(&mut lines), ..Clocks::default() };
        crew.order(epoch, &mut clocks, &mut orders);
        assert!(orders.iter().skip(1).all(|&o| o == epoch as u32), "each has one order");
        ways.0 = clocks.longest();
        // All have worked for as long.
        let mut clocks = Clocks { lines: clocks.since_long_ago(), ..Clocks::default() };
        crew.end(epoch, &mut clocks);
        ways.1 = clocks.longest();
        lines = clocks.since_long_ago();
    }
    ways
}

impl Crew {
    fn leads(&self, i: u32) -> Vec<u32> {
        if self.n > FEW { led(i, self.n).collect() } else { (1..self.n).filter(|_| i == 0).collect() }
    }

    /// What `call_workers` and `pass_on` do.
    fn order(&self, epoch: u64, clocks: &mut Clocks, orders: &mut [u32]) {
        if self.n > FEW {
            let ((), touched) = touched::by(|| self.call.publish(epoch, 1, 0));
            clocks.journey(0, &touched);
        }
        let mut have = vec![0];
        while let Some(i) = have.pop() {
            if i > 0 {
                let (called, touched) = touched::by(|| self.docks[i as usize].called(orders[i as usize]));
                assert!(called);
                clocks.journey(i, &touched);
                orders[i as usize] += 1;
            }
            let ((), touched) = touched::by(|| {
                self.leads(i).iter().rev().for_each(|&m| self.docks[m as usize].post(Some(epoch)));
            });
            clocks.journey(i, &touched);
            have.extend(self.leads(i));
        }
    }

    /// What `come`, `await_ends` and, for few, `all_came` do.
    fn end(&self, epoch: u64, clocks: &mut Clocks) {
        for i in (0..self.n).rev() {
            let ((), touched) = touched::by(|| {
                let end = &self.ends[i as usize];
                if i > 0 {
                    end.come(epoch);
                }
                for m in self.leads(i) {
                    let end = &self.ends[m as usize];
                    assert!(if self.n > FEW { end.has_passed_up(epoch) } else { end.has_come(epoch) });
                }
                if i > 0 && self.n > FEW {
                    end.pass_up(epoch);
                }
            });
            clocks.journey(i, &touched);
        }
    }
}

#[test]
fn the_ways_of_a_regions_order_and_ends_grow_with_the_logarithm() {
    // The order, one level: the primary thread fetches the lines of one, two, three workers, and the last of
    // these fetches its own back. The end: a worker fetches the line that the primary thread has looked at,
    // who fetches those of one, two, three.
    assert_eq!([2, 3, 4].map(region), [(2, 2), (3, 3), (4, 4)]);
    // Two levels: member 4 has its order after 2, and its third worker after 3 + 1 more. Its workers have
    // come after 1, it has seen them after 4 and said so after 5, and the primary thread has seen that
    // after 6.
    assert_eq!(region(8), (6, 6));
    // The third leader has its order after 4, its third worker after 4 more.
    // Three leaders have said so after 5; the primary thread, which has seen its own three after 4, sees
    // these after 6, 7 and 8.
    assert_eq!(region(16), (8, 8));
    assert_eq!([64, 256, 1024].map(region), [(12, 12), (16, 16), (20, 20)]);
}

#[test]
fn every_member_is_led_by_one_who_is_led_before() {
    for n in 1..=300 {
        let mut leader = vec![None; n as usize];
        for i in 0..n {
            for m in led(i, n) {
                assert!(m > i && m < n, "{i} of {n} leads {m}");
                assert_eq!(leader[m as usize].replace(i), None, "{m} of {n}");
            }
        }
        assert!(leader.iter().skip(1).all(Option::is_some), "{n}: {leader:?}");
        assert!(n <= FEW || led(0, n).count() <= 3 * n.ilog2() as usize, "{n}");
    }
    let all = |i, n| led(i, n).collect::<Vec<_>>();
    assert_eq!(all(0, 1), [0; 0]);
    assert_eq!(all(0, 18), [1, 2, 3, 4, 8, 12, 16]);
    assert_eq!((all(4, 7), all(16, 64)), (vec![5, 6], vec![17, 18, 19, 20, 24, 28]));
    assert_eq!((all(5, 64), all(16, 17)), (vec![], vec![]));
}
