//! Old values: what code built with promp-cc saves before it overwrites values that it has read.
//!
//! A log a logical thread, emptied at every save point. A record is the grid of elements it came from
//! (grid.rs), the elements, and the length of both, last, so that the log can be read backwards: what was
//! saved first is put back last. Single elements are most of it: their records are the element and a word
//! with its address ([`Short`]).
//!
//! Only the logical thread writes it. A record counts when it is whole (`used` is set last), and nothing is
//! overwritten before its old value is recorded: a stop may come at any instruction. Recovery reads the log
//! after the host has gone.

use crate::addition;
use crate::freed_memory::{self, Freed};
use crate::grid::{Grid, Short};
use crate::log_index::Seen;
use crate::sys::own::Own;
use core::sync::atomic::{Ordering::Release, compiler_fence};

/// There was more to keep than a log can: a reason that the log finds itself. Others are addresses, and
/// greater.
pub const TOO_MUCH: usize = 1;
/// There was no memory for a log: likewise.
pub const NO_ROOM: usize = 2;

/// Larger logs are given up: the work is then not executed again.
pub(crate) const LIMIT: usize = 256 << 20;
/// Logs of more bytes are given back once nothing is saved any more.
const KEPT: usize = 1 << 20;

const HEAD: usize = size_of::<Grid>();
const TAIL: usize = size_of::<usize>();

/// A thread's log.
#[derive(Default)]
pub struct Log {
    memory: Own<(usize, usize)>,
    used: Own<usize>,
    lost: Own<usize>,
    /// Something is to be done at the next save point: it is lost, or memory was freed.
    busy: Own<bool>,
    /// Are save points left out until one has to be?
    points: Own<Points>,
    /// Save points in a row before which the work was lost for having stopped saving.
    in_vain: Own<u32>,
    seen: Seen,
    freed: Freed,
}

/// Are they worth while?
#[derive(Clone, Copy, Default, PartialEq)]
enum Points {
    /// As ever.
    #[default]
    Taken,
    /// Old values are not saved any more: this one will have been in vain.
    Stopped,
    /// The same, as behind the last save points: most likely not.
    InVain,
    /// They have been left out: what is lost is more than the work behind the last one.
    LeftOut,
    /// The same, and are left out in loops whose iterations wait for each other.
    Across,
}

/// So many save points in a row have been in vain, and the next chunks are taken to be lost, too.
const IN_VAIN: u32 = 2;

impl Log {
    /// Forgets everything: what was saved is history. `lost` is told of the reason that had made it useless.
    #[inline(always)]
    pub fn clear(&self, lost: impl FnOnce(usize)) {
        self.used.set(0);
        if self.busy.get() {
            self.settle(lost);
        } else {
            self.in_vain.set(0);
        }
    }

    #[cold]
    fn settle(&self, lost: impl FnOnce(usize)) {
        self.busy.set(false);
        if self.points.get() == Points::Taken {
            self.in_vain.set(0);
        } else if self.memory.get().1 > KEPT {
            self.has_memory((0, 0));
        }
        self.points.set(Points::Taken);
        self.freed.give_back();
        let site = self.lost.get();
        if site != 0 {
            self.lost.set(0);
            lost(site);
        }
    }

    /// Old values are not saved any more, for the reason `site`: the work cannot be executed again.
    pub fn stop(&self, site: usize) {
        if self.lost.get() == 0 {
            let n = self.in_vain.get().saturating_add(1);
            self.in_vain.set(n);
            self.points.set(if n > IN_VAIN { Points::InVain } else { Points::Stopped });
        }
        self.lose(site);
    }

    /// Is a save point left out here? If it would be in vain, and a failure would be `refused` as it is: the
    /// work stays lost until the next save point.
    #[inline(always)]
    pub fn leaves_out(&self, refused: impl FnOnce() -> bool) -> bool {
        match self.points.get() {
            Points::Taken | Points::Stopped | Points::Across => false,
            Points::LeftOut => true,
            Points::InVain => self.begins_to_leave_out(refused()),
        }
    }

    #[cold]
    fn begins_to_leave_out(&self, yes: bool) -> bool {
        self.points.set(if yes { Points::LeftOut } else { Points::Stopped });
        // Before the next chunk is taken; one host, and signal handlers on it.
        compiler_fence(Release);
        yes
    }

    /// Has a save point been left out since the last one? Then nothing can be executed again, whatever
    /// anybody says: the saved state is not the one in which the work in flight began.
    pub fn has_left_out(&self) -> bool {
        matches!(self.points.get(), Points::LeftOut | Points::Across)
    }

    /// Save points are left out from here on, for the reason `site`, in a loop whose iterations wait for each
    /// other.
    pub fn goes_without(&self, site: usize) {
        self.lose(site);
        self.points.set(Points::Across);
        // Before the next one is left out; one host, and signal handlers on it.
        compiler_fence(Release);
    }

    /// Are they?
    #[inline(always)]
    pub fn is_without(&self) -> bool {
        self.points.get() == Points::Across
    }

    /// The next one is taken again; the work is lost up to there.
    pub fn takes_points(&self) {
        if self.is_without() {
            self.points.set(Points::LeftOut);
        }
    }

    /// Frees a block, now or at the next save point. `own`: the work that frees it has allocated it. It may
    /// free memory: not to be interrupted.
    ///
    /// # Safety
    /// The logical thread frees it.
    pub unsafe fn free(&self, block: usize, own: bool) {
        let kept = || {
            self.busy.set(true);
            self.freed.keep(block)
        };
        // Nothing saved lies nowhere: then its size is not asked for.
        let is_in_log = || self.used.get() != 0 && self.reaches(block, freed_memory::size(block));
        if self.lost.get() != 0 || (own && !is_in_log()) {
            // SAFETY: by the caller's promise; what was saved does not lie in it, or is never put back.
            unsafe { libc::free(block as *mut libc::c_void) };
        } else if !kept() {
            self.give_up(TOO_MUCH);
            self.freed.give_back();
            // SAFETY: likewise.
            unsafe { libc::free(block as *mut libc::c_void) };
        }
    }

    /// May elements that were saved lie in these bytes? Of a long log that is not looked up for small blocks:
    /// these can wait.
    fn reaches(&self, start: usize, bytes: usize) -> bool {
        if self.used.get() > 16 * bytes {
            return true;
        }
        let mut found = false;
        // SAFETY: the log's own thread asks.
        unsafe {
            self.backwards(|g, _| g.pieces(|p, n| found |= p < start + bytes && start < p + n));
        }
        found
    }

    /// The reason for which the work cannot be executed again; 0: there is none.
    #[inline(always)]
    pub fn lost(&self) -> usize {
        self.lost.get()
    }

    /// The work cannot be executed again, for the reason `site`. The first reason stays.
    #[inline(always)]
    pub fn lose(&self, site: usize) {
        if self.lost.get() == 0 {
            self.lost.set(site);
            self.busy.set(true);
            // What must not be repeated comes behind this; one host, and signal handlers on it.
            compiler_fence(Release);
        }
    }

    /// Saves the elements of `g`.
    ///
    /// # Safety
    /// The calling thread is about to write them.
    pub unsafe fn save(&self, g: Grid) {
        let used = self.used.get();
        let Some(n) = g.bytes() else { return self.give_up(TOO_MUCH) };
        if n == 0 {
            return;
        }
        if used == 0 {
            self.seen.begin();
        }
        // One element is found by the short way, too.
        let shape = (g.count[0] - 1).wrapping_mul(3) + (g.count[1] - 1);
        let slot = self.seen.slot(g.start, shape);
        if slot.record().is_some_and(|at| self.grid_at(at) == g) {
            return;
        }
        let padded = n.next_multiple_of(8);
        let total = HEAD + padded + TAIL;
        if used + total > self.memory.get().1 && !self.grow(used + total) {
            return;
        }
        let at = self.memory.get().0 + used;
        // SAFETY: there is room for `total` bytes at `at`, which is aligned to 8; the elements are readable.
        unsafe {
            (at as *mut Grid).write(g);
            let (mut to, mut page) = (at + HEAD, usize::MAX);
            g.pieces(|p, n| {
                let last = (p + n - 1) / PAGE;
                if p / PAGE != page || last != page {
                    touch(p, n);
                    page = last;
                }
                copy(p, to, n);
                to += n;
            });
            ((at + HEAD + padded) as *mut usize).write(total);
        }
        // One host, and signal handlers on it: the compiler's order is enough.
        compiler_fence(Release);
        self.used.set(used + total);
        compiler_fence(Release);
        slot.keep(used);
    }

    /// That of the record at `at`, which is in the log: of a short one this is its last word.
    #[inline(always)]
    fn grid_at(&self, at: usize) -> Grid {
        let at = self.memory.get().0 + at;
        // SAFETY: other records begin with their grid, whose first word is an address.
        unsafe {
            match *(at as *const usize) {
                word if word & Short::MARK != 0 => Short::grid(word),
                _ => *(at as *const Grid),
            }
        }
    }

    /// Saves one element of a common size, if there is room and it is not the first, or it was saved before,
    /// in a third of the instructions of [`Log::save`].
    ///
    /// # Safety
    /// The calling thread is about to write it.
    #[inline(always)]
    pub unsafe fn save_one(&self, start: usize, size: usize) -> bool {
        let (used, (memory, have)) = (self.used.get(), self.memory.get());
        if used == 0 {
            return false;
        }
        let slot = self.seen.slot(start, 0);
        let has = |at| {
            let g = self.grid_at(at);
            g.start == start && g.size >= size
        };
        if slot.record().is_some_and(has) {
            return true;
        }
        if !matches!(size, 4 | 8) || used + Short::LENGTH > have {
            return false;
        }
        let at = memory + used;
        // SAFETY: there is room for the record at `at`, which is aligned to 8; the element is readable, and,
        // as for `touch`, nobody else's.
        unsafe {
            core::arch::asm!("or byte ptr [{}], 0", in(reg) start, options(nostack));
            copy(start, at, if size == 8 { 8 } else { 4 });
            ((at + 8) as *mut usize).write(Short::word(start, size, 0));
        }
        // As in `save`.
        compiler_fence(Release);
        self.used.set(used + Short::LENGTH);
        compiler_fence(Release);
        slot.keep(used + Short::LENGTH - TAIL);
        true
    }

    /// Notes that `value` is added to the `size` bytes at `at`, with the addition: not to be interrupted.
    pub fn note_addition(&self, at: usize, size: usize, value: u64) {
        let (used, need) = (self.used.get(), self.used.get() + Short::LENGTH);
        if used == 0 {
            self.seen.begin();
        }
        if need > self.memory.get().1 && !self.grow(need) {
            return;
        }
        let to = self.memory.get().0 + used;
        // SAFETY: there is room for the record at `to`, which is aligned to 8.
        unsafe { (to as *mut [u64; 2]).write([value, Short::word(at, size, Short::ADDED) as u64]) };
        // As in `save`.
        compiler_fence(Release);
        self.used.set(need);
    }

    /// Has the work made additions that are to be taken back?
    pub fn has_additions(&self) -> bool {
        self.adds(|_| true)
    }

    /// ... to a number whose address is `such`?
    pub fn adds(&self, such: impl Fn(usize) -> bool) -> bool {
        let mut any = false;
        // SAFETY: the log's own thread has stopped.
        unsafe { self.backwards(|g, _| any = any || addition::is_addition(g) && such(g.start)) };
        any
    }

    /// Calls `f(grid, address of the elements)` for each record, the newest first.
    ///
    /// # Safety
    /// Nobody writes the log.
    unsafe fn backwards(&self, mut f: impl FnMut(&Grid, usize)) {
        let (start, mut used) = (self.memory.get().0, self.used.get());
        while used > 0 {
            // SAFETY: records were written by `save` and its like, of the lengths they say.
            unsafe {
                let last = *((start + used - TAIL) as *const usize);
                if last & Short::MARK == 0 {
                    used -= last;
                    f(&*((start + used) as *const Grid), start + used + HEAD);
                } else {
                    used -= Short::LENGTH;
                    f(&Short::grid(last), start + used);
                }
            }
        }
    }

    /// Is there room for the elements of `g` without growing?
    #[inline(always)]
    pub fn has_room(&self, g: &Grid) -> bool {
        g.bytes().is_some_and(|n| self.used.get() + n + (HEAD + TAIL + 8) <= self.memory.get().1)
    }

    /// There is more than the log can have, or no memory for it: `why`.
    #[cold]
    fn give_up(&self, why: usize) {
        self.lose(why);
    }

    /// Makes room for `need` bytes. False if that is too much, or there is no memory: the log is given up.
    #[cold]
    fn grow(&self, need: usize) -> bool {
        let (old, have) = self.memory.get();
        let mut v: Vec<u64> = Vec::new();
        let words = need.next_power_of_two().max(1 << 16) / 8;
        if need > LIMIT {
            self.give_up(TOO_MUCH);
            return false;
        }
        if v.try_reserve_exact(words).is_err() {
            self.give_up(NO_ROOM);
            return false;
        }
        let mut v = core::mem::ManuallyDrop::new(v);
        let new = (v.as_mut_ptr() as usize, v.capacity() * 8);
        if have > 0 {
            // SAFETY: `used` bytes were written of the old memory, and the new one is larger.
            unsafe { core::ptr::copy_nonoverlapping(old as *const u8, new.0 as *mut u8, self.used.get()) };
        }
        self.has_memory(new);
        true
    }

    /// From here on this is the log's memory, also for a handler of a signal; what was is freed.
    fn has_memory(&self, new: (usize, usize)) {
        let (start, bytes) = self.memory.get();
        self.memory.set(new);
        compiler_fence(Release);
        if bytes > 0 {
            // SAFETY: a vector of that many words, made by `grow`.
            drop(unsafe { Vec::from_raw_parts(start as *mut u64, 0, bytes / 8) });
        }
    }

    /// Puts everything back, the newest first, and forgets it.
    ///
    /// # Safety
    /// No host executes the work that saved it; the elements are writable.
    pub unsafe fn put_back(&self) {
        // SAFETY: nobody writes the log; the elements by the caller's promise.
        unsafe {
            self.backwards(|g, mut from| {
                if addition::is_addition(g) {
                    return addition::add(g.start, g.size, (*(from as *const u64)).wrapping_neg());
                }
                g.pieces(|p, n| {
                    copy(from, p, n);
                    from += n;
                });
            });
        }
        self.freed.forget();
        self.clear(|_| ());
    }
}

const PAGE: usize = 4096;

/// Makes the pages of `n` bytes at `p` writable, by writing what is there: to read a page first that nobody
/// has written yet would map the page of zeros, and the write that follows would fault again and interrupt
/// all other CPUs.
///
/// # Safety
/// This thread is about to write these elements, and no other one does.
#[inline(always)]
unsafe fn touch(p: usize, n: usize) {
    let mut at = p;
    while at < p + n {
        // SAFETY: by the caller's promise.
        unsafe { core::arch::asm!("or byte ptr [{}], 0", in(reg) at, options(nostack)) };
        at = (at / PAGE + 1) * PAGE;
    }
}

/// # Safety
/// `n` readable and writable bytes that do not overlap.
#[inline(always)]
unsafe fn copy(from: usize, to: usize, n: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        match n {
            8 => (to as *mut u64).write_unaligned((from as *const u64).read_unaligned()),
            4 => (to as *mut u32).write_unaligned((from as *const u32).read_unaligned()),
            // Some members of a structure.
            16 | 24 | 32 => (0..n).step_by(8).for_each(|i| {
                ((to + i) as *mut u64).write_unaligned(((from + i) as *const u64).read_unaligned());
            }),
            _ => core::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, n),
        }
    }
}

#[cfg(test)]
mod tests;
