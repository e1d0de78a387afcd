//! How far lines of the cache travel in dynamic loops, counted instead of timed (see team/cache_lines.rs).

use super::batch::Batch;
use super::dispenser::Dispenser;
use super::share::{Maker, Share, ShareRing};
use super::shared_batches::{Many, Own};
use crate::sys::sync::{touch, touched};
use crate::team::cache_lines::Clocks;
use crate::team::member::Member;
use crossbeam_utils::CachePadded;
use std::collections::HashMap;

/// What members do who come to a loop together, one after the other and a chunk at a time.
struct Run {
    clocks: Clocks,
    /// How often each line came to another thread.
    moves: u32,
    holder: HashMap<usize, u32>,
    /// The most that one thread fetched when it found nothing more.
    last_look: usize,
}

impl Run {
    fn new() -> Self {
        Self { clocks: Clocks::default(), moves: 0, holder: HashMap::new(), last_look: 0 }
    }

    fn touch(&mut self, me: u32, touched: &[usize], is_last: bool) {
        let mut lines: Vec<usize> = touched.iter().map(|at| at / 64).collect();
        lines.dedup();
        let before = self.moves;
        for line in &lines {
            self.moves += u32::from(self.holder.insert(*line, me) != Some(me));
        }
        if is_last {
            self.last_look = self.last_look.max((self.moves - before) as usize);
        }
        self.clocks.journey(me, &lines);
    }

    /// `take(me)`: the next chunk of member `me`. All of `n` take turns until nothing is left.
    fn turns(mut self, n: u32, mut take: impl FnMut(u32) -> Option<u64>) -> (Self, Vec<u64>) {
        let (mut chunks, mut at_work) = (vec![], (0..n).collect::<Vec<_>>());
        while !at_work.is_empty() {
            at_work.retain(|&me| {
                let (chunk, lines) = touched::by(|| take(me));
                self.touch(me, &lines, chunk.is_none());
                chunks.extend(chunk);
                chunk.is_some()
            });
        }
        chunks.sort_unstable();
        (self, chunks)
    }
}

fn batches(n: u32) -> Vec<CachePadded<Batch>> {
    (0..n).map(|_| CachePadded::default()).collect()
}

/// A loop of `chunks` chunks, as a team of many takes them.
fn by_many(n: u32, chunks: u64) -> Run {
    let (d, batches) = (Dispenser::default(), batches(n));
    let many = Many { total: chunks, chunk: 1, threads: n };
    let mut own = vec![Own::default(); n as usize];
    let (run, taken) = Run::new().turns(n, |me| {
        let mine = &batches[me as usize];
        mine.take(1).or_else(|| {
            let steal = |victim: u32| batches[victim as usize].steal(1);
            let (first, k) = many.more(&d, me, &mut own[me as usize], steal)?;
            Some(mine.fill(1, first, k))
        })
    });
    assert_eq!(taken, (0..chunks).collect::<Vec<_>>(), "{n} members");
    run
}

/// How a team of few takes its chunks.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// One at a time, until there is none.
    UntilNone,
    /// One at a time; who has had the last one does not ask.
    Singly,
    /// Its share at once.
    Share,
}

/// The second of two loops of `chunks` chunks (in the first one lines are where they never are again): a
/// member makes it, then all of `n` take turns.
fn by_few(n: u32, chunks: u64, way: Way) -> Run {
    let (d, batches) = (Dispenser::default(), batches(n));
    let many = Many { total: chunks, chunk: 1, threads: n };
    let mut run = Run::new();
    for construct in 1..=2 {
        let (mut positions, mut last) = (vec![0; n as usize], None);
        run = Run { holder: run.holder, ..Run::new() };
        let ((), made) = touched::by(|| d.reset());
        run.touch(construct as u32 % n, &made, false);
        let taken;
        (run, taken) = run.turns(n, |me| {
            let had_last = last == Some(me);
            let chunk = if way == Way::Share {
                let mine = &batches[me as usize];
                touch(mine);
                let other = |i| &batches[((me + i) % n) as usize];
                let steal = || if had_last { None } else { (1..n).find_map(|i| other(i).steal(construct)) };
                mine.take(construct).or_else(|| {
                    let (first, k) = many.more_of_few(&d, &mut positions[me as usize], steal)?;
                    Some(mine.fill(construct, first, k))
                })
            } else if had_last && way == Way::Singly {
                None
            } else {
                d.take(chunks, 1).map(|r| r.lo)
            };
            if chunk == Some(chunks - 1) {
                last = Some(me);
            }
            chunk
        });
        assert_eq!(taken, (0..chunks).collect::<Vec<_>>(), "{n} members");
    }
    run
}

/// One chunk at a time.
fn singly(n: u32, chunks: u64) -> Run {
    let d = Dispenser::default();
    let (run, taken) = Run::new().turns(n, |_| d.take(chunks, 1).map(|r| r.lo));
    assert_eq!(taken, (0..chunks).collect::<Vec<_>>());
    run
}

#[test]
fn who_comes_to_a_loop_fetches_one_line() {
    let ring: &'static ShareRing = Box::leak(Box::default());
    let members = [Member::new(), Member::new()];
    let mut run = Run::new();
    let mut before = 0;
    for k in 0..24 {
        // Two chunks. Who makes the descriptor has the first, and asks again when the other one has come.
        for (me, comes) in [(0, true), (1, true), (0, false)] {
            let m = &members[me];
            let (_, lines) = touched::by(|| {
                if comes {
                    m.constructs.settled.set(m.constructs.entered.get());
                    assert_eq!(m.enter_construct(ring, 1, |_| ()).1.is_some(), me == 0);
                }
                m.share().dispenser.take(2, 1)
            });
            run.touch(me as u32, &lines, false);
        }
        if k >= 8 {
            assert_eq!(run.moves - before, 2, "there and back");
        }
        before = run.moves;
    }
}

/// Has the first chunk when others see the descriptor, or not.
#[derive(Clone, Copy)]
struct First(u64);

impl Maker for First {
    fn make(self, s: &'static Share) -> u64 {
        if self.0 > 0 {
            s.dispenser.take_first(self.0);
        }
        self.0
    }
}

#[test]
fn who_makes_a_loop_need_not_fetch_the_line_back_for_its_first_chunk() {
    // Two come at once: one makes the descriptor, the other one sees it, then each takes a chunk of two.
    let a_loop = |first: First| {
        let ring: &'static ShareRing = Box::leak(Box::default());
        let members = [Member::new(), Member::new()];
        let (mut run, mut before) = (Run::new(), 0);
        for k in 0..24 {
            before = run.moves;
            let mut taken = [None; 2];
            for (me, m) in members.iter().enumerate() {
                let (_, lines) = touched::by(|| {
                    m.constructs.settled.set(m.constructs.entered.get());
                    let made = m.enter_construct(ring, 1, first).1;
                    assert_eq!(made.is_some(), me == 0, "loop {k}");
                    taken[me] = made.filter(|n| *n > 0).map(|_| 0);
                });
                run.touch(me as u32, &lines, false);
            }
            for (me, m) in members.iter().enumerate() {
                let (_, lines) = touched::by(|| {
                    taken[me] = taken[me].or_else(|| m.share().dispenser.take(2, 1).map(|r| r.lo));
                });
                run.touch(me as u32, &lines, false);
            }
            assert_eq!(taken, [Some(0), Some(1)]);
        }
        run.moves - before
    };
    assert_eq!((a_loop(First(0)), a_loop(First(1))), (4, 2));
}

#[test]
fn short_loops_fetch_the_dispenser_three_times_a_thread() {
    for n in [8, 16, 64] {
        let (each, many) = (singly(n, 4 * u64::from(n)), by_many(n, 4 * u64::from(n)));
        assert_eq!(many.last_look, 1, "the dispenser: nobody says that there is more");
        assert_eq!((each.moves, many.moves), (5 * n, 3 * n));
        assert_eq!((each.clocks.longest(), many.clocks.longest()), (5 * n, 3 * n));
    }
}

#[test]
fn few_members_fetch_few_lines_in_short_loops() {
    let ways = |n: u32| {
        [Way::UntilNone, Way::Singly, Way::Share].map(|way| {
            let run = by_few(n, 4 * u64::from(n), way);
            (run.moves, run.clocks.longest())
        })
    };
    assert_eq!(ways(2), [(10, 10), (8, 9), (4, 6)]);
    assert_eq!(ways(3), [(15, 16), (15, 15), (13, 10)]);
    // Each looks at three others in the end.
    assert_eq!(ways(4), [(21, 21), (19, 20), (21, 15)]);
}

#[test]
fn what_a_slow_member_holds_is_found() {
    for n in [5, 8, 63, 64, 65, 200, 448, 449, 500] {
        let (d, batches) = (Dispenser::default(), batches(n));
        let many = Many { total: 6 * u64::from(n), chunk: 1, threads: n };
        let mut own = vec![Own::default(); n as usize];
        let mut next = |me: u32| {
            let steal = |victim: u32| batches[victim as usize].steal(1);
            batches[me as usize].take(1).or_else(|| {
                let (first, k) = many.more(&d, me, &mut own[me as usize], steal)?;
                Some(batches[me as usize].fill(1, first, k))
            })
        };
        // The first one begins its batch, and does not come back until the others find nothing.
        let mut taken: Vec<u64> = next(0).into_iter().collect();
        for me in 1..n {
            taken.extend(core::iter::from_fn(|| next(me)));
        }
        taken.sort_unstable();
        assert_eq!(taken, (0..many.total).collect::<Vec<_>>(), "{n} members");
        assert_eq!(next(0), None);
    }
}
