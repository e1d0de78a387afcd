//! The publication of saved state: two buffers and an index.
//!
//! The writer fills the buffer that is not current and then makes it current (release); a reader loads the
//! index (acquire) and finds a whole copy, wherever the writer stopped for good. The reader comes only after
//! the writer has stopped: it is the recovery of the writer's thread. Model: tests/loom/src/tasks.rs.

use crate::sys::sync::{AtomicU32, Ordering::*};

/// Which of two buffers is current; 0: none yet, 1 or 2: buffer 0 or 1.
#[derive(Default)]
pub(crate) struct Turn(AtomicU32);

impl Turn {
    /// The buffer to fill next.
    #[inline]
    pub(crate) fn spare(&self) -> usize {
        usize::from(self.0.load(Relaxed) == 1)
    }

    /// Makes buffer `i` current.
    #[inline]
    pub(crate) fn publish(&self, i: usize) {
        self.0.store(i as u32 + 1, Release);
    }

    /// The current buffer, if one was published.
    pub(crate) fn current(&self) -> Option<usize> {
        self.0.load(Acquire).checked_sub(1).map(|i| i as usize)
    }
}
