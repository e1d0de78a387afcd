//! Chunks of loops: dispenser, batches, ledger and orphans.

use crate::batch::Batch;
use crate::check;
use crate::dispenser::{Dispenser, Orphan, Range};
use crate::event_count::{Event, Patience};
use crate::shared_batches::{Many, Own};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

/// Two threads take the chunks of two loops, one after the other without a barrier between, from the
/// dispenser, from their batches and from each other's: every chunk of each loop is taken once. A thread
/// may be in the second loop while the other one still looks for chunks of the first.
#[test]
fn batches() {
    const CHUNKS: u64 = 5;
    struct State {
        dispensers: [Dispenser; 2],
        batches: [Batch; 2],
        taken: [[AtomicU32; CHUNKS as usize]; 2],
    }
    check(3, || {
        let s = Arc::new(State {
            dispensers: Default::default(),
            batches: Default::default(),
            taken: [(); 2].map(|()| [(); CHUNKS as usize].map(|()| AtomicU32::new(0))),
        });
        let run = |s: &State, me: usize| {
            for (k, taken) in s.taken.iter().enumerate() {
                let construct = k as u64;
                let other = || s.batches[1 - me].steal(construct);
                // Threads that always take three at once, where the library's count on there being enough
                // for all.
                let more = || s.dispensers[k].take(CHUNKS, 3).map(|r| (r.lo, r.len())).or_else(other);
                while let Some(c) = s.batches[me]
                    .take(construct)
                    .or_else(|| more().map(|(first, n)| s.batches[me].fill(construct, first, n)))
                {
                    assert_eq!(taken[c as usize].fetch_add(1, Relaxed), 0);
                }
            }
        };
        let t = s.clone();
        let h = thread::spawn(move || run(&t, 1));
        run(&s, 0);
        h.join().unwrap();
        assert!(s.taken.iter().flatten().all(|n| n.load(Relaxed) == 1));
    });
}

/// Two threads take the chunks of a short loop, as members of a large team do or as those of a small one:
/// every chunk is taken once.
fn batches_of_a_short_loop(few: bool) {
    const CHUNKS: u64 = 7;
    type State = (Dispenser, [Batch; 2], [AtomicU32; CHUNKS as usize]);
    check(3, move || {
        let s: Arc<State> = Arc::new((
            Dispenser::default(),
            Default::default(),
            [(); CHUNKS as usize].map(|()| AtomicU32::new(0)),
        ));
        let run = move |s: &State, me: usize| {
            let many = Many { total: CHUNKS, chunk: 1, threads: 2 };
            let mut own = Own::default();
            let mut more = || {
                if few {
                    many.more_of_few(&s.0, &mut own.position, || s.1[1 - me].steal(1))
                } else {
                    many.more(&s.0, me as u32, &mut own, |v| s.1[v as usize].steal(1))
                }
            };
            while let Some(c) = s.1[me].take(1).or_else(|| more().map(|(first, n)| s.1[me].fill(1, first, n)))
            {
                assert_eq!(s.2[c as usize].fetch_add(1, Relaxed), 0);
            }
        };
        let t = s.clone();
        let h = thread::spawn(move || run(&t, 1));
        run(&s, 0);
        h.join().unwrap();
        assert!(s.2.iter().all(|n| n.load(Relaxed) == 1));
    });
}

#[test]
fn batches_of_many() {
    batches_of_a_short_loop(false);
}

#[test]
fn batches_of_few() {
    batches_of_a_short_loop(true);
}

/// Two survivors and a member that fails with a chunk in flight: every iteration is executed to its end
/// exactly once.
#[test]
fn dispenser_ledger_and_orphans() {
    const TOTAL: u64 = 3;
    check(2, || {
        let s = Arc::new((
            Dispenser::default(),
            [(); TOTAL as usize].map(|()| AtomicU32::new(0)),
            Event::default(),
            AtomicU32::new(0),
        ));
        type Shared = (Dispenser, [AtomicU32; TOTAL as usize], Event, AtomicU32);
        let finish = |s: &Shared, r: Range| {
            (r.lo..r.hi).for_each(|i| {
                s.1[i as usize].fetch_add(1, Relaxed);
            })
        };
        let t = s.clone();
        // The failing member: its first chunk is lost; the recovery hands it out and then says that it is
        // over.
        let failing = thread::spawn(move || {
            if let Some(r) = t.0.take(TOTAL, 1) {
                t.0.push_orphan(Orphan { range: r, failure: 0, owner: 1, block: 0 });
            }
            t.3.store(1, Release);
            t.2.notify();
        });
        // A survivor: orphans first, then new chunks, then it stays until the failing member is known to
        // be out.
        loop {
            if s.0.has_orphans() {
                if let Some((r, _)) = s.0.take_orphan(2, |_| true) {
                    finish(&s, r);
                    continue;
                }
            }
            if let Some(r) = s.0.take(TOTAL, 1) {
                finish(&s, r);
                continue;
            }
            if s.3.load(Acquire) == 1 && !s.0.has_orphans() {
                break;
            }
            s.2.wait(Patience::default(), || s.0.has_orphans() || s.3.load(Acquire) == 1);
        }
        failing.join().unwrap();
        for h in &s.1 {
            assert_eq!(h.load(Relaxed), 1);
        }
    });
}

/// Two survivors share one orphan: its pieces are disjoint and cover it.
#[test]
fn an_orphan_is_split_without_gap_or_overlap() {
    check(3, || {
        let s = Arc::new((Dispenser::default(), [(); 3].map(|()| AtomicU32::new(0))));
        s.0.push_orphan(Orphan { range: Range { lo: 0, hi: 3 }, failure: 0, owner: 9, block: 0 });
        let run = |s: &(Dispenser, [AtomicU32; 3])| {
            while let Some((r, _)) = s.0.take_orphan(2, |_| true) {
                (r.lo..r.hi).for_each(|i| {
                    s.1[i as usize].fetch_add(1, Relaxed);
                });
            }
        };
        let t = s.clone();
        let h = thread::spawn(move || run(&t));
        run(&s);
        h.join().unwrap();
        assert!(s.1.iter().all(|h| h.load(Relaxed) == 1));
    });
}
