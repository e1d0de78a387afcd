//! The dispenser of a worksharing construct: hands out iterations 0..total in chunks, and orphans before them.
//!
//! `next` is the first iteration not handed out yet. A chunk is taken by one `fetch_add` (dynamic) or a compare-exchange
//! (guided, and totals so large that the counter could wrap). Relaxed is enough: the counter publishes nothing, what the
//! iterations need was published when the construct's descriptor became ready.
//!
//! An *orphan* is a range whose owner failed. The recovering host pushes it (under the list's lock) and then raises
//! `waiting`, which every `next` looks at. It does not share a line with `next`: a load in front of the `fetch_add` would fetch that
//! line twice, once to read and once to write. A range is either in the dispenser, in
//! some thread's ledger, in the orphan list, or done; it moves between these under the lock or by its one owner, so
//! each iteration is handed out exactly once more for each time it was lost. Model: tests/loom/src/loops.rs.

use super::holders::Holders;
use crate::sys::lock::Locked;
use crate::sys::sync::{AtomicU32, AtomicU64, Ordering::*, fetch_to_write, touch};
use crossbeam_utils::CachePadded;

/// Iterations [lo, hi), normalised: 0 is the loop's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First.
    pub lo: u64,
    /// Behind the last.
    pub hi: u64,
}

impl Range {
    /// Number of iterations.
    pub fn len(self) -> u64 {
        self.hi - self.lo
    }
    /// No iteration at all?
    pub fn is_empty(self) -> bool {
        self.hi == self.lo
    }
}

/// A lost range on its way to survivors.
#[derive(Clone, Copy, Debug)]
pub struct Orphan {
    /// What is left of it.
    pub range: Range,
    /// Index of the failure's record.
    pub failure: u32,
    /// The logical thread it was lost by.
    pub owner: u32,
    /// Iterations a survivor takes at once; 0: shrinking pieces.
    pub block: u64,
}

/// What every thread that takes a chunk changes; and what it looks at when it comes to the construct, and who
/// makes that writes: so that one line comes to each thread that takes one chunk, not two.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Line {
    /// What the descriptor is of (share.rs).
    pub tag: AtomicU64,
    /// The construct's sequence number in the region.
    pub seq: AtomicU64,
    next: AtomicU64,
    holders: Holders,
}

/// See the module's text.
#[derive(Default)]
pub struct Dispenser {
    /// See [`Line`].
    pub(crate) line: CachePadded<Line>,
    waiting: AtomicU32,
    pushed: AtomicU32,
    orphans: Locked<Vec<Orphan>>,
}

impl Dispenser {
    /// Starts over. The construct is not visible to others yet.
    #[inline(always)]
    pub(crate) fn reset(&self) {
        touch(&self.line.next);
        self.line.next.store(0, Relaxed);
        if self.waiting.load(Relaxed) != 0 {
            self.orphans.with(Vec::clear);
            self.waiting.store(0, Relaxed);
        }
    }

    /// Takes the first `n` iterations, at most all, while the construct is not visible to others yet: the
    /// line is here, and need not come once more. Relaxed: the tag's release publishes it.
    #[inline(always)]
    pub(crate) fn take_first(&self, n: u64) {
        touch(&self.line.next);
        self.line.next.store(n, Relaxed);
    }

    /// Takes `chunk` iterations; `total + threads * chunk` must not overflow.
    #[inline(always)]
    pub(crate) fn take(&self, total: u64, chunk: u64) -> Option<Range> {
        touch(&self.line.next);
        let lo = self.line.next.fetch_add(chunk, Relaxed);
        (lo < total).then(|| Range { lo, hi: (lo + chunk).min(total) })
    }

    /// Takes a batch of at most `most` chunks of `chunk` iterations: the first one's number, how many. `position` is how far the dispenser was when the
    /// thread took its last batch, 0 at first, and is set: it says how large the batch is, so that the line is touched once. Leaves as
    /// much for each of `threads` threads, as far as can be told. `total + threads * chunk * batch::MOST` must not overflow.
    pub(crate) fn take_several(
        &self,
        total: u64,
        chunk: u64,
        threads: u64,
        most: u64,
        position: &mut u64,
    ) -> Option<(u64, u64)> {
        let left = total.saturating_sub(*position);
        if left == 0 {
            return None;
        }
        self.take_batch(total, chunk, (left / (2 * threads * chunk)).clamp(1, most), position)
    }

    /// Takes a batch of at most `n` chunks; the rest as for [`Dispenser::take_several`].
    #[inline(always)]
    pub(crate) fn take_batch(
        &self,
        total: u64,
        chunk: u64,
        n: u64,
        position: &mut u64,
    ) -> Option<(u64, u64)> {
        touch(&self.line.next);
        let lo = self.line.next.fetch_add(n * chunk, Relaxed);
        *position = lo + n * chunk;
        (lo < total).then(|| (lo / chunk, n.min((total - lo).div_ceil(chunk))))
    }

    /// Who of a team of many has a batch that others can take from.
    pub(crate) fn holders(&self) -> &Holders {
        &self.line.holders
    }

    /// Takes what `size(remaining)` says, at least 1.
    #[inline]
    pub(crate) fn take_sized(&self, total: u64, size: impl Fn(u64) -> u64) -> Option<Range> {
        touch(&self.line.next);
        // At once to be written to: the load would fetch it to be read only, and the exchange once more.
        fetch_to_write(&self.line.next);
        let mut lo = self.line.next.load(Relaxed);
        loop {
            if lo >= total {
                return None;
            }
            let hi = lo + size(total - lo).clamp(1, total - lo);
            match self.line.next.compare_exchange_weak(lo, hi, Relaxed, Relaxed) {
                Ok(_) => return Some(Range { lo, hi }),
                Err(now) => lo = now,
            }
        }
    }

    /// Are there orphans?
    #[inline(always)]
    pub(crate) fn has_orphans(&self) -> bool {
        self.waiting.load(Acquire) != 0
    }

    /// How many ranges were ever added.
    pub(crate) fn pushed(&self) -> u32 {
        self.pushed.load(Relaxed)
    }

    /// Adds a lost range.
    pub fn push_orphan(&self, o: Orphan) {
        self.orphans.with(|v| {
            v.push(o);
            self.pushed.fetch_add(1, Relaxed);
            self.waiting.store(v.len() as u32, Release);
        });
    }

    /// Takes a piece of an orphan for one of `threads` threads, among those whose owner is `wanted`: the lowest one, so that
    /// the construct's last iteration comes last.
    pub(crate) fn take_orphan(&self, threads: u64, wanted: impl Fn(u32) -> bool) -> Option<(Range, u32)> {
        self.orphans.with(|v| {
            let candidates = v.iter().enumerate().filter(|(_, o)| wanted(o.owner));
            let (i, _) = candidates.min_by_key(|(_, o)| o.range.lo)?;
            let o = &mut v[i];
            let piece = if o.block > 0 { o.block } else { (o.range.len() / (2 * threads.max(1))).max(1) };
            let hi = (o.range.lo + piece).min(o.range.hi);
            let taken = (Range { lo: o.range.lo, hi }, o.failure);
            o.range.lo = hi;
            if o.range.is_empty() {
                v.swap_remove(i);
            }
            self.waiting.store(v.len() as u32, Release);
            Some(taken)
        })
    }
}
