//! The ledger: which chunk a logical thread has in flight, and how many it has finished (P1's schedule
//! bookkeeping).
//!
//! Written by the logical thread; a chunk is done when its owner comes back for the next. `construct` is
//! stored last (release) when a chunk is taken and first cleared when it is done, so that a reader that
//! sees a construct (acquire) sees its range. Readers: the recovery of this thread, after its host has
//! gone; survivors that wait for chunks in flight.

use super::dispenser::Range;
use crate::recovery;
use crate::sys::own::Own;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// See the module's text.
#[derive(Default)]
pub struct Ledger {
    /// Sequence number + 1 of the construct of the chunk in flight; 0: none.
    construct: AtomicU64,
    lo: AtomicU64,
    hi: AtomicU64,
    /// The chunk in flight is a piece of an orphan: index + 1 of the failure's record.
    orphan_of: Own<u32>,
    /// [`AGAIN`], [`WATCHED`], [`HAD_LAST`].
    marks: Own<u8>,
    chunks: Own<u64>,
}

/// The chunk in flight is to be executed again by this thread.
const AGAIN: u8 = 1;
/// The chunk in flight is to be looked at when it is done (recover/verify).
const WATCHED: u8 = 2;
/// This thread has executed the construct's last iteration: it must not take anything behind it
/// (lastprivate).
const HAD_LAST: u8 = 4;

/// What is to be done before the next chunk is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// Nothing.
    Nothing,
    /// This one is to be executed again.
    Again(Range),
    /// The one that is done is to be looked at.
    Look,
}

/// Where assembly finds these.
pub const CONSTRUCT: usize = offset_of!(Ledger, construct);
/// See [`CONSTRUCT`].
pub const LENGTH: usize = offset_of!(Ledger, hi);
/// See [`CONSTRUCT`].
pub const CHUNKS: usize = offset_of!(Ledger, chunks);

impl Ledger {
    /// In place of a construct: a static loop that the compiled code deals out itself
    /// (entry/static_loops.rs). The range is the whole loop's.
    pub const DEALT: u64 = u64::MAX;
    /// The same, but the range is that of the chunk in flight.
    pub const DEALT_CHUNK: u64 = u64::MAX - 1;

    /// Forgets what was before this region.
    #[inline]
    pub(crate) fn begin_region(&self) {
        self.construct.store(0, Relaxed);
        self.orphan_of.set(0);
        self.marks.set(0);
        self.chunks.set(0);
    }

    /// Forgets what was before this construct.
    #[inline(always)]
    pub(crate) fn begin_construct(&self) {
        self.marks.set(0);
    }

    /// Chunks taken in the region so far.
    pub fn chunks(&self) -> u64 {
        self.chunks.get()
    }

    /// Chunks taken in the region, which ends.
    pub(crate) fn end_region(&self) -> u64 {
        let taken = self.chunks.get();
        self.chunks.set(0);
        taken
    }

    /// Notes that `r` of construct `seq` is in flight.
    #[inline(always)]
    pub(crate) fn take(&self, seq: u64, r: Range, last: bool) {
        self.lo.store(r.lo, Relaxed);
        self.hi.store(r.hi, Relaxed);
        self.construct.store(seq + 1, Release);
        self.chunks.set(self.chunks.get() + 1);
        if last {
            self.mark(HAD_LAST);
        }
    }

    /// Notes that a share of a static loop of `total` iterations begins. A chunk that was handed out stays.
    pub fn deal(&self, total: u64) {
        self.note_dealt(Self::DEALT, Range { lo: 0, hi: total });
    }

    /// Notes that a chunk of such a loop begins.
    pub fn deal_chunk(&self, first: u64, count: u64) {
        self.note_dealt(Self::DEALT_CHUNK, Range { lo: first, hi: first.saturating_add(count) });
    }

    fn note_dealt(&self, what: u64, r: Range) {
        if self.is_free() {
            self.lo.store(r.lo, Relaxed);
            self.hi.store(r.hi, Relaxed);
            self.construct.store(what, Release);
            self.chunks.set(self.chunks.get() + 1);
        }
    }

    /// Is there no chunk in flight that was handed out?
    fn is_free(&self) -> bool {
        matches!(self.construct.load(Relaxed), 0 | Self::DEALT | Self::DEALT_CHUNK)
    }

    /// What was dealt is done.
    #[inline(always)]
    pub fn end_dealt(&self) {
        if self.is_free() {
            self.construct.store(0, Release);
        }
    }

    /// Iterations of a static loop in flight for thread `num` of `threads`: its chunk, or its share. (If
    /// the loop is dealt out in chunks the share can be a chunk longer or shorter.)
    pub fn dealt(&self, num: u32, threads: u32) -> Option<u64> {
        let hi = self.hi.load(Relaxed);
        match self.construct.load(Acquire) {
            Self::DEALT => {
                let (n, num) = (u64::from(threads.max(1)), u64::from(num));
                Some(hi / n + u64::from(num < hi % n))
            }
            // The light way leaves the first number alone.
            Self::DEALT_CHUNK => Some(hi - self.lo.load(Relaxed)),
            _ => None,
        }
    }

    /// Notes that the chunk in flight is a piece of an orphan.
    pub(crate) fn take_orphan(&self, seq: u64, r: Range, last: bool, failure: u32) {
        self.orphan_of.set(failure + 1);
        self.take(seq, r, last);
    }

    /// Is the chunk in flight nothing lost (and so to be executed again, or credited)?
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.orphan_of.get() == 0
    }

    /// The chunk in flight is done, by thread number `me`.
    #[inline(always)]
    pub(crate) fn finish_chunk(&self, me: impl FnOnce() -> u32) {
        if self.orphan_of.get() != 0 {
            self.credit(me());
        }
        self.construct.store(0, Release);
    }

    #[cold]
    fn credit(&self, me: u32) {
        let n = self.hi.load(Relaxed) - self.lo.load(Relaxed);
        recovery().recomputed(self.orphan_of.get() - 1, me, n);
        self.orphan_of.set(0);
    }

    /// The chunk in flight: (construct's sequence number, range).
    #[inline]
    pub fn in_flight(&self) -> Option<(u64, Range)> {
        match self.construct.load(Acquire) {
            0 | Self::DEALT | Self::DEALT_CHUNK => None,
            c => Some((c - 1, Range { lo: self.lo.load(Relaxed), hi: self.hi.load(Relaxed) })),
        }
    }

    /// Is a chunk of construct `seq` in flight?
    #[inline]
    pub(crate) fn is_in_flight(&self, seq: u64) -> bool {
        self.construct.load(Acquire) == seq + 1
    }

    /// Has this thread executed the last iteration of the construct?
    #[inline]
    pub(crate) fn had_last(&self) -> bool {
        self.marks.get() & HAD_LAST != 0
    }

    /// Is the chunk in flight none of the construct's last iterations, and needs it no second look?
    #[inline(always)]
    pub(crate) fn is_unmarked(&self) -> bool {
        self.marks.get() == 0
    }

    /// The chunk in flight is the construct's last one, nothing that was lost, and needs no second look?
    #[inline(always)]
    pub(crate) fn ends_plainly(&self) -> bool {
        self.is_plain() && self.marks.get() == HAD_LAST
    }

    /// Recovery: the chunk in flight goes to others. Returns the record it belonged to already, if it was
    /// an orphan.
    pub fn lose(&self, had_last: bool) -> Option<u32> {
        let of = self.orphan_of.get();
        self.orphan_of.set(0);
        self.unmark(WATCHED | if had_last { HAD_LAST } else { 0 });
        self.construct.store(0, Release);
        of.checked_sub(1)
    }

    /// Recovery: the logical thread executes its chunk again itself, on the account of record `failure`.
    pub fn lose_again(&self, failure: u32) {
        self.orphan_of.set(failure + 1);
        self.unmark(WATCHED);
        self.mark(AGAIN);
    }

    #[inline(always)]
    fn mark(&self, marks: u8) {
        self.marks.set(self.marks.get() | marks);
    }

    fn unmark(&self, marks: u8) {
        self.marks.set(self.marks.get() & !marks);
    }

    /// The chunk in flight is to be looked at when it is done, or not.
    pub fn watch(&self, yes: bool) {
        if yes { self.mark(WATCHED) } else { self.unmark(WATCHED) }
    }

    /// The chunk that is done is to be executed again by this thread, and looked at again.
    pub fn watch_again(&self) {
        self.mark(AGAIN | WATCHED);
    }

    /// What comes before the next chunk; a chunk that is to be executed again is so once.
    #[inline(always)]
    pub(crate) fn before_next(&self) -> Before {
        let marks = self.marks.get();
        if marks & (AGAIN | WATCHED) == 0 {
            return Before::Nothing;
        }
        if marks & AGAIN == 0 {
            return Before::Look;
        }
        self.unmark(AGAIN);
        self.in_flight().map_or(Before::Nothing, |(_, r)| Before::Again(r))
    }
}
