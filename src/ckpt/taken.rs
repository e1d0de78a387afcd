//! Checkpoints taken in this process, for the report. A rollback leaves the list alone.

use crate::sys::keep as region;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};

/// One checkpoint, for the report.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Generation.
    pub generation: u64,
    /// Monotonic time.
    pub at_ns: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Pages written.
    pub dirty_pages: u64,
    /// How long the threads were frozen.
    pub stop_ns: u64,
    /// How long writing took.
    pub write_ns: u64,
    /// Bytes of dead memory that it does without.
    pub left_out: u64,
    /// What it has cost: the stop, and CPU time of the keeper's.
    pub cost_ns: u64,
    /// The interval from now on.
    pub interval_ns: u64,
}

/// All of them, in the kept region. Zeroed memory is the empty list.
pub struct TakenList {
    count: AtomicU32,
    list: [[AtomicU64; 9]; TakenList::MOST],
}

impl TakenList {
    const MOST: usize = 1 << 14;

    /// Adds one; beyond the list's size the last is replaced.
    pub fn push(&self, t: Taken) {
        let i = (self.count.load(Relaxed) as usize).min(Self::MOST - 1);
        let words = [
            t.generation,
            t.at_ns,
            t.bytes,
            t.dirty_pages,
            t.stop_ns,
            t.write_ns,
            t.left_out,
            t.cost_ns,
            t.interval_ns,
        ];
        for (w, v) in self.list[i].iter().zip(words) {
            w.store(v, Relaxed);
        }
        self.count.store(i as u32 + 1, Release);
    }

    fn all(&self) -> Vec<Taken> {
        let n = self.count.load(Acquire) as usize;
        let get = |i: usize| self.list[i].each_ref().map(|w| w.load(Relaxed));
        (0..n)
            .map(get)
            .map(
                |[
                    generation,
                    at_ns,
                    bytes,
                    dirty_pages,
                    stop_ns,
                    write_ns,
                    left_out,
                    cost_ns,
                    interval_ns,
                ]| Taken {
                    generation,
                    at_ns,
                    bytes,
                    dirty_pages,
                    stop_ns,
                    write_ns,
                    left_out,
                    cost_ns,
                    interval_ns,
                },
            )
            .collect()
    }
}

/// The list's address; the same before and after every rollback.
static TAKEN: AtomicPtr<TakenList> = AtomicPtr::new(core::ptr::null_mut());

/// Checkpoints taken so far.
pub fn taken() -> Vec<Taken> {
    // SAFETY: null, or memory of the kept region.
    match unsafe { TAKEN.load(Acquire).as_ref() } {
        Some(t) if region::on() => t.all(),
        _ => Vec::new(),
    }
}

/// The list.
pub(super) fn list() -> &'static TakenList {
    // SAFETY: `create` has made it.
    unsafe { &*TAKEN.load(Acquire) }
}

/// Makes it in the kept region. False if there is no memory.
pub(super) fn create() -> bool {
    let Some(p) = region::pages(size_of::<TakenList>()) else { return false };
    TAKEN.store(p.cast(), Release);
    true
}
