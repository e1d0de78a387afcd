//! What code built by promp-cc allocates and frees with: `free`, `realloc`, `operator new` and `operator
//! delete`. What is freed is kept until the work that does so is not executed again any more
//! (crates/undo/src/freed_memory.rs).

use crate::proofs::operators;
use crate::save::{site_visits, unsaved_time};
use crate::team::hold::hold_off;
use crate::team::thread::{self, Thread, current};
use crate::undo::freed_memory;

/// Frees `block`, or keeps it until the work that does so is not executed again any more.
#[inline(always)]
unsafe fn free(block: usize, own: bool) {
    // A thread that the runtime does not know is in no region.
    match thread::known() {
        // SAFETY: the program frees it.
        Some(thr) if block != 0 && thr.saving.get() && thr.is_in_region() => unsafe {
            free_later(thr, block, own);
        },
        // SAFETY: likewise.
        _ => unsafe { libc::free(block as *mut libc::c_void) },
    }
}

/// # Safety
/// The program frees the block.
#[inline(never)]
unsafe fn free_later(thr: &'static Thread, block: usize, own: bool) {
    // SAFETY: by the caller's promise.
    hold_off(thr, || unsafe { thr.undo.free(block, own) });
    if thr.undo.lost() != 0 {
        unsaved_time::begins(thr);
    }
}

/// `realloc`, likewise: what the block had stays there.
unsafe fn resize(block: usize, bytes: usize, own: bool) -> usize {
    let thr = current();
    if block != 0 && bytes == 0 {
        // SAFETY: as the program calls it.
        unsafe { free(block, own) };
        return 0;
    }
    if block == 0 || !thr.saving.get() || !thr.is_in_region() || thr.undo.lost() != 0 {
        // SAFETY: as the program calls it.
        return unsafe { libc::realloc(block as *mut libc::c_void, bytes) as usize };
    }
    hold_off(thr, || {
        // SAFETY: both blocks are at least as long as what is copied, and the program gives up the old one.
        unsafe {
            let new = libc::malloc(bytes) as usize;
            if new != 0 {
                let n = bytes.min(freed_memory::size(block));
                core::ptr::copy_nonoverlapping(block as *const u8, new as *mut u8, n);
                thr.undo.free(block, own);
            }
            new
        }
    })
}

/// `free`.
///
/// # Safety
/// For the code that promp-cc builds: as `free`.
pub(crate) unsafe extern "C" fn promp_free(block: usize) {
    // SAFETY: by the caller's promise.
    unsafe { free(block, false) }
}

/// ... of a block that the same work has allocated.
///
/// # Safety
/// As above.
pub(crate) unsafe extern "C" fn promp_free_own(block: usize) {
    // SAFETY: by the caller's promise.
    unsafe { free(block, true) }
}

/// `realloc`.
///
/// # Safety
/// For the code that promp-cc builds: as `realloc`.
pub(crate) unsafe extern "C" fn promp_realloc(block: usize, bytes: usize) -> usize {
    // SAFETY: by the caller's promise.
    unsafe { resize(block, bytes, false) }
}

/// ... of a block that the same work has allocated.
///
/// # Safety
/// As above.
pub(crate) unsafe extern "C" fn promp_realloc_own(block: usize, bytes: usize) -> usize {
    // SAFETY: by the caller's promise.
    unsafe { resize(block, bytes, true) }
}

/// `operator new`, or `new[]`: allocates, as the C++ library would. 0: `operator` must be called, which is
/// another one, or throws since there is no memory left. Then the work is not executed again: nothing of the
/// ways that the exception takes has been looked at.
///
/// # Safety
/// For the code that promp-cc builds.
pub(crate) unsafe extern "C" fn promp_new(bytes: usize, operator: usize) -> usize {
    // A thread that the runtime does not know is in no region.
    let Some(thr) = thread::known() else { return 0 };
    if !thr.saving.get() || !thr.is_in_region() || !operators::is_known(operator) {
        return 0;
    }
    hold_off(thr, || {
        // SAFETY: nothing to be said for it.
        let block = unsafe { libc::malloc(bytes.max(1)) } as usize;
        if block == 0 {
            site_visits::lose_for_memory(thr);
        }
        block
    })
}

/// `operator delete`, or `delete[]`: frees, if `operator` is the C++ library's. 0: it must be called.
///
/// # Safety
/// For the code that promp-cc builds: as `operator delete`.
pub(crate) unsafe extern "C" fn promp_delete(block: usize, operator: usize) -> usize {
    // SAFETY: by the caller's promise.
    unsafe { delete(block, operator, false) }
}

/// ... of a block that the same work has allocated.
///
/// # Safety
/// As above.
pub(crate) unsafe extern "C" fn promp_delete_own(block: usize, operator: usize) -> usize {
    // SAFETY: by the caller's promise.
    unsafe { delete(block, operator, true) }
}

unsafe fn delete(block: usize, operator: usize, own: bool) -> usize {
    let known = operators::is_known(operator);
    if known {
        // SAFETY: by the caller's promise; the C++ library's operators allocate by malloc.
        unsafe { free(block, own) };
    }
    known.into()
}

crate::export_names! {
    promp_free
    promp_free_own
    promp_realloc
    promp_realloc_own
    promp_new
    promp_delete
    promp_delete_own
}
