//! Barriers, with members that fail.

use crate::barrier::{Barrier, Shape};
use crate::event_count::{Event, Patience};
use crate::{check, const2};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

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
