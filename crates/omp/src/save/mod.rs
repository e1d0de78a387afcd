//! What a logical thread saves, so that its work can be executed again: its private state, here, and old
//! values (crates/undo); what that may cost (price.rs, site_visits.rs, across_points.rs, region_points.rs,
//! measured by gauge.rs, across.rs, pace.rs, region_price.rs and cost_clock.rs, on a credit); and for how
//! long it would have been in vain (unsaved_time.rs). Recovery reads it once the host is gone.
//!
//! ## Private state at save points
//!
//! The state at a runtime call is the memory from the call's frame (sys/arch/asm.rs: callee-saved registers,
//! return address) to the base of the activation, and the floating-point control words. In outlined
//! functions that is a few hundred bytes. At the start of an activation it is the function and its argument
//! block alone.
//!
//! The copy goes to the spare one of two buffers and is then published (publish.rs). A large state is copied
//! where that is worth its price; otherwise the work up to the next save point counts as work that cannot be
//! executed again, for a [`Site`] of its function.

pub(crate) mod across;
pub mod across_points;
mod copy_price;
pub(crate) mod cost_clock;
pub(crate) mod credit;
pub(crate) mod gauge;
mod pace;
pub mod price;
pub mod proof;
pub(crate) mod publish;
pub(crate) mod region_points;
mod region_price;
pub mod sample;
mod saved_state;
pub mod site_visits;
pub(crate) mod unsaved_clock;
pub mod unsaved_time;

pub use saved_state::{Save, SaveKind, Slot};

use crate::proofs::segment_tables;
use crate::sys::lock::Locked;
use crate::sys::maps;
use crate::team::cpus::cpus;
use crate::team::thread::Thread;
use crate::work::site;
use crate::{icv, recovery, upward};
use copy_price::{NotCopied, SMALL};
use core::sync::atomic::Ordering::Relaxed;
use price::Site;
use std::ffi::CString;

/// A save point: the current runtime call, which goes on as `kind` says.
#[inline(always)]
pub fn point(thr: &'static Thread, kind: SaveKind) {
    if thr.saving.get() {
        save(thr, kind);
    }
}

#[inline(never)]
fn save(thr: &'static Thread, kind: SaveKind) {
    settle(thr);
    thr.undo.clear(|why| was_lost(thr, why));
    let (frame, base) = (thr.frame.get(), thr.base.load(Relaxed));
    if base <= frame || frame == 0 {
        thr.save.put(SaveKind::None, 0, (0, 0));
    } else if keep(thr, kind, frame, (frame, base - frame)) {
        tell_of_chunk(thr, kind);
    }
    if site::keeps_accounts() {
        unsaved_time::part_begins(thr, matches!(kind, SaveKind::After(_)));
    }
    thr.save.count_point();
}

/// There is a new save point of the kind `kind`. Has the call that it is in handed out a chunk, and are some
/// verified?
#[inline(always)]
fn tell_of_chunk(thr: &'static Thread, kind: SaveKind) {
    if sample::is_on() && matches!(kind, SaveKind::Next(..) | SaveKind::Section) {
        recovery().chunk_begins(thr);
    }
}

/// What is measured ends here.
#[inline(always)]
fn settle(thr: &'static Thread) {
    thr.gauge.settle();
    if thr.gauge.across.is_on() {
        across_points::settle(thr);
    }
}

/// There is a new save point, and the work before it was lost for the reason `why`.
#[cold]
fn was_lost(thr: &'static Thread, why: usize) {
    unsaved_time::ends(thr, why);
    upward::lighten_across(thr, false);
}

/// Keeps the memory of `range`, unless it is large and not worth it; or there is no memory for that.
#[inline(always)]
fn keep(thr: &'static Thread, kind: SaveKind, frame: usize, range: (usize, usize)) -> bool {
    let copied = if range.1 <= SMALL {
        thr.save.put(kind, frame, range)
    } else {
        is_copied(thr, range.1, || thr.save.put(kind, frame, range))
    };
    if !copied {
        thr.save.put(SaveKind::TooLarge, 0, (0, 0));
    }
    copied
}

/// Copies `bytes` of `thr`'s private state by `copy`, which says whether there was memory for that, if they
/// are worth it. Otherwise the work up to the next save point is lost.
#[cold]
fn is_copied(thr: &'static Thread, bytes: usize, copy: impl FnOnce() -> bool) -> bool {
    if !thr.is_in_region() {
        return false; // never executed again
    }
    let (mut price, budget, began) = (thr.save.price.get(), icv::save_budget(), cost_clock::ticks());
    let covers = |ticks| credit::covers(ticks, width(thr), budget);
    let affords = price.affords(bytes, began, budget, covers);
    let done = affords.and_then(|()| if copy() { Ok(()) } else { Err(NotCopied::NoMemory) });
    match done {
        Ok(()) => price.pay(bytes, began, cost_clock::ticks(), budget),
        Err(why) => {
            let site = site(thr.call.get().0, bytes, why);
            if why == NotCopied::Price {
                site.would_take(price.would_take(bytes, began));
            }
            thr.undo.lose(core::ptr::from_ref(site) as usize);
            unsaved_time::begins(thr);
        }
    }
    thr.save.price.set(price);
    done.is_ok()
}

/// How many of the threads that execute the same regions as `thr` have a CPU at the same time: of the
/// program's time, saving in one of them takes one part in so many.
fn width(thr: &'static Thread) -> u32 {
    let mut team = thr.team();
    let mut threads = team.size.get();
    while let Some(parent) = team.primary.parent.get() {
        team = parent.team();
        threads = threads.saturating_mul(team.size.get());
    }
    threads.clamp(1, cpus().max(1))
}

/// What is not copied, for this reason, of the function at `address`, whose state has `bytes`. It stays.
fn site(address: usize, bytes: usize, why: NotCopied) -> &'static Site {
    static ALL: Locked<Vec<(usize, NotCopied, &'static Site)>> = Locked::new(Vec::new());
    ALL.with(|all| match all.iter().find(|s| (s.0, s.1) == (address, why)) {
        Some(known) => known.2,
        None => {
            let line = segment_tables::at_entry(address).map(|e| e.place().into());
            let place = line.or_else(|| maps::function_name(address)).unwrap_or_else(|| "?".into());
            let text = CString::new(why.text(&place, bytes)).unwrap_or_default().into_boxed_c_str();
            let made: &'static Site = Box::leak(Box::new(Site::of_private(Box::leak(text))));
            all.push((address, why, made));
            made
        }
    })
}

/// The save point at the start of an activation whose argument block is `args`.
#[inline(always)]
pub(crate) fn enter(thr: &'static Thread, args: (usize, usize)) {
    if thr.saving.get() {
        enter_saving(thr, args);
    }
}

/// Not in its callers: tasks within tasks are to need no more stack for it.
#[inline(never)]
fn enter_saving(thr: &'static Thread, args: (usize, usize)) {
    settle(thr);
    thr.undo.clear(|why| was_lost(thr, why));
    keep(thr, SaveKind::Enter, 0, args);
    thr.save.count_point();
}
