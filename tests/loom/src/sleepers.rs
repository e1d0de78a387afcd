//! Who sleeps, and who wakes them.

use crate::check;
use crate::count::Count;
use crate::event_count::{Event, Patience, Waiters};
use crate::sys::sync::full_fence;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

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
