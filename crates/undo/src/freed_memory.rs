//! Memory that work in flight has freed.
//!
//! Work that is executed again must find the memory that it had when it began, and what is put back may lie
//! in blocks that the work has freed since: nobody else may have got them. So the code that promp-cc builds
//! frees through `promp_free`, which keeps blocks until the next save point. When the work is executed
//! again it frees them again, and what was noted is forgotten.
//!
//! Only the logical thread writes the list. A block counts when it is in it (`count` is set last).

use crate::sys::own::Own;
use core::sync::atomic::{Ordering::Release, compiler_fence};

/// So many blocks, and bytes, are kept; with more the work is not executed again.
const MOST: usize = 4096;
const BYTES: usize = 64 << 20;

/// A thread's list.
#[derive(Default)]
pub(crate) struct Freed {
    list: Own<usize>,
    count: Own<usize>,
    bytes: Own<usize>,
}

impl Freed {
    /// Keeps `block` to be freed later; false: there is no room. It allocates.
    pub(crate) fn keep(&self, block: usize) -> bool {
        let n = self.count.get();
        let bytes = self.bytes.get() + size(block);
        if n == MOST || bytes > BYTES {
            return false;
        }
        if self.list.get() == 0 {
            self.list.set(Box::leak(Box::new([0usize; MOST])).as_mut_ptr() as usize);
        }
        // SAFETY: the list has `MOST` words, and `n` is less.
        unsafe { (self.list.get() as *mut usize).add(n).write(block) };
        // One host, and signal handlers on it.
        compiler_fence(Release);
        self.bytes.set(bytes);
        self.count.set(n + 1);
        true
    }

    /// They are still in use: the work that freed them is executed again.
    pub(crate) fn forget(&self) {
        self.count.set(0);
        self.bytes.set(0);
    }

    /// Frees them.
    pub(crate) fn give_back(&self) {
        let n = self.count.get();
        self.forget();
        for i in 0..n {
            // SAFETY: words of the list that have been written: blocks that the program has freed, once.
            unsafe { libc::free(*(self.list.get() as *const usize).add(i) as *mut libc::c_void) };
        }
    }
}

/// The bytes of an allocated block.
pub fn size(block: usize) -> usize {
    // SAFETY: it is allocated.
    unsafe { libc::malloc_usable_size(block as *mut libc::c_void) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(n: usize) -> usize {
        // SAFETY: nothing to be said for it.
        unsafe { libc::malloc(n) as usize }
    }

    #[test]
    fn blocks_are_kept_until_they_are_given_back() {
        let f = Freed::default();
        let all: Vec<usize> = (0..100).map(|_| block(48)).collect();
        assert!(all.iter().all(|&b| f.keep(b)));
        assert!((0..100).map(|_| block(48)).all(|b| !all.contains(&b) && f.keep(b)), "none is reused");
        f.give_back();
        assert_eq!(f.count.get(), 0);
        f.give_back();
    }

    #[test]
    fn there_is_an_end_to_it() {
        let f = Freed::default();
        let large = block(BYTES + 1);
        assert!(!f.keep(large), "too large");
        assert!((0..MOST).all(|_| f.keep(block(16))));
        assert!(!f.keep(large));
        // What is executed again frees it again.
        let again: Vec<usize> =
            // SAFETY: words of the list.
            (0..MOST).map(|i| unsafe { *(f.list.get() as *const usize).add(i) }).collect();
        f.forget();
        assert!(again.iter().all(|&b| f.keep(b)));
        f.give_back();
        // SAFETY: allocated above.
        unsafe { libc::free(large as *mut libc::c_void) };
    }
}
