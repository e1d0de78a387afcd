//! The models. Sizes are the smallest that show the races; loom explores every interleaving and every
//! allowed reordering.

use crate::barrier::{Barrier, Shape};
use crate::batch::Batch;
use crate::count::Count;
use crate::deque::Deque;
use crate::left::Left;
use crate::dispenser::{Dispenser, Orphan, Range};
use crate::event::{Event, Patience, Waiters};
use crate::many::{Many, Own};
use crate::publish::Turn;
use crate::round::Round;
use crate::sys::sync::full_fence;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

fn check(bound: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut b = loom::model::Builder::new();
    b.preemption_bound = Some(bound);
    b.check(f);
}

/// What `Team::gather` does, without tasks.
fn pass(b: &Barrier, e: &Event, me: u32, round: u32) {
    let a = b.arrive(me, round);
    if a.last {
        b.release(a);
        b.pass_on(a);
        e.notify();
    } else {
        // Awake for a while, or not.
        let awake = Patience { rounds: me & 1, ..Patience::default() }.stay(|| b.passed(a));
        if !awake {
            e.wait(Patience::default(), || b.passed_by_all(a));
        }
        b.pass_on(a);
    }
}

/// Two members, two rounds: nobody leaves before all have arrived, what was written before is seen
/// behind, no wake-up is lost.
#[test]
fn barrier() {
    check(3, || {
        let s = Arc::new((Barrier::new(Shape::of(2)), Event::default(), [const2(), const2()]));
        let run = |s: &(Barrier, Event, [UnsafeCell<u32>; 2]), me: usize| {
            for round in 1..=2 {
                s.2[me].with_mut(|p| unsafe { *p = round });
                pass(&s.0, &s.1, me as u32, 2 * round - 1);
                assert_eq!(s.2[1 - me].with(|p| unsafe { *p }), round);
                pass(&s.0, &s.1, me as u32, 2 * round);
            }
        };
        let t = s.clone();
        let h = thread::spawn(move || run(&t, 1));
        run(&s, 0);
        h.join().unwrap();
    });
}

/// Three members in a binary tree, two rounds: one of the first two arrives for both and tells the other
/// of the end, or is so late with that that the other one has seen it at the root and come to the next
/// round.
#[test]
fn barrier_with_a_tree() {
    check(2, || {
        let s = Arc::new((Barrier::new(Shape::binary(3)), Event::default(), [const2(), const2(), const2()]));
        let run = |s: &(Barrier, Event, [UnsafeCell<u32>; 3]), me: usize| {
            s.2[me].with_mut(|p| unsafe { *p = 1 });
            pass(&s.0, &s.1, me as u32, 1);
            assert_eq!(s.2[(me + 1) % 3].with(|p| unsafe { *p }), 1);
            pass(&s.0, &s.1, me as u32, 2);
            s.2[(me + 1) % 3].with_mut(|p| unsafe { *p = 2 });
        };
        let others = [1, 2].map(|me| {
            let t = s.clone();
            thread::spawn(move || run(&t, me))
        });
        run(&s, 0);
        for h in others {
            h.join().unwrap();
        }
    });
}

/// The same, where the host of a member fails before it has arrived, in the first round: another one
/// arrives for it, alone in its group or not, and passes on what is there to be passed on.
#[test]
fn barrier_with_a_tree_and_a_failing_member() {
    for failing in [1, 2] {
        check(2, move || {
            let s = Arc::new((Barrier::new(Shape::binary(3)), Event::default(), const2()));
            let t = s.clone();
            let host = thread::spawn(move || t.2.with_mut(|p| unsafe { *p = 7 }));
            let t = s.clone();
            let spare = thread::spawn(move || {
                host.join().unwrap();
                pass(&t.0, &t.1, failing, 1);
            });
            let t = s.clone();
            let other = thread::spawn(move || pass(&t.0, &t.1, 3 - failing, 1));
            pass(&s.0, &s.1, 0, 1);
            assert_eq!(s.2.with(|p| unsafe { *p }), 7);
            spare.join().unwrap();
            other.join().unwrap();
        });
    }
}

/// What `Team::meet` does: two members exchange notes; where one says that there have been tasks, both go
/// on to the counter.
#[test]
fn barrier_of_two() {
    check(3, || {
        let s = Arc::new((Barrier::new(Shape::of(2)), Event::default(), [const2(), const2()]));
        let run = |s: &(Barrier, Event, [UnsafeCell<u32>; 2]), me: usize| {
            let meet = |round: u64| {
                let busy = me == 0 && round == 2;
                s.0.tell(me, round, busy);
                // Awake for a while, or not.
                let patience = Patience { rounds: me as u32, ..Patience::default() };
                let _ = patience.stay(|| s.0.is_met(me, round));
                s.1.notify();
                s.1.wait(Patience::default(), || s.0.is_met(me, round));
                let goes_on = s.0.goes_on(me, round, busy);
                assert_eq!(goes_on, round == 2);
                if goes_on {
                    pass(&s.0, &s.1, me as u32, 1);
                }
            };
            s.2[me].with_mut(|p| unsafe { *p = 1 });
            meet(1);
            assert_eq!(s.2[1 - me].with(|p| unsafe { *p }), 1);
            meet(2);
            s.2[1 - me].with_mut(|p| unsafe { *p = 2 });
        };
        let t = s.clone();
        let h = thread::spawn(move || run(&t, 1));
        run(&s, 0);
        h.join().unwrap();
    });
}

fn const2() -> UnsafeCell<u32> {
    UnsafeCell::new(0)
}

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
            while let Some(c) =
                s.1[me].take(1).or_else(|| more().map(|(first, n)| s.1[me].fill(1, first, n)))
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

/// A member's host fails before it has arrived: another host makes the arrival for the logical thread.
/// The round ends with exactly two arrivals, and the other member sees what the failed host had written.
#[test]
fn barrier_with_a_failing_member() {
    check(3, || {
        let s = Arc::new((Barrier::new(Shape::of(2)), Event::default(), const2()));
        let t = s.clone();
        let host = thread::spawn(move || {
            t.2.with_mut(|p| unsafe { *p = 7 });
            // The host vanishes here; its end is what the spare host waits for (host::wait_gone).
        });
        let t = s.clone();
        let spare = thread::spawn(move || {
            host.join().unwrap();
            pass(&t.0, &t.1, 1, 1);
            pass(&t.0, &t.1, 1, 2);
        });
        pass(&s.0, &s.1, 0, 1);
        assert_eq!(s.2.with(|p| unsafe { *p }), 7);
        pass(&s.0, &s.1, 0, 2);
        spare.join().unwrap();
    });
}

/// A counter that falls short by one arrival (a failed member nobody stands in for) must not be passed:
/// this model is expected to deadlock, which loom reports.
#[test]
#[should_panic(expected = "deadlock")]
fn a_barrier_without_the_failed_members_arrival_hangs() {
    check(2, || {
        let s = Arc::new((Barrier::new(Shape::of(2)), Event::default()));
        let h = thread::spawn(|| ());
        pass(&s.0, &s.1, 0, 1);
        h.join().unwrap();
    });
}

/// Without the sequentially consistent fences a sleeper can be missed; with them it cannot: a waiter and
/// a notifier.
#[test]
fn event_loses_no_wake_up() {
    check(4, || {
        let s = Arc::new((Event::default(), AtomicU32::new(0)));
        let t = s.clone();
        let h = thread::spawn(move || {
            t.1.store(1, Release);
            t.0.notify();
        });
        s.0.wait(Patience::default(), || s.1.load(Acquire) == 1);
        h.join().unwrap();
    });
}

/// A notifier without a fence of its own, and a waiter that has it pass one before it sleeps. Where the
/// notifier is then cannot be foreseen: in front of its store (0), of its look (1), behind both (2).
fn unfenced(passes_at: Option<u32>) {
    check(4, move || {
        let s = Arc::new((Event::default(), AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0)));
        let t = s.clone();
        let notifier = thread::spawn(move || {
            let (event, posted, asked, passed) = &*t;
            let interrupted = |at| {
                if passes_at == Some(at) {
                    while asked.load(Acquire) == 0 {
                        thread::yield_now();
                    }
                    full_fence();
                    passed.store(1, Release);
                }
            };
            interrupted(0);
            posted.store(1, Release);
            interrupted(1);
            event.wake_sleepers();
            interrupted(2);
        });
        s.0.wait_unfenced(
            Patience::default(),
            || s.1.load(Acquire) == 1,
            || {
                full_fence();
                s.2.store(1, Release);
                while passes_at.is_some() && s.3.load(Acquire) == 0 {
                    thread::yield_now();
                }
                full_fence();
                true
            },
        );
        s.2.store(1, Release);
        notifier.join().unwrap();
    });
}

#[test]
fn no_wake_up_is_lost_where_sleepers_have_others_pass_a_fence() {
    (0..3).for_each(|at| unfenced(Some(at)));
}

#[test]
#[should_panic(expected = "deadlock")]
fn one_would_be_if_they_had_not() {
    unfenced(None);
}

/// Nor where only waiters of its kind are woken, while one of another kind sleeps, who is woken by all's.
#[test]
fn event_wakes_the_kind_that_it_concerns() {
    check(2, || {
        let s = Arc::new((Event::default(), AtomicU32::new(0), AtomicU32::new(0)));
        let (t, u) = (s.clone(), s.clone());
        let notifier = thread::spawn(move || {
            t.1.store(1, Release);
            t.0.notify_only(Waiters::Staying);
            t.2.store(1, Release);
            t.0.notify();
        });
        let resting = thread::spawn(move || {
            u.0.wait_as(Waiters::Resting, Patience::default(), || u.2.load(Acquire) == 1);
        });
        s.0.wait_as(Waiters::Staying, Patience::default(), || s.1.load(Acquire) == 1);
        notifier.join().unwrap();
        resting.join().unwrap();
    });
}

/// A waiter of another kind than the one that is woken is left asleep.
#[test]
#[should_panic(expected = "deadlock")]
fn event_leaves_other_kinds_asleep() {
    check(4, || {
        let s = Arc::new((Event::default(), AtomicU32::new(0)));
        let t = s.clone();
        let h = thread::spawn(move || {
            t.1.store(1, Release);
            t.0.notify_only(Waiters::Inside);
        });
        s.0.wait_as(Waiters::Resting, Patience::default(), || s.1.load(Acquire) == 1);
        h.join().unwrap();
    });
}

/// Two tasks, each of which waits until both have begun, and two helpers that look, and sleep if there is
/// none: both tasks begin. A helper is woken only if no other one looks. With `passes_on` who has found a
/// task calls the next helper if there are more.
fn two_tasks(passes_on: bool) {
    struct Shared {
        ready: AtomicU32,
        begun: AtomicU32,
        looks: [AtomicU32; 2],
        helpers: Event,
        other: Event,
    }
    fn looked_for(s: &Shared) -> bool {
        s.looks.iter().any(|l| l.load(Relaxed) == 1)
    }
    fn help(s: &Shared, me: usize, passes_on: bool) {
        let ready = || s.ready.load(Acquire) != 0;
        loop {
            s.looks[me].store(1, Relaxed);
            let awake = ready();
            s.looks[me].store(0, Relaxed);
            if !awake {
                s.helpers.wait_as(Waiters::Helping, Patience::default(), ready);
            }
            full_fence(); // as in `Deque::steal`
            if s.ready.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok() {
                break;
            }
        }
        if passes_on && s.helpers.has_sleepers() && ready() {
            s.helpers.notify_task(|| looked_for(s));
        }
        s.begun.fetch_add(1, AcqRel);
        s.other.notify();
        s.other.wait(Patience::default(), || s.begun.load(Acquire) == 2);
    }
    check(2, move || {
        // For ever: who sleeps when there is a deadlock cannot give its reference back.
        let s: &'static Shared = Box::leak(Box::new(Shared {
            ready: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            looks: [AtomicU32::new(0), AtomicU32::new(0)],
            helpers: Event::default(),
            other: Event::default(),
        }));
        let helpers: Vec<_> = (0..2).map(|me| thread::spawn(move || help(s, me, passes_on))).collect();
        for _ in 0..2 {
            s.ready.fetch_add(1, Release);
            s.helpers.notify_task(|| looked_for(s));
        }
        helpers.into_iter().for_each(|h| h.join().unwrap());
    });
}

#[test]
fn no_ready_task_is_left_while_helpers_sleep() {
    two_tasks(true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn one_would_be_if_helpers_did_not_pass_it_on() {
    two_tasks(false);
}

/// A parent that executes one of its two children itself and sleeps until the other one is done, which wakes
/// it only if it was the last as far as that can be seen.
fn last_child(fences: bool) {
    check(4, move || {
        let s = Arc::new((Count::default(), Event::default()));
        s.0.add();
        s.0.add();
        let t = s.clone();
        let other = thread::spawn(move || {
            t.0.child_done(false);
            if fences {
                full_fence();
            }
            if t.0.none() {
                t.1.wake_sleepers();
            }
        });
        s.0.child_done(true);
        s.1.wait(Patience::default(), || s.0.none());
        other.join().unwrap();
    });
}

#[test]
fn the_last_child_wakes_who_waits() {
    last_child(true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn it_would_not_without_the_fence() {
    last_child(false);
}

/// A worker that goes to sleep at the end of a region while the primary thread ends it without a fence,
/// and starts the next one.
fn next_region(wakes: bool, looks_again: bool) {
    check(4, move || {
        let s = Arc::new((Event::default(), AtomicU32::new(0), AtomicU32::new(0)));
        let t = s.clone();
        let primary = thread::spawn(move || {
            let (event, finished, go) = &*t;
            finished.store(1, Release);
            if wakes {
                event.wake_sleepers();
            }
            go.store(1, Release);
            full_fence();
            if looks_again {
                event.wake_sleepers();
            }
        });
        s.0.wait(Patience::default(), || s.1.load(Acquire) == 1 || s.2.load(Acquire) == 1);
        primary.join().unwrap();
    });
}

#[test]
fn a_region_that_ends_without_a_fence_loses_no_worker() {
    next_region(true, true);
}

/// Of a large crowd nobody is woken at a region's end.
#[test]
fn nor_does_one_that_wakes_nobody() {
    next_region(false, true);
}

#[test]
#[should_panic(expected = "deadlock")]
fn it_would_if_the_next_one_did_not_look_again() {
    next_region(true, false);
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

/// The owner saves state after state and stops for good anywhere; whoever looks after it has stopped
/// finds a whole copy, the last one that was published.
#[test]
fn publication_of_private_state() {
    check(4, || {
        let s = Arc::new((Turn::default(), [(const2(), const2()), (const2(), const2())], AtomicU32::new(0)));
        let t = s.clone();
        let stop_after = 3;
        let owner = thread::spawn(move || {
            let mut steps = 0;
            for version in 1..=2 {
                let i = t.0.spare();
                for half in [&t.1[i].0, &t.1[i].1] {
                    half.with_mut(|p| unsafe { *p = version });
                    steps += 1;
                    if steps > stop_after {
                        t.2.store(1, Release);
                        return; // fail-stop in the middle of the second copy
                    }
                }
                t.0.publish(i);
            }
            t.2.store(1, Release);
        });
        while s.2.load(Acquire) == 0 {
            thread::yield_now();
        }
        let i = s.0.current().expect("the first copy was published");
        let (a, b) = (s.1[i].0.with(|p| unsafe { *p }), s.1[i].1.with(|p| unsafe { *p }));
        assert_eq!((a, b), (1, 1));
        owner.join().unwrap();
    });
}

/// Owner and two thieves: every entry is taken once, what was written before it was pushed is seen.
#[test]
fn deque() {
    check(3, || {
        let s = Arc::new((Deque::<2>::default(), [const2(), const2(), const2()], AtomicU32::new(0)));
        let take = |s: &(Deque<2>, [UnsafeCell<u32>; 3], AtomicU32), x: Option<u64>| {
            if let Some(x) = x {
                assert_eq!(s.1[x as usize].with(|p| unsafe { *p }), 7);
                let before = s.2.fetch_or(1 << x, Relaxed);
                assert_eq!(before & 1 << x, 0, "{x} is taken twice");
            }
        };
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let t = s.clone();
                thread::spawn(move || take(&t, t.0.steal(|_| true)))
            })
            .collect();
        for x in 0..2 {
            s.1[x].with_mut(|p| unsafe { *p = 7 });
            assert!(s.0.push(x as u64));
        }
        take(&s, s.0.pop(0));
        take(&s, s.0.pop(0));
        for t in thieves {
            t.join().unwrap();
        }
        take(&s, s.0.pop(0));
        assert_eq!(s.2.load(Relaxed), 3, "one is lost");
    });
}

/// A range that its thread splits twice: whoever does the last of its parts, and nobody else, has it for
/// itself, and sees what all have done.
#[test]
fn parts_of_a_range() {
    check(3, || {
        let s = Arc::new((Left::default(), [const2(), const2(), const2()], AtomicU32::new(0)));
        let part = |s: &(Left, [UnsafeCell<u32>; 3], AtomicU32), i: usize| {
            s.1[i].with_mut(|p| unsafe { *p = 7 });
            if s.0.done() {
                s.1.iter().for_each(|c| c.with_mut(|p| unsafe { assert_eq!(*p, 7) }));
                assert_eq!(s.2.fetch_add(1, Relaxed), 0, "it ends twice");
            }
        };
        s.0.begin();
        let others: Vec<_> = (1..3)
            .map(|i| {
                s.0.split(1);
                let t = s.clone();
                thread::spawn(move || part(&t, i))
            })
            .collect();
        part(&s, 0);
        for t in others {
            t.join().unwrap();
        }
        assert_eq!(s.2.load(Relaxed), 1, "it does not end");
    });
}

/// A task with two children, one done by its owner and one by another thread, that ends without waiting
/// for them: its memory is given back once, and not before both are done.
#[test]
fn memory_of_a_task() {
    check(3, || {
        // The task's memory, and how often it was given back.
        let s = Arc::new((Count::default(), const2(), AtomicU32::new(0)));
        s.0.add();
        s.0.add();
        let free = |s: &(Count, UnsafeCell<u32>, AtomicU32)| {
            s.1.with_mut(|p| unsafe { *p = 0 });
            assert_eq!(s.2.fetch_add(1, Relaxed), 0);
        };
        let t = s.clone();
        let other = thread::spawn(move || {
            assert_ne!(t.1.with(|p| unsafe { *p }), 5);
            if t.0.child_done(false) {
                free(&t);
            }
        });
        if s.0.none() {
            unreachable!("the owner's child is not done");
        }
        s.0.close();
        if s.0.done() {
            free(&s);
        } else {
            // The owner's other child refers to it still.
            s.1.with(|_| ());
            if s.0.child_done(true) {
                free(&s);
            }
        }
        other.join().unwrap();
        assert_eq!(s.2.load(Relaxed), 1);
    });
}

/// Two rounds of shared work: helpers inside a round see what it is about, the host that closes it sees
/// what they have done, and nobody is inside when it prepares the next one. A helper may sleep through a
/// round.
#[test]
fn rounds_of_shared_work() {
    check(3, || {
        // The round, what it is about, and pieces done, each by one host.
        let s = Arc::new((Round::new(), const2(), AtomicU32::new(0), const2()));
        let take_part = |s: &(Round, UnsafeCell<u32>, AtomicU32, UnsafeCell<u32>), round: Option<u32>| {
            let about = s.1.with(|p| unsafe { *p });
            assert!(round.is_none_or(|r| r == about));
            if s.2.fetch_add(1, Relaxed) == 0 {
                s.3.with_mut(|p| unsafe { *p += 10 * about });
            }
        };
        let helpers = [s.clone(), s.clone()].map(|s| {
            thread::spawn(move || {
                let mut seen = 0;
                if s.0.join(&mut seen) {
                    take_part(&s, None);
                    s.0.leave();
                }
            })
        });
        let mut sum = s.3.with(|p| unsafe { *p });
        for round in 1..=2 {
            s.1.with_mut(|p| unsafe { *p = round });
            s.2.store(0, Relaxed);
            s.0.open();
            take_part(&s, Some(round));
            s.0.close();
            sum += 10 * round;
            assert_eq!(s.3.with(|p| unsafe { *p }), sum, "a piece is lost or done twice");
        }
        for h in helpers {
            h.join().unwrap();
        }
    });
}
