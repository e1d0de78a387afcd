//! How far lines of the cache travel in taskloops, counted instead of timed (see team/cache_lines.rs): where
//! the creator makes the tasks one after the other, and where ranges of them are split by halves.

use super::count::Count;
use super::deque::Deque;
use super::remainder::Remainder;
use super::steal_backoff::Looks;
use crate::sys::sync::{AtomicU64, touch, touched};
use crate::team::cache_lines::Clocks;
use crossbeam_utils::CachePadded;
use std::collections::HashMap;

/// A task: what its creator writes and who executes it reads, and what is not done of it.
#[derive(Default)]
struct Lines {
    head: CachePadded<AtomicU64>,
    block: CachePadded<AtomicU64>,
    left: CachePadded<Remainder>,
    pieces: (u64, u64),
    origin: Option<u64>,
}

/// A count, as it lies in tasks and groups.
#[derive(Default)]
#[repr(C)]
struct Apart([u64; 7], Count);

/// A team, its tasks and what they are counted in. All members take turns; a piece takes one.
struct Run {
    n: u32,
    deques: Vec<Deque<256>>,
    tasks: Vec<&'static Lines>,
    /// The generating task's children, and the taskgroup's tasks: the creator's.
    counts: [CachePadded<Apart>; 2],
    victims: Vec<u32>,
    executed: Vec<u32>,
    done: u64,
}

impl Run {
    fn make(&mut self, pieces: (u64, u64), origin: Option<u64>) -> u64 {
        let t = Lines { pieces, origin, ..Lines::default() };
        let t = Box::leak(Box::new(t));
        t.left.begin();
        touch(&t.head);
        touch(&t.block);
        self.tasks.push(t);
        self.tasks.len() as u64 - 1
    }

    fn create(&mut self, me: u32, pieces: (u64, u64), origin: Option<u64>) {
        let t = self.make(pieces, origin);
        if origin.is_none() {
            self.counts.iter().for_each(|c| c.1.add());
        }
        assert!(self.deques[me as usize].push(t));
    }

    fn take(&mut self, me: u32, looks: bool) -> Option<u64> {
        if let Some(t) = self.deques[me as usize].pop(0) {
            return Some(t);
        }
        let first = self.victims[me as usize];
        let victims = (0..self.n).map(|i| (first + i) % self.n).filter(|v| looks && *v != me);
        for v in victims {
            if let Some(t) = self.deques[v as usize].steal(|_| true) {
                self.victims[me as usize] = v;
                return Some(t);
            }
        }
        None
    }

    fn execute(&mut self, me: u32, t: u64) {
        let (at, (first, mut end)) = (t as usize, self.tasks[t as usize].pieces);
        touch(&self.tasks[at].head);
        touch(&self.tasks[at].block);
        if end - first > 1 {
            self.tasks[at].left.split((end - first).ilog2());
        }
        while end - first > 1 {
            let middle = first + (end - first) / 2;
            self.create(me, (middle, end), Some(t));
            end = middle;
        }
        self.executed[first as usize] += 1;
        self.done += 1;
        let mut t = t as usize;
        while self.tasks[t].left.done() {
            touch(&self.tasks[t].head); // back to where it came from
            let Some(origin) = self.tasks[t].origin else {
                self.counts.iter().for_each(|c| assert!(!c.1.child_done(me == 0)));
                break;
            };
            t = origin as usize;
        }
    }
}

/// Journeys of lines for each piece, and the longest way.
fn taskloop(n: u32, pieces: u64, halves: bool) -> (f64, u32) {
    let mut run = Run {
        n,
        deques: (0..n).map(|_| Deque::default()).collect(),
        tasks: vec![],
        counts: Default::default(),
        victims: vec![0; n as usize],
        executed: vec![0; pieces as usize],
        done: 0,
    };
    let mut looks: Vec<Looks> = (0..n).map(|i| Looks::of(i, n)).collect();
    let (mut clocks, mut moves, mut holder) = (Clocks::default(), 0, HashMap::new());
    let mut next = 0;
    while run.done < pieces {
        for me in 0..n {
            let ((), lines) = touched::by(|| {
                if me == 0 && next < pieces {
                    let to = if halves { pieces } else { next + 1 };
                    run.create(0, (next, to), None);
                    next = to;
                    return;
                }
                let looks = looks[me as usize].due();
                if let Some(t) = run.take(me, looks) {
                    run.execute(me, t);
                }
            });
            let mut lines: Vec<usize> = lines.iter().map(|at| at / 64).collect();
            lines.dedup();
            for line in &lines {
                moves += u32::from(holder.insert(*line, me) != Some(me) && clocks.knows(*line));
                clocks.journey(me, &[*line]);
            }
        }
    }
    assert!(run.executed.iter().all(|&n| n == 1));
    assert!(run.counts.iter().all(|c| c.1.none()), "the creator sees the end");
    (f64::from(moves) / pieces as f64, clocks.longest())
}

#[test]
fn halves_move_fewer_lines_than_one_task_at_a_time() {
    // At most so many for each piece; the longest way, at least so many times shorter.
    for (n, most, shorter) in [(2, 0.3, 2), (8, 2.5, 6), (16, 5.0, 10)] {
        let pieces = if n == 2 { 120 } else { 240 };
        let (one, half) = (taskloop(n, pieces, false), taskloop(n, pieces, true));
        eprintln!("{n} members: one by one {one:.1?}, by halves {half:.1?}");
        assert!(half.0 <= most && half.0 * 8.0 < one.0, "{n} members: {one:?}, by halves {half:?}");
        assert!(half.1 * shorter <= one.1, "{n} members: {one:?}, by halves {half:?}");
    }
    assert!(taskloop(1, 100, true).0 == 0.0);
}

/// One line, fetched once for each task that another thread has done, and once by who waits: whatever the
/// team's size.
#[test]
fn the_end_of_a_taskgroup_is_one_line() {
    let end = |n: u32| {
        let (c, mut clocks) = (Apart::default(), Clocks::default());
        (1..n).for_each(|_| c.1.add());
        let mut journey = |me: u32, f: &dyn Fn() -> bool| {
            let (r, lines) = touched::by(f);
            let lines: Vec<usize> = lines.iter().map(|at| at / 64).collect();
            clocks.journey(me, &lines);
            r
        };
        for me in 1..n {
            journey(me, &|| c.1.child_done(false));
        }
        assert!(journey(0, &|| c.1.none()));
        clocks.longest()
    };
    assert_eq!([2, 4, 8, 16, 64].map(end), [2, 4, 8, 16, 64]);
}
