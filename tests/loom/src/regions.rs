//! Models of how a region's order comes to its workers and their ends to the primary thread
//! (crates/omp/src/team/orders.rs). Member 0 is the primary thread; it leads member 1, who leads member 2.

use crate::check;
use crate::event_count::{Event, Patience, Waiters};
use crate::orders::{Awaited, Call, Dock, End};
use crate::sys::sync::full_fence;
use core::cell::Cell;
use loom::cell::UnsafeCell;
use loom::thread;

/// The crew whose workers know their number.
const CREW: u32 = 1;

/// (Region, what is to be done.)
type Order = (u64, u32);

/// A team. It is for ever: who sleeps when there is a deadlock cannot give its reference back.
struct Team {
    call: Call<u32>,
    docks: [Dock<Order>; 3],
    ends: [End; 3],
    event: Event,
    data: [UnsafeCell<u64>; 3],
}

fn team() -> &'static Team {
    Box::leak(Box::new(Team {
        call: Call::default(),
        docks: Default::default(),
        ends: Default::default(),
        event: Event::default(),
        data: [(); 3].map(|()| UnsafeCell::new(0)),
    }))
}

/// What may be left out.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// Workers look at their docks alone.
    Call,
    /// They do not say that they sleep.
    Mark,
}

impl Team {
    /// What `call_many` does, but for the orders.
    fn publish(&self, epoch: u64) {
        self.data[0].with_mut(|p| unsafe { *p = epoch });
        self.call.publish(epoch, CREW, epoch as u32);
    }

    fn wake(&self) {
        full_fence();
        if self.call.is_drowsy() {
            self.docks.iter().for_each(Dock::wake);
        }
        self.event.wake_sleepers();
    }

    /// What `finish` does.
    fn finish(&self, epoch: u64, workers: &[usize]) {
        self.event.wait(Patience::default(), || workers.iter().all(|&i| self.ends[i].has_come(epoch)));
        for &i in workers {
            assert_eq!(self.data[i].with(|p| unsafe { *p }), epoch);
        }
        self.call.end(epoch);
        self.event.wake_sleepers();
    }

    /// What `setup::dismiss` does: no worker sleeps at the end of its last region then.
    fn dismiss(&self) {
        self.event.notify();
    }

    /// Worker `me`, which has had as many orders as regions, waits for the next one.
    fn wait(&self, me: usize, last: u64, without: Without) -> Option<Order> {
        let ahead = || if without == Without::Call { None } else { self.call.newer(last, CREW) };
        let drowse = || {
            if without != Without::Mark {
                self.call.drowse();
            }
        };
        self.docks[me].wait(last as u32, Patience::default, ahead, drowse)
    }

    /// It executes its region.
    fn work(&self, me: usize, (epoch, what): Order) {
        assert_eq!(epoch, what.into());
        assert_eq!(self.data[0].with(|p| unsafe { *p }), epoch, "what the primary thread wrote before");
        self.data[me].with_mut(|p| unsafe { *p = epoch });
    }

    /// It has come to its end.
    fn come(&self, me: usize, epoch: u64) {
        self.ends[me].come(epoch);
        self.event.notify_only(Waiters::Inside);
    }

    /// It waits for the region's.
    fn rest(&self, me: usize, epoch: u64) {
        let over = || self.docks[me].called(epoch as u32) || self.call.has_ended(epoch);
        self.event.wait_as(Waiters::Resting, Patience::default(), over);
    }
}

/// A worker whose leader comes with the order when the region is all but over, in two regions: it takes each
/// order once, from the call or from the dock.
fn late_leader(without: Without) {
    check(2, move || {
        let t = team();
        let worker = thread::spawn(move || {
            for last in 0..2 {
                let order = t.wait(1, last, without).expect("not dismissed");
                assert_eq!(order.0, last + 1);
                t.work(1, order);
                t.come(1, order.0);
                t.rest(1, order.0);
            }
        });
        for epoch in 1..=2 {
            t.publish(epoch);
            t.wake();
            t.event.wait(Patience::default(), || t.ends[1].has_come(epoch));
            t.docks[1].post(Some((epoch, epoch as u32)));
            t.finish(epoch, &[1]);
        }
        t.dismiss();
        worker.join().unwrap();
    });
}

#[test]
fn nobody_waits_for_a_leader() {
    late_leader(Without::Nothing);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_worker_would_that_did_not_look_ahead() {
    late_leader(Without::Call);
}

#[test]
#[should_panic(expected = "deadlock")]
fn one_that_does_not_say_that_it_sleeps_is_not_woken() {
    late_leader(Without::Mark);
}

/// The order goes down the tree, while workers sleep, wake up or look ahead. With `fails`, the host of the
/// leader fails in its region: another one comes to the end for it.
fn tree(fails: bool) {
    check(2, move || {
        let t = team();
        let leader = thread::spawn(move || {
            let order = t.wait(1, 0, Without::Nothing).expect("not dismissed");
            t.docks[2].post(Some(order));
            t.work(1, order);
            if !fails {
                t.ends[1].come(order.0);
            }
        });
        let other = thread::spawn(move || {
            let order = t.wait(2, 0, Without::Nothing).expect("not dismissed");
            t.work(2, order);
            t.ends[2].come(order.0);
        });
        t.publish(1);
        t.docks[1].post(Some((1, 1)));
        t.wake();
        leader.join().unwrap();
        if fails {
            t.ends[1].come(1);
        }
        other.join().unwrap();
        for i in 1..=2 {
            assert!(t.ends[i].has_come(1) && t.docks[i].called(0));
            assert_eq!(t.data[i].with(|p| unsafe { *p }), 1);
        }
    });
}

#[test]
fn orders_by_a_tree() {
    tree(false);
}

#[test]
fn orders_by_a_tree_with_a_failing_leader() {
    tree(true);
}

/// A worker that is no longer of the crew, and is dismissed or called by others later, takes no order that is
/// not for it.
#[test]
fn who_has_left_the_crew_takes_no_order_of_its_next_region() {
    check(2, || {
        let t = team();
        let gone = thread::spawn(move || {
            let order = t.wait(1, 0, Without::Nothing).expect("of the old crew");
            assert_eq!(order.0, 1);
            t.come(1, 1);
            t.rest(1, 1);
            t.wait(1, 1, Without::Nothing)
        });
        t.publish(1);
        t.docks[1].post(Some((1, 1)));
        t.wake();
        t.event.wait(Patience::default(), || t.ends[1].has_come(1));
        t.call.end(1);
        t.dismiss();
        t.call.publish(2, CREW + 1, 2);
        t.wake();
        t.call.publish(3, CREW + 1, 3);
        t.docks[1].post(None);
        t.wake();
        full_fence();
        t.docks[1].wake();
        assert_eq!(gone.join().unwrap(), None);
    });
}

/// Ends by a tree: who leads has seen those below it and says so, or is late; either way the primary thread
/// sees what all have written.
#[test]
fn ends_by_a_tree() {
    check(3, || {
        let t = team();
        let below = thread::spawn(move || {
            t.data[2].with_mut(|p| unsafe { *p = 1 });
            t.ends[2].come(1);
            t.ends[2].pass_up(1);
        });
        let leader = thread::spawn(move || {
            t.data[1].with_mut(|p| unsafe { *p = 1 });
            t.come(1, 1);
            // Awake for a while.
            if t.ends[2].has_passed_up(1) {
                t.ends[1].pass_up(1);
            }
        });
        let mut looks = 0;
        Patience { rounds: u32::MAX, ..Patience::default() }.stay(|| {
            looks += 1;
            t.ends[1].has_passed_up(1) || (looks > 1 && [1, 2].iter().all(|&i: &usize| t.ends[i].has_come(1)))
        });
        for i in 1..=2 {
            assert_eq!(t.data[i].with(|p| unsafe { *p }), 1);
        }
        below.join().unwrap();
        leader.join().unwrap();
    });
}

/// Two members come to the end of a region whose primary thread sleeps: each wakes it only if it is the one
/// that is awaited. `early`: they look who that is before they have passed the fence.
fn awaited(early: bool) {
    check(3, move || {
        let s: &'static (Event, Awaited, [End; 3]) = Box::leak(Box::default());
        let members = [1, 2].map(|me| {
            thread::spawn(move || {
                let was_awaited = s.1.is(me);
                s.2[me as usize].come(1);
                s.0.notify_if(Waiters::Inside, || if early { was_awaited } else { s.1.is(me) });
            })
        });
        let left = Cell::new(2);
        s.0.wait_as(Waiters::Helping, Patience::default(), || {
            s.1.have_come(&left, |i| s.2[i as usize].has_come(1))
        });
        assert!((1..3).all(|i: usize| s.2[i].has_come(1)));
        for m in members {
            m.join().unwrap();
        }
    });
}

#[test]
fn the_awaited_member_wakes_the_primary_thread() {
    awaited(false);
}

#[test]
#[should_panic(expected = "deadlock")]
fn it_would_sleep_on_if_members_looked_too_early() {
    awaited(true);
}
