//! The runtime's own memory: a global allocator over mappings of its own.
//!
//! The runtime never calls the program's `malloc`: a thread may die inside it, holding its lock, and recovery must
//! still be able to allocate; and memory of the runtime must be told apart from the program's. Blocks of a power
//! of two up to 64 KiB come from free lists, larger ones are mapped. No thread dies while it holds the arena's
//! lock, because stops take effect at the runtime's exit (recover/stop.rs).

use crate::lock::Lock;
use crate::{preserved_memory, syscall};
use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::null_mut;

const MIN_SHIFT: u32 = 4;
/// Larger blocks than this are mapped one by one, but in the region that rollbacks leave alone.
const MAX_SHIFT: u32 = 16;
const KEEP_MAX_SHIFT: u32 = 35;
const CLASSES: usize = (KEEP_MAX_SHIFT - MIN_SHIFT + 1) as usize;
const SPAN: usize = 1 << 20;
/// Freed blocks of this size in the kept region give their memory back to the system. Smaller ones, such as the lists of pages of a program of some GiB, are
/// wanted again by the next checkpoint, and touching memory for the first time is dear
/// (docs/internals/checkpoints.md, "Cost").
const DROP: usize = 64 << 20;

struct State {
    free: [*mut u8; CLASSES],
    bump: usize,
    end: usize,
}

/// The arena.
pub struct Arena {
    lock: Lock,
    state: UnsafeCell<State>,
    kept: bool,
}

// SAFETY: the state is reached only with the lock held.
unsafe impl Sync for Arena {}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Arena {
    /// An arena that has mapped nothing yet.
    pub const fn new() -> Self {
        Self {
            lock: Lock::new(),
            state: UnsafeCell::new(State { free: [null_mut(); CLASSES], bump: 0, end: 0 }),
            kept: false,
        }
    }

    /// The arena of the region that rollbacks leave alone (preserved_memory.rs).
    pub(crate) const fn in_keep() -> Self {
        Self { kept: true, ..Self::new() }
    }

    /// For fork handlers: no other thread is inside the allocator while this is held.
    pub fn fork_lock(&self) -> &Lock {
        &self.lock
    }

    /// The arena for a new block: the kept one for code that runs on a stack there.
    fn chosen(&self) -> &Self {
        if preserved_memory::on_its_stack() { preserved_memory::arena() } else { self }
    }

    /// The arena that a block came from.
    fn owner(&self, p: *mut u8) -> &Self {
        if preserved_memory::holds(p as usize) { preserved_memory::arena() } else { self }
    }

    fn class(&self, layout: Layout) -> Option<u32> {
        let size = layout.size().max(layout.align()).max(1 << MIN_SHIFT);
        let shift = usize::BITS - (size - 1).leading_zeros();
        let max = if self.kept { KEEP_MAX_SHIFT } else { MAX_SHIFT };
        (shift <= max && layout.align() <= 4096).then_some(shift)
    }

    /// # Safety
    /// The lock is held.
    unsafe fn take(&self, shift: u32) -> *mut u8 {
        // SAFETY: the lock is held (caller).
        let st = unsafe { &mut *self.state.get() };
        let head = &mut st.free[(shift - MIN_SHIFT) as usize];
        if !head.is_null() {
            let p = *head;
            // SAFETY: a free block's first word links to the next one.
            *head = unsafe { *p.cast::<*mut u8>() };
            return p;
        }
        let size = 1usize << shift;
        let mut at = st.bump.next_multiple_of(size.min(4096));
        if at + size > st.end {
            let len = SPAN.max(size);
            let span = if self.kept { preserved_memory::pages(len) } else { syscall::map_anonymous(len) };
            let Some(span) = span else { return null_mut() };
            st.end = span as usize + len;
            at = span as usize;
        }
        st.bump = at + size;
        at as *mut u8
    }
}

// SAFETY: blocks are disjoint, aligned (a class's blocks lie at multiples of its size, up to the page size) and live
// until freed.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let a = self.chosen();
        match a.class(layout) {
            // SAFETY: under the lock.
            Some(shift) => a.lock.with(|| unsafe { a.take(shift) }),
            None if a.kept => null_mut(),
            None if layout.align() <= 4096 => syscall::map_anonymous(layout.size()).unwrap_or(null_mut()),
            None => null_mut(),
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        let a = self.owner(p);
        match a.class(layout) {
            Some(shift) => a.lock.with(|| {
                // SAFETY: under the lock; the block is the caller's to give back and at least 16 bytes long.
                unsafe {
                    if 1usize << shift >= DROP {
                        crate::sys!(libc::SYS_madvise, p, 1usize << shift, libc::MADV_DONTNEED);
                    }
                    let head = &mut (*a.state.get()).free[(shift - MIN_SHIFT) as usize];
                    *p.cast::<*mut u8>() = *head;
                    *head = p;
                }
            }),
            // SAFETY: mapped by `alloc` with this size.
            None => unsafe { syscall::unmap(p, layout.size()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_disjoint_and_reused() {
        let a = Arena::new();
        for align in [1usize, 8, 64, 128, 4096] {
            for size in [1usize, 16, 100, 4096, 70_000, 1 << 20] {
                let l = Layout::from_size_align(size, align).unwrap();
                // SAFETY: blocks are written within their size and freed with their layout.
                unsafe {
                    let (p, q) = (a.alloc(l), a.alloc(l));
                    assert!(!p.is_null() && !q.is_null() && (p as usize).is_multiple_of(align));
                    assert!(p.addr().abs_diff(q.addr()) >= size);
                    p.write_bytes(1, size);
                    q.write_bytes(2, size);
                    assert_eq!(*p.add(size - 1), 1);
                    a.dealloc(p, l);
                    if a.class(l).is_some() {
                        assert_eq!(a.alloc(l), p);
                    }
                    a.dealloc(q, l);
                }
            }
        }
    }
}
