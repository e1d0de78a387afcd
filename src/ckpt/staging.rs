//! Where changed pages wait between the copy, during which the threads are frozen, and the file: so that threads are frozen for
//! as long as a memory copy takes, not a write. The memory stays resident from one checkpoint to the next, since touching it for
//! the first time costs as much as the copy; it is as large as what a checkpoint saves, up to half of what the system has left.
//! It has no huge pages: a virtual machine that has not used memory lately must ask its host for it, which takes several times as
//! long for huge pages as for small ones; the copy is as fast into either (docs/checkpoints.md, "Cost").

use super::image::PAGE;
use crate::sys;
use crate::sys::{keep, maps};

/// Address space for it.
const MOST: usize = 16 << 30;
/// At least so much, and so much is touched at once.
const STEP: usize = 2 << 20;

/// A buffer of pages in the kept region.
#[derive(Debug)]
pub struct Staging {
    base: usize,
    /// Bytes that may be used now.
    limit: usize,
    /// Bytes that have been touched.
    ready: usize,
    len: usize,
}

impl Staging {
    /// An empty one; of no size if the region has no room.
    pub fn new() -> Self {
        let Some(p) = keep::pages(MOST) else { return Self { base: 0, limit: 0, ready: 0, len: 0 } };
        let base = p as usize;
        // SAFETY: memory of ours.
        unsafe { sys!(libc::SYS_madvise, base, MOST, libc::MADV_NOHUGEPAGE) };
        Self { base, limit: STEP, ready: 0, len: 0 }
    }

    /// Makes room for `bytes`, as far as the system has memory, and touches it. Before the threads are stopped.
    pub fn prepare(&mut self, bytes: usize) {
        if self.base == 0 {
            return;
        }
        self.limit = bytes.max(STEP).min(available() / 2 + self.ready).min(MOST) & !(PAGE - 1);
        while self.ready < bytes.min(self.limit) {
            let len = (self.limit - self.ready).min(STEP);
            // SAFETY: within the reserved memory, which is ours. Linux has the advice since 5.14; before, each page is written to.
            unsafe {
                if sys!(libc::SYS_madvise, self.base + self.ready, len, libc::MADV_POPULATE_WRITE) != 0 {
                    for page in (0..len).step_by(PAGE) {
                        ((self.base + self.ready + page) as *mut u8).write_volatile(0);
                    }
                }
            }
            self.ready += len;
        }
    }

    /// Forgets the content.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Is there no room for another page?
    pub fn is_full(&self) -> bool {
        self.len + PAGE > self.limit
    }

    /// The place of the next page; it counts after [`Staging::keep`].
    pub fn place(&mut self) -> &mut [u8] {
        // SAFETY: the caller has asked `is_full`; the memory is ours alone.
        unsafe { core::slice::from_raw_parts_mut((self.base + self.len) as *mut u8, PAGE) }
    }

    /// The page that was written to [`Staging::place`] counts.
    pub fn keep(&mut self) {
        self.len += PAGE;
        self.ready = self.ready.max(self.len);
    }

    /// What it holds.
    pub fn content(&self) -> &[u8] {
        // SAFETY: written before; not changed while borrowed.
        unsafe { core::slice::from_raw_parts(self.base.max(1) as *const u8, self.len) }
    }
}

impl Default for Staging {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of memory that the system has left.
fn available() -> usize {
    let text = maps::read_file(c"/proc/meminfo").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let kb = text
        .lines()
        .find_map(|l| l.strip_prefix("MemAvailable:")?.trim().split(' ').next()?.parse::<usize>().ok());
    kb.unwrap_or(0) * 1024
}
