//! Tasks: queues, ends; and private state that is published; rounds of shared work.

use crate::count::Count;
use crate::deque::Deque;
use crate::publish::Turn;
use crate::remainder::Remainder;
use crate::round::Round;
use crate::{check, const2};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

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
        let s = Arc::new((Remainder::default(), [const2(), const2(), const2()], AtomicU32::new(0)));
        let part = |s: &(Remainder, [UnsafeCell<u32>; 3], AtomicU32), i: usize| {
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
