//! Tests of the deque and the count (their models are in tests/loom, where these files are compiled against loom's atomics).

use super::count::Count;
use super::deque::Deque;
use core::sync::atomic::Ordering::*;

#[test]
fn newest_first_for_the_owner_oldest_first_for_thieves() {
    let d = Deque::<8>::default();
    for x in 1..=8 {
        assert!(d.push(x));
    }
    assert!(!d.push(9) && d.holds(8));
    assert_eq!((d.pop(0), d.steal(|_| true), d.steal(|x| x != 2)), (Some(8), Some(1), None));
    assert!(d.push(9) && d.push(10));
    assert_eq!(d.pop(0), Some(10));
    assert!(d.offers(|x| x == 2) && !d.offers(|x| x == 3));
}

#[test]
fn the_floor_hides_what_lies_below() {
    let d = Deque::<8>::default();
    d.push(1);
    let floor = d.floor();
    assert_eq!(d.pop(floor), None);
    d.push(2);
    assert_eq!((d.pop(floor), d.pop(floor), d.pop(0), d.pop(0)), (Some(2), None, Some(1), None));
}

#[test]
fn every_entry_is_taken_once() {
    use std::sync::atomic::AtomicU64;
    let d = Deque::<64>::default();
    let (sum, n) = (AtomicU64::new(0), 200_000u64);
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                while sum.load(Relaxed) < n * (n + 1) / 2 {
                    if let Some(x) = d.steal(|_| true) {
                        sum.fetch_add(x, Relaxed);
                    }
                }
            });
        }
        for x in 1..=n {
            while !d.push(x) {
                if let Some(y) = d.pop(0) {
                    sum.fetch_add(y, Relaxed);
                }
            }
            if x % 3 == 0
                && let Some(y) = d.pop(0)
            {
                sum.fetch_add(y, Relaxed);
            }
        }
    });
    assert_eq!(sum.load(Relaxed), n * (n + 1) / 2);
}

#[test]
fn children_of_the_owner_and_of_others() {
    let c = Count::default();
    assert!(c.none() && c.all_gone());
    c.add();
    c.add();
    c.add();
    assert!(!c.none());
    assert!(!c.child_done(true) && !c.child_done(false));
    c.keep();
    assert!(!c.none() && !c.child_done(false));
    assert!(c.none() && !c.all_gone());
    assert!(!c.let_go() && c.all_gone());
}

#[test]
fn a_task_that_ends_before_its_children() {
    let c = Count::default();
    c.add();
    c.add();
    assert!(!c.child_done(false));
    c.close();
    assert!(!c.done());
    assert!(c.child_done(true), "the last one, by the owner or not");
}
