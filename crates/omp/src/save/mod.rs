//! What a logical thread saves, so that its work can be executed again: its private state, here, and old
//! values (crates/undo); what that may cost (price.rs, measured by gauge.rs, across.rs and pace.rs, on a
//! credit); and for how long it would have been in vain (unsaved_time.rs). Recovery reads it once the host
//! is gone.
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

pub mod across;
pub(crate) mod credit;
pub(crate) mod gauge;
pub(crate) mod pace;
pub mod price;
pub mod proof;
pub(crate) mod publish;
pub mod sample;
pub mod unsaved_time;

use crate::icv;
use crate::proofs::tables;
use crate::sys::fp_control::FpControl;
use crate::sys::lock::Locked;
use crate::sys::own::Own;
use crate::sys::{asm, maps, stack_copy};
use crate::task::included;
use crate::team::thread::Thread;
use crate::work::site;
use core::sync::atomic::Ordering::Relaxed;
use price::Site;
use promp_settings::save_budget::{NotCopied, Price, SMALL};
use publish::Turn;
use std::ffi::CString;

/// How to go on from a save point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SaveKind {
    /// No way back (serial code).
    #[default]
    None,
    /// The state is large, and was not copied: the log says why.
    TooLarge,
    /// Call the activation's function again.
    Enter,
    /// The call has returned this value.
    After(usize),
    /// Ask for the next chunk of a loop; addresses of the bounds to set.
    Next(usize, usize),
    /// Ask for the next section.
    Section,
}

/// One saved state.
#[derive(Default)]
pub struct Slot {
    /// How to go on.
    pub kind: Own<SaveKind>,
    /// The frame to go on from.
    pub frame: Own<usize>,
    /// Where the copied memory belongs, and its length.
    pub(crate) range: Own<(usize, usize)>,
    /// Floating-point control words.
    pub fp: Own<FpControl>,
    copy: Own<(usize, usize)>,
}

/// A thread's saved states.
#[derive(Default)]
pub struct Save {
    slots: [Slot; 2],
    turn: Turn,
    /// What copies of large states have taken.
    pub(crate) price: Own<Price>,
    /// Save points passed.
    pub passed: Own<u64>,
}

impl Save {
    /// The last published state.
    pub fn current(&self) -> Option<&Slot> {
        self.turn.current().map(|i| &self.slots[i])
    }

    /// A save point was passed.
    #[inline]
    fn count_point(&self) {
        self.passed.set(self.passed.get() + 1);
    }

    /// Is there memory for a copy of `range`? Then it is made and published.
    fn put(&self, kind: SaveKind, frame: usize, range: (usize, usize)) -> bool {
        let i = self.turn.spare();
        let s = &self.slots[i];
        let (from, len) = range;
        if s.copy.get().1 < len && !s.grow(len) {
            return false;
        }
        // SAFETY: `range` is live memory of the calling thread's own activation, the copy has room for it.
        unsafe { stack_copy::copy_stack(from, s.copy.get().0, len) };
        s.kind.set(kind);
        s.frame.set(frame);
        s.range.set(range);
        s.fp.set(FpControl::read());
        self.turn.publish(i);
        true
    }
}

impl Slot {
    /// Is there memory for `len` bytes?
    #[cold]
    fn grow(&self, len: usize) -> bool {
        let (old, have) = self.copy.get();
        let mut v: Vec<u8> = Vec::new();
        if v.try_reserve_exact(len.next_power_of_two().max(2048)).is_err() {
            return false;
        }
        let mut v = core::mem::ManuallyDrop::new(v);
        self.copy.set((v.as_mut_ptr() as usize, v.capacity()));
        // SAFETY: made here, of this capacity (of none there is nothing to free), and no longer referred to.
        drop(unsafe { Vec::from_raw_parts(old as *mut u8, 0, have) });
        true
    }

    /// The saved memory as words. After the call has returned, the live stack no longer holds it.
    pub fn words(&self) -> &[usize] {
        match self.copy.get().0 {
            0 => &[],
            // SAFETY: the copy holds at least `range.1` bytes and starts at an allocation's beginning.
            p => unsafe { core::slice::from_raw_parts(p as *const usize, self.range.get().1 / 8) },
        }
    }

    /// The return address of the call it was saved in: the saved frame was copied whole.
    pub fn resumes_at(&self) -> Option<usize> {
        self.words().get(asm::FRAME_BYTES / 8).copied()
    }

    /// Puts the saved memory back.
    ///
    /// # Safety
    /// No host runs on that memory.
    pub unsafe fn restore(&self) {
        let (to, len) = self.range.get();
        // SAFETY: the range was the activation's when it was copied, and by the caller's promise is free to
        // write.
        unsafe { stack_copy::copy_stack(self.copy.get().0, to, len) };
    }
}

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
        sample::save_point(thr, kind);
    }
    if site::keeps_accounts() {
        unsaved_time::part_begins(thr, matches!(kind, SaveKind::After(_)));
    }
    thr.save.count_point();
}

/// What is measured ends here.
#[inline(always)]
fn settle(thr: &'static Thread) {
    thr.gauge.settle();
    if thr.gauge.across.is_on() {
        price::settle_across(thr);
    }
}

/// There is a new save point, and the work before it was lost for the reason `why`.
#[cold]
fn was_lost(thr: &'static Thread, why: usize) {
    unsaved_time::ends(thr, why);
    included::lighten_across(thr, false);
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
    let (mut price, budget, began) = (thr.save.price.get(), icv::save_budget(), pace::ticks());
    let covers = |ticks| credit::covers(ticks, credit::width(thr), budget);
    let affords = price.affords(bytes, began, budget, covers);
    let done = affords.and_then(|()| if copy() { Ok(()) } else { Err(NotCopied::NoMemory) });
    match done {
        Ok(()) => price.pay(bytes, began, pace::ticks(), budget),
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

/// What is not copied, for this reason, of the function at `address`, whose state has `bytes`. It stays.
fn site(address: usize, bytes: usize, why: NotCopied) -> &'static Site {
    static ALL: Locked<Vec<(usize, NotCopied, &'static Site)>> = Locked::new(Vec::new());
    ALL.with(|all| match all.iter().find(|s| (s.0, s.1) == (address, why)) {
        Some(known) => known.2,
        None => {
            let line = tables::at_entry(address).map(|e| e.place().into());
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
