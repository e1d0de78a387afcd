//! Ordered loops: chunks pass one after the other.

use super::share::Share;
use crate::observe::event::{Event, Mutex};
use crate::team::event_count::Waiters;
use crate::team::member::Member;
use crate::team::thread::Thread;
use core::sync::atomic::Ordering::*;

/// Ordered loops: waits until all chunks before the one just executed have passed, and lets the next one go.
#[inline]
pub(crate) fn pass_turn(m: &'static Member, s: &'static Share) {
    if let Some((_, r)) = m.ledger.in_flight() {
        wait_turn(m, s, r.lo);
        s.ordered_next.store(r.hi, Release);
        m.team().event.notify_only(Waiters::Inside);
    }
}

/// One look where it is its turn already, as with one thread or behind an ordered section (acquire: what the
/// chunks before wrote is seen).
#[inline(always)]
fn wait_turn(m: &'static Member, s: &'static Share, lo: u64) {
    if s.ordered_next.load(Acquire) < lo {
        wait_long(m, s, lo);
    }
}

#[inline(never)]
fn wait_long(m: &'static Member, s: &'static Share, lo: u64) {
    let team = m.team();
    let ready = || s.ordered_next.load(Acquire) >= lo || s.is_cancelled() || team.is_cancelled();
    team.event.wait(team.patience.get(), ready);
}

/// `ordered`: waits for the turn of the chunk in flight. Where calls are light nobody listens to locks.
#[inline]
pub fn start(thr: &'static Thread) {
    if !thr.has_light_calls() {
        return start_told(thr);
    }
    take_turn(thr);
}

#[inline]
fn take_turn(thr: &'static Thread) {
    let m = thr.member();
    if let (Some(s), Some((_, r))) = (m.share.get(), m.ledger.in_flight()) {
        wait_turn(m, s, r.lo);
    }
    thr.hold(1);
}

/// What an ordered section is called in events.
fn name_of(thr: &'static Thread) -> usize {
    thr.member().share.get().map_or(0, |s| core::ptr::from_ref(s).addr())
}

#[cold]
#[inline(never)]
fn start_told(thr: &'static Thread) {
    let at = name_of(thr);
    thr.tell(Event::LockWait { mutex: Mutex::Ordered, at, test: false });
    take_turn(thr);
    thr.tell(Event::LockGot { mutex: Mutex::Ordered, at });
}

/// The end of an ordered section. The turn stays with the chunk until the next one is asked for.
#[inline]
pub fn end(thr: &'static Thread) {
    thr.hold(-1);
    if !thr.has_light_calls() {
        end_told(thr);
    }
}

#[cold]
#[inline(never)]
fn end_told(thr: &'static Thread) {
    thr.tell(Event::LockGive { mutex: Mutex::Ordered, at: name_of(thr) });
}
