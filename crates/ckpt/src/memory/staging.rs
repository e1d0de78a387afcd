//! Where changed pages wait between the copy, during which the threads are frozen, and the file: so that threads are frozen for
//! as long as a memory copy takes, not a write. The memory stays resident from one checkpoint to the next, since touching it for
//! the first time costs as much as the copy; it is as large as what a checkpoint saves, up to half of what the system and the process'
//! cgroups have left. Where that is much of it, the memory is offered to the system between two checkpoints: what it needs it takes back.
//! It has no huge pages: a virtual machine that has not used memory lately must ask its host for it, which takes several times as
//! long for huge pages as for small ones; the copy is as fast into either (docs/internals/checkpoints.md,
//! "Cost").

use crate::image::{Entry, PAGE};
use crate::keeper_crew::Crew;
use crate::sys;
use crate::sys::limits;
use crate::sys::preserved_memory::{self, RESERVED};
use crate::sys::time;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

/// Where it is.
const BASE: usize = RESERVED.start;
/// At least so much, and so much is touched at once.
const STEP: usize = 2 << 20;

/// A buffer of pages in the kept region, with an index entry for each.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// Bytes that the system has made usable.
    usable: usize,
    /// Bytes that may be used now.
    limit: usize,
    /// Bytes that have been touched.
    ready: usize,
    /// Bytes from which on it is a large part of the memory that there is.
    large: usize,
    /// The system may have taken some of it back.
    offered: bool,
    /// One for each page of `limit`.
    entries: Vec<Entry>,
    /// What touching a page for the first time has cost lately, in nanoseconds of a CPU.
    price_ns: u64,
}

impl Staging {
    /// Makes room for `bytes`, as far as the system has memory, and touches it, with the help of `crew`. Before the threads are stopped.
    /// There is room for an eighth and `more` bytes on top of it, which are touched when they are used. It may take seconds; a failure that asks for a
    /// rollback ends it. Returns whether memory was touched.
    pub(crate) fn prepare(&mut self, bytes: usize, more: usize, crew: &Crew) -> bool {
        // What is offered is among what is left.
        let left = limits::memory_left() + if self.offered { 0 } else { self.ready };
        let most = (left / 2).min(RESERVED.len());
        let touched = (bytes + bytes / 8 + STEP).max(self.ready).min(most);
        self.large = left / 8;
        self.limit = (touched + more).min(most) & !(PAGE - 1);
        self.limit = self.limit.min(self.open(self.limit));
        self.entries.resize(self.limit / PAGE, Entry { page: 0, slot: 0, sum: 0 });
        let known = if self.offered { 0 } else { self.ready };
        let (from, to) = (BASE + known, BASE + bytes.min(self.limit));
        let (failed, touched) = (&crate::keep::get().failed, AtomicBool::new(false));
        let (pages, ns) = (AtomicU64::new(0), AtomicU64::new(0));
        crew.share(to.saturating_sub(from).div_ceil(STEP), &|i| {
            let at = from + i * STEP;
            let len = STEP.min(to - at);
            if failed.load(Acquire) > 0 || is_there(at, len) {
                return;
            }
            touched.store(true, Relaxed);
            let began = time::now_ns();
            // SAFETY: within the reserved memory, which is ours. Linux has the advice since 5.14; before, each page is written to.
            unsafe {
                if sys!(libc::SYS_madvise, at, len, libc::MADV_POPULATE_WRITE) != 0 {
                    for page in (0..len).step_by(PAGE) {
                        ((at + page) as *mut u8).write_volatile(0);
                    }
                }
            }
            pages.fetch_add((len / PAGE) as u64, Relaxed);
            ns.fetch_add(time::now_ns() - began, Relaxed);
        });
        self.price_ns = ns.into_inner().checked_div(pages.into_inner()).unwrap_or(self.price_ns);
        if failed.load(Acquire) > 0 {
            return false;
        }
        self.ready = self.ready.max((to - BASE).next_multiple_of(PAGE));
        touched.into_inner()
    }

    /// Nobody needs its content any more: where memory is scarce, the system may take it back when the program wants more. Doing so everywhere would make
    /// the next copy a fifth slower.
    pub(crate) fn offer(&mut self) {
        // SAFETY: memory of ours, to be written to before it is read again.
        self.offered = self.ready > self.large
            && unsafe { sys!(libc::SYS_madvise, BASE, self.ready, libc::MADV_FREE) } == 0;
    }

    /// Makes `bytes` usable. Returns how many are.
    fn open(&mut self, bytes: usize) -> usize {
        let at = BASE + self.usable;
        if bytes > self.usable && preserved_memory::commit(at, bytes - self.usable) {
            // SAFETY: memory of ours.
            unsafe { sys!(libc::SYS_madvise, at, bytes - self.usable, libc::MADV_NOHUGEPAGE) };
            self.usable = bytes;
        }
        self.usable
    }

    /// What touching a page for the first time has cost lately, in nanoseconds of a CPU.
    pub(crate) fn price_ns(&self) -> u64 {
        self.price_ns
    }

    /// Bytes that have been touched.
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// So many places have been written to.
    pub(crate) fn touched(&mut self, places: usize) {
        self.ready = self.ready.max(places * PAGE);
    }

    /// Pages that it has room for.
    pub(crate) fn room(&self) -> usize {
        self.entries.len()
    }

    /// Its places, to be written to by several hosts at the same time.
    pub(crate) fn places(&mut self) -> Places {
        Places { entries: self.entries.as_mut_ptr() }
    }

    /// The first `n` pages, which have been written to, and their entries.
    pub(crate) fn content(&mut self, n: usize) -> (&[u8], &mut [Entry]) {
        self.touched(n);
        // SAFETY: written before, not changed while borrowed.
        let content = unsafe { core::slice::from_raw_parts(BASE as *const u8, n * PAGE) };
        (content, &mut self.entries[..n])
    }
}

/// See [`Staging::places`].
#[derive(Clone, Copy)]
pub(crate) struct Places {
    entries: *mut Entry,
}

// SAFETY: hosts that share it write to different places.
unsafe impl Sync for Places {}
// SAFETY: as above.
unsafe impl Send for Places {}

impl Places {
    /// Place `i`: a page and its entry.
    ///
    /// # Safety
    /// See [`Places::row`].
    #[expect(clippy::mut_from_ref, reason = "see above")]
    pub(crate) unsafe fn place(&self, i: usize) -> (&mut [u8], &mut Entry) {
        // SAFETY: by the caller's promise.
        let (content, entries) = unsafe { self.row(i, 1) };
        (content, &mut entries[0])
    }

    /// Places [i, i + n): pages and their entries.
    ///
    /// # Safety
    /// They are below [`Staging::room`], and nobody else uses the same places.
    #[expect(clippy::mut_from_ref, reason = "see above")]
    pub(crate) unsafe fn row(&self, i: usize, n: usize) -> (&mut [u8], &mut [Entry]) {
        // SAFETY: by the caller's promise, in memory that is ours.
        unsafe {
            let content = core::slice::from_raw_parts_mut((BASE + i * PAGE) as *mut u8, n * PAGE);
            (content, core::slice::from_raw_parts_mut(self.entries.add(i), n))
        }
    }
}

/// Is all of the memory in [at, at + len) touched? At most [`STEP`].
fn is_there(at: usize, len: usize) -> bool {
    let mut there = [0u8; STEP / PAGE];
    let pages = len.div_ceil(PAGE);
    // SAFETY: a byte a page, for memory of ours.
    let r = unsafe { sys!(libc::SYS_mincore, at, len, there.as_mut_ptr()) };
    r == 0 && there[..pages].iter().all(|p| p & 1 != 0)
}
