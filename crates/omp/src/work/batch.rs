//! A batch: chunks of a dynamic loop that a thread has taken from the dispenser together and not begun.
//!
//! Threads that take every chunk from the dispenser pass its line to and fro, which costs more than short chunks do. So a thread
//! takes several at once, as many as leave each thread several times as much, at most [`MOST`]; from there it takes one by one, on
//! its own line. Who finds the dispenser empty takes half of another's batch, from the end. So no chunk waits
//! behind a long one while a thread is free, as if every one came from the dispenser. Where a thread's chunks must come in order nobody
//! else may have them: see batch_size.rs.
//!
//! The batch is one word, changed by compare-and-swap by owner and thieves; only the owner puts chunks into an empty one.
//!
//! ```text
//! construct (14 bits) | number of the first chunk taken (36) | next, relative to that (7) | end, relative (7)
//! ```
//!
//! A thief takes chunks of its own construct only. The owner may be ahead, by fewer constructs than a team has descriptors (loops
//! with a descriptor beyond these have no batches, nor have loops that can be cancelled: these would leave some behind). A word does not come back: no chunk of a construct is put into
//! a batch twice, and what is lost by a failure goes to the dispenser's orphans. Relaxed is enough: the word publishes nothing.
//! Model: tests/loom/src/loops.rs.

use crate::sys::sync::{AtomicU64, Ordering::*, touch};

/// Most chunks in a batch.
pub(crate) const MOST: u64 = 64;

/// Most chunks of a loop with batches.
pub(crate) const MOST_CHUNKS: u64 = 1 << 36;

/// See the module's text.
#[derive(Default)]
pub(crate) struct Batch(AtomicU64);

#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    #[inline(always)]
    fn new(construct: u64, base: u64, next: u64, end: u64) -> Self {
        Self((construct & 0x3fff) << 50 | base << 14 | next << 7 | end)
    }
    #[inline(always)]
    fn is_of(self, construct: u64) -> bool {
        self.0 >> 50 == construct & 0x3fff
    }
    #[inline(always)]
    fn base(self) -> u64 {
        self.0 >> 14 & (MOST_CHUNKS - 1)
    }
    #[inline(always)]
    fn next(self) -> u64 {
        self.0 >> 7 & 0x7f
    }
    #[inline(always)]
    fn end(self) -> u64 {
        self.0 & 0x7f
    }
}

impl Batch {
    #[inline(always)]
    fn word(&self) -> Word {
        Word(self.0.load(Relaxed))
    }

    #[inline(always)]
    fn change(&self, from: Word, to: u64) -> bool {
        self.0.compare_exchange(from.0, to, Relaxed, Relaxed).is_ok()
    }

    /// Owner: takes the next chunk of `construct`; its number.
    #[inline(always)]
    pub(crate) fn take(&self, construct: u64) -> Option<u64> {
        loop {
            let w = self.word();
            if w.next() >= w.end() || !w.is_of(construct) {
                return None;
            }
            if self.change(w, w.0 + (1 << 7)) {
                return Some(w.base() + w.next());
            }
        }
    }

    /// Owner: puts `n` chunks from number `first` on, not more than [`MOST`], into its empty batch and takes the first.
    #[inline]
    pub(crate) fn fill(&self, construct: u64, first: u64, n: u64) -> u64 {
        self.0.store(Word::new(construct, first, 1, n).0, Relaxed);
        first
    }

    /// Anybody: takes the later half of a batch of `construct`: (number of its first chunk, how many).
    pub(crate) fn steal(&self, construct: u64) -> Option<(u64, u64)> {
        touch(&self.0);
        loop {
            let w = self.word();
            if w.next() >= w.end() || !w.is_of(construct) {
                return None;
            }
            let n = (w.end() - w.next()).div_ceil(2);
            if self.change(w, w.0 - n) {
                return Some((w.base() + w.end() - n, n));
            }
        }
    }
}
