//! Saved private state: two buffers, of which one is published (publish.rs). Where it is copied, and when:
//! mod.rs.

use super::copy_price::Price;
use super::publish::Turn;
use crate::sys::fp_control::FpControl;
use crate::sys::own::Own;
use crate::sys::{asm, stack_copy};

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
    pub(super) fn count_point(&self) {
        self.passed.set(self.passed.get() + 1);
    }

    /// Is there memory for a copy of `range`? Then it is made and published.
    pub(super) fn put(&self, kind: SaveKind, frame: usize, range: (usize, usize)) -> bool {
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
