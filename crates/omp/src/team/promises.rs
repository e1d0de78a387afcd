//! What the program, or promp-cc, promises of the work that comes: may it be executed again
//! (`promp_replayable`), how are chunks that are lost executed (`promp_recompute`, `promp_frags`)?
//!
//! A word said outside holds in the region that follows, one said in a region for the next construct. What
//! follows from it is noted where the work is done: are stacks copied, do constructs note when they began?

use super::team::Team;
use super::thread::Thread;
use crate::icv::globals;
use crate::icv::settings::{Constructs, Replay, Settings};
use crate::proofs::segment_tables;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Somebody has vouched with `promp_replayable(1)`.
static VOUCHED: AtomicBool = AtomicBool::new(false);

/// Do logical threads copy their stacks at save points? Without any work that may be executed again a copy
/// could never be used: work in which nothing was in flight goes on from the live stack.
#[inline]
pub(crate) fn saves_private_state(p: &Settings) -> bool {
    p.ft && match p.replay {
        Replay::Assume | Replay::Functions(_) => true,
        Replay::Proven => segment_tables::any(),
        Replay::Never => false,
    }
}

/// Can survivors be asked to recompute chunks? Then constructs note when they began, and survivors stay in
/// them.
#[inline]
pub(crate) fn recomputes() -> bool {
    let p = &globals().promp;
    let may = |c| match c {
        Constructs::Plain => false,
        Constructs::Vouched => VOUCHED.load(Relaxed),
        Constructs::Proven => segment_tables::any() || VOUCHED.load(Relaxed),
        Constructs::Always | Constructs::Tuned => true,
    };
    if p.constructs == Constructs::Tuned { may(p.untuned) } else { may(p.constructs) }
}

/// Another number where [`recomputes`], or what promp-cc says of call sites, may be different.
#[inline(always)]
pub(crate) fn state() -> u64 {
    u64::from(VOUCHED.load(Relaxed)) << 32 | u64::from(segment_tables::generation())
}

/// `promp_replayable(word)`: 1 the next construct may be executed again, 0 it may not.
pub fn vouch(thr: &'static Thread, replayable: bool) {
    thr.vouched.set(if replayable { 1 } else { 2 });
    thr.unprepare();
    if replayable && globals().promp.ft {
        VOUCHED.store(true, Relaxed);
        // Behind a save point a task that is only counted could end twice.
        thr.task();
        thr.set_saving(true);
    }
}

/// A member begins a region: what was said where the region was encountered holds in it.
#[inline]
pub(crate) fn enter_region(thr: &'static Thread, team: &Team) {
    let v = team.origin.vouched.get();
    thr.vouched.set(v);
    let (recompute, fragments) = team.origin.wishes.get();
    thr.recompute.set(recompute);
    thr.fragments.set(fragments);
    settle_saving(thr);
}

/// Are stacks copied at `thr`'s save points, by what was said of the region that it is in, or outside?
pub(crate) fn settle_saving(thr: &'static Thread) {
    thr.set_saving(thr.vouched.get() == 1 || saves_private_state(&globals().promp));
}

/// The primary thread is back outside: the word is spent.
#[inline]
pub(crate) fn leave_region(thr: &'static Thread) {
    thr.vouched.set(0);
    thr.recompute.set(0);
    thr.fragments.set(0);
    settle_saving(thr);
}

/// A worksharing construct has ended: a word given inside the region is spent.
#[inline]
pub(crate) fn construct_ended(thr: &'static Thread, team: &'static Team) {
    let v = team.origin.vouched.get();
    if thr.vouched.get() != v {
        thr.vouched.set(v);
    }
}
