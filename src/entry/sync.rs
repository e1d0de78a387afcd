//! Barriers, critical sections, the atomic fallback, ordered.

use crate::fault::save::{self, SaveKind};
use crate::fault::{inject, spec::At};
use crate::stub;
use crate::team::thread::{Thread, current};
use crate::work::locks::{ATOMIC, CRITICAL, acquire, release};
use crate::work::loops;

fn done(thr: &'static Thread) {
    save::point(thr, SaveKind::After(0));
}

/// The team barrier as the end of a call.
pub(super) fn pass_barrier(thr: &'static Thread) {
    thr.team().barrier(thr, false);
    thr.task().spawned.set(false);
    inject::point(thr, At::Barrier);
    done(thr);
}

extern "C" fn barrier() {
    pass_barrier(current());
}

/// A barrier that `cancel parallel` ends early, as the end of a call: true if it did.
pub(super) fn pass_cancellable_barrier(thr: &'static Thread) -> bool {
    let cancelled = !thr.team().barrier(thr, true);
    inject::point(thr, At::Barrier);
    save::point(thr, SaveKind::After(cancelled as usize));
    cancelled
}

extern "C" fn barrier_cancel() -> bool {
    pass_cancellable_barrier(current())
}

pub(super) extern "C" fn critical_start() {
    let thr = current();
    acquire(thr, &CRITICAL);
    done(thr);
}

pub(super) extern "C" fn critical_end() {
    let thr = current();
    release(thr, &CRITICAL);
    done(thr);
}

pub(super) extern "C" fn atomic_start() {
    let thr = current();
    acquire(thr, &ATOMIC);
    done(thr);
}

pub(super) extern "C" fn atomic_end() {
    let thr = current();
    release(thr, &ATOMIC);
    done(thr);
}

extern "C" fn ordered_start() {
    let thr = current();
    loops::ordered_start(thr);
    done(thr);
}

extern "C" fn ordered_end() {
    let thr = current();
    loops::ordered_end(thr);
    done(thr);
}

stub! {
    GOMP_barrier => barrier;
    GOMP_barrier_cancel => barrier_cancel;
    GOMP_ordered_start => ordered_start;
    GOMP_ordered_end => ordered_end;
}
