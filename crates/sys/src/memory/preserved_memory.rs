//! Memory that a rollback leaves alone.
//!
//! A rollback puts all memory of the process back, the program's and the runtime's alike, so that both are as they were at
//! one moment. What must know of the rollback itself — the keeper, its stack and data, the records of failures, the seats in
//! which threads wait while they are frozen — lives in a region of its own at a fixed address, which exists only when
//! checkpoints are on. Code that runs on a stack of this region allocates in it ([`Arena`](crate::arena::Arena) looks at the
//! stack pointer), so the keeper may use collections and strings like any other code.

use crate::arena::Arena;
use crate::sys;
use crate::{syscall, time};
use core::arch::asm;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// Where the region is: far from where programs, their heaps and the kernel's mappings go.
pub const BASE: usize = 0x1000_0000_0000;
/// Its size; memory is committed as it is used.
pub const SIZE: usize = 64 << 30;
/// Its end is address space only, made usable with [`commit`]: until then even a program that locks all of its memory has no pages there.
pub const RESERVED: core::ops::Range<usize> = BASE + SIZE - (16 << 30)..FILLER;
/// The last huge page of that, for what is written only to be written over.
pub const FILLER: usize = BASE + SIZE - FILLER_SIZE;
/// Its size.
pub const FILLER_SIZE: usize = 2 << 20;
/// Where the counters that outlive the process are mapped (a page of DIR/state, shared).
pub const STATE: usize = BASE + SIZE;
const _: () = assert!(STATE == promp_image::state::MAPPED_AT);
/// Where notes of output (files of the same directory, shared) and of input are, one behind the other.
pub const OUTPUT: usize = STATE + (1 << 21);
/// Bytes of one.
pub const OUTPUT_SIZE: usize = 64 << 20;
/// How many there is room for.
pub const OUTPUTS: usize = 8;
const END: usize = OUTPUT + OUTPUTS * OUTPUT_SIZE;
const COMMIT: usize = 1 << 20;

/// Is the region there? Never changes after the runtime's initialisation, except in a child after fork.
static ON: AtomicBool = AtomicBool::new(false);

/// The region's own bookkeeping, at its beginning.
#[repr(C)]
struct Head {
    arena: Arena,
    next: AtomicUsize,
    committed: AtomicUsize,
    incarnation: u64,
}

fn head() -> &'static Head {
    // SAFETY: called only when the region is mapped and `map` has written the head.
    unsafe { &*(BASE as *const Head) }
}

/// Is the region there?
#[inline]
pub fn on() -> bool {
    ON.load(Relaxed)
}

/// Is `addr` in it?
#[inline]
pub fn holds(addr: usize) -> bool {
    (BASE..END).contains(&addr)
}

/// Does the caller run on a stack of the region?
#[inline]
pub fn on_its_stack() -> bool {
    let sp: usize;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {0}, rsp", out(reg) sp, options(nomem, nostack, preserves_flags)) };
    holds(sp)
}

/// Maps the region. False if the address is taken or the system refuses.
pub fn map() -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a fresh mapping; nothing is replaced.
    let p = unsafe { sys!(libc::SYS_mmap, BASE, SIZE, libc::PROT_NONE, flags, usize::MAX, 0) };
    if p != BASE as isize {
        return false;
    }
    let head_bytes = size_of::<Head>().next_multiple_of(4096);
    if !commit(BASE, COMMIT) {
        return false;
    }
    let h = Head {
        arena: Arena::in_keep(),
        next: AtomicUsize::new(BASE + head_bytes),
        committed: AtomicUsize::new(BASE + COMMIT),
        incarnation: time::now_ns() ^ u64::from(syscall::getpid()) << 40,
    };
    // SAFETY: just made writable.
    unsafe { (BASE as *mut Head).write(h) };
    ON.store(true, Release);
    true
}

/// Makes `len` bytes at `at`, whole pages of the region, usable. False if the system refuses.
pub fn commit(at: usize, len: usize) -> bool {
    // SAFETY: within the region, which is ours.
    unsafe { sys!(libc::SYS_mprotect, at, len, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Whose region it is. A process that goes on from another one's checkpoint has that one's memory, even its
/// number, but a region of its own: what was kept in the other's is not there. 0: there is none.
pub fn incarnation() -> u64 {
    if on() { head().incarnation } else { 0 }
}

/// In a child after fork: the region is its parent's affair.
pub fn forget() {
    ON.store(false, Relaxed);
}

/// The region's allocator.
pub fn arena() -> &'static Arena {
    &head().arena
}

/// `len` bytes of zeroed memory that is never given back, aligned to pages.
pub fn pages(len: usize) -> Option<*mut u8> {
    let len = len.next_multiple_of(4096);
    let at = head().next.fetch_add(len, Relaxed);
    let end = at + len;
    if end > RESERVED.start {
        return None;
    }
    loop {
        let done = head().committed.load(Acquire);
        if end <= done {
            return Some(at as *mut u8);
        }
        let upto = end.next_multiple_of(COMMIT).min(RESERVED.start);
        if !commit(done, upto.saturating_sub(done)) {
            return None;
        }
        // Whoever commits more wins; committing twice does no harm.
        head().committed.fetch_max(upto, AcqRel);
    }
}

/// Moves `v` to memory that stays as it is in a rollback (ordinary memory if there are no checkpoints).
pub fn leak<T>(v: T) -> &'static T {
    if !on() {
        return Box::leak(Box::new(v));
    }
    match pages(size_of::<T>()) {
        Some(p) => {
            let p = p.cast::<T>();
            // SAFETY: fresh memory of that size, aligned to pages.
            unsafe {
                p.write(v);
                &*p
            }
        }
        None => Box::leak(Box::new(v)),
    }
}
