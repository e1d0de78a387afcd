//! Rung 2 as a failure sees it: its record is opened, and checkpoints do the rest
//! (`ckpt/control/rollback_request.rs`). The record is closed when memory has been put back
//! ([`failure_records::went_back`]).

use super::failure_records::{self, Recovery};
use super::policy;
use super::spec::Kind;
use crate::ckpt;
use crate::team::thread::Thread;

/// The calling host fails in a way that only a rollback helps. All signals are blocked.
pub(crate) fn roll_back(thr: &'static Thread, kind: Kind) -> ! {
    roll_back_after(thr, kind, || ())
}

/// Like [`roll_back`]; `spoil` runs when the failure is known, so that what others suffer from it counts as
/// the same one.
pub(crate) fn roll_back_after(thr: &'static Thread, kind: Kind, spoil: impl FnOnce()) -> ! {
    failure_records::open(kind, policy::place(thr), Recovery::Rollback);
    ckpt::roll_back(thr.seat_number.get(), spoil)
}

/// `thr`, whose host `id` has ended by itself, fails in a way that only a rollback helps. All signals are
/// blocked.
pub(crate) fn roll_back_ended(thr: &'static Thread, id: u32) {
    failure_records::open(Kind::Ended, policy::place(thr), Recovery::Rollback);
    let thread_pointer = thr.identity.get().map(|i| i.thread_pointer);
    ckpt::roll_back_ended(thr.seat_number.get(), id, thread_pointer);
}
