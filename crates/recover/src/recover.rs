//! Recovery: what a spare host does until it is the logical thread.

use super::failure_records::{self, Record};
use super::verify;
use crate::ckpt;
use crate::icv::globals;
use crate::icv::settings::Recompute;
use crate::save::SaveKind;
use crate::say;
use crate::sys::anew::Anew;
use crate::sys::asm;
use crate::sys::fp_control::FpControl;
use crate::sys::host::{self, Identity};
use crate::sys::syscall::exit_group;
use crate::sys::{mutexes, pending_signals, reach, timers};
use crate::team::member::tfd;
use crate::team::thread::Thread;
use crate::work::dispenser::Orphan;
use core::sync::atomic::{AtomicU32, Ordering::*};

/// How the new host goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// Return `rax` from the call at `frame`: nothing was in flight.
    Return {
        /// The live frame.
        frame: usize,
        /// The result.
        rax: usize,
    },
    /// Call the activation's function: nothing was in flight.
    Enter {
        /// The activation's base.
        base: usize,
    },
    /// Put the saved stack back and make the last call again.
    Repeat,
    /// Put the saved argument block back and call the activation's function again.
    Reenter,
}

impl Way {
    /// For work in flight that may be executed again.
    pub(crate) fn again(thr: &'static Thread) -> Way {
        match thr.save.current().map(|s| s.kind.get()) {
            Some(SaveKind::Enter) => Way::Reenter,
            _ => Way::Repeat,
        }
    }
}

/// What the failing host leaves to the spare one.
pub(crate) struct Order {
    /// The logical thread.
    pub thread: &'static Thread,
    /// How to go on.
    pub way: Way,
    /// Index of the failure's record.
    pub failure: u32,
    /// What to take over.
    pub identity: Identity,
    /// The failing host's floating-point control words.
    pub fp: FpControl,
    /// The spare host's bootstrap stack, afterwards its alternate signal stack.
    pub stack: usize,
    /// What its successor does not have from it; none if it has ended.
    pub anew: Option<Anew>,
    /// Signals that it had not taken yet.
    pub signals: Vec<pending_signals::Info>,
    /// Timers that sent to it.
    pub timers: timers::Left,
    /// Becomes 0 when the failing host has gone.
    pub gone: AtomicU32,
}

/// Goes on where a call returns or an activation is entered, with the signal mask `mask`.
///
/// # Safety
/// The calling host is that of `thr`; frame and base are those of its live stack.
pub(crate) unsafe fn go_on(thr: &'static Thread, way: Way, mask: u64) -> ! {
    // SAFETY: by the caller's promise.
    unsafe {
        match way {
            Way::Return { frame, rax } => asm::promp_return(frame, rax, mask),
            Way::Enter { base } => {
                let (f, d) = thr.call.get();
                asm::promp_reenter(base, core::ptr::from_ref(thr) as usize, mask, f, d)
            }
            Way::Repeat | Way::Reenter => unreachable!("idle ways only"),
        }
    }
}

/// The spare host's entry; `arg` is the order.
///
/// # Safety
/// For [`host::spawn`] with a leaked [`Order`].
pub(crate) unsafe extern "C" fn main(arg: usize) -> ! {
    // SAFETY: `stop::leave` passed a leaked order.
    let order: &'static Order = unsafe { &*(arg as *const Order) };
    host::wait_gone(&order.gone);
    let thr = order.thread;
    let rec = failure_records::get(order.failure);
    if matches!(order.way, Way::Repeat | Way::Reenter) {
        // SAFETY: the failed host has gone, and the work has not been handed out yet.
        unsafe { thr.undo.put_back() };
        verify::abandon(thr);
        share_out(thr, order.failure, rec);
    } else {
        failure_records::close(rec);
    }
    let tid = order.identity.adopt(order.stack as *mut u8);
    pending_signals::give(&order.signals);
    if !order.timers.arrives(ckpt::timers::made) {
        say!("the system does not give thread {}'s new host its timers; stopping", thr.num());
        exit_group(70);
    }
    if order.anew.is_some_and(|a| !a.give(order.identity.thread_pointer)) {
        say!("the system does not give thread {}'s new host its scheduling; stopping", thr.num());
        exit_group(70);
    }
    reach::arrives(order.identity.thread_pointer);
    mutexes::follow();
    thr.host.store(tid, Relaxed);
    ckpt::transition_ends(thr.seat_number.get(), tid);
    thr.member().tfd.store(tfd::REHOSTED, Release);
    thr.member().tasks.looks_no_more();
    // Signals stay blocked until the host stands on the thread's own stack.
    let mask = order.identity.sigmask;
    // SAFETY: the failed host has gone; this host has the logical thread's identity and runs on a stack of
    // its own; frames and bases are those of the logical thread's live or restored stack.
    unsafe {
        match order.way {
            Way::Return { .. } | Way::Enter { .. } => {
                order.fp.load();
                go_on(thr, order.way, mask)
            }
            Way::Repeat => {
                let save = thr.save.current().expect("the verdict found it");
                save.restore();
                save.fp.get().load();
                asm::promp_repeat(save.frame.get(), core::ptr::from_ref(thr) as usize, mask)
            }
            Way::Reenter => {
                let save = thr.save.current().expect("the verdict found it");
                save.restore();
                save.fp.get().load();
                let (f, d) = thr.call.get();
                asm::promp_reenter(thr.base.load(Relaxed), core::ptr::from_ref(thr) as usize, mask, f, d)
            }
        }
    }
}

/// Decides who executes the chunk in flight: the survivors, as an orphan; or, where its order or its thread
/// matters, the logical thread itself.
fn share_out(thr: &'static Thread, failure: u32, rec: &'static Record) {
    let m = thr.member();
    let team = m.team();
    let in_flight = m.ledger.in_flight();
    let (Some((seq, r)), Some(s)) = (in_flight, m.share.get()) else {
        failure_records::close(rec);
        return;
    };
    let shape = s.shape.get();
    let dispenses =
        thr.save.current().is_some_and(|s| matches!(s.kind.get(), SaveKind::Next(..) | SaveKind::Section));
    if !dispenses || s.seq() != seq {
        // The save point lies inside the chunk (behind a critical section, say): the chunk goes on from
        // there.
        failure_records::close(rec);
        return;
    }
    rec.remaining.store(r.len(), Release);
    // A program may count on the order in which a thread gets its chunks (`Shape::ascending`).
    let bound = shape.ascending && shape.recompute == 0 && !super::policy::goes_to_anybody(thr);
    if shape.monotonic || bound || globals().promp.reproducible || team.size() == 1 {
        m.ledger.lose_again(failure);
        return;
    }
    let survivors = u64::from(team.size() - 1);
    let fixed = match shape.recompute {
        0 => globals().promp.recompute == Recompute::Static,
        n => n == Recompute::Static as u8,
    };
    let block = if fixed { r.len().div_ceil(survivors) } else { 0 };
    rec.shared.set(true);
    s.dispenser.push_orphan(Orphan { range: r, failure, owner: m.num.get(), block });
    if let Some(earlier) = m.ledger.lose(r.hi == shape.total) {
        failure_records::transfer(earlier, r.len());
    }
    team.event.notify();
}
