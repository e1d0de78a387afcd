//! Descriptors of worksharing constructs.
//!
//! Every member counts the constructs it enters; construct number s uses slot s mod 8 of the team's ring.
//! A slot's tag says what it holds: (region epoch, s, state), with the states *free* → *making* (one
//! member won the compare-exchange and fills the descriptor in) → *ready* → *free* (all members have
//! left). A tag of an earlier epoch counts as free: after a cancelled region nothing needs cleaning. The
//! tag's store to *ready* is a release, members load it with acquire: they see the descriptor filled in.
//! A construct that ends in a barrier nobody need free: who has passed that takes its slot as it is.
//!
//! With nowait a member can be more than 8 constructs ahead. It must not wait for the slower ones without
//! end (they may wait for it), so such constructs get overflow descriptors, under a lock; but where there
//! are many of these already, it gives the others a little time for each.

use super::dispenser::{Dispenser, Line};
use super::doacross::Doacross;
use super::shape::Shape;
use super::want::Asked;
use crate::recovery;
use crate::sys::{lock::Locked, own::Own, sync::touch, syscall::sched_yield};
use crate::team::cpu_yield::step_aside;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use core::{mem::offset_of, ptr::NonNull};
use crossbeam_utils::CachePadded;
use std::collections::BTreeMap;

const SLOTS: u64 = 8;
const FREE: u64 = 0;
const MAKING: u64 = 1;
const READY: u64 = 2;

#[inline(always)]
fn tag(epoch: u64, seq: u64, state: u64) -> u64 {
    epoch << 32 | (seq & 0x3fff_ffff) << 2 | state
}

/// Is the construct that tag `now` (of the same region) stands for one of the first `settled` of those before
/// `seq`? All members have left these.
#[inline(always)]
fn is_over(now: u64, seq: u64, settled: u64) -> bool {
    let behind = seq.wrapping_sub(now >> 2) & 0x3fff_ffff;
    let ahead = behind > 0x1fff_ffff;
    !ahead && behind > seq - settled
}

/// May the place of tag `now` be taken for construct `seq` of a member?
#[inline(always)]
fn is_free(now: u64, epoch: u64, seq: u64, settled: &Own<u64>) -> bool {
    now & 3 == FREE || now >> 32 != epoch & 0xffff_ffff || is_over(now, seq, settled.get())
}

/// A construct's descriptor.
///
/// Who makes it writes one line, the dispenser's, that the others fetch to see it and to take a chunk; the
/// rest only where it changes: it stays everybody's.
#[repr(C, align(128))]
pub struct Share {
    /// Hands out chunks. Has the tag.
    pub dispenser: Dispenser,
    /// See [`Shape`].
    pub shape: Own<Shape>,
    /// Cancelled by `cancel for` or `cancel sections`.
    pub(crate) cancelled: AtomicBool,
    overflow: bool,
    /// The first iteration whose ordered section has not been passed.
    pub(crate) ordered_next: CachePadded<AtomicU64>,
    left: AtomicU32,
    /// Task reductions registered by the first member.
    pub reductions: AtomicPtr<usize>,
    /// Scratch memory of the construct (scan): address and bytes.
    pub scratch: Own<(usize, usize)>,
    /// Dependences between iterations.
    pub doacross: Own<Option<NonNull<Doacross>>>,
    /// What the shape was made from. For those who make constructs in this place.
    pub(crate) asked: Own<Asked>,
}

const _: () = assert!(size_of::<Line>() == 64);
// What those read who take chunks.
const _: () = assert!(offset_of!(Share, ordered_next) - offset_of!(Share, shape) <= 128);

impl Share {
    fn new(overflow: bool) -> Self {
        Self {
            dispenser: Dispenser::default(),
            shape: Own::new(Shape::NONE),
            cancelled: AtomicBool::new(false),
            overflow,
            ordered_next: CachePadded::new(AtomicU64::new(0)),
            left: AtomicU32::new(0),
            reductions: AtomicPtr::default(),
            scratch: Own::new((0, 0)),
            doacross: Own::new(None),
            asked: Own::new(Asked::NOTHING),
        }
    }

    fn tag(&self) -> &AtomicU64 {
        touch(&self.dispenser.line.tag);
        &self.dispenser.line.tag
    }

    /// Its sequence number in the region.
    #[inline(always)]
    pub fn seq(&self) -> u64 {
        self.dispenser.line.seq.load(Relaxed)
    }

    /// Takes it for construct `seq`, if its tag is still `now`.
    #[inline(always)]
    fn claim(&self, now: u64, epoch: u64, seq: u64) -> bool {
        self.tag().compare_exchange(now, tag(epoch, seq, MAKING), SeqCst, Relaxed).is_ok()
    }

    /// Begins anew, but for the shape.
    #[inline(always)]
    fn fill(&self, seq: u64) {
        self.dispenser.line.seq.store(seq, Relaxed);
        if self.left.load(Relaxed) != 0 {
            self.left.store(0, Relaxed);
        }
        if self.cancelled.load(Relaxed) {
            self.cancelled.store(false, Relaxed);
        }
        if self.ordered_next.load(Relaxed) != 0 {
            self.ordered_next.store(0, Relaxed);
        }
        if !self.reductions.load(Relaxed).is_null() {
            self.reductions.store(core::ptr::null_mut(), Relaxed);
        }
        if let Some(d) = self.doacross.get() {
            self.doacross.set(None);
            // SAFETY: made for the construct that the descriptor was of before, which all members have left.
            unsafe { Doacross::retire(d) };
        }
        self.dispenser.reset();
    }

    /// Its shape, and what that was made from. Called while the descriptor is made.
    pub(crate) fn set_shape(&self, asked: Asked, shape: Shape) {
        self.asked.set(asked);
        // Threads can be any number of constructs apart in descriptors beyond the ring: no batches.
        self.shape.set(Shape { quick: shape.quick && !self.overflow, ..shape });
    }

    /// Zeroed memory of `size` bytes shared by the members, 64-byte aligned. Called while the descriptor
    /// is made.
    pub fn zeroed_scratch(&self, size: usize) -> *mut u8 {
        let (old, have) = self.scratch.get();
        if have < size {
            let v: Box<[u128]> = vec![0u128; size.div_ceil(16).max(4).next_multiple_of(4)].into_boxed_slice();
            let bytes = v.len() * 16;
            if old != 0 {
                // SAFETY: made by this function from a box of this many bytes; the construct that used it
                // is over.
                drop(unsafe {
                    Box::from_raw(core::ptr::slice_from_raw_parts_mut(old as *mut u128, have / 16))
                });
            }
            self.scratch.set((Box::into_raw(v) as *mut u128 as usize, bytes));
        } else {
            // SAFETY: the memory has `have` ≥ `size` bytes and belongs to this construct alone.
            unsafe { (old as *mut u8).write_bytes(0, size) };
        }
        self.scratch.get().0 as *mut u8
    }

    /// Dependences between iterations of the construct, in which the caller is.
    #[inline]
    pub fn doacross(&self) -> Option<&Doacross> {
        // SAFETY: it lives until the descriptor is filled anew, when all have left.
        self.doacross.get().map(|d| unsafe { d.as_ref() })
    }

    /// Cancels the construct.
    pub fn cancel(&self) {
        self.cancelled.store(true, Release);
    }

    /// Is it cancelled?
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }
}

/// Descriptors beyond the ring.
#[derive(Default)]
struct Overflow {
    /// Those in use, by tag. No hash table: its keys are of the thread, in memory that libc allocates.
    live: BTreeMap<u64, &'static Share>,
    free: Vec<&'static Share>,
    /// Whose regions `live` is of.
    epoch: u64,
}

/// So many overflow descriptors make a member that wants another one wait for a while, and for how many
/// rounds.
const FAR_AHEAD: u32 = 16;
const ROUNDS: u32 = 2000;
/// Looks at a descriptor that is being made until the CPU is given to others: mostly it is done by then.
const LOOKS: u32 = 64;

/// What makes a claimed descriptor what it is to be.
pub(crate) trait Maker {
    /// Does so. Nobody else sees `s` yet. How many iterations, from the first one on, the caller has taken.
    fn make(self, s: &'static Share) -> u64;
}

impl<F: FnOnce(&'static Share)> Maker for F {
    #[inline(always)]
    fn make(self, s: &'static Share) -> u64 {
        self(s);
        0
    }
}

/// The descriptors of a team.
pub struct ShareRing {
    slots: Box<[Share; SLOTS as usize]>,
    more: Locked<Overflow>,
    /// Overflow descriptors in use.
    overflowing: AtomicU32,
}

impl Default for ShareRing {
    fn default() -> Self {
        Self {
            slots: Box::new(core::array::from_fn(|_| Share::new(false))),
            more: Locked::default(),
            overflowing: AtomicU32::new(0),
        }
    }
}

impl ShareRing {
    /// A member enters construct `seq`, and so many of these are `settled`: it knows that all members have
    /// left them. The first to come makes it: `make` gives it its shape, and may add to it, before others see
    /// it. Returns the descriptor and, if this member was the first, what `make` gave.
    #[inline(always)]
    pub(crate) fn enter(
        &'static self,
        epoch: u64,
        seq: u64,
        settled: &Own<u64>,
        make: impl Maker,
    ) -> (&'static Share, Option<u64>) {
        let slot = &self.slots[(seq % SLOTS) as usize];
        let now = slot.tag().load(Acquire);
        if now == tag(epoch, seq, READY) {
            (slot, None)
        } else if is_free(now, epoch, seq, settled) && slot.claim(now, epoch, seq) {
            self.make(slot, epoch, seq, make)
        } else {
            self.enter_late(epoch, seq, settled, make)
        }
    }

    /// The caller has claimed `slot` for construct `seq`: makes it, unless it is beyond the ring already.
    #[inline(always)]
    fn make(
        &self,
        slot: &'static Share,
        epoch: u64,
        seq: u64,
        make: impl Maker,
    ) -> (&'static Share, Option<u64>) {
        let ready = tag(epoch, seq, READY);
        if self.overflowing.load(SeqCst) != 0
            && let Some(s) = self.find_overflow(ready)
        {
            slot.tag().store(FREE, Release);
            return (s, None);
        }
        slot.fill(seq);
        let taken = make.make(slot);
        slot.tag().store(ready, Release);
        (slot, Some(taken))
    }

    /// [`ShareRing::enter`] where others make the construct, or have not left the one before it in its place.
    #[inline(never)]
    fn enter_late(
        &'static self,
        epoch: u64,
        seq: u64,
        settled: &Own<u64>,
        make: impl Maker,
    ) -> (&'static Share, Option<u64>) {
        let mut make = Some(make);
        let slot = &self.slots[(seq % SLOTS) as usize];
        let (mut patience, mut looks) = (ROUNDS, 0u32);
        loop {
            let now = slot.tag().load(Acquire);
            if now == tag(epoch, seq, READY) {
                return (slot, None);
            }
            if is_free(now, epoch, seq, settled) {
                if slot.claim(now, epoch, seq) {
                    return self.make(slot, epoch, seq, make.take().expect("used once"));
                }
            } else if now == tag(epoch, seq, MAKING) {
                looks += 1;
                if !looks.is_multiple_of(LOOKS) {
                    core::hint::spin_loop();
                } else if !step_aside() {
                    // Who makes it may have lost its CPU to one of those that wait for it.
                    sched_yield();
                }
            } else if patience > 0 && self.overflowing.load(Relaxed) >= FAR_AHEAD {
                patience -= 1;
                if !patience.is_multiple_of(64) {
                    core::hint::spin_loop();
                } else if !step_aside() {
                    patience = 0;
                }
            } else if let Some(found) = self.enter_overflow(epoch, seq, &mut make) {
                return found;
            }
        }
    }

    #[cold]
    fn find_overflow(&self, ready: u64) -> Option<&'static Share> {
        self.more.with(|o| o.live.get(&ready).copied())
    }

    /// Finds or makes the overflow descriptor of construct `seq`; `None` if somebody is making it in the
    /// ring after all.
    ///
    /// Who takes the ring's slot looks at `overflowing` after its compare-exchange, who makes an overflow
    /// descriptor looks at the slot after raising `overflowing` (all sequentially consistent): one of
    /// them sees the other.
    #[cold]
    fn enter_overflow(
        &'static self,
        epoch: u64,
        seq: u64,
        make: &mut Option<impl Maker>,
    ) -> Option<(&'static Share, Option<u64>)> {
        let ready = tag(epoch, seq, READY);
        self.more.with(|o| {
            if o.epoch != epoch {
                // Left behind by cancelled regions.
                self.overflowing.fetch_sub(o.live.len() as u32, SeqCst);
                o.free.extend(core::mem::take(&mut o.live).into_values());
                o.epoch = epoch;
            }
            if let Some(s) = o.live.get(&ready) {
                return Some((*s, None));
            }
            self.overflowing.fetch_add(1, SeqCst);
            let slot = &self.slots[(seq % SLOTS) as usize];
            if slot.tag().load(SeqCst) & !3 == tag(epoch, seq, 0) {
                self.overflowing.fetch_sub(1, SeqCst);
                return None;
            }
            let s = o.free.pop().unwrap_or_else(|| Box::leak(Box::new(Share::new(true))));
            s.fill(seq);
            let taken = make.take().expect("used once").make(s);
            s.tag().store(ready, Release);
            o.live.insert(ready, s);
            Some((s, Some(taken)))
        })
    }

    /// Member leaves construct `s`, number `seq` of its region, for a barrier.
    #[inline(always)]
    pub(crate) fn leave_for_barrier(&self, s: &'static Share, n: impl FnOnce() -> u32) {
        if s.overflow {
            self.leave(s, n());
        }
    }

    /// All members have left the last of `settled` constructs, `s`, and those before, in region `epoch`: one
    /// has passed the barrier at its end, and looks before it takes part in what comes next.
    #[inline(always)]
    pub(crate) fn settle(&self, s: &'static Share, epoch: u64, settled: u64) {
        if s.dispenser.has_orphans() && !s.is_cancelled() {
            // Others may have filled the descriptor anew.
            let is_this = s.tag().load(Acquire) == tag(epoch, settled - 1, READY);
            if is_this && !s.overflow {
                recovery().chunk_left_behind();
            }
        }
    }

    /// Member leaves construct `s`; the last of `n` frees it.
    #[inline]
    pub fn leave(&self, s: &'static Share, n: u32) {
        if s.left.fetch_add(1, AcqRel) + 1 == n {
            if s.dispenser.has_orphans() && !s.is_cancelled() {
                recovery().chunk_left_behind();
            }
            if s.overflow {
                self.more.with(|o| {
                    if o.live.remove(&s.tag().load(Relaxed)).is_some() {
                        self.overflowing.fetch_sub(1, SeqCst);
                        o.free.push(s);
                    }
                    s.tag().store(FREE, Release);
                });
            } else {
                s.tag().store(FREE, Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructs_in_front_of_the_last_barrier_are_over() {
        let of = |seq| tag(7, seq, READY);
        // Six of fourteen are settled; the slot of the fifteenth has number 6.
        assert!(!is_over(of(6), 14, 6));
        assert!(is_over(of(6), 14, 7));
        assert!(is_over(of(6), 14, 14));
        // Somebody is ahead, and has made a later one there.
        assert!(!is_over(of(22), 14, 14));
        assert!(!is_over(of(14), 14, 14));
        // The numbers in tags begin anew.
        let far = 1 << 30;
        assert!(is_over(of(far - 6), far + 2, far));
        assert!(!is_over(of(far - 6), far + 2, far - 6));
        assert!(!is_over(of(far + 10), far + 2, far + 2));
    }
}
