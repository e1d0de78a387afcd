//! Saving a logical thread's private state at its save points.
//!
//! The state at a runtime call is the memory from the call's frame (sys/arch/asm.rs: callee-saved registers, return address) to
//! the base of the activation, and the floating-point control words. In outlined functions that is a few hundred bytes. At the
//! start of an activation it is the function and its argument block alone.
//!
//! The copy goes to the spare one of two buffers and is then published (publish.rs).

use super::publish::Turn;
use super::{unsaved, verify};
use crate::sys::fp_control::FpControl;
use crate::sys::own::Own;
use crate::sys::{asm, stack_copy};
use crate::team::thread::Thread;
use crate::work::site;
use core::sync::atomic::Ordering::Relaxed;

/// Larger private states are not copied at every call: a failure then finds nothing to go back to.
pub const LIMIT: usize = 256 * 1024;

/// How to go on from a save point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SaveKind {
    /// No way back (serial code).
    #[default]
    None,
    /// The state was larger than [`LIMIT`].
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
    /// The activation's base at that time (0 for `Enter`: it is known when the function is called). What was
    /// too large lay between the two.
    pub base: Own<usize>,
    /// Where the copied memory belongs, and its length.
    pub range: Own<(usize, usize)>,
    /// Floating-point control words.
    pub fp: Own<FpControl>,
    copy: Own<(usize, usize)>,
}

/// A thread's saved states.
#[derive(Default)]
pub struct Save {
    slots: [Slot; 2],
    turn: Turn,
}

impl Save {
    /// The last published state.
    pub fn current(&self) -> Option<&Slot> {
        self.turn.current().map(|i| &self.slots[i])
    }

    fn put(&self, kind: SaveKind, frame: usize, base: usize, range: (usize, usize)) {
        let i = self.turn.spare();
        let s = &self.slots[i];
        let (from, len) = range;
        if s.copy.get().1 < len {
            s.grow(len);
        }
        // SAFETY: `range` is live memory of the calling thread's own activation, the copy has room for it.
        unsafe { stack_copy::copy_stack(from, s.copy.get().0, len) };
        s.kind.set(kind);
        s.frame.set(frame);
        s.base.set(base);
        s.range.set(range);
        s.fp.set(FpControl::read());
        self.turn.publish(i);
    }
}

impl Slot {
    #[cold]
    fn grow(&self, len: usize) {
        let (old, have) = self.copy.get();
        let v = vec![0u8; len.next_power_of_two().max(2048)].into_boxed_slice();
        let n = v.len();
        self.copy.set((Box::into_raw(v) as *mut u8 as usize, n));
        if have > 0 {
            // SAFETY: made here, of this size, and no longer referred to.
            drop(unsafe { Box::from_raw(core::ptr::slice_from_raw_parts_mut(old as *mut u8, have)) });
        }
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
        // SAFETY: the range was the activation's when it was copied, and by the caller's promise is free to write.
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
    thr.gauge.settle();
    thr.undo.clear(|site| unsaved::ends(thr, site));
    let (frame, base) = (thr.frame.get(), thr.base.load(Relaxed));
    if base <= frame || frame == 0 {
        thr.save.put(SaveKind::None, 0, 0, (0, 0));
    } else if base - frame > LIMIT {
        thr.save.put(SaveKind::TooLarge, frame, base, (0, 0));
    } else {
        thr.save.put(kind, frame, base, (frame, base - frame));
        verify::chunk_begins(thr, kind);
    }
    if site::keeps_accounts() {
        unsaved::part_begins(thr, matches!(kind, SaveKind::After(_)));
    }
    thr.inject.new_save_point();
}

/// The save point at the start of an activation whose argument block is `args`.
#[inline(always)]
pub fn enter(thr: &'static Thread, args: (usize, usize)) {
    if thr.saving.get() {
        thr.gauge.settle();
        thr.undo.clear(|site| unsaved::ends(thr, site));
        let kind = if args.1 > LIMIT { SaveKind::TooLarge } else { SaveKind::Enter };
        let base = if kind == SaveKind::TooLarge { args.1 } else { 0 };
        thr.save.put(kind, 0, base, if kind == SaveKind::Enter { args } else { (0, 0) });
        thr.inject.new_save_point();
    }
}
