//! Barriers, critical sections, the atomic fallback, ordered.

use crate::observe::event::{Mutex, Sync};
use crate::save::{self, SaveKind, across_points};
use crate::stub;
use crate::team::team::Team;
use crate::team::thread::{Thread, current};
use crate::work::locks::{ATOMIC, CRITICAL, REDUCTION, acquire, release};
use crate::work::ordered_loops;

fn done(thr: &'static Thread) {
    save::point(thr, SaveKind::After(0));
}

/// The team barrier as the end of a call; `then` comes behind it.
#[inline(always)]
pub(super) fn pass_barrier(thr: &'static Thread, sync: Sync, then: impl FnOnce()) {
    pass_barrier_of(thr, thr.team(), sync, then);
}

/// [`pass_barrier`] where the team is known.
#[inline(always)]
pub(super) fn pass_barrier_of(thr: &'static Thread, team: &'static Team, sync: Sync, then: impl FnOnce()) {
    team.synchronise(thr, sync, false);
    thr.task().spawned.set(false);
    then();
    done(thr);
}

extern "C" fn barrier() {
    pass_barrier(current(), Sync::Barrier, || ());
}

/// A barrier that `cancel parallel` ends early, as the end of a call: true if it did.
pub(super) fn pass_cancellable_barrier(thr: &'static Thread, sync: Sync) -> bool {
    let cancelled = !thr.team().synchronise(thr, sync, true);
    save::point(thr, SaveKind::After(cancelled as usize));
    cancelled
}

extern "C" fn barrier_cancel() -> bool {
    pass_cancellable_barrier(current(), Sync::Barrier)
}

pub(super) extern "C" fn critical_start() {
    let thr = current();
    acquire(thr, &CRITICAL, Mutex::Critical);
    done(thr);
}

pub(super) extern "C" fn critical_end() {
    let thr = current();
    release(thr, &CRITICAL, Mutex::Critical);
    done(thr);
}

pub(super) extern "C" fn atomic_start() {
    let thr = current();
    acquire(thr, &ATOMIC, Mutex::Atomic);
    done(thr);
}

pub(super) extern "C" fn atomic_end() {
    let thr = current();
    release(thr, &ATOMIC, Mutex::Atomic);
    done(thr);
}

/// A merge of several reductions begins.
pub(super) extern "C" fn reduction_start() {
    let thr = current();
    acquire(thr, &REDUCTION, Mutex::Reduction);
    done(thr);
}

pub(super) extern "C" fn reduction_end() {
    let thr = current();
    release(thr, &REDUCTION, Mutex::Reduction);
    done(thr);
}

/// A barrier of GCC 17: the argument says whether the program has written it, or a construct ends in it. A
/// static loop's share, of which the compiled code says no more, has ended.
extern "C" fn barrier_ext(_kind: i32) {
    let thr = current();
    thr.member().ledger.end_dealt();
    pass_barrier(thr, Sync::Barrier, || ());
}

extern "C" fn barrier_cancel_ext(_kind: i32) -> bool {
    let thr = current();
    thr.member().ledger.end_dealt();
    pass_cancellable_barrier(thr, Sync::Barrier)
}

extern "C" fn ordered_start() {
    let thr = current();
    across_points::waiting(thr, || ordered_loops::start(thr));
    across_points::point(thr, false);
}

extern "C" fn ordered_end() {
    let thr = current();
    ordered_loops::end(thr);
    across_points::point(thr, false);
}

stub! {
    GOMP_barrier => barrier;
    GOMP_barrier_cancel => barrier_cancel;
    GOMP_barrier_ext => barrier_ext;
    GOMP_barrier_cancel_ext => barrier_cancel_ext;
    GOMP_ordered_start => ordered_start;
    GOMP_ordered_end => ordered_end;
}
